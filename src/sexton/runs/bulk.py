"""Commands on many runs, chosen by a filter or by their ids, a chunk at a time.

A chunk is one transaction; between chunks no lock is held. A chunk that is done stays done, even if the next
one fails. A run that is refused does not stop the others: the answer lists the errors by code. `again`
creates new runs on each call. So a caller whose call was interrupted continues after the last cursor, or
repeats the call with the same Idempotency-Key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from asyncpg import Record
from msgspec import UNSET

from sexton.errors import Conflict, InvalidField, SextonError
from sexton.jobs.change import Verdict, hold_timers
from sexton.jobs.tally import MOST_NAMED, check_expected, check_selective
from sexton.model import JobStatus, RunStatus, encode_id
from sexton.postgres.jsonb import json_value
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import check_text, not_found
from sexton.runs.count import count_runs
from sexton.runs.filter import ENDED, LIVE, RunFilter
from sexton.runs.many import unreadable
from sexton.runs.read import list_runs, run_number
from sexton.runs.tally import RunRefusal, RunTally, SampledRun
from sexton.runs.trigger import run_locked

RunAction = Literal["cancel", "again"]
LARGEST_CHUNK = 200
# The statuses of the runs that each action applies to.
MEANT: dict[RunAction, tuple[RunStatus, ...]] = {"cancel": LIVE, "again": ENDED}


def check_choice(action: RunAction, chosen: RunFilter, *, all_: bool) -> RunFilter:
    """The filter for an action. Refuses an empty filter unless `all_` is given. `since` does not apply to
    live runs, and skipped occurrences have no run."""
    chosen = replace(chosen, skipped=False, since=None if action == "cancel" else chosen.since)
    hint = "give ids, a job, a status, a queue, an error or a time, or say all"
    check_selective(chosen != RunFilter(), every=all_, many="runs", hint=hint)
    meant = MEANT[action]
    wanted = [each for each in meant if chosen.statuses is None or each in chosen.statuses]
    if not wanted:
        raise InvalidField(
            "bad_value",
            "a run that has ended cannot be cancelled"
            if action == "cancel"
            else "only a run that has ended can be run again",
            field="filter.status",
            hint=f"use {', '.join(meant)}",
        )
    return replace(chosen, statuses=wanted)


@query
async def count_chosen(context: Context, chosen: RunFilter, ids: Sequence[str] | None = None) -> RunTally:
    """A dry run: the number of these runs, and some of them."""
    if ids is not None:
        rows = [row for row in await _find(context, ids) if row["status"] in (chosen.statuses or ())]
        matched, estimated = len(rows), False
        shown = [(encode_id("r", row["run_id"]), row["job_name"], row["status"]) for row in rows[:MOST_NAMED]]
    else:
        total = (await count_runs(context, chosen)).total(chosen)
        matched, estimated = total.count, total.estimated
        page = await list_runs(context, chosen, limit=MOST_NAMED)
        shown = [(run.run_id, run.job_name, run.status) for run in page.items if run.run_id is not None]
    sample = [SampledRun(run_id=run_id, job_name=name, status=status) for run_id, name, status in shown]
    return RunTally(dry_run=True, matched=matched, estimated=estimated, sample=sample)


@command
async def act_on_runs(
    context: Context,
    action: RunAction,
    chosen: RunFilter,
    ids: Sequence[str] | None = None,
    *,
    reason: str | None = None,
    after: str | None = None,
    expected: int | None = None,
    limit: int = LARGEST_CHUNK,
) -> RunTally:
    """Act on one chunk: the next runs of the filter, or those in `ids`. Refused if more than `expected` runs
    match."""
    if expected is not None:
        matched = (await count_chosen(context, chosen, ids)).matched
        check_expected(matched, expected, "run", "runs")
    if ids is None:
        page = await list_runs(context, chosen, cursor=after, limit=limit)
        named, cursor = [run.run_id for run in page.items if run.run_id is not None], page.cursor
    else:
        named, cursor = list(dict.fromkeys(ids)), None
    if not named:
        # A filter without an index can give an empty page with a cursor.
        return RunTally(cursor=cursor)
    if action == "cancel":
        return await _cancel(context, named, reason, cursor)
    return await _again(context, named, cursor)


async def _cancel(context: Context, named: Sequence[str], reason: str | None, cursor: str | None) -> RunTally:
    if reason is not None:
        check_text(reason, "reason", 1000)
    rows = await context.fetch(
        "recording/cancel_runs",
        run_ids=[run_number(each) for each in named],
        reason=reason or "cancelled on request",
    )
    verdicts: dict[str, Verdict] = {encode_id("r", row["id"]): row["outcome"] for row in rows}
    others = [each for each in named if each not in verdicts]
    if others:
        ended = {encode_id("r", row["run_id"]): row["status"] for row in await _find(context, others)}
        verdicts |= {each: _not_live(each, ended.get(each)) for each in others}
    if rows:
        context.changed(
            "run.cancelled",
            encode_id("r", rows[0]["id"]) if len(rows) == 1 else None,
            rows[0]["name"] if len(rows) == 1 else None,
            after={"status": "cancelled"},
            jobs=sorted({row["job_id"] for row in rows}),
            reason=reason,
            detail={"count": len(rows), "run_ids": [encode_id("r", row["id"]) for row in rows[:MOST_NAMED]]},
        )
    return RunTally(
        matched=len(named),
        done=sum(verdict == "cancelled" for verdict in verdicts.values()),
        requested=sum(verdict == "requested" for verdict in verdicts.values()),
        refused=RunRefusal.by_code(verdicts.items()),
        cursor=cursor,
    )


async def _again(context: Context, named: Sequence[str], cursor: str | None) -> RunTally:
    rows = {encode_id("r", row["run_id"]): row for row in await _find(context, named)}
    verdicts: dict[str, Verdict] = {
        each: not_found("run", each) if each not in rows else _not_ended(each, rows[each]["status"])
        for each in named
        if each not in rows or rows[each]["status"] in LIVE
    }
    wanted = {each: rows[each] for each in named if each not in verdicts}
    locked = await context.fetch("jobs/lock", job_ids=sorted({row["job_id"] for row in wanted.values()}))
    held = {each.job.id: each for each in await hold_timers(context, locked)} if locked else {}
    for each, row in wanted.items():
        if row["job_id"] not in held or held[row["job_id"]].job.status == JobStatus.DELETED:
            job = encode_id("j", row["job_id"])
            verdicts[each] = Conflict("job_deleted", f"job {job} is deleted", hint="restore it")
        elif (error := unreadable(held[row["job_id"]])) is not None:
            verdicts[each] = error
    ready = [each for each in wanted if each not in verdicts]
    if ready:
        payloads = [
            json_value(wanted[each]["payload"]) if wanted[each]["payload"] else UNSET for each in ready
        ]
        jobs = [held[wanted[each]["job_id"]] for each in ready]
        made = await run_locked(context, jobs, payloads, {"again": len(ready)})
        verdicts |= dict(zip(ready, made, strict=True))
    new = [verdict for each in named if isinstance(verdict := verdicts[each], str)]
    return RunTally(
        matched=len(named),
        done=len(new),
        run_ids=new,
        refused=RunRefusal.by_code(verdicts.items()),
        cursor=cursor,
    )


async def _find(context: Context, ids: Sequence[str]) -> list[Record]:
    """The runs with these ids, live or ended, that the namespace has."""
    return await context.fetch("reading/find_runs", run_ids=[run_number(each) for each in ids])


def _not_live(run_id: str, status: str | None) -> SextonError:
    if status is None:
        return not_found("run", run_id)
    return Conflict(
        "run_ended", f"run {run_id} has ended already: {status}", hint="choose runs that are live"
    )


def _not_ended(run_id: str, status: str) -> SextonError:
    return Conflict(
        "run_live", f"run {run_id} has not ended: it is {status}", hint="wait until it ends, or cancel it"
    )
