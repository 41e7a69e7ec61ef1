"""Recording what workers over HTTP report of their runs: many at once, each by its token.

The token names the run and the claim, so a report needs no worker: a worker that was declared dead may still
report runs that no other worker has claimed since. A worker may repeat a report whose answer was lost: it
changes nothing, and gets the same answer. A report of an earlier claim is refused, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.engine.remote.spec import ReportedOutcome, RunReport
from sexton.errors import InvalidField, NotFound, SextonError
from sexton.model import Cancel, Failure, Outcome, Retry, RunStatus, Snooze, Success, encode_id
from sexton.postgres.database import LOCALLY_BY_KEY, by_column
from sexton.postgres.transaction import Context, command
from sexton.refusal import not_found
from sexton.runs.completion import AT_WORK, ReportedClaim, attempt_of, read_key, settle
from sexton.runs.read import run_number
from sexton.targets.run import CAPPED, LOG_BYTES, LOG_LINES, clean

# The states that a report of each kind can lead to: a repeated report is recognised by them.
ENDS: Mapping[ReportedOutcome, tuple[RunStatus, ...]] = {
    "success": (RunStatus.SUCCESS,),
    "failure": (RunStatus.FAILED, RunStatus.DEAD, RunStatus.CANCELLED),
    "retry": (RunStatus.FAILED, RunStatus.DEAD, RunStatus.CANCELLED),
    "snooze": (RunStatus.PENDING, RunStatus.FAILED, RunStatus.CANCELLED),
    "cancel": (RunStatus.CANCELLED,),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a report: the status of the run, or a refusal. `again`: the report was recorded
    before."""

    run_id: str
    status: str | None = None
    again: bool = False
    refusal: SextonError | None = None


Claims = Mapping[int, tuple[RunReport, ReportedClaim]]
LogRow = tuple[int, int, float, str, str]


@command
async def report(context: Context, reports: Sequence[RunReport]) -> list[Verdict]:
    """Record reports about runs of the namespace; returns a verdict on each, in order."""
    verdicts, claims = await _read(context, reports)
    if claims:
        await context.open.execute(LOCALLY_BY_KEY)
        rows = await context.fetch(
            "remote/lock_runs", runs=sorted(claims), node=None, namespace=context.namespace, now=context.now
        )
        there = {row["id"]: row for row in rows}
        ends = await _ends(context, {run: claims[run] for run in claims if run not in there})
        for run in claims:
            if run not in there:
                verdicts[run] = _ended(run, *claims[run], ends.get(run))
            elif (told := _told(there[run], *claims[run])) is not None:
                verdicts[run] = told
        good = [row for row in rows if row["id"] not in verdicts]
        verdicts.update(await _record(context, good, claims))
    return [verdicts[_place(each)] for each in reports]


async def _read(
    context: Context, reports: Sequence[RunReport]
) -> tuple[dict[int | str, Verdict], dict[int, tuple[RunReport, ReportedClaim]]]:
    """By run, or by what stands for one: the reports whose tokens are right, and the others."""
    key = await read_key(context)
    verdicts: dict[int | str, Verdict] = {}
    claims: dict[int, tuple[RunReport, ReportedClaim]] = {}
    for place, each in enumerate(reports):
        where = _place(each)
        if where in verdicts or where in claims:
            raise InvalidField(
                "repeated_run",
                f"there are two reports of {each.run_id}",
                field=f"reports[{place}].run_id",
                hint="send one report for each run",
            )
        _check(each, f"reports[{place}]")
        try:
            number = run_number(each.run_id)
            claims[number] = each, attempt_of(key, number, each.token)
        except SextonError as refusal:
            verdicts[where] = Verdict(each.run_id, refusal=refusal)
    return verdicts, claims


def _place(each: RunReport) -> int | str:
    try:
        return run_number(each.run_id)
    except NotFound:
        return each.run_id


def _check(each: RunReport, field: str) -> None:
    if each.outcome == "failure" and each.error is None:
        missing, hint = "error", "say what went wrong"
    elif each.outcome == "snooze" and each.delay_seconds is None:
        missing, hint = "delay_seconds", "say for how many seconds"
    else:
        return
    what = f"{field} is a {each.outcome} without {missing}"
    raise InvalidField("missing_field", what, field=f"{field}.{missing}", hint=hint)


def _told(row: asyncpg.Record, each: RunReport, attempt: ReportedClaim) -> Verdict | None:
    """The verdict on a report that is not recorded although its run is live; None: record it."""
    state, same = row["state"], attempt.of(row) and row["claim"] == attempt.claim
    if same and state in AT_WORK:
        return None
    if same and each.outcome is not None and state in ENDS[each.outcome]:
        return Verdict(each.run_id, state, again=True)
    why = "it is running under another claim" if state in AT_WORK else f"it is {state}"
    over, hint = (
        f"this claim of {each.run_id} is over: {why}",
        "stop working on it, and drop its result",
    )
    return Verdict(each.run_id, refusal=SextonError("claim_lost", over, hint=hint))


def _ended(run: int, each: RunReport, attempt: ReportedClaim, end: asyncpg.Record | None) -> Verdict:
    if end is None:
        missing = not_found("run", encode_id("r", run), hint="drop its result")
        return Verdict(each.run_id, refusal=missing)
    status, same = end["status"], attempt.of(end) and end["claim"] == attempt.claim
    if same and each.outcome is not None and status in ENDS[each.outcome]:
        return Verdict(each.run_id, status, again=True)
    over = f"run {each.run_id} has ended already: {status}"
    return Verdict(each.run_id, refusal=SextonError("run_ended", over, hint="stop working on it"))


async def _ends(context: Context, claims: Claims) -> dict[int, asyncpg.Record]:
    if not claims:
        return {}
    since = min(attempt.fired_at for _, attempt in claims.values())
    rows = await context.fetch(
        "remote/find_ends", runs=sorted(claims), namespace=context.namespace, since=since
    )
    return {row["run_id"]: row for row in rows}


async def _record(
    context: Context, rows: Sequence[asyncpg.Record], claims: Claims
) -> dict[int | str, Verdict]:
    """Write the log first: it needs the rows of the runs, and an outcome removes them."""
    said = {row["id"]: claims[row["id"]][0] for row in rows}
    await _write_logs(context, [row for row in rows if said[row["id"]].log], said)
    going = [row for row in rows if said[row["id"]].outcome is None]
    await _write_progress(context, going, said)
    verdicts: dict[int | str, Verdict] = {
        row["id"]: Verdict(said[row["id"]].run_id, "cancelling" if row["cancelled"] else row["state"])
        for row in going
    }
    ending = [(row, outcome) for row in rows if (outcome := outcome_of(said[row["id"]])) is not None]
    if ending:
        fates = await settle(context, ending)
        for (row, outcome), fate in zip(ending, fates, strict=True):
            put_off = isinstance(outcome, Snooze) and fate == RunStatus.FAILED
            verdicts[row["id"]] = Verdict(said[row["id"]].run_id, "snoozed" if put_off else fate)
        nodes = sorted({row["node"] for row, _ in ending})
        await context.execute("remote/let_go", nodes=nodes, runs=[row["id"] for row, _ in ending])
    return verdicts


def outcome_of(each: RunReport) -> Outcome | None:
    match each.outcome:
        case "success":
            return Success(each.result)
        case "failure":
            return Failure(each.error or "", permanent=each.permanent, retry_after=each.delay_seconds)
        case "retry":
            return Retry(each.delay_seconds, each.error or "the worker asked for another attempt")
        case "snooze":
            return Snooze(each.delay_seconds or 0.0)
        case "cancel":
            return Cancel(each.error or "cancelled")
        case None:
            return None


async def _write_progress(
    context: Context, rows: Sequence[asyncpg.Record], said: Mapping[int, RunReport]
) -> None:
    for node in {row["node"] for row in rows}:
        told = [
            (row["id"], row["claim"], msgspec.json.encode(_progress(said[row["id"]])).decode())
            for row in rows
            if row["node"] == node and said[row["id"]].progress is not None
        ]
        if told:
            columns = by_column(("runs", "claims", "progress"), told)
            await context.execute("recording/set_progress", node=node, **columns)


def _progress(each: RunReport) -> dict[str, Any]:
    assert each.progress is not None
    text = each.progress.text
    return {"fraction": each.progress.fraction, **({} if text is None else {"text": clean(text, 1000)})}


async def _write_logs(
    context: Context, rows: Sequence[asyncpg.Record], said: Mapping[int, RunReport]
) -> None:
    """Keep as many lines and bytes of an attempt as of one that runs inside the cluster."""
    if not rows:
        return
    kept = await context.fetch(
        "remote/count_lines",
        runs=[row["id"] for row in rows],
        attempts=[row["attempt"] for row in rows],
        most=LOG_LINES,
        last=CAPPED,
    )
    sizes = {row["id"]: (row["lines"], row["bytes"]) for row in kept if not row["full"]}
    for node in {row["node"] for row in rows}:
        lines = [
            line
            for row in rows
            if row["node"] == node and row["id"] in sizes
            for line in _lines(row, said[row["id"]], *sizes[row["id"]])
        ]
        if lines:
            columns = by_column(("runs", "claims", "times", "levels", "messages"), lines)
            await context.execute("recording/log", node=node, now=context.now, **columns)


def _lines(row: asyncpg.Record, each: RunReport, lines: int, size: int) -> list[LogRow]:
    found: list[LogRow] = []
    for line in each.log:
        text, level = clean(line.message, 16 * 1024), clean(line.level, 20)
        lines, size = lines + 1, size + len(text.encode())
        if lines == LOG_LINES or size > LOG_BYTES:
            level, text = "warning", CAPPED
        found.append((row["id"], row["claim"], _seconds(line.at, row["finished"]), level, text))
        if text == CAPPED:
            break
    return found


def _seconds(at: datetime | None, now: float) -> float:
    """Not in the future: the clock of a worker may be wrong."""
    if at is None:
        return now
    return min(at.timestamp(), now)
