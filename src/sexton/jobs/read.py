"""Reading jobs: one, or a page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice, pairwise
from shlex import quote
from typing import Any

import asyncpg
import msgspec

from sexton.clock import iso
from sexton.errors import InvalidField, SextonError
from sexton.jobs.change import find
from sexton.jobs.filter import JobFilter
from sexton.jobs.moment import local_iso
from sexton.jobs.planning import USUAL_WINDOW, after_pause, move_of
from sexton.jobs.soonest import soonest
from sexton.jobs.stored import StoredJob, fields_of, target_of
from sexton.jobs.timing import make_schedule
from sexton.jobs.view import JobView
from sexton.model import JobStatus, encode_id
from sexton.postgres.estimate import Total, total
from sexton.postgres.page import (
    MOST_BYTES,
    MOST_ROWS,
    Number,
    Page,
    decode_cursor,
    encode_cursor,
    number_in_cursor,
)
from sexton.postgres.transaction import Context, query
from sexton.refusal import not_found
from sexton.schedules import Schedule
from sexton.schedules.zone import zone
from sexton.security.placeholder import named_secrets
from sexton.targets.base import Target
from sexton.targets.handler import contested, is_shared, split_name
from sexton.targets.key import occurrence_key
from sexton.targets.table import how_to_serve, read_target

RECENT = timedelta(days=2)
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = 2**63 - 1
EVERY_JOB = JobFilter()
SECOND = timedelta(seconds=1)
YEAR = 366 * 86_400
MOST_COMPARED = 10
# Columns that are shown as they are.
SHOWN = (
    "status", "revision", "last_outcome", "paused_reason", "paused_until", "app", "created_at", "updated_at",
    "completed_at",
)  # fmt: skip
NEVER: dict[str, Any] = {"last_run_at": None, "last_outcome": None, "last_end_at": None}


@query
async def get(context: Context, ref: str) -> JobView:
    """The job with this id or name. A deleted job is shown by its id."""
    return await view(context, await find(context, ref))


@query
async def list_jobs(
    context: Context,
    chosen: JobFilter = EVERY_JOB,
    *,
    sort: str = "created_at",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[JobView]:
    """Jobs ordered by created_at or name, descending with a `-` before it, or by next_run_at: then paused
    jobs come last, and jobs that do not fire any more are left out."""
    if not 1 <= limit <= MOST_ROWS:
        raise InvalidField("out_of_range", f"limit is {limit}", field="limit", hint=f"give 1 to {MOST_ROWS}")
    filters = {"limit": limit + 1, **chosen.parameters()}
    if sort == "next_run_at":
        if chosen.status in (JobStatus.COMPLETED, JobStatus.DELETED):
            raise InvalidField(
                "bad_value", f"{chosen.status} jobs have no next run", field="sort", hint="leave sort out"
            )
        due_at, after = (
            (FIRST, 0) if cursor is None else decode_cursor(cursor, tuple[datetime | None, Number])
        )
        rows = await soonest(context, due_at, after, filters)
    else:
        async with context.planned_anew():
            rows = await _sorted_rows(context, sort, cursor, filters)
    sizes = accumulate(row["bytes"] for row in rows[:limit])
    shown = rows[: max(1, sum(size <= MOST_BYTES for size in sizes))]
    jobs = await views(context, [row["id"] for row in shown])
    total = Total(rows[0]["meant"]) if rows and "meant" in rows[0] else None
    if len(rows) <= len(shown):
        return Page(jobs, total=total)
    return Page(jobs, _cursor_of(sort, shown[-1]), total)


async def _sorted_rows(
    context: Context, sort: str, cursor: str | None, filters: dict[str, Any]
) -> list[asyncpg.Record]:
    match sort:
        case "created_at":
            after = 0 if cursor is None else number_in_cursor(cursor, "j")
            return await context.fetch("jobs/list", after=after, **filters)
        case "-created_at":
            before = LAST if cursor is None else number_in_cursor(cursor, "j")
            return await context.fetch("jobs/list_newest", before=before, **filters)
    name = None if cursor is None else decode_cursor(cursor, tuple[str])[0]
    if sort == "name":
        return await context.fetch("jobs/list_named", after_name=name, **filters)
    return await context.fetch("jobs/list_named_last", before_name=name, **filters)


def _cursor_of(sort: str, last: asyncpg.Record) -> str:
    match sort:
        case "next_run_at":
            return encode_cursor(last["due_at"], last["id"])
        case "name" | "-name":
            return encode_cursor(last["name"])
    return encode_id("j", last["id"])


@query
async def count_jobs(context: Context, chosen: JobFilter = EVERY_JOB) -> Total:
    """The number of jobs that match a filter: exact up to 10,000, an estimate beyond."""
    return await total(context, "jobs/list_matching", **chosen.parameters())


@query
async def view(context: Context, number: int, *, fresh: bool = False) -> JobView:
    """One job with its warnings. A `fresh` job has no history to read."""
    found = await views(context, [number], fresh=fresh)
    if not found:
        raise not_found("job", encode_id("j", number))
    shown = found[0]
    if shown.problem is None and shown.next_run_at is not None:
        shown = msgspec.structs.replace(shown, problem=_problem_of(shown, shown.next_run_at))
    warnings = await warnings_of(context, shown) if shown.status != "deleted" else []
    return msgspec.structs.replace(shown, warnings=warnings) if warnings else shown


async def views(context: Context, numbers: list[int], *, fresh: bool = False) -> list[JobView]:
    rows = await context.fetch("jobs/view", job_ids=numbers)
    last = {} if fresh or not rows else await _last_runs(context, rows)
    found = {row["id"]: show({**dict(row), **last.get(row["id"], NEVER)}) for row in rows}
    return [found[number] for number in numbers if number in found]


async def _last_runs(context: Context, rows: Sequence[asyncpg.Record]) -> dict[int, dict[str, Any]]:
    """Searches the latest days first; for jobs without a run there, everything since they were created."""
    made = {row["id"]: min(row["created_at"], row["clock"]) for row in rows}
    end = rows[0]["clock"] + timedelta(days=1)
    recent = rows[0]["clock"] - RECENT
    found: dict[int, dict[str, Any]] = {}
    windows = [(max(min(made.values()), recent), end)]
    if min(made.values()) < recent:
        windows.append((min(made.values()), recent))
    for start, until in windows:
        wanted = [
            number
            for number, at in made.items()
            if at < until and found.get(number, NEVER)["last_run_at"] is None
        ]
        if wanted:
            for row in await context.fetch("jobs/list_last_runs", job_ids=wanted, start=start, until=until):
                known = found.setdefault(row["id"], dict(row))
                known["last_run_at"] = known["last_run_at"] or row["last_run_at"]
    return found


def show(row: Mapping[str, Any]) -> JobView:
    next_at = row["next_at"] if row["status"] == JobStatus.ACTIVE else _after_pause(row)
    fields = fields_of(row)
    fields["missed_window"] = fields.get("missed_window") or USUAL_WINDOW.value
    runs = [at for at in (row["live_at"], row["last_run_at"]) if at is not None]
    move = move_of(row)
    return msgspec.convert(
        {
            **fields,
            "job_id": encode_id("j", row["id"]),
            **{name: row[name] for name in SHOWN},
            **_completion(row),
            "next_run_at": next_at,
            "moved_from": move.origin
            if move is not None and not move.skip and move.origin != move.to == next_at
            else None,
            # None if the zone database no longer has the zone: the job's problem says so.
            "next_run_local": next_at and local_iso(next_at, row["timezone"]),
            "last_run_at": max(runs, default=None),
            "problem": row["problem"] if row["status"] in (JobStatus.ACTIVE, JobStatus.PAUSED) else None,
        },
        JobView,
    )


def _completion(row: Mapping[str, Any]) -> dict[str, Any]:
    """A job without further occurrences is completed when its last run has ended."""
    if row["status"] != JobStatus.COMPLETED:
        return {}
    if row["unfinished"]:
        return {"status": JobStatus.ACTIVE.value, "completed_at": None}
    ends = [at for at in (row["completed_at"], row["last_end_at"]) if at is not None]
    return {"completed_at": max(ends, default=None)}


def _after_pause(row: Mapping[str, Any]) -> datetime | None:
    """The next occurrence after the pause. None if the pause has no end, or the schedule cannot be
    computed."""
    if row["status"] != JobStatus.PAUSED or row["paused_until"] is None:
        return None
    job = StoredJob(row)
    try:
        return after_pause(job.schedule, row["next_at"], job.jitter, row["paused_until"])
    except (SextonError, OverflowError):
        return None


def _problem_of(job: JobView, next_at: datetime) -> str | None:
    """Why the schedule cannot be computed. The scheduler would notice only when the job is due."""
    try:
        make_schedule(job, job.anchor).next_after(next_at)
    except (SextonError, OverflowError) as error:
        return str(error)
    return None


async def warnings_of(context: Context, job: JobView) -> list[str]:
    """Settings of a job that are allowed but probably a mistake."""
    try:
        target = read_target(target_of(job))
    except InvalidField as error:
        # Another process has loaded this kind, or another version wrote it.
        return [f"this process cannot read the target: {error.message}"]
    workers = await _worker_warnings(context, target)
    limits = await _limit_warnings(context, job)
    secrets = await _secret_warnings(context, job)
    return workers + limits + secrets + schedule_warnings(job) + _key_warnings(job) + _target_warnings(target)


async def _limit_warnings(context: Context, job: JobView) -> list[str]:
    if job.concurrency_key is None:
        return []
    if await context.fetchval("jobs/has_key_limit", queue=job.queue):
        return []
    how = f"sexton queues set {quote(job.queue)} --key-concurrency 1"
    return [f"the queue {job.queue} has no key_concurrency: concurrency_key limits nothing ({how})"]


async def _secret_warnings(context: Context, job: JobView) -> list[str]:
    named = named_secrets([target_of(job), job.dead_letter_target])
    if not named:
        return []
    known = {row["name"] for row in await context.fetch("secrets/list")}
    return [
        f"there is no secret {name} yet (sexton secret set {quote(name)})" for name in sorted(named - known)
    ]


async def _worker_warnings(context: Context, target: Target) -> list[str]:
    need = target.need if target.kind.name == "handler" else None
    app, handler = (None, None) if need is None else split_name(need)
    [row] = await context.fetch("jobs/find_workers", handler=handler, app=app, target=target.lane)
    if row["running"] and not row["workers"]:
        return [f"no worker serves the namespace {context.namespace}: runs stay pending until one does"]
    if need is not None and handler is not None and not row["having"]:
        of = "" if app is None else f" of the application {app}"
        return [
            f"no live worker{of} has the handler {handler}: runs stay pending until one does"
            if row["workers"]
            else f"no worker is running: runs stay pending until one{of} with the handler {handler} is"
        ]
    apps = [each for each in row["having"] if each]
    if need is not None and is_shared(need) and len(apps) > 1:
        return [f"{contested(need, apps)}: runs stay pending until the target names one, {apps[0]}:{need}"]
    if not row["workers"]:
        return ["no worker is running: runs stay pending until one is"]
    if need is None and not row["served"]:
        how = how_to_serve(target.kind.name, target.need)
        return [f"no live worker serves {target.lane}: runs stay pending until one does ({how})"]
    return []


def schedule_warnings(job: JobView) -> list[str]:
    """Other ways in which its schedule could be read."""
    try:
        return list(make_schedule(job, job.anchor).warnings)
    except SextonError:
        return []  # the job's problem says so


def _key_warnings(job: JobView) -> list[str]:
    """Warns of a template that gives several occurrences one key: a target that honours the key drops all but
    one."""
    if job.idempotency_key_template is None or job.next_run_at is None or job.problem is not None:
        return []
    template, timezone = job.idempotency_key_template, job.timezone or "UTC"

    def key_of(at: datetime) -> str:
        return occurrence_key(
            template, job_id=0, job_name=job.name, scheduled_at=at, timezone=timezone, payload=job.payload
        )

    schedule = make_schedule(job, job.anchor)
    following = schedule.next_after(job.next_run_at)
    near = [job.next_run_at] if following is None else [job.next_run_at, following]
    for times in (near, _next_fold(schedule, job.next_run_at)):
        for first, second in pairwise(times):
            if key_of(first) == key_of(second):
                return [f"these occurrences share an idempotency key: {iso(first)} and {iso(second)}"]
    return []


def _next_fold(schedule: Schedule, after: datetime) -> list[datetime]:
    """Occurrences in the next hour that the clock shows twice, within a year."""
    start = int(after.timestamp())
    for (_, before), (at, offset) in pairwise(zone(schedule.timezone).changes(start, start + YEAR)):
        if offset < before:
            first, last = (datetime.fromtimestamp(at + sign * (before - offset), UTC) for sign in (-1, 1))
            return list(islice(schedule.between(first - SECOND, last - SECOND), MOST_COMPARED))
    return []


def _target_warnings(target: Target) -> list[str]:
    return target.kind.warnings(target.spec, f"target.{target.kind.name}")
