"""Dead letters: run them again, or discard them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.jobs.change import find
from sexton.jobs.payload import check_payload_size, encode_payload
from sexton.jobs.stored import StoredJob, concurrency_key_of_run
from sexton.jobs.tally import check_expected
from sexton.model import encode_id
from sexton.postgres.estimate import Total, total
from sexton.postgres.row import number_of
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about
from sexton.runs.dead_letters import list_dead
from sexton.runs.trigger import step_of
from sexton.runs.view import DeadLetter
from sexton.security.quotas import take_runs

CHUNK = 1000
# The letters that a dry run shows.
SAMPLE = 5


class DeadCount(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters a filter means."""

    matched: Annotated[int, about("How many dead letters match.")]
    estimated: Annotated[bool, about("True past 10,000: it is an estimate then.")] = False
    sample: Annotated[list[DeadLetter], about("The latest of them.")]


@command
async def redrive(context: Context, run_id: str, *, payload: Any = msgspec.UNSET) -> str:
    """Run a dead letter again, with the present definition of the job and all attempts. Returns the id of the
    new run. A payload replaces the old one; the key stays that of the occurrence."""
    letter = await _lock(context, run_id)
    (made,) = await _redrive(context, [letter], [await context.time()], payload)
    new = encode_id("r", made["id"])
    detail = {"new_run_id": new, **({} if payload is msgspec.UNSET else {"payload": payload})}
    context.changed("dead.redriven", run_id, letter["name"], job_id=letter["job_id"], detail=detail)
    return new


async def redrive_many(
    context: Context,
    *,
    job: str | None = None,
    error_group: str | None = None,
    reason: str | None = None,
    before: datetime | None = None,
    rate: float | None = None,
    expected: int | None = None,
) -> int:
    """Run all matching letters again, the oldest first, at most `rate` per second. Returns how many. Refused
    if more than `expected` match."""
    step = step_of(rate)
    now, filters = await _filters(context, job, error_group, reason, before)
    await _expect(context, filters, expected)
    return await _by_chunks(lambda done: _redrive_some(context, filters, now + done * step, step))


@command
async def discard(context: Context, run_id: str) -> None:
    """Delete a dead letter. The history keeps that the run died."""
    letter = await _lock(context, run_id)
    await context.execute("recording/discard", runs=[letter["run_id"]])
    before = {"died_at": letter["died_at"], "cause": letter["error_group"]}
    context.changed("dead.discarded", run_id, letter["name"], before=before, job_id=letter["job_id"])


async def discard_many(
    context: Context,
    *,
    job: str | None = None,
    error_group: str | None = None,
    reason: str | None = None,
    before: datetime | None = None,
    expected: int | None = None,
) -> int:
    """Delete all matching letters. Returns how many. Refused if more than `expected` match."""
    _, filters = await _filters(context, job, error_group, reason, before)
    await _expect(context, filters, expected)
    return await _by_chunks(lambda _: _discard_some(context, filters))


@query
async def count_matching(
    context: Context,
    *,
    job: str | None = None,
    error_group: str | None = None,
    reason: str | None = None,
    before: datetime | None = None,
) -> DeadCount:
    """A dry run: the number of matching letters, and some of them."""
    _, filters = await _filters(context, job, error_group, reason, before)
    found = await _count(context, filters)
    page = await list_dead(context, job=filters["job_id"], group=error_group, reason=reason, limit=SAMPLE)
    return DeadCount(matched=found.count, estimated=found.estimated, sample=page.items if found.count else [])


@query
async def _expect(context: Context, filters: dict[str, Any], expected: int | None) -> None:
    if expected is None:
        return
    check_expected((await _count(context, filters)).count, expected, "dead letter", "dead letters")


async def _count(context: Context, filters: dict[str, Any]) -> Total:
    chosen = {name: value for name, value in filters.items() if name != "run_id"}
    return await total(context, "reading/list_matching_dead", **chosen)


@query
async def _filters(
    context: Context, job: str | None, error_group: str | None, reason: str | None, before: datetime | None
) -> tuple[datetime, dict[str, Any]]:
    """The time, and the filter. Runs that die later are not included."""
    now = await context.time()
    return now, {
        "run_id": None,
        "job_id": None if job is None else await find(context, job),
        "error_group": error_group,
        "reason": reason,
        "died_until": now if before is None else min(before, now),
    }


async def _by_chunks(some: Callable[[int], Awaitable[int]]) -> int:
    """Repeat `some`, which handles a chunk in a transaction, until none are left. It gets the number done so
    far."""
    done = 0
    while True:
        handled = await some(done)
        done += handled
        if handled < CHUNK:
            return done


@command
async def _redrive_some(context: Context, filters: dict[str, Any], start: datetime, step: timedelta) -> int:
    letters = await context.fetch("recording/lock_dead", **filters, limit=CHUNK)
    if not letters:
        return 0
    made = await _redrive(context, letters, [start + place * step for place in range(len(letters))])
    again = {row["parent_run"] for row in made}
    _tell(context, "dead.redriven", [letter for letter in letters if letter["run_id"] in again], filters)
    return len(made)


@command
async def _discard_some(context: Context, filters: dict[str, Any]) -> int:
    letters = await context.fetch("recording/lock_dead", **filters, limit=CHUNK)
    if letters:
        await context.execute("recording/discard", runs=[letter["run_id"] for letter in letters])
        _tell(context, "dead.discarded", letters, filters)
    return len(letters)


def _tell(
    context: Context, action: str, letters: Sequence[asyncpg.Record], filters: Mapping[str, Any]
) -> None:
    """Write to the audit which letters were chosen."""
    runs = sorted(letter["run_id"] for letter in letters)
    chosen = {name: filters[name] for name in ("error_group", "reason") if filters[name] is not None}
    context.changed(
        action,
        jobs=[letter["job_id"] for letter in letters],
        detail={
            "count": len(letters),
            "first_run_id": encode_id("r", runs[0]),
            "last_run_id": encode_id("r", runs[-1]),
            **chosen,
        },
    )


async def _lock(context: Context, run_id: str) -> asyncpg.Record:
    number = number_of("r", run_id, "dead letter")
    only = dict.fromkeys(("job_id", "error_group", "reason", "died_until"))
    return await context.require("dead letter", run_id, "recording/lock_dead", run_id=number, **only, limit=1)


async def _redrive(
    context: Context,
    letters: Sequence[asyncpg.Record],
    available: list[datetime],
    payload: Any = msgspec.UNSET,
) -> list[asyncpg.Record]:
    """Redrive as many letters as the quota of the namespace allows. `payload` replaces theirs."""
    own = None
    if payload is not msgspec.UNSET:
        check_payload_size(context, payload, await context.fetchval("quotas/get_payload"))
        own = encode_payload(payload)
    grant = await take_runs(context, len(letters), await context.time())
    if not grant.runs and grant.refusal is not None:
        raise grant.refusal
    letters, available = letters[: grant.runs], available[: grant.runs]
    jobs = await _definitions(context, letters)
    return await context.fetch(
        "recording/redrive",
        runs=[letter["run_id"] for letter in letters],
        keys=[
            letter["idempotency_key"] or _key(jobs[letter["job_id"], letter["revision"]], letter)
            for letter in letters
        ],
        available_at=grant.starts_of(available),
        concurrency_keys=await _concurrency_keys(context, letters, own),
        payload=own,
    )


async def _concurrency_keys(
    context: Context, letters: Sequence[asyncpg.Record], own: str | None
) -> list[str | None]:
    """The concurrency keys under the present definitions of the jobs, like their lanes."""
    rows = await context.fetch("reading/list_keyed_jobs", jobs=list({letter["job_id"] for letter in letters}))
    jobs = {row["id"]: StoredJob(dict(row)) for row in rows}
    return [
        concurrency_key_of_run(
            jobs[number].spec,
            number,
            _payload(jobs[number], letter) if own is None else msgspec.json.decode(own),
        )
        if (number := letter["job_id"]) in jobs
        else None
        for letter in letters
    ]


async def _definitions(
    context: Context, letters: Sequence[asyncpg.Record]
) -> dict[tuple[int, int], StoredJob]:
    """The definitions with which these runs were fired: a later edit must not change their keys."""
    wanted = {
        (letter["job_id"], letter["revision"]) for letter in letters if letter["idempotency_key"] is None
    }
    if not wanted:
        return {}
    jobs, revisions = zip(*wanted, strict=True)
    rows = await context.fetch("reading/list_definitions", jobs=jobs, revisions=revisions)
    return {(row["job_id"], row["revision"]): StoredJob.kept(row["definition"]) for row in rows}


def _key(job: StoredJob, letter: asyncpg.Record) -> str:
    return job.key_of(letter["scheduled_at"], _payload(job, letter))


def _payload(job: StoredJob, letter: asyncpg.Record) -> Any:
    return job.spec.payload if letter["payload"] is None else msgspec.json.decode(letter["payload"])
