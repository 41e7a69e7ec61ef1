"""Runs that are carried out elsewhere: the service they were sent to reports how they ended.

Such a run is `waiting`: it has no place in a worker, and is not taken back with it. Until its deadline the
service may say that it is done, that it failed, or that it is still at it. If it says nothing, the attempt
has failed by timeout, and the job's retries apply.

Who may report is decided by a token that the service was sent with the run. It is worked out from the run and
its claim with a key of the installation, so it stands for this attempt alone, needs no place to be kept, and
is good from the moment the request goes out: a service may be done before the worker has recorded that it
waits, or though the worker died before it could.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

import asyncpg
import msgspec

from sexton.errors import Conflict, SextonError
from sexton.jobs.change import within
from sexton.model import Cancel, Failure, Outcome, RunStatus, Success, decode_id, encode_id
from sexton.postgres.database import LOCALLY_BY_KEY, Connection, Database, by_column
from sexton.refusal import not_found
from sexton.runs.outcomes import AGAIN, END, OutcomeBatch
from sexton.targets.run import AttemptPolicy, read_policy

KEY = "report_key"
AT_WORK = (RunStatus.RUNNING, RunStatus.WAITING)


@dataclass(frozen=True, slots=True)
class Reported:
    """A run that somebody reports of, or that nobody has reported of in time."""

    row: asyncpg.Record
    policy: AttemptPolicy

    @property
    def id(self) -> int:
        return int(self.row["id"])

    @property
    def claim(self) -> int:
        return int(self.row["claim"])

    @property
    def job(self) -> int:
        return int(self.row["job_id"])

    @property
    def attempt(self) -> int:
        return int(self.row["attempt"])

    @property
    def crashes(self) -> int:
        return int(self.row["crashes"])


class Told(msgspec.Struct, frozen=True):
    """What a report has made of a run. `again`: it had been made before."""

    status: str
    again: bool = False


class Beat(msgspec.Struct, frozen=True):
    """The answer to a heartbeat."""

    status: Literal["running", "waiting"]
    deadline_at: datetime | None
    cancel_requested: bool


# Tokens.


async def read_key(database: Database) -> bytes:
    """The key of the installation, made if there is none."""
    made = msgspec.json.encode(base64.b64encode(secrets.token_bytes(32)).decode()).decode()
    kept = await database.fetchval("cluster/keep_setting", name=KEY, value=made)
    return base64.b64decode(msgspec.json.decode(kept))


def token_of(key: bytes, run: int, claim: int) -> str:
    """What a service shows to report of this claim of this run."""
    mac = hmac.digest(key, f"report:{run}:{claim}".encode(), sha256)
    return f"{claim}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def claim_of(key: bytes, run: int, token: str) -> int:
    """The claim that a token of this run stands for."""
    digits, _, _ = token.partition(".")
    claim = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 11 else 0
    if not hmac.compare_digest(token_of(key, run, claim).encode(), token.encode()):
        raise SextonError(
            "bad_token",
            f"this is not a token of run {encode_id('r', run)}",
            hint="send the Sexton-Run-Token that came with the run",
        )
    return claim


# What a service says. The token is looked at first: without it nobody learns which runs there are.


async def complete(
    database: Database,
    run_id: str,
    token: str,
    result: Any = None,
    *,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> Told:
    """The run is done. Said twice, it is done once, and the answer is the same."""
    number, claim = await _authorized(database, run_id, token)

    async def work(inside: Connection) -> Told:
        row = await inside.fetchrow(database.statement("hold_reported"), number, now)
        if row is None:
            return await _ended(database, inside, number, claim, RunStatus.SUCCESS)
        _check_claim(row, claim)
        await _settle(database, inside, [(row, Success(result))], now)
        return Told(RunStatus.SUCCESS)

    return await within(database, connection, work)


async def fail(
    database: Database,
    run_id: str,
    token: str,
    error: str,
    *,
    permanent: bool = False,
    retry_after: float | None = None,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> Told:
    """The attempt failed; what becomes of the run: `failed` (it is tried again), `dead` or `cancelled`."""
    number, claim = await _authorized(database, run_id, token)

    async def work(inside: Connection) -> Told:
        row = await inside.fetchrow(database.statement("hold_reported"), number, now)
        if row is None:
            return await _ended(database, inside, number, claim, RunStatus.DEAD, RunStatus.CANCELLED)
        if row["state"] == RunStatus.FAILED and row["claim"] == claim:
            return Told(RunStatus.FAILED, again=True)
        _check_claim(row, claim)
        outcome = Failure(error, permanent=permanent, retry_after=retry_after)
        [fate] = await _settle(database, inside, [(row, outcome)], now)
        return Told(fate)

    return await within(database, connection, work)


async def heartbeat(
    database: Database,
    run_id: str,
    token: str,
    *,
    seconds: float | None = None,
    progress: dict[str, Any] | None = None,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> Beat:
    """The service is still at it: it gets as long again (the job's timeout_seconds, unless it says for how
    long). A deadline never comes nearer."""
    number, claim = await _authorized(database, run_id, token)

    async def work(inside: Connection) -> Beat:
        row = await inside.fetchrow(database.statement("hold_reported"), number, now)
        if row is None:
            raise await _too_late(database, inside, number)
        _check_claim(row, claim)
        deadline = await inside.fetchval(
            database.statement("extend_wait"),
            number,
            read_policy(row["options"]).timeout_seconds if seconds is None else seconds,
            None if progress is None else msgspec.json.encode(progress).decode(),
            now,
        )
        return Beat(row["state"], deadline, row["cancelled"])

    return await within(database, connection, work)


# When nothing is said.


async def end_overdue(database: Database, limit: int, *, now: datetime | None = None) -> list[str]:
    """Fail the attempts that nobody has reported of in time, and end those that are cancelled; what became of
    each."""

    async def work(inside: Connection) -> list[str]:
        await inside.execute(LOCALLY_BY_KEY)
        rows = await inside.fetch(database.statement("overdue"), now, limit)
        return await _settle(database, inside, [(row, _silence(row)) for row in rows], now)

    return await within(database, None, work)


def _silence(row: asyncpg.Record) -> Outcome:
    if row["cancelled"]:
        return Cancel("cancelled")
    waited = row["finished"] - row["started"]
    return Failure(f"timeout: no report came within {waited:.0f} seconds of its start", kind="timeout")


async def _settle(
    database: Database,
    connection: Connection,
    outcomes: Iterable[tuple[asyncpg.Record, Outcome]],
    now: datetime | None,
) -> list[str]:
    """Record outcomes as the worker that sent the runs would have, one statement per kind and worker; what
    became of each run."""
    batches: dict[int, OutcomeBatch] = {}
    found = list(outcomes)
    for row, outcome in found:
        batch = batches.setdefault(row["node"], OutcomeBatch(row["node"]))
        batch.add(Reported(row, read_policy(row["options"])), outcome, row["started"], row["finished"])
    fates: dict[int, str] = {}
    for node, batch in batches.items():
        if batch.done:
            await database.fetch(
                "recording/finish", on=connection, node=node, now=now, **batch.done.parameters()
            )
            fates.update(dict.fromkeys(batch.done.runs, str(RunStatus.SUCCESS)))
        if batch.ended:
            await database.fetch(
                "recording/end", on=connection, node=node, now=now, **by_column(END, batch.ended)
            )
            fates.update({ended[0]: ended[4] for ended in batch.ended})
        if batch.again:
            await database.fetch(
                "recording/retry", on=connection, node=node, now=now, **by_column(AGAIN, batch.again)
            )
            fates.update(dict.fromkeys((again[0] for again in batch.again), str(RunStatus.FAILED)))
    # One that is to be tried again and that somebody asked to cancel has ended there.
    return [
        str(RunStatus.CANCELLED)
        if row["cancelled"] and fates[row["id"]] == RunStatus.FAILED
        else fates[row["id"]]
        for row, _ in found
    ]


async def _authorized(database: Database, run_id: str, token: str) -> tuple[int, int]:
    number = decode_id("r", run_id)
    if number is None:
        raise not_found("run", run_id)
    return number, claim_of(await read_key(database), number, token)


def _check_claim(row: asyncpg.Record, claim: int) -> None:
    run = encode_id("r", row["id"])
    if row["claim"] != claim:
        raise Conflict(
            "stale_token",
            f"the token belongs to an earlier attempt of {run}",
            hint="stop: a later attempt was sent with a token of its own",
        )
    if row["state"] not in AT_WORK:
        raise Conflict(
            "not_waiting",
            f"the time for this attempt of {run} is over: it is {row['state']}",
            hint="stop: it will be sent again with another token",
        )


async def _ended(database: Database, connection: Connection, number: int, claim: int, *ends: str) -> Told:
    """A report of a run that has ended: repeated if it ended so under this claim, else too late."""
    row = await connection.fetchrow(database.statement("reported_run"), number)
    if row is not None and row["claim"] == claim and row["status"] in ends:
        return Told(row["status"], again=True)
    raise await _too_late(database, connection, number)


async def _too_late(database: Database, connection: Connection, number: int) -> SextonError:
    run = encode_id("r", number)
    row = await connection.fetchrow(database.statement("reported_run"), number)
    if row is None:
        return not_found("run", run)
    return Conflict("run_ended", f"run {run} has ended already: {row['status']}", hint="stop working on it")
