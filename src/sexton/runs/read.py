"""Reading runs: of one job or of all, live and ended; and one run with all details.

A list begins with the live runs, the newest first, and continues with ended ones, the latest first. A run
that ends between two pages appears twice rather than not at all.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import msgspec
from asyncpg import Record

from sexton.errors import InvalidField
from sexton.jobs.change import find
from sexton.jobs.spec import DEFAULTS
from sexton.jobs.spread import jitter_of
from sexton.model import RunStatus, encode_id
from sexton.postgres.jsonb import json_value
from sexton.postgres.page import (
    MOST_BYTES,
    MOST_ROWS,
    Number,
    Page,
    decode_cursor,
    encode_cursor,
    make_page,
)
from sexton.postgres.row import from_row, number_of
from sexton.postgres.transaction import Context, query
from sexton.refusal import not_found
from sexton.runs.filter import RunFilter
from sexton.runs.reach import reach
from sexton.runs.situation import Situation, worker_of
from sexton.runs.view import LOG_LINES, Attempt, LogLine, RunDetail, RunView
from sexton.runs.waits import waits_of
from sexton.targets.key import occurrence_key

# The ranges that are searched for a page of ended runs of all jobs, one after the other.
WINDOWS = (
    timedelta(minutes=1),
    timedelta(minutes=8),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
    timedelta(days=10),
    timedelta(days=36_500),
)


START = datetime(1970, 1, 1, tzinfo=UTC)
# How far back a filter without an index is searched, unless `since` is given.
SEARCHED = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
EVERY_RUN = RunFilter()
# Fields of `RunView` that only ended runs have, and that only live runs have.
UNKNOWN_OF_LIVE = dict.fromkeys(("finished_at", "result", "until_at", "occurrences"))
UNKNOWN_OF_ENDED = dict.fromkeys(("next_attempt_at", "lease_until"))


def run_number(text: str) -> int:
    """The number behind `r_…`."""
    return number_of("r", text, "run")


@query
async def list_runs(
    context: Context, chosen: RunFilter = EVERY_RUN, *, cursor: str | None = None, limit: int = 50
) -> Page[RunView]:
    """Live runs, the newest first, then ended ones, the latest first; of one job or of all. With a filter
    without an index, a page may have few or no runs and still have a cursor."""
    limit = max(1, min(limit, MOST_ROWS))
    below, place = _runs_place(cursor)
    found: list[tuple[str, RunView]] = []
    if place is None and chosen.live:
        rows = await _live_rows(context, chosen, below, limit + 1)
        found += [(encode_cursor(row["run_id"]), _live(row)) for row in rows]
    looked_to = None
    if len(found) <= limit and chosen.ended:
        async with context.planned_anew():
            # Room for all of them: a live run that ends between the two statements is in both.
            rows, looked_to = await _ended_rows(context, chosen, place, limit + 1)
        ended = [
            (encode_cursor(row["recorded_at"], row["run_id"] or 0, row["scheduled_at"]), _ended(row))
            for row in rows
        ]
        both = {run.run_id for _, run in ended}
        found = [(cursor_of, run) for cursor_of, run in found if run.run_id not in both] + ended
    page = make_page(found, limit)
    if page.cursor is None and looked_to is not None:
        return Page(page.items, encode_cursor(looked_to, 0, START))
    return page


@query
async def get_run(context: Context, run_id: int) -> RunDetail:
    """One run with its attempts, log, progress and result."""
    live, row, tries = await _row_and_tries(context, run_id)
    if _overtaken(live, tries):
        live, row, tries = await _row_and_tries(context, run_id)
    payload = json_value(row["payload"])
    base = _ended(row) if live is None else _live(row, payload)
    shown: dict[str, Any] = {name: getattr(base, name) for name in RunView.__struct_fields__}
    if live is not None:
        shown |= {name: row[name] for name in ("expires_at", "deadline_at", "cancel_requested_at")}
        shown |= {"concurrency_key": row["concurrency_key"], "progress": json_value(row["progress"])}
        shown["waiting_for"] = (await Situation.read(context)).waiting(row)
    attempts = _attempts(base, tries)
    due_at = row["due_at"] if live is not None else _due_at(row)
    waits = waits_of(
        base,
        due_at=due_at,
        fired_at=row["fired_at"],
        attempts=attempts,
        waiting_for=shown.get("waiting_for"),
        now=None if live is None else await context.time(),
    )
    return RunDetail(
        **shown,
        payload=payload,
        attempts=attempts,
        log=await list_log(context, run_id),
        fired_at=row["fired_at"],
        due_at=due_at,
        waits=waits,
    )


async def _row_and_tries(context: Context, run_id: int) -> tuple[Record | None, Record, list[Record]]:
    """The row if the run is live, its row, and its attempts that have ended."""
    live = await context.fetchrow("reading/get_live_run", run_id=run_id)
    # A run that ends between the two statements is found by the second.
    row = live or await context.fetchrow("reading/get_ended_run", run_id=run_id)
    if row is None:
        raise not_found("run", encode_id("r", run_id))
    return live, row, await context.fetch("reading/list_attempts", run_id=run_id)


def _overtaken(live: Record | None, tries: list[Record]) -> bool:
    """True if an attempt ended after the row was read: then the row says that it goes on."""
    if live is None or live["status"] != RunStatus.RUNNING or live["claimed_at"] is None:
        return False
    return any(row["finished_at"] is not None and row["finished_at"] >= live["claimed_at"] for row in tries)


async def list_log(
    context: Context, run_id: int, *, after: datetime | None = None, limit: int = LOG_LINES
) -> list[LogLine]:
    """The log lines of a run after an instant: about `limit`, and about as many bytes as a page may have. All
    lines of one instant come together, since the next ones are those after it."""
    rows = await context.fetch("reading/list_run_logs", run_id=run_id, after=after, limit=limit)
    lines: list[LogLine] = []
    size = 0
    for _, together in groupby((LogLine(**row) for row in rows), lambda line: line.at):
        more = [*together]
        size += sum(len(msgspec.json.encode(line)) for line in more)
        if lines and size > MOST_BYTES:
            break
        lines += more
    return lines


async def require_run(context: Context, run_id: int) -> None:
    """Raises `run_not_found` unless the namespace has such a run."""
    if not await context.fetchval("reading/find_run", run_id=run_id):
        raise not_found("run", encode_id("r", run_id))


@query
async def require_job(context: Context, ref: str) -> int:
    """The number of a job with this id or name whose row still exists, deleted or not."""
    number = await find(context, ref, deleted=True)
    if await context.fetchrow("reading/get_job", job_id=number) is None:
        raise not_found("job", ref)
    return number


# Pages


def _runs_place(cursor: str | None) -> tuple[int | None, tuple[datetime, int, datetime] | None]:
    """The place in a list of runs: below a live run, or after an ended one."""
    if cursor is None:
        return None, None
    place = decode_cursor(cursor, tuple[Number], tuple[datetime, Number, datetime])
    return (place[0], None) if len(place) == 1 else (None, (place[0], place[1], place[2]))


async def _live_rows(context: Context, chosen: RunFilter, below: int | None, limit: int) -> list[Record]:
    filters = {**chosen.parameters(), "below": below, "limit": limit}
    states = chosen.live if chosen.statuses else None
    if chosen.job is None:
        return await context.fetch("reading/list_live_runs", states=states, **filters)
    return await context.fetch("reading/list_live_runs_of_job", job_id=chosen.job, states=states, **filters)


async def _ended_rows(
    context: Context, chosen: RunFilter, place: tuple[datetime, int, datetime] | None, limit: int
) -> tuple[list[Record], datetime | None]:
    """A page of ended runs. For all jobs, search a minute back, then further, until the page is full. The
    second value is how far back was searched, if there may be more before it."""
    recorded, run_id, scheduled = place or (None, None, None)
    filters: dict[str, Any] = {**chosen.parameters(), "statuses": chosen.ended}
    filters["default_queue"] = DEFAULTS.queue
    filters |= {"run_id": run_id, "scheduled_at": scheduled, "limit": limit}
    now = await context.time()
    earliest = chosen.since or (now - SEARCHED if chosen.searching and chosen.job is None else START)
    last = recorded or (chosen.until - MICROSECOND if chosen.until else now + timedelta(hours=1))
    if chosen.job is not None:
        return await context.fetch(
            "reading/list_ended_runs_of_job", job_id=chosen.job, first=earliest, last=last, **filters
        ), None
    if chosen.unusual:
        return await context.fetch("reading/list_unusual_runs", first=earliest, last=last, **filters), None
    if chosen.searching:
        first = await reach(context, chosen, earliest, last, limit)
        rows = await context.fetch("reading/list_ended_runs", first=first, last=last, **filters)
        return rows, first if first > earliest else None
    rows = []
    latest = min(last, now)
    for window in WINDOWS:
        first = max(earliest, latest - min(window, latest - START))
        rows = await context.fetch("reading/list_ended_runs", first=first, last=last, **filters)
        if len(rows) >= limit or first == earliest:
            break
    return rows, None


def _live(row: Record, payload: Any = None) -> RunView:
    started = row["claimed_at"] if row["attempt"] else None
    running = row["status"] == RunStatus.RUNNING
    under_way = running or row["status"] == RunStatus.WAITING
    return from_row(
        RunView,
        row,
        run_id=encode_id("r", row["run_id"]),
        job_id=encode_id("j", row["job_id"]),
        started_at=started,
        late_seconds=_late(row["due_at"], started, row["fired_at"], row["attempt"]),
        next_attempt_at=None if under_way else row["available_at"],
        worker_id=worker_of(row),
        lease_until=row["lease_until"] if running else None,
        idempotency_key=key_of(row, payload),
        reason=row["cancel_reason"],
        **UNKNOWN_OF_LIVE,
        parent_run=row["parent_run"] and encode_id("r", row["parent_run"]),
    )


def _ended(row: Record) -> RunView:
    skipped = row["run_id"] is None
    due_at = _due_at(row)
    return from_row(
        RunView,
        row,
        run_id=None if skipped else encode_id("r", row["run_id"]),
        job_id=encode_id("j", row["job_id"]),
        finished_at=None if skipped else row["finished_at"] or row["recorded_at"],
        late_seconds=_late(due_at, row["started_at"], row["fired_at"], row["attempt"] or 0),
        attempt=row["attempt"] or 0,
        result=json_value(row["result"]),
        worker_id=worker_of(row),
        claimed_at=row["started_at"],
        idempotency_key=None if skipped else key_of(row),
        **UNKNOWN_OF_ENDED,
        parent_run=row["parent_run"] and encode_id("r", row["parent_run"]),
    )


def _due_at(row: Record) -> datetime:
    """When an ended run was due, by the present jitter of the job."""
    offset = jitter_of(row["job_id"], row["jitter_seconds"] or 0)
    scheduled_at: datetime = row["scheduled_at"]
    return scheduled_at + timedelta(seconds=offset)


def _late(due_at: datetime, started: datetime | None, fired: datetime | None, attempt: int) -> float | None:
    """How late the first attempt started; for a later attempt, how late the run fired."""
    moment = started if attempt <= 1 else fired
    return None if moment is None else max(0.0, round((moment - due_at).total_seconds(), 3))


def attempt_of(row: Record) -> Attempt:
    return from_row(Attempt, row, worker_id=worker_of(row))


def _attempts(run: RunView, rows: list[Record]) -> list[Attempt]:
    """Failed attempts have rows; the current or the successful one is in the run itself."""
    tries = [attempt_of(row) for row in rows]
    if run.attempt and run.status in (RunStatus.RUNNING, RunStatus.WAITING, RunStatus.SUCCESS):
        tries.append(
            Attempt(
                attempt=run.attempt,
                outcome=run.status,
                started_at=run.started_at,
                finished_at=run.finished_at,
                worker_id=run.worker_id,
            )
        )
    return tries


def key_of(row: Record, payload: Any = None) -> str | None:
    """The idempotency key of a run. If it is not stored, it is computed from the occurrence; None if that
    needs the payload and it was not read."""
    key: str | None = row["idempotency_key"]
    template = row.get("template")
    if key is not None or (template and "payload." in template and payload is None):
        return key
    named = {
        "job_id": row["job_id"],
        "job_name": row["job_name"] or "",
        "scheduled_at": row["scheduled_at"],
        "timezone": row["timezone"] if template else "UTC",
        "payload": payload,
    }
    try:
        return occurrence_key(template, **named)
    except InvalidField:
        return occurrence_key(None, **named)  # as the worker does
