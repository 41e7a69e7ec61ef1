"""Runs that an outside service carries out and reports on.

Such a run is `waiting`: no worker holds it, and it stays with the service if the worker that sent it dies.
Until the deadline the service can report success, failure, or a heartbeat. Without a report the attempt fails
by timeout, and the retries of the job apply.

The service got a token with the run, which authorizes its report. The token is computed from the run, its
claim and its time of firing, with a key of the installation. So it belongs to one attempt, is not stored, and
is valid as soon as the request is sent: the service may report before the worker has recorded that the run
waits, or although the worker died before that. After a failover that lost transactions, ids and claims are
given out again; the time of firing is not.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Literal

import asyncpg
import msgspec

from sexton import clock
from sexton.errors import Conflict, SextonError
from sexton.jobs.stored import attempt_policy
from sexton.model import Cancel, Failure, Outcome, RunStatus, Success, encode_id
from sexton.postgres.database import LOCALLY_BY_KEY, by_column
from sexton.postgres.jsonb import json_or_null, json_text
from sexton.postgres.transaction import Context, command
from sexton.printable import counted
from sexton.refusal import not_found
from sexton.runs.outcomes import AGAIN, END, OutcomeBatch
from sexton.runs.read import run_number
from sexton.targets.run import AttemptPolicy

KEY = "report_key"
KEY_SECONDS = 60.0
# A claim, the microseconds from 1970 until the firing, and a MAC of both.
TOKEN = re.compile(r"([1-9][0-9]{0,9})\.([0-9a-f]{1,14})\.([A-Za-z0-9_-]{43})", re.ASCII)
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
AT_WORK = (RunStatus.RUNNING, RunStatus.WAITING)


@dataclass(frozen=True, slots=True)
class Reported:
    """A run that a service reports on, or whose deadline has passed without a report."""

    id: int
    claim: int
    job: int
    attempt: int
    crashes: int
    policy: AttemptPolicy

    @classmethod
    def of(cls, row: asyncpg.Record) -> Reported:
        policy = attempt_policy(row["options"])
        return cls(row["id"], row["claim"], row["job_id"], row["attempt"], row["crashes"], policy)


class Told(msgspec.Struct, frozen=True):
    """The status of a run after a report. `again`: the report is a repetition."""

    status: str
    again: bool = False


class Beat(msgspec.Struct, frozen=True):
    """The answer to a heartbeat."""

    status: Literal["running", "waiting"]
    deadline_at: datetime | None
    cancel_requested: bool


# Tokens.


async def read_key(context: Context) -> bytes:
    """The key of the installation; it is created if there is none."""
    made = json_text(base64.b64encode(secrets.token_bytes(32)).decode())
    kept = await context.fetchval("cluster/keep_setting", name=KEY, value=made)
    return base64.b64decode(msgspec.json.decode(kept))


@dataclass(frozen=True, slots=True)
class ReportedClaim:
    """The attempt that a token belongs to: a claim of a run that fired at this time."""

    claim: int
    fired_at: datetime

    def of(self, row: asyncpg.Record) -> bool:
        """Whether the row is that run, and not another run with the same id."""
        fired_at: datetime = row["fired_at"]
        return self.fired_at == fired_at


def token_of(key: bytes, run: int, claim: int, fired_at: datetime) -> str:
    """The token for this claim of this run."""
    head = f"{claim}.{(fired_at - EPOCH) // MICROSECOND:x}"
    mac = hmac.digest(key, f"report:{run}:{head}".encode(), sha256)
    return f"{head}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def attempt_of(key: bytes, run: int, token: str) -> ReportedClaim:
    """The attempt that a token of this run belongs to. Raises `bad_token`."""
    parts = TOKEN.fullmatch(token)
    if parts is not None:
        claim, fired_at = int(parts[1]), EPOCH + int(parts[2], 16) * MICROSECOND
        if hmac.compare_digest(token_of(key, run, claim, fired_at), token):
            return ReportedClaim(claim, fired_at)
    raise SextonError(
        "bad_token",
        f"this is not a token of run {encode_id('r', run)}",
        hint="send the Sexton-Run-Token that came with the run",
    )


class RunTokens:
    """Checks tokens without a connection to the database, so that a wrong token costs little. The key is read
    again after a minute."""

    def __init__(self) -> None:
        self._key = b""
        self._until = 0.0

    async def check(self, context: Context, run_id: str, token: str) -> None:
        """Raises `bad_token` if this is not a token of this run."""
        if clock.monotonic() >= self._until:
            self._key = await read_key(context)
            self._until = clock.monotonic() + KEY_SECONDS
        attempt_of(self._key, run_number(run_id), token)


# Reports. The token is checked first: a caller without one must not learn which runs exist.


@command
async def complete(context: Context, run_id: str, token: str, result: Any = None) -> Told:
    """Record the success of a run. A repeated report changes nothing and gets the same answer."""
    return await _report(context, run_id, token, Success(result), RunStatus.SUCCESS)


@command
async def fail(
    context: Context,
    run_id: str,
    token: str,
    error: str,
    *,
    permanent: bool = False,
    retry_after: float | None = None,
) -> Told:
    """Record that the attempt failed. The new status of the run is `failed` (it is tried again), `dead` or
    `cancelled`."""
    outcome = Failure(error, permanent=permanent, retry_after=retry_after)
    ends = (RunStatus.FAILED, RunStatus.DEAD, RunStatus.CANCELLED)
    return await _report(context, run_id, token, outcome, *ends)


@command
async def heartbeat(
    context: Context,
    run_id: str,
    token: str,
    *,
    seconds: float | None = None,
    progress: dict[str, Any] | None = None,
) -> Beat:
    """Extend the deadline to `seconds` from now, by default the timeout_seconds of the job. A deadline never
    becomes earlier."""
    number, attempt = await _authorized(context, run_id, token)
    row = await context.fetchrow("recording/lock_reported", run_id=number)
    if row is None:
        raise await _too_late(context, number)
    _check_attempt(row, attempt)
    deadline = await context.fetchval(
        "recording/extend_wait",
        run_id=number,
        seconds=attempt_policy(row["options"]).timeout_seconds if seconds is None else seconds,
        progress=json_or_null(progress),
    )
    return Beat(row["state"], deadline, row["cancelled"])


async def _report(context: Context, run_id: str, token: str, outcome: Outcome, *ends: str) -> Told:
    """Record an outcome. `ends` are the statuses that it can lead to: they identify a repeated report."""
    number, attempt = await _authorized(context, run_id, token)
    row = await context.fetchrow("recording/lock_reported", run_id=number)
    if row is None:
        end = await context.fetchrow("reading/find_end", run_id=number, namespace=None)
        if end is not None and attempt.of(end) and end["claim"] == attempt.claim and end["status"] in ends:
            return Told(end["status"], again=True)
        raise await _too_late(context, number)
    if attempt.of(row) and row["claim"] == attempt.claim and row["state"] in ends:
        return Told(row["state"], again=True)
    _check_attempt(row, attempt)
    [fate] = await settle(context, [(row, outcome)])
    return Told(fate)


# Timeouts.


@command
async def end_overdue(context: Context, limit: int) -> list[str]:
    """Fail the attempts whose deadline has passed without a report, and end those whose cancellation was
    requested. Returns their statuses."""
    await context.open.execute(LOCALLY_BY_KEY)
    rows = await context.fetch("recording/lock_overdue", limit=limit)
    return await settle(context, [(row, silence(row)) for row in rows])


def silence(row: asyncpg.Record) -> Outcome:
    """The outcome of a run without a report."""
    if row["cancelled"]:
        return Cancel("cancelled")
    waited = counted(round(row["finished"] - row["started"]), "second")
    return Failure(f"timeout: no report came within {waited} of its start", kind="timeout")


async def settle(context: Context, outcomes: Sequence[tuple[asyncpg.Record, Outcome]]) -> list[str]:
    """Record outcomes for the workers that sent the runs, one statement per kind and worker. Returns the new
    status of each run."""
    batches: dict[int, OutcomeBatch] = {}
    for row, outcome in outcomes:
        batch = batches.setdefault(row["node"], OutcomeBatch(row["node"]))
        batch.add(Reported.of(row), outcome, row["started"], row["finished"])
    fates: dict[int, str] = {}
    for node, batch in batches.items():
        if batch.done:
            await context.execute("recording/finish", node=node, **batch.done.parameters())
            fates.update(dict.fromkeys(batch.done.runs, RunStatus.SUCCESS.value))
        if batch.ended:
            await context.execute("recording/end", node=node, **by_column(END, batch.ended))
            fates.update({ended[0]: ended[4] for ended in batch.ended})
        if batch.again:
            await context.execute("recording/retry", node=node, **by_column(AGAIN, batch.again))
            # The statement cancels a run instead, if its cancellation was requested.
            cancelled = {row["id"] for row, _ in outcomes if row["cancelled"]}
            fates.update(
                {
                    again[0]: RunStatus.CANCELLED.value if again[0] in cancelled else RunStatus.FAILED.value
                    for again in batch.again
                }
            )
    return [fates[row["id"]] for row, _ in outcomes]


async def _authorized(context: Context, run_id: str, token: str) -> tuple[int, ReportedClaim]:
    number = run_number(run_id)
    return number, attempt_of(await read_key(context), number, token)


def _check_attempt(row: asyncpg.Record, attempt: ReportedClaim) -> None:
    run = encode_id("r", row["id"])
    if not attempt.of(row):
        raise Conflict(
            "stale_token",
            f"the token belongs to an earlier run {run}, which the database lost in a failover",
            hint="stop working on it: the lost run is fired again with a new token",
        )
    if row["claim"] != attempt.claim:
        raise Conflict(
            "stale_token",
            f"the token belongs to an earlier attempt of {run}",
            hint="stop working on it: a later attempt was sent with a new token",
        )
    if row["state"] not in AT_WORK:
        raise Conflict(
            "not_waiting",
            f"the deadline of this attempt of {run} has passed: the run is {row['state']}",
            hint="stop working on it: the run will be sent again with a new token",
        )


async def _too_late(context: Context, number: int) -> SextonError:
    run = encode_id("r", number)
    end = await context.fetchrow("reading/find_end", run_id=number, namespace=None)
    if end is None:
        return not_found("run", run)
    return Conflict("run_ended", f"run {run} has ended already: {end['status']}", hint="stop working on it")
