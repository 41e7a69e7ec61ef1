"""The cluster as it is shown: nodes, shards, electors, and what waits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from sexton.jobs.queues import MOST_COUNTED
from sexton.refusal import about
from sexton.runs.view import NodeView


class ShardView(msgspec.Struct, frozen=True, kw_only=True):
    """A slice of the jobs, and who leads it."""

    shard: Annotated[int, about("The number of the shard, from 0.")]
    leader: Annotated[
        str | None, about("The name of the node that leads the shard; null while no node does.")
    ] = None
    leader_id: Annotated[str | None, about("The id of the node that leads the shard.")] = None
    epoch: Annotated[int, about("Grows with every takeover; firings under an older one are refused.")]
    lease_left_seconds: Annotated[
        float | None, about("How long the leader's lease lasts, unless it is renewed.")
    ] = None
    taken_at: Annotated[datetime | None, about("The last takeover.")] = None
    jobs: Annotated[int, about("How many jobs have a timer in the shard; see `jobs_estimated`.")] = 0
    wheel_entries: Annotated[int | None, about("Timers of the shard that the leader holds in memory.")] = None


class ElectorView(msgspec.Struct, frozen=True, kw_only=True):
    """What decides who holds a shard."""

    name: Annotated[str | None, about("The elector that the schedulers use; null without schedulers.")] = None
    ok: Annotated[bool, about("Whether all schedulers use the same elector, and it answers all of them.")] = (
        True
    )
    errors: Annotated[list[str], about("What is wrong, and on which node.")] = []


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that could start now and wait for a worker."""

    namespace: Annotated[str, about("The namespace of the runs.")]
    queue: Annotated[str, about("The queue.")]
    target: Annotated[str, about("The kind of target: handler, http, …")]
    handler: Annotated[str | None, about("The handler, broker or program that the runs need.")] = None
    waiting: Annotated[int, about(f"How many runs wait, counted up to {MOST_COUNTED}.")]
    oldest_available_at: Annotated[datetime | None, about("Since when the oldest run waits.")] = None
    served: Annotated[bool, about("False if no live worker can take them.")]
    reason: Annotated[str | None, about("Why no live worker can take them.")] = None


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How much there is. Large tables are estimated."""

    jobs: Annotated[dict[str, int], about("Jobs by status; past 100,000 only an estimated `total`.")]
    runs: Annotated[dict[str, int], about(f"Live runs by status, counted up to {MOST_COUNTED}.")]
    dead: Annotated[int, about("Dead letters.")]
    problems: Annotated[int, about("Jobs that are set aside because their schedule cannot be computed.")] = 0
    estimated: Annotated[bool, about("True if jobs or dead letters are estimates.")] = False


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Who is there, who leads, what waits."""

    at: Annotated[datetime, about("The database's time.")]
    nodes: Annotated[list[NodeView], about("Processes that are alive or were within the last hour.")]
    shards: Annotated[int, about("How many shards there are.")]
    shards_led: Annotated[int, about("How many shards have a live leader.")]
    leaders: Annotated[list[ShardView], about("Every shard and who leads it.")] = []
    jobs_estimated: Annotated[
        bool, about("True if jobs per shard are an even share of an estimate; `jobs=true` counts them.")
    ] = False
    elector: Annotated[ElectorView, about("What decides who holds a shard.")] = ElectorView()
    oldest_due_at: Annotated[
        datetime | None, about("The longest overdue timer; null if nothing is overdue.")
    ] = None
    backlog: Annotated[list[Backlog], about("Runs that wait for a worker, the longest queue first.")] = []
    counts: Annotated[Counts, about("How many jobs, runs and dead letters there are.")]
