"""Runs over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton.api import examples
from sexton.api.operation import Answer, Call, operation
from sexton.api.runs import routes
from sexton.api.runs.routes import CancelRequest, LogQuery, RunChoice, RunRequest, RunsQuery
from sexton.errors import InvalidField
from sexton.jobs.change import find
from sexton.model import RunStatus, Trigger
from sexton.refusal import aware
from sexton.runs import count as counting
from sexton.runs import read as ledger
from sexton.runs.count import RunCounts
from sexton.runs.filter import RunFilter
from sexton.runs.trigger import cancel_run as cancel
from sexton.runs.trigger import repeat
from sexton.runs.view import LogLine, RunDetail, RunView

COUNTS = {
    "pending": 2, "running": 1, "failed": 0, "waiting": 0, "success": 1204, "dead": 1, "cancelled": 0,
    "expired": 0, "skipped": 3, "since": "2026-06-01T13:00:00Z", "estimated": False,
}  # fmt: skip


class RunMade(msgspec.Struct, frozen=True):
    """The new run."""

    run_id: Annotated[str, Meta(description="The run's id, `r_…`.")]
    job: Annotated[str, Meta(description="The job, as it was named.")]


class CancelAnswer(msgspec.Struct, frozen=True):
    """The result of the request."""

    run_id: Annotated[str, Meta(description="The run.")]
    outcome: Annotated[
        Literal["cancelled", "requested"],
        Meta(description="cancelled: it had not started. requested: its worker is told, and ends it."),
    ]


@operation(
    routes.LIST_RUNS,
    shared=True,
    renewed_by=("runs",),
    answer=list[RunView],
    lists=True,
    answer_example=[examples.RUN],
)
async def list_runs(call: Call) -> Answer:
    """Runs of all jobs: live runs first, the newest at the top; then ended runs, the latest at the top. With
    `late`, `queue` or `worker` a page may have fewer runs than asked for although there is a next one: the
    server stops after reading enough rows."""
    query = call.query(RunsQuery)
    chosen = await filter_of(call, query)
    return await page_of_runs(call, chosen, query.cursor, query.limit)


@operation(
    routes.COUNT_RUNS, shared=True, renewed_by=("runs",), lists=True, answer=RunCounts,
    answer_example=COUNTS,
)  # fmt: skip
async def count_runs(call: Call) -> Answer:
    """By status, with the same filters as the list; `status` is ignored. Live runs are counted up to 10,000;
    ended runs, with other filters than `since` and `until`, up to 3,000."""
    return Answer(await counting.count_runs(call.reading, await filter_of(call, call.query(RunChoice))))


@operation(routes.GET_RUN, answer=RunDetail, answer_example=examples.RUN_DETAIL)
async def get_run(call: Call) -> Answer:
    """One run with all attempts, its log, progress and result."""
    return Answer(await ledger.get_run(call.context, ledger.run_number(call.path("run"))))


@operation(routes.GET_RUN_LOG, answer=list[LogLine], answer_example=examples.RUN_DETAIL["log"])
async def get_run_log(call: Call) -> Answer:
    """The log lines of a run, the oldest first. To follow it, ask again with `after` set to the last `at`,
    until the run has ended and no line comes. All lines of one instant come together, even if they are more
    than `limit`."""
    query = call.query(LogQuery)
    after = None if query.after is None else aware(query.after, "after")
    number = ledger.run_number(call.path("run"))
    await ledger.require_run(call.context, number)
    return Answer(await ledger.list_log(call.context, number, after=after, limit=query.limit))


@operation(
    routes.REPEAT_RUN, status=201, answer=RunMade, example={"payload": {"report_type": "monthly"}},
    answer_example={"run_id": "r_9hk7", "job": "j_4x"},
)  # fmt: skip
async def repeat_run(call: Call) -> Answer:
    """A new run of its job, now, with a key of its own, and with the same payload unless another is given. A
    dead run is redriven instead: that keeps its key."""
    wish = call.json(RunRequest, optional=True)
    number = ledger.run_number(call.path("run"))
    new, job = await repeat(call.context, number, payload=wish.payload)
    return Answer({"run_id": new, "job": job}, headers={"Location": f"/api/v1/runs/{new}"})


@operation(
    routes.CANCEL_RUN, status=202, answer=CancelAnswer, example={"reason": "wrong month"},
    answer_example={"run_id": "r_9hk2", "outcome": "cancelled"},
)  # fmt: skip
async def cancel_run(call: Call) -> Answer:
    """A waiting run is cancelled at once; a running one is asked to stop."""
    wish = call.json(CancelRequest, optional=True)
    run = call.path("run")
    outcome = await cancel(call.context, run, reason=wish.reason)
    return Answer({"run_id": run, "outcome": outcome})


async def filter_of(call: Call, query: RunChoice) -> RunFilter:
    return RunFilter(
        job=None if query.job is None else await find(call.context, query.job, deleted=True),
        statuses=listed(query.status, "status", [*RunStatus, "skipped"]),
        triggers=listed(query.trigger, "trigger", [*Trigger]),
        skipped=query.include == "skipped",
        queue=query.queue,
        since=query.since and aware(query.since, "since"),
        until=query.until and aware(query.until, "until"),
        late=query.late,
        error=query.error,
        worker=query.worker,
    )


async def page_of_runs(call: Call, chosen: RunFilter, cursor: str | None, limit: int) -> Answer:
    """A page of runs. The first page says how many there are in all."""
    page = await ledger.list_runs(call.reading, chosen, cursor=cursor, limit=limit)
    if cursor is not None:
        return call.paged(page)
    counts = await counting.count_runs(call.reading, chosen)
    return call.paged(page, counts.total(chosen).headers())


def listed(text: str | None, field: str, known: list[str]) -> list[str] | None:
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise InvalidField(
                "bad_value", f"{field}: there is no {word}", field=field, hint=f"use {', '.join(known)}"
            )
    return words
