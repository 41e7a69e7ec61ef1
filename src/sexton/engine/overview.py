"""The figures of a namespace at a glance: what is wrong, and what has happened. Cheap enough to read every
second."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from asyncpg import Record

from sexton import clock
from sexton.clock import iso
from sexton.engine.cluster.status import get_backlog
from sexton.engine.cluster.view import Backlog
from sexton.postgres.estimate import MOST_EXACT, total
from sexton.postgres.transaction import Context, query
from sexton.printable import counted
from sexton.refusal import about
from sexton.runs.activity import MINUTE, Activity, Figures, MinuteOfRuns, MinuteRow, read_activity, read_whole
from sexton.runs.situation import list_nodes
from sexton.runs.view import NodeView
from sexton.runs.words import span

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# Live runs that are counted; beyond that there are at least so many.
MOST_LIVE = 20_000
# A timer that is overdue by more than this is not fired in time.
OVERDUE = timedelta(seconds=5)
SKEW_MS = 1000
# Jobs are counted so often: they change slowly, and there may be millions.
COUNT_JOBS_SECONDS = 10.0
# Namespaces of which something is remembered.
MOST_REMEMBERED = 1000


class NodeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many processes there are."""

    live: Annotated[int, about("Processes whose lease is valid.")]
    stale: Annotated[int, about("Processes whose lease has ended, and that were not stopped.")]
    schedulers: Annotated[int, about("Live schedulers.")]
    workers: Annotated[int, about("Live workers.")]


class ShardCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many shards there are."""

    total: Annotated[int, about("All shards.")]
    led: Annotated[int, about("Shards with a live leader.")]


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person should look at."""

    code: Annotated[str, about("What it is; the code never changes.")]
    severity: Annotated[Literal["error", "warning", "info"], about("How bad it is.")]
    text: Annotated[str, about("What is wrong, in English.")]
    count: Annotated[int, about("How many there are.")] = 1
    link_kind: Annotated[
        Literal["jobs", "runs", "dead", "queues", "cluster", "job"], about("The list that shows more of it.")
    ]
    link: Annotated[dict[str, str], about("The filters of that list.")] = {}


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace at a glance. What concerns the whole cluster is null for callers without a role there."""

    at: Annotated[datetime, about("The database's time.")]
    nodes: Annotated[NodeCounts | None, about("Processes of the cluster.")] = None
    shards: Annotated[ShardCounts | None, about("Shards of the cluster.")] = None
    oldest_due_at: Annotated[datetime | None, about("The longest overdue timer; null: none is.")] = None
    queue_depth: Annotated[int, about("Runs that could start now and wait for a worker.")] = 0
    oldest_waiting_at: Annotated[datetime | None, about("Since when the oldest of these runs waits.")] = None
    queues: Annotated[dict[str, int], about("These runs by queue.")] = {}
    live: Annotated[dict[str, int], about(f"Live runs by state, of the first {MOST_LIVE:,}.")] = {}
    running: Annotated[int, about("Runs that are being carried out.")] = 0
    dead: Annotated[int, about("Dead letters, counted up to 10,000.")] = 0
    problems: Annotated[int, about("Jobs that are set aside: their schedule cannot be computed.")] = 0
    jobs: Annotated[dict[str, int], about("Jobs by status.")] = {}
    jobs_estimated: Annotated[bool, about("True if there are too many jobs to count.")] = False
    hour: Annotated[Figures, about("What happened in the last hour.")]
    day: Annotated[Figures, about("What happened in the last day.")]
    lateness: Annotated[
        list[MinuteOfRuns], about("The runs of the last hour by minute, and how late they started.")
    ] = []
    attention: Annotated[list[Attention], about("What needs attention, the worst first.")] = []
    first_job_fired: Annotated[bool, about("Whether a job of the namespace has ever fired.")] = False


class OverviewReader:
    """Reads the overview, and remembers expensive counts for all callers of a process."""

    def __init__(self) -> None:
        self._jobs: dict[str, tuple[float, dict[str, int], bool]] = {}
        self._fired: set[str] = set()
        self._past: dict[str, tuple[datetime, list[MinuteRow]]] = {}

    async def read(self, context: Context, *, sees_cluster: bool) -> Overview:
        """`sees_cluster`: also what concerns the whole cluster."""
        return await _read(context, self, sees_cluster)

    async def overview(self, context: Context, sees_cluster: bool) -> Overview:
        """On an open connection."""
        state = await context.fetchrow(
            "reading/examine_namespace", namespace=context.namespace, now=context.now, most=MOST_EXACT
        )
        assert state is not None
        at: datetime = state["at"]
        minute = at.replace(second=0, microsecond=0)
        live = await context.fetch(
            "reading/count_live_runs", namespace=context.namespace, now=at, most=MOST_LIVE
        )
        by_state: dict[str, int] = {}
        queues: dict[str, int] = {}
        for row in live:
            by_state[row["state"]] = by_state.get(row["state"], 0) + row["runs"]
            if row["ready"]:
                queues[row["queue"]] = queues.get(row["queue"], 0) + row["ready"]
        activity = await self._activity(context, minute, by_state)
        jobs, estimated = await self._count_jobs(context)
        backlog = await get_backlog(context, at, namespace=context.namespace) if queues else []
        nodes, shards, found = await self._cluster(context, at) if sees_cluster else (None, None, [])
        hour = activity.figures(minute - HOUR + MINUTE)
        waits = [row["oldest_available_at"] for row in live if row["oldest_available_at"] is not None]
        return Overview(
            at=at,
            nodes=nodes,
            shards=shards,
            oldest_due_at=state["oldest_due_at"],
            queue_depth=sum(queues.values()),
            oldest_waiting_at=min(waits, default=None),
            queues=queues,
            live=by_state,
            running=by_state.get("running", 0),
            dead=state["dead"],
            problems=state["problems"],
            jobs=jobs,
            jobs_estimated=estimated,
            hour=hour,
            day=activity.figures(minute - DAY + MINUTE),
            lateness=activity.minutes(minute - HOUR + MINUTE, minute + MINUTE),
            attention=[*found, *_attention(state, at, hour, backlog)],
            first_job_fired=await self._has_fired(context, bool(hour.fired)),
        )

    async def _activity(self, context: Context, minute: datetime, live: dict[str, int]) -> Activity:
        """The last hour by minute. The rest of the day does not change: it is read once a minute, as a
        whole."""
        day, hour = minute - DAY + MINUTE, minute - HOUR + MINUTE
        known = self._past.get(context.namespace)
        if known is None or known[0] != minute:
            if len(self._past) >= MOST_REMEMBERED:
                self._past.clear()
            known = minute, await read_whole(context, day, hour)
            self._past[context.namespace] = known
        latest = await read_activity(context, hour, minute + MINUTE)
        return Activity([*known[1], *latest.rows], live)

    async def _count_jobs(self, context: Context) -> tuple[dict[str, int], bool]:
        known = self._jobs.get(context.namespace)
        if known is not None and clock.monotonic() < known[0]:
            return known[1], known[2]
        rows = await context.fetch(
            "reading/list_job_statuses", namespace=context.namespace, most=MOST_EXACT + 1
        )
        jobs = {row["status"]: row["jobs"] for row in rows}
        estimated = sum(jobs.values()) > MOST_EXACT
        if estimated:
            jobs = {}
            for status in ("active", "paused", "completed"):
                found = await total(
                    context, "reading/list_jobs_in_status", namespace=context.namespace, status=status
                )
                jobs[status] = found.count
        if len(self._jobs) >= MOST_REMEMBERED:
            self._jobs.clear()
        self._jobs[context.namespace] = (clock.monotonic() + COUNT_JOBS_SECONDS, jobs, estimated)
        return jobs, estimated

    async def _has_fired(self, context: Context, lately: bool) -> bool:
        """Whether a job has ever fired. Once true, it stays true."""
        if context.namespace in self._fired:
            return True
        if lately or await context.fetchval("activity/has_fired", namespace=context.namespace):
            self._fired.add(context.namespace)
            return True
        return False

    async def _cluster(
        self, context: Context, at: datetime
    ) -> tuple[NodeCounts, ShardCounts, list[Attention]]:
        nodes = await list_nodes(context, at)
        work = await context.fetchrow("reading/count_work", now=at)
        assert work is not None
        live = [node for node in nodes if node.state in ("live", "draining")]
        counts = NodeCounts(
            live=len(live),
            stale=sum(node.state in ("expired", "dead") for node in nodes),
            schedulers=sum("scheduler" in node.roles for node in live),
            workers=sum("worker" in node.roles for node in live),
        )
        shards = ShardCounts(total=work["shards"], led=work["shards_led"])
        return counts, shards, _cluster_attention(live, shards)


@query
async def _read(context: Context, reader: OverviewReader, sees_cluster: bool) -> Overview:
    return await reader.overview(context, sees_cluster)


def _cluster_attention(live: list[NodeView], shards: ShardCounts) -> list[Attention]:
    found: list[Attention] = []
    if shards.led < shards.total:
        missing = shards.total - shards.led
        text = f"{counted(missing, 'shard has', 'shards have')} no leader: their jobs do not fire"
        found.append(_error("shards_without_leader", text, missing))
    if not any("worker" in node.roles for node in live):
        found.append(_error("no_workers", "no worker is running: runs stay pending", 1))
    skewed = [node for node in live if node.skew_ms is not None and abs(node.skew_ms) > SKEW_MS]
    if skewed:
        worst = max(skewed, key=lambda node: abs(node.skew_ms or 0))
        text = f"the clock of {worst.name} is {abs(worst.skew_ms or 0) / 1000:.1f} s off that of the database"
        found.append(_attend("clock_skew", "warning", text, len(skewed), "cluster"))
    silent = [node for node in live if node.elector_ok is False]
    if silent:
        text = f"the elector does not answer {silent[0].name}: {silent[0].elector_error or 'no answer'}"
        found.append(_error("elector_silent", text, len(silent)))
    idle = [node for node in live if node.fires is False]
    if idle:
        text = f"{idle[0].name} renews its lease but cannot fire, so it leads nothing"
        found.append(_attend("scheduler_cannot_fire", "warning", text, len(idle), "cluster"))
    return found


def _attention(state: Record, at: datetime, hour: Figures, backlog: list[Backlog]) -> list[Attention]:
    found: list[Attention] = []
    overdue = None if state["oldest_due_at"] is None else at - state["oldest_due_at"]
    if overdue is not None and overdue > OVERDUE:
        text = f"a job should have fired {span(overdue)} ago, and has not"
        found.append(_attend("overdue", "error", text, 1, "jobs", sort="next_run_at"))
    if problems := state["problems"]:
        text = f"{counted(problems, 'job is', 'jobs are')} set aside: their schedule cannot be computed"
        found.append(_attend("problem_jobs", "error", text, problems, "jobs", problem="true"))
    unserved = [each for each in backlog if not each.served]
    if unserved:
        waiting = sum(each.waiting for each in unserved)
        text = f"{counted(waiting, 'run waits', 'runs wait')} that no worker takes: {unserved[0].reason}"
        found.append(_attend("unserved", "error", text, waiting, "queues"))
    if state["dead_lately"]:
        text = f"{counted(state['dead_lately'], 'run', 'runs')} died in the last ten minutes"
        found.append(_attend("dead_growing", "warning", text, state["dead_lately"], "dead"))
    elif dead := state["dead"]:
        text = f"{counted(dead, 'dead letter waits', 'dead letters wait')} to be redriven or discarded"
        found.append(_attend("dead_letters", "info", text, dead, "dead"))
    if state["paused_queues"]:
        names = state["paused_queues"]
        text = f"{counted(len(names), 'queue is', 'queues are')} paused: {', '.join(names[:5])}"
        found.append(_attend("queues_paused", "info", text, len(names), "queues"))
    if hour.late:
        text = f"{counted(hour.late, 'run', 'runs')} of the last hour started more than a second late"
        since = iso(hour.since)
        found.append(_attend("late_runs", "warning", text, hour.late, "runs", late="true", since=since))
    return sorted(found, key=lambda each: ("error", "warning", "info").index(each.severity))


def _error(code: str, text: str, count: int) -> Attention:
    return _attend(code, "error", text, count, "cluster")


def _attend(code: str, severity: Any, text: str, count: int, kind: Any, **link: str) -> Attention:
    return Attention(code=code, severity=severity, text=text, count=count, link_kind=kind, link=link)
