"""Sends dead letters to the `dead_letter_target` of their job, or of all jobs, beside keeping them.

The row in PostgreSQL counts; a letter is sent at least once. A dying run does not wait for this: the sender
finds its letter later, and leases letters in batches. It sends a letter again, at growing intervals, until
the letter arrives, or a caller redrives or discards it.

Before that, it informs a kind of target that `HearsOfDead` of its own dead runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.clock import iso
from sexton.config import Settings
from sexton.engine.loop import Loop
from sexton.engine.telemetry import Telemetry
from sexton.errors import InvalidField
from sexton.model import Cancel, Failure, Outcome, Release, Success, encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.read import key_of
from sexton.targets.base import HearsOfDead, OpenKind
from sexton.targets.detached import Detached
from sexton.targets.run import RunContext, clean, describe, execute
from sexton.targets.table import read_target

log = logging.getLogger("sexton")

# A batch takes no longer than two deliveries: a process that stops waits for it.
BATCH = 100
AT_A_TIME = 50
DELIVERY_SECONDS = 10.0
LEASE_SECONDS = 120.0
SHORTEST_WAIT, LONGEST_WAIT = 10.0, 3600.0


class DeadLetterSender(Loop):
    name = "dead_letter_sender"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        kinds: Mapping[str, OpenKind],
        telemetry: Telemetry,
        *,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._kinds = kinds
        self._telemetry = telemetry
        self._now = now

    async def tick(self) -> float:
        return 0 if await self.deliver() == BATCH else self._settings.sweep_seconds

    async def deliver(self) -> int:
        """Send a batch; returns how many letters there were, with and without a target."""
        context = Context(self._database, now=self._now())
        rows = await context.fetch(
            "recording/take_letters",
            namespaces=self._settings.namespace_names(),
            now=context.now,
            hearing=[name for name, kind in self._kinds.items() if isinstance(kind, HearsOfDead)],
            limit=BATCH,
            lease_seconds=LEASE_SECONDS,
        )
        addressed = [row for row in rows if row["target"] is not None or row["kind"] is not None]
        slots = asyncio.Semaphore(AT_A_TIME)

        async def send(row: asyncpg.Record) -> str | None:
            async with slots:
                return await self._send(row)

        errors = await asyncio.gather(*map(send, addressed))
        if addressed:
            await context.execute(
                "recording/settle_letters",
                runs=[row["run_id"] for row in addressed],
                deliveries=[row["deliveries"] for row in addressed],
                errors=errors,
                sent=[row["target"] is not None for row in addressed],
                waits=[wait_before(row["deliveries"]) for row in addressed],
                now=self._now(),
            )
            arrived = zip(addressed, errors, strict=True)
            self._telemetry.letters.inc(
                sum(error is None and row["target"] is not None for row, error in arrived)
            )
        return len(rows)

    async def _send(self, row: asyncpg.Record) -> str | None:
        """Why the letter did not arrive; None if it did."""
        error = None if row["kind"] is None else await self._tell_kind(row)
        return await self._post(row) if error is None and row["target"] is not None else error

    async def _tell_kind(self, row: asyncpg.Record) -> str | None:
        kind = self._kinds[row["kind"]]
        assert isinstance(kind, HearsOfDead)
        payload = None if row["payload"] is None else msgspec.Raw(row["payload"].encode())
        run = _detached(row, "{}", payload)
        try:
            async with asyncio.timeout(DELIVERY_SECONDS):
                await kind.given_up(run, row["error"] or row["reason"])
        except TimeoutError:
            return f"timeout: {row['kind']} was not told within {DELIVERY_SECONDS:g} seconds"
        except Exception as error:
            log.exception("could not tell %s of a dead run", row["kind"])
            return clean(describe(error), 1000)
        return None

    async def _post(self, row: asyncpg.Record) -> str | None:
        try:
            target = read_target(msgspec.json.decode(row["target"]), "dead_letter_target")
            step = self._kinds[target.kind.name].step(target.spec)
        except (InvalidField, KeyError) as error:
            return clean(f"dead_letter_target cannot be read: {error}", 1000)
        if step is None:
            return f"this worker cannot send to {target.lane}"
        run = _detached(row, row["target"], letter_of(row))
        try:
            async with asyncio.timeout(DELIVERY_SECONDS):
                return error_of(await execute(run, step))
        except TimeoutError:
            return f"timeout: no answer after {DELIVERY_SECONDS:g} seconds"


def _detached(row: asyncpg.Record, target: str, payload: Any) -> RunContext:
    """A run that is not stored, in the place of the dead run."""
    return Detached().run(
        target,
        payload,
        DELIVERY_SECONDS,
        id=row["run_id"],
        job_id=row["job_id"],
        name=row["job_name"] or "",
        attempt=row["deliveries"],
        scheduled_at=row["scheduled_at"],
        trigger=row["trigger"],
        missed=row["missed"],
        revision=row["revision"],
        idempotency_key=f"dead:{encode_id('r', row['run_id'])}",
    )


def error_of(outcome: Outcome | None) -> str | None:
    """Why a letter did not arrive; None after a success."""
    match outcome:
        case Success():
            return None
        case Failure(error):
            return clean(error, 1000)
        case Release(_, reason) | Cancel(reason):
            return clean(reason, 1000)
    return f"it ended as {type(outcome).__name__}"


def letter_of(row: asyncpg.Record) -> dict[str, Any]:
    """The payload with which a dead letter is sent."""
    return {
        "run_id": encode_id("r", row["run_id"]),
        "job_id": encode_id("j", row["job_id"]),
        "job_name": row["job_name"],
        "died_at": iso(row["died_at"]),
        "reason": row["reason"],
        "error": row["error"],
        "error_group": row["error_group"],
        "scheduled_at": iso(row["scheduled_at"]),
        "trigger": row["trigger"],
        "missed": row["missed"],
        "attempt": row["attempt"],
        "idempotency_key": key_of(row),
        "parent_run": row["parent_run"] and encode_id("r", row["parent_run"]),
        "payload": None if row["payload"] is None else msgspec.Raw(row["payload"].encode()),
    }


def wait_before(deliveries: int) -> float:
    """Seconds until the next delivery after so many."""
    return min(LONGEST_WAIT, SHORTEST_WAIT * 2.0 ** min(deliveries - 1, 20))
