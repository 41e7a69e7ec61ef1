"""Health, readiness, metrics and the cluster over HTTP."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Annotated

import msgspec
from msgspec import Meta
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from sexton import __version__
from sexton.api import examples
from sexton.api.engine import routes
from sexton.api.engine.routes import ClusterQuery, DrainRequest
from sexton.api.operation import Answer, Call, operation
from sexton.engine.cluster.draining import Drained, drain
from sexton.engine.cluster.examination import Examination, examine
from sexton.engine.cluster.status import get_cluster as read_cluster
from sexton.engine.cluster.view import Cluster
from sexton.errors import Unavailable
from sexton.notifications.sending.backlog import read_backlog
from sexton.security.quota_spec import RANGES

# Each namespace is a label of these metrics: only the first ones by name are shown.
MOST_NAMESPACES = 100
METERED = ("jobs", "live_runs")
# The time in which the backlog of a namespace is to be sent, for `workers_needed`.
DRAIN_SECONDS = 300
MESSAGE_FIGURES = {
    "depth": "Messages that are due and not submitted.",
    "oldest_age_seconds": "How long the oldest of them has been due.",
    "arrival_per_second": "Messages that were made per second, in the last minute.",
    "drain_per_second": "Messages that ended per second, in the last minute or two.",
    "due_in_5_minutes": "Messages that fall due in the next 5 minutes.",
    "due_in_10_minutes": "Messages that fall due in the next 10 minutes.",
    "due_in_60_minutes": "Messages that fall due in the next 60 minutes.",
    "workers_needed": "Workers that are needed to send what is due, and falls due, in 300 seconds.",
}


EXAMINED = {
    "facts": {"PostgreSQL": "PostgreSQL 18.4", "database size": "84 MB", "shards led": "64 of 64"},
    "bounds": {"late at most, if a scheduler dies": "5 s (lease 4 s)"},
    "findings": [{"what": "1 dead letter", "fix": "see: sexton dead list --groups", "serious": False}],
}


class Health(msgspec.Struct, frozen=True):
    """The process answers."""

    status: Annotated[str, Meta(description="ok")]
    version: Annotated[str, Meta(description="The version of Sexton.")]


class LoopState(msgspec.Struct, frozen=True):
    """A loop of this process, or its worker's heartbeat."""

    name: Annotated[str, Meta(description="Its name.")]
    healthy: Annotated[bool, Meta(description="Whether it ticks in time.")]


class Readiness(msgspec.Struct, frozen=True):
    """Whether this process is ready for work."""

    status: Annotated[str, Meta(description="ready or not ready.")]
    database: Annotated[str, Meta(description="reachable, or why not.")]
    loops: Annotated[list[LoopState], Meta(description="Every loop of this process.")]
    warnings: Annotated[
        list[str],
        Meta(description="What makes it slower, such as a queue that does not answer; it is still ready."),
    ]


@operation(routes.GET_CLUSTER, answer=Cluster, lists=True, answer_example=examples.CLUSTER)
async def get_cluster(call: Call) -> Answer:
    """Every process, the leaders of the shards, the elector, the runs that wait for a worker, and the
    totals."""
    exactly = call.query(ClusterQuery).jobs
    return Answer(await read_cluster(call.context, count_jobs=exactly, counting=call.replica))


@operation(routes.EXAMINE_CLUSTER, heavy=True, lists=True, answer=Examination, answer_example=EXAMINED)
async def examine_cluster(call: Call) -> Answer:
    """The findings of `sexton doctor`, examined by this process: the facts of the database, the bounds that
    follow from the settings, and what to fix. Secrets are not named."""
    return Answer(await examine(call.services.database, call.services.settings, naming=False))


@operation(
    routes.DRAIN_NODE, example={"undo": False}, answer=Drained,
    answer_example={"at": examples.CLUSTER["at"], "nodes": examples.DRAINING, "warnings": []},
)  # fmt: skip
async def drain_node(call: Call) -> Answer:
    """The node hands its shards over, takes no more runs and finishes those it has; `undo` reverses this.
    Name the node by its id. Or name its process by name, by `host:pid` or by a unique prefix. Or name all
    processes of a machine by its host."""
    wish = call.json(DrainRequest, optional=True)
    return Answer(await drain(call.context, call.path("node"), undo=wish.undo))


@operation(routes.HEALTHZ, answer=Health, answer_example={"status": "ok", "version": __version__})
async def healthz(call: Call) -> Answer:
    """Answers while the process runs. Needs no key."""
    return Answer(Health("ok", __version__))


@operation(routes.READYZ, answer=Readiness, also=(503,), answer_example=examples.READY)
async def readyz(call: Call) -> Answer:
    """200 if the database is reachable and every loop ticks, otherwise 503. Needs no key."""
    database = await call.services.database_check.state()
    trusted = call.request.state.trusted
    if not trusted and database != "reachable":
        database = "not reachable"  # the reason would name hosts, users and files
    loops = [LoopState(loop.name, loop.healthy()) for loop in call.services.loops()]
    ready = database == "reachable" and all(loop.healthy for loop in loops)
    warnings = call.services.warnings() if trusted else []
    state = Readiness("ready" if ready else "not ready", database, loops, warnings)
    return Answer(state, status=200 if ready else 503)


@operation(
    routes.METRICS, media_type=CONTENT_TYPE_LATEST, answer=str,
    answer_example="sexton_cluster_live_runs{status=\"running\"} 1.0\n",
)  # fmt: skip
async def metrics(call: Call) -> Answer:
    """The counters of this process, and a few figures of the whole system."""
    text = b"".join(generate_latest(registry) for registry in call.services.registries())
    # The counters of this process are worth showing even without a database.
    with contextlib.suppress(Unavailable):
        text += generate_latest(await _figures(call))
    return Answer(text)


async def _figures(call: Call) -> CollectorRegistry:
    registry = CollectorRegistry()
    cluster = await read_cluster(call.context)

    def gauge(name: str, text: str, values: dict[str, float], label: str) -> None:
        metric = Gauge(name, text, [label], registry=registry)
        for key, value in values.items():
            metric.labels(key).set(value)

    states = [node.state for node in cluster.nodes]
    gauge("sexton_cluster_jobs", "Jobs by status.", dict(cluster.counts.jobs), "status")
    gauge("sexton_cluster_live_runs", "Live runs by status.", dict(cluster.counts.runs), "status")
    gauge(
        "sexton_cluster_nodes",
        "Processes by state.",
        {each: states.count(each) for each in set(states)},
        "state",
    )
    backlog = Gauge(
        "sexton_cluster_backlog", "Runs that wait for a worker.", ["namespace", "queue"], registry=registry
    )
    for lane in cluster.backlog:
        backlog.labels(lane.namespace, lane.queue).inc(lane.waiting)
    await _add_quotas(call, registry)
    await _add_messages(call, registry)
    Gauge("sexton_cluster_dead_letters", "Dead letters.", registry=registry).set(cluster.counts.dead)
    Gauge(
        "sexton_cluster_problem_jobs", "Jobs set aside: no schedule can be computed.", registry=registry
    ).set(cluster.counts.problems)
    Gauge("sexton_cluster_shards_led", "Shards with a live leader.", registry=registry).set(
        cluster.shards_led
    )
    Gauge("sexton_cluster_shards", "Shards.", registry=registry).set(cluster.shards)
    overdue = (cluster.at - cluster.oldest_due_at).total_seconds() if cluster.oldest_due_at else 0.0
    Gauge("sexton_cluster_overdue_seconds", "Age of the longest overdue timer.", registry=registry).set(
        overdue
    )
    return registry


async def _add_messages(call: Call, registry: CollectorRegistry) -> None:
    """Add the message backlog of each namespace."""
    rows = await call.context.fetch("campaigns/list_notifying", limit=MOST_NAMESPACES)
    if not rows:
        return
    gauges = {
        name: Gauge(f"sexton_messages_{name}", text, ["namespace"], registry=registry)
        for name, text in MESSAGE_FIGURES.items()
    }
    for row in rows:
        own = replace(call.context, namespace=row["namespace"])
        backlog = await read_backlog(own, drain_seconds=DRAIN_SECONDS)
        for name, gauge in gauges.items():
            gauge.labels(row["namespace"]).set(getattr(backlog, name))


async def _add_quotas(call: Call, registry: CollectorRegistry) -> None:
    """Add the quotas of the first namespaces that have some: each is a label."""
    rows = await call.context.fetch("quotas/list", limit=MOST_NAMESPACES)
    labels = ["namespace", "quota"]
    limits = Gauge("sexton_namespace_quota", "Quotas of namespaces.", labels, registry=registry)
    used = Gauge(
        "sexton_namespace_used", "What namespaces use of their quotas, at most.", labels, registry=registry
    )
    for row in rows:
        for name in RANGES:
            if row[name] is not None:
                limits.labels(row["name"], name).set(row[name])
            if name in METERED and row[f"{name}_used"] is not None:
                used.labels(row["name"], name).set(row[f"{name}_used"])
