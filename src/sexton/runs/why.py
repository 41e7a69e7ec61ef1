"""Explains each occurrence in one line: fired on time, fired late by …, skipped because …, due in …"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from asyncpg import Record

from sexton.clock import iso
from sexton.jobs.planning import ON_TIME
from sexton.jobs.read import view
from sexton.jobs.stored import StoredJob
from sexton.model import RunStatus, SkipReason, Trigger, encode_id
from sexton.postgres.transaction import Context, query
from sexton.runs.filter import RunFilter
from sexton.runs.occurrences import MOST_OCCURRENCES, Entry, Timeline
from sexton.runs.read import list_runs
from sexton.runs.situation import Situation, worker_of
from sexton.runs.view import Why
from sexton.runs.words import first_line, span
from sexton.schedules import Schedule

NOTHING = timedelta(0)
SPARE = 20  # more occurrences are read than are shown

_SKIPPED: dict[str, str] = {
    SkipReason.MISSED: "skipped because it was missed: no scheduler fired it in time",
    SkipReason.COALESCED: "skipped because a later occurrence ran for it (missed_window RUN_ONCE)",
    SkipReason.OVERLAP: "skipped because the run before it had not ended (overlap)",
    SkipReason.DST_GAP: "skipped because this local time does not exist (clocks went forward)",
    SkipReason.EXCLUDED: "skipped because the day is excluded",
    SkipReason.PAUSED: "skipped because the job was paused",
    SkipReason.OUTSIDE_CATCH_UP: "skipped because it was missed by more than catch_up_seconds",
    SkipReason.MAX_MISSED: "skipped because more than max_missed occurrences were missed",
    SkipReason.RESCHEDULED: "skipped because the job was rescheduled",
    SkipReason.QUOTA: "skipped because its namespace had as many live runs as its quota allows",
    SkipReason.DELETED: "skipped because the job was deleted, and restored later",
}


@query
async def why(
    context: Context, job_id: int, *, at: datetime | None = None, past: int = 10, ahead: int = 3
) -> list[Why]:
    """One line per occurrence: the latest and the next ones, or those nearest to `at`. For a job that is set
    aside, only its open occurrence is known."""
    now = await context.time()
    context = replace(context, now=now)
    aside = await _set_aside(context, job_id, now)
    if aside is not None:
        return [aside]
    situation = await Situation.read(context)
    start, end = await _span(context, job_id, at, now, past, ahead)
    timeline = await Timeline.read(context, job_id, start, end, MOST_OCCURRENCES)
    entries = timeline.entries(start, end, MOST_OCCURRENCES)
    if at is None:
        gone = [each for each in entries if each.at <= now]
        coming = [each for each in entries if each.at > now]
        entries = (gone[-past:] if past else []) + coming[:ahead]
        due = timeline.next_due() if ahead else None
        if due is not None and (not entries or entries[-1].at < due.at):
            entries.append(due)
    else:
        before = [each for each in entries if each.at <= at]
        after = [each for each in entries if each.at > at]
        exact = [each for each in before if each.at == at]
        entries = exact or [*before[-1:], *after[:1]]
    return [_explain(timeline, each, situation) for each in entries]


async def _set_aside(context: Context, job_id: int, now: datetime) -> Why | None:
    """The open occurrence of a job that is set aside because its schedule cannot be computed."""
    shown = await view(context, job_id)
    if shown.problem is None or shown.next_run_at is None:
        return None
    ahead = shown.next_run_at - now
    when = f"due in {span(ahead)}" if ahead > NOTHING else f"due {span(-ahead)} ago"
    return Why(
        scheduled_at=shown.next_run_at,
        disposition="upcoming",
        reason="problem",
        run_id=None,
        text=f"{when}, but the job is set aside: {shown.problem}; edit its schedule or its time zone",
    )


async def _span(
    context: Context, job_id: int, at: datetime | None, now: datetime, past: int, ahead: int
) -> tuple[datetime, datetime]:
    """The range of time that `why` reads."""
    row = await context.require("job", encode_id("j", job_id), "reading/get_job", job_id=job_id)
    schedule = StoredJob(dict(row)).schedule
    if at is not None:
        return schedule.previous_before(at) or at, schedule.next_after(at) or at
    timer = await context.fetchrow("reading/get_timer", job_id=job_id)
    latest = (await list_runs(context, RunFilter(job=job_id, skipped=True), limit=past)).items if past else []
    # A counted range may be long: use its end.
    times = [each.until_at or each.scheduled_at for each in latest if each.trigger != Trigger.MANUAL.value]
    due = now if timer is None else timer["scheduled_at"]
    start, end = min(now, due, *times), max(now, due)
    nominal = _latest(schedule.moved(None), row["updated_at"], now, past + SPARE) if past else []
    # A job that repeats often and was paused or moved for long has far more occurrences than are shown.
    start = nominal[-1] if len(nominal) == past + SPARE else min(start, *nominal, now)
    for _ in range(ahead):
        end = schedule.next_after(end) or end
    return start, end


def _latest(rule: Schedule, since: datetime, now: datetime, most: int) -> list[datetime]:
    """The latest times of the present rule, the latest first, not before `since`."""
    found: list[datetime] = []
    before = rule.previous_before(now)
    while len(found) < most and before is not None and before > since:
        found.append(before)
        before = rule.previous_before(before)
    return found


def _explain(timeline: Timeline, entry: Entry, situation: Situation) -> Why:
    match entry.disposition:
        case "fired":
            text = _fired(timeline, entry, situation)
        case "skipped":
            text = _SKIPPED.get(entry.reason or "", f"skipped because {entry.reason}")
            if entry.reason == SkipReason.RESCHEDULED and timeline.left_out(entry.at):
                text = "skipped because it was left out on request, as the next one then"
        case "upcoming":
            text = _upcoming(timeline, entry, situation)
    return Why(
        scheduled_at=entry.at,
        disposition=entry.disposition,
        reason=entry.reason,
        run_id=entry.run_id,
        text=text,
        status=None if entry.run is None else entry.run["status"],
    )


def _fired(timeline: Timeline, entry: Entry, situation: Situation) -> str:
    row = entry.run
    assert row is not None
    match row["trigger"]:
        case Trigger.BACKFILL:
            how = "backfilled"
        case Trigger.REDRIVE:
            how = "redriven"
        case _:
            late = (row["fired_at"] or entry.at) - entry.at - timeline.job.jitter
            how = "fired on time" if late < ON_TIME else f"fired late by {span(late)}"
            how += ", to catch up" if row["missed"] else ""
    return f"{how}; {_state(row, situation)}"


def _state(row: Record, situation: Situation) -> str:
    tries = row["attempt"] or 0
    times = "" if tries <= 1 else f" at attempt {tries}"
    match row["status"]:
        case RunStatus.RUNNING:
            return f"running{times} since {iso(row['claimed_at'], 'seconds')} on {worker_of(row)}"
        case RunStatus.FAILED:
            failed = f"attempt {tries} failed ({first_line(row['error'])})"
            return f"{failed}; waiting because {situation.waiting(row)}"
        case RunStatus.PENDING | RunStatus.WAITING:
            return f"waiting because {situation.waiting(row)}"
        case RunStatus.SUCCESS:
            return f"success{times}"
        case RunStatus.DEAD:
            return f"dead after {tries} attempt{'s' if tries != 1 else ''} ({first_line(row['error'])})"
        case RunStatus.CANCELLED:
            because = row["reason"] or row["error"]
            return f"cancelled ({first_line(because)})" if because else "cancelled"
        case RunStatus.EXPIRED:
            return "expired before it could start"
        case other:
            return str(other)


def _upcoming(timeline: Timeline, entry: Entry, situation: Situation) -> str:
    ahead = entry.at + timeline.job.jitter - timeline.now
    if entry.reason == "paused":
        because = f" ({timeline.paused_reason})" if timeline.paused_reason else ""
        when = f"due in {span(ahead)}" if ahead > NOTHING else f"was due {span(-ahead)} ago"
        until = timeline.paused_until
        end = "" if until is None else f" until {iso(until, 'seconds')}"
        return f"{when}, but the job is paused{end}{because}"
    if ahead > NOTHING:
        move = timeline.job.schedule.move
        origin = ""
        if move and move.to == entry.at:
            before = iso(move.origin, "seconds")
            origin = f"; the one at {before} is left out" if move.skip else f", moved from {before}"
        return f"due in {span(ahead)}{origin}"
    led = any(node.state == "live" and "scheduler" in node.roles for node in situation.nodes)
    return f"due {span(-ahead)} ago, " + (
        "about to fire" if led else "waiting because no scheduler is running"
    )
