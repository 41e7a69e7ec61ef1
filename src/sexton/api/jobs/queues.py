"""Queues over HTTP: their limits, pause and resume."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from sexton.api.jobs import routes
from sexton.api.jobs.routes import QueuePauseRequest, QueuesQuery
from sexton.api.operation import Answer, Call, operation
from sexton.jobs import queues as limits
from sexton.jobs.queues import QueueView
from sexton.jobs.spec import LimitChanges, Limits
from sexton.notifications.sending.backlog import MessageBacklog, counts_messages, read_backlog
from sexton.postgres.transaction import Context
from sexton.refusal import about
from sexton.runs.throughput import QueueHour, Throughput, read_throughput

EXAMPLE: dict[str, Any] = {
    "name": "mail",
    "paused": False,
    "paused_at": None,
    "paused_reason": None,
    "concurrency": 20,
    "key_concurrency": 2,
    "rate": 5.0,
    "burst": 10,
    "running": 7,
    "waiting": 240,
    "oldest_available_at": "2026-06-01T13:00:00Z",
    "warnings": [],
}

PASSED: dict[str, Any] = {**EXAMPLE, "arrival_per_second": 4.2, "drain_per_second": 4.0, "hour": None}
MESSAGES: dict[str, Any] = {
    "depth": 5200,
    "waiting": 80000,
    "oldest_age_seconds": 2.5,
    "arrival_per_second": 12.0,
    "drain_per_second": 2400.0,
    "due_in_5_minutes": 30000,
    "due_in_10_minutes": 30000,
    "due_in_60_minutes": 74800,
    "workers": 2,
    "per_worker_per_second": 2800.0,
    "drain_seconds": 300,
    "workers_needed": 1,
}


class QueueAnswer(QueueView, frozen=True, kw_only=True):
    """A queue, with the messages behind its runs."""

    arrival_per_second: Annotated[
        float, about("Runs that came in per second, in this minute and the one before.")
    ] = 0.0
    drain_per_second: Annotated[float, about("Runs that ended per second, in the same time.")] = 0.0
    hour: Annotated[QueueHour | None, about("With `expand=hour`: the last hour by minute; else null.")] = None
    messages: Annotated[
        MessageBacklog | None, about("For the queue of notifications: its backlog in messages; else null.")
    ] = None


@operation(
    routes.LIST_QUEUES, shared=True, renewed_by=("queues", "runs"), answer=list[QueueAnswer],
    answer_example=[
        {**PASSED, "messages": None}, {**PASSED, "name": "notifications", "messages": MESSAGES},
    ],
)  # fmt: skip
async def list_queues(call: Call) -> Answer:
    """The queues that jobs have used or that have limits, by name: what waits in them, and how many runs
    arrive and end per second. A run counts for the queue of its job. A run of the queue of notifications may
    stand for thousands of messages: `messages` counts those, and how many workers would send them in time."""
    query = call.query(QueuesQuery)
    found = await limits.list_queues(call.context)
    passed = await read_throughput(call.context)
    return Answer([await _shown(call.context, each, passed, query) for each in found])


@operation(routes.GET_QUEUE, answer=QueueAnswer, answer_example={**PASSED, "messages": None})
async def get_queue(call: Call) -> Answer:
    """The limits of a queue, whether it is paused, and what waits in it."""
    query = call.query(QueuesQuery)
    found = await limits.get_queue(call.context, call.path("queue"))
    passed = await read_throughput(call.context, found.name)
    return Answer(await _shown(call.context, found, passed, query))


async def _shown(context: Context, queue: QueueView, passed: Throughput, query: QueuesQuery) -> QueueAnswer:
    messages = None
    if counts_messages(queue.name):
        messages = await read_backlog(context, drain_seconds=query.drain_seconds)
    arrival, drain = passed.rates(queue.name)
    return QueueAnswer(
        **msgspec.structs.asdict(queue),
        arrival_per_second=arrival,
        drain_per_second=drain,
        hour=passed.hour(queue.name) if query.expand == "hour" else None,
        messages=messages,
    )


@operation(
    routes.PUT_QUEUE, answer=QueueView,
    example={"concurrency": 20, "key_concurrency": 2, "rate": 5, "burst": 10}, answer_example=EXAMPLE,
)  # fmt: skip
async def put_queue(call: Call) -> Answer:
    """Afterwards it has exactly these limits; `{}` removes them all. Runs that have started continue, and
    count. A queue may have limits before a job uses it."""
    wish = call.json(Limits)
    return Answer(await limits.set_limits(call.context, call.path("queue"), wish))


@operation(
    routes.CHANGE_QUEUE, answer=QueueView, example={"key_concurrency": None},
    answer_example={**EXAMPLE, "key_concurrency": None},
)  # fmt: skip
async def change_queue(call: Call) -> Answer:
    """Changes only the given limits; null removes one."""
    wish = call.json(LimitChanges)
    return Answer(await limits.change_limits(call.context, call.path("queue"), wish))


@operation(
    routes.PAUSE_QUEUE, answer=QueueView, example={"reason": "mail server moves"},
    answer_example={
        **EXAMPLE, "paused": True, "paused_at": "2026-06-01T13:00:00Z", "paused_reason": "mail server moves",
    },
)  # fmt: skip
async def pause_queue(call: Call) -> Answer:
    """No run of it starts: its jobs fire, and their runs stay pending. Runs that have started continue."""
    wish = call.json(QueuePauseRequest, optional=True)
    paused = await limits.pause_queue(call.context, call.path("queue"), reason=wish.reason)
    return Answer(paused)


@operation(routes.RESUME_QUEUE, answer=QueueView, answer_example=EXAMPLE)
async def resume_queue(call: Call) -> Answer:
    """Workers continue with the waiting runs, within its limits."""
    return Answer(await limits.resume_queue(call.context, call.path("queue")))
