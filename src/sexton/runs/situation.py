"""Why a live run has not started: which workers could claim it, and what prevents that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from asyncpg import Record

from sexton.clock import iso
from sexton.config import EVERY
from sexton.model import RunStatus, Trigger, encode_id
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context
from sexton.runs.view import NodeView
from sexton.runs.words import span
from sexton.targets.base import lane_name
from sexton.targets.handler import contested, full_name, is_shared, split_name
from sexton.targets.table import how_to_serve

# The fields that a node reports with every heartbeat.
TOLD = ("skew_ms", "lag_ms", "fenced", "fires", "elector", "elector_ok", "elector_error")

# A worker that has room claims a run by then, also behind a pooler.
CLAIMED_WITHIN = timedelta(seconds=2)

# Runs with these triggers are delayed only by the quota of their namespace; others may be spread out.
QUOTA_TRIGGERS = (Trigger.SCHEDULE, Trigger.MANUAL)


@dataclass(slots=True)
class Situation:
    """The nodes, and the queues with a limit or a pause."""

    now: datetime
    nodes: list[NodeView]
    #: By name: only those with a limit or a pause.
    queues: dict[str, Record]
    #: How many runs the namespace may make per second; None: no quota.
    rate: float | None = None

    @classmethod
    async def read(cls, context: Context) -> Situation:
        now = await context.time()
        queues = await context.fetch("reading/list_queue_states", now=now)
        by_name = {queue["name"]: queue for queue in queues}
        rate = await context.fetchval("quotas/get_rate")
        return cls(now, await list_nodes(context, now), by_name, rate)

    def waiting(self, row: Record) -> str | None:
        """What a live run waits for; None while it is running."""
        match row["status"]:
            case RunStatus.RUNNING:
                return None
            case RunStatus.WAITING:
                until = row["deadline_at"]
                when = f"in {span(until - self.now)}" if until > self.now else "any moment"
                return (
                    f"its service has not reported yet; its time is over at {iso(until, 'seconds')}, {when}"
                )
        if row["slot"]:
            blocker = row["blocker"]
            return (
                f"it is queued behind {encode_id('r', blocker)}"
                if blocker
                else "the run before it has not ended"
            )
        available = row["available_at"]
        if row["status"] == RunStatus.FAILED and available is not None and available > self.now:
            return f"the retry is at {iso(available, 'seconds')}, in {span(available - self.now)}"
        if available is not None and available > self.now:
            if self.rate is not None and row["trigger"] in QUOTA_TRIGGERS:
                quota = f"the quota of its namespace is {self.rate:g} per second: "
                return (
                    f"{quota}its turn comes at {iso(available, 'seconds')}, in {span(available - self.now)}"
                )
            return f"its turn comes at {iso(available, 'seconds')}, in {span(available - self.now)}"
        wanted = worker_wanted(self.nodes, row)
        cause = self._paused(row) or wanted or self._limit(row)
        if cause is None and available is not None and self.now - available < CLAIMED_WITHIN:
            return "a worker is about to claim it"
        return cause or "all workers are busy"

    def _paused(self, row: Record) -> str | None:
        queue = self.queues.get(row["queue"])
        if queue is None or not queue["paused"]:
            return None
        because = f" ({queue['paused_reason']})" if queue["paused_reason"] else ""
        return f"the queue {queue['name']} is paused{because}"

    def _limit(self, row: Record) -> str | None:
        """The limit of its queue that is reached, if any."""
        queue, key = self.queues.get(row["queue"]), row["concurrency_key"]
        if queue is None:
            return None
        if queue["full"]:
            return f"the queue {queue['name']} runs {queue['concurrency']} at a time"
        if key is not None and key in queue["full_keys"]:
            return f"the queue {queue['name']} runs {queue['key_concurrency']} of {key} at a time"
        if queue["empty"]:
            return f"the queue {queue['name']} starts {queue['rate']:g} per second"
        return None


def worker_wanted(nodes: Sequence[NodeView], lane: Record) -> str | None:
    """Why no worker claims the runs of a lane; None if one does."""
    workers = [node for node in nodes if node.state == "live" and "worker" in node.roles]
    if not workers:
        return "no worker is running"
    workers = [node for node in workers if serves_namespace(node, lane["namespace"])]
    if not workers:
        return f"no worker serves the namespace {lane['namespace']}"
    having = [node for node in workers if has_target(node, lane)]
    if not having and lane["target"] != "handler":
        return f"no worker serves {wanted(lane)}: {how_to_serve(lane['target'], lane['handler'])}"
    if not having:
        app, name = split_name(lane["handler"])
        return f"no worker{'' if app is None else f' of the application {app}'} has the handler {name}"
    apps = sorted({node.app for node in having if node.app is not None})
    if len(apps) > 1 and lane["target"] == "handler" and is_shared(lane["handler"]):
        meant = full_name(apps[0], lane["handler"])
        return f"{contested(lane['handler'], apps)}: the target must name one, {meant}"
    if not any(serves(node, lane) for node in having):
        return f"no worker serves queue {lane['queue']}"
    return None


async def list_nodes(context: Context, now: datetime) -> list[NodeView]:
    return [node_of(row) for row in await context.fetch("reading/list_nodes", now=now)]


def serves_namespace(node: NodeView, namespace: str) -> bool:
    return EVERY in node.namespaces or namespace in node.namespaces


def serves(node: NodeView, lane: Record) -> bool:
    return (
        node.state == "live"
        and "worker" in node.roles
        and serves_namespace(node, lane["namespace"])
        and (not node.queues or EVERY in node.queues or lane["queue"] in node.queues)
        and has_target(node, lane)
    )


def has_target(node: NodeView, lane: Record) -> bool:
    if lane["target"] != "handler":
        return wanted(lane) in node.targets
    app, name = split_name(lane["handler"])
    return name in node.handlers and (app is None or app == node.app)


def wanted(lane: Record) -> str:
    """What a lane needs, in the form in which workers announce what they have."""
    return lane_name(lane["target"], lane["handler"])


def node_of(row: Record) -> NodeView:
    detail = msgspec.json.decode(row["detail"] or "{}")
    told = {name: detail.get(name) for name in TOLD}
    return from_row(
        NodeView, row, node_id=encode_id("n", row["id"]), wheel_entries=detail.get("wheel"), **told
    )


def worker_of(row: Record) -> str | None:
    return row["worker"] or (None if row["node"] is None else f"node {row['node']}")
