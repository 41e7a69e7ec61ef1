"""The queue in PostgreSQL: claims, and what becomes of claimed runs, a batch in one statement.

Everything but the claim names (run, node, claim). What is no longer held under that claim is not touched, and
comes back as lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from sexton.engine import crash
from sexton.postgres.database import (
    BY_KEY,
    CLOSE_SECONDS,
    LOST,
    Connection,
    Database,
    array_text,
    keep_session,
    unavailable,
)
from sexton.postgres.partitions import make_missing
from sexton.runs.outcomes import Again, End

log = logging.getLogger("sexton")


# A queue with limits is held for two statements; whoever is stopped between them does not hold it for longer.
HOLD_SECONDS = 2
BUSY_SECONDS = 0.1
# A run that a handler finishes in its own transaction is held until COMMIT. Should that not arrive, as the
# worker was stopped or cut off, the transaction is undone after this long, and the run can be taken over.
COMMIT_SECONDS = 15.0

# The latter is what a connection says that was cut off in the middle of something.
CUT_OFF = (*LOST, asyncpg.InternalClientError)


class Lanes(NamedTuple):
    """What a worker may claim from: freely, and under the limits of queues."""

    free: list[int]
    limited: list[int]


class Limited(NamedTuple):
    """A claim under limits: whether something was left that could go but for them, and in how many seconds
    it is worth looking again (None: when something has ended)."""

    rows: list[asyncpg.Record]
    remaining: bool = False
    seconds: float | None = None


class RunQueue:
    """The connections that a worker claims and settles with, and those it lends to handlers. Neither are made
    before they are needed."""

    def __init__(
        self,
        database: Database,
        pool: asyncpg.Pool[asyncpg.Record],
        lent: asyncpg.Pool[asyncpg.Record],
    ) -> None:
        self._database = database
        self._pool = pool
        self._lent = lent

    @classmethod
    async def open(cls, database: Database, *, size: int = 4, lent: int = 10) -> RunQueue:
        async def pool(
            name: str, most: int, reset: Callable[[Connection], Awaitable[None]] | None, **settings: str
        ) -> asyncpg.Pool[asyncpg.Record]:
            return await asyncpg.create_pool(
                database.url,
                min_size=0,
                max_size=most,
                timeout=10,
                command_timeout=database.timeout,
                max_inactive_connection_lifetime=600,
                reset=reset,
                **database.connecting(name, **settings),
            )

        try:
            # What a handler has set in its session must not meet the next one.
            return cls(
                database,
                await pool(
                    "sexton worker",
                    size,
                    keep_session,
                    idle_in_transaction_session_timeout=f"{HOLD_SECONDS}s",
                    **BY_KEY,
                ),
                await pool("sexton handlers", lent, None),
            )
        except (*LOST, asyncpg.PostgresError) as error:
            raise unavailable(error) from error

    async def close(self) -> None:
        for pool in (self._pool, self._lent):
            try:
                await asyncio.wait_for(pool.close(), CLOSE_SECONDS)
            except (*LOST, asyncpg.PostgresError, asyncpg.InternalClientError):
                pool.terminate()

    async def lanes(
        self, queues: Sequence[str] | None, handlers: Sequence[str], targets: Sequence[str]
    ) -> Lanes:
        rows = await self._fetch("lanes", queues, handlers, targets)
        free = [row["id"] for row in rows if not row["limited"]]
        return Lanes(free, [row["id"] for row in rows if row["limited"]])

    async def claim(
        self, node: int, lanes: Sequence[int], limit: int, *, now: datetime | None = None
    ) -> list[asyncpg.Record]:
        return await self._write("claim", node, lanes, limit, now)

    async def claim_by_id(
        self, node: int, lanes: Sequence[int], runs: Sequence[int], *, now: datetime | None = None
    ) -> list[asyncpg.Record]:
        """Those of these runs that can be had."""
        return await self._write("claim_by_id", node, lanes, array_text(runs), now)

    async def claim_limited(
        self,
        node: int,
        lanes: Sequence[int],
        limit: int,
        *,
        alone: bool = False,
        now: datetime | None = None,
    ) -> Limited:
        """From lanes whose queues have limits. `alone`: one run that may kill its worker."""
        statement = self._database.statement
        async with self.connection() as connection:
            try:
                async with connection.transaction():
                    await connection.fetch(statement("lock_queues"), lanes)
                    claimed = await connection.fetchrow(
                        statement("claim_limited"), node, lanes, limit, now, alone
                    )
            except asyncpg.LockNotAvailableError:
                return Limited([], True, BUSY_SECONDS)
            assert claimed is not None
            runs = claimed["runs"]
            rows = await connection.fetch(statement("claimed"), node, runs) if runs else []
        return Limited(rows, claimed["remaining"], claimed["seconds"])

    async def count_in(self, node: int, runs: Sequence[int]) -> None:
        """Let runs count that were claimed before their queues had limits."""
        await self._fetch("count_in", node, runs)

    async def claim_alone(
        self, node: int, lanes: Sequence[int], *, now: datetime | None = None
    ) -> list[asyncpg.Record]:
        """A run that may kill its worker: only for one with nothing else in its hands."""
        return await self._write("claim_alone", node, lanes, now)

    async def suspects(self, lanes: Sequence[int], *, now: datetime | None = None) -> bool:
        rows = await self._fetch("suspects", lanes, now)
        return bool(rows[0][0])

    async def finish(
        self,
        node: int,
        ids: Sequence[int],
        claims: Sequence[int],
        started: Sequence[float],
        finished: Sequence[float],
        results: Sequence[str | None] | None,
        *,
        now: datetime | None = None,
    ) -> set[int]:
        """Successes; with no results at all, None. Returns the runs that were lost."""
        columns = map(array_text, (ids, claims, started, finished))
        return await self._record(ids, "finish", node, *columns, results, now)

    async def finish_in(
        self,
        connection: Connection,
        node: int,
        run: tuple[int, int, float, float, str | None],
        *,
        now: datetime | None = None,
    ) -> bool:
        """The success of one run (id, claim, started, finished, result) in a transaction of its handler's."""
        await connection.execute(
            f"set local idle_in_transaction_session_timeout = {round(COMMIT_SECONDS * 1000)}"
        )
        *numbers, result = run
        columns = (array_text([number]) for number in numbers)
        row = await connection.fetchrow(self._database.statement("finish"), node, *columns, [result], now)
        return row is not None and row["recorded"] == 1

    async def end(self, node: int, rows: Sequence[End], *, now: datetime | None = None) -> set[int]:
        """Dead and cancelled runs."""
        return await self._settle("end", node, *zip(*rows, strict=True), now)

    async def retry(self, node: int, rows: Sequence[Again], *, now: datetime | None = None) -> set[int]:
        """Runs to be tried again, or put off by their handlers."""
        return await self._settle("retry", node, *zip(*rows, strict=True), now)

    async def wait(
        self, node: int, rows: Sequence[tuple[int, int, float]], *, now: datetime | None = None
    ) -> set[int]:
        """Runs (id, claim, seconds) that wait for an outside report from now on."""
        return await self._settle("wait", node, *zip(*rows, strict=True), now)

    async def release(
        self,
        node: int,
        rows: Sequence[tuple[int, int, str | None]],
        *,
        delay: float = 0,
        now: datetime | None = None,
    ) -> set[int]:
        """Runs (id, claim, why) given back as if they had not been claimed."""
        return await self._settle("release", node, *zip(*rows, strict=True), delay, now)

    async def release_unknown(self, node: int, known: Sequence[int], *, now: datetime | None = None) -> int:
        """Give back what the node holds beyond the runs it knows of; how many there were."""
        # There is no index for this: on a connection of the pool, which may scan.
        rows = await self._database.fetch("release_unknown", node, known, now)
        return int(rows[0][0])

    async def recorded(self, node: int, mine: Sequence[tuple[int, int, int]], since: datetime) -> set[int]:
        """Which of these (run, claim, job) are in history: for when an answer was lost."""
        rows = await self._fetch("recorded", *zip(*mine, strict=True), node, since)
        return {row["run_id"] for row in rows}

    async def fix_keys(self, node: int, rows: Sequence[tuple[int, int, str]]) -> None:
        """Idempotency keys made from templates."""
        await self._write("fix_keys", node, *zip(*rows, strict=True))

    async def progress(self, node: int, rows: Sequence[tuple[int, int, str]]) -> None:
        await self._write("progress", node, *zip(*rows, strict=True))

    async def log(
        self, node: int, rows: Sequence[tuple[int, int, float, str, str]], *, now: datetime | None = None
    ) -> None:
        await self._write("log", node, *zip(*rows, strict=True), now)

    async def _settle(self, name: str, node: int, ids: Sequence[int], *arguments: Any) -> set[int]:
        return await self._record(ids, name, node, ids, *arguments)

    async def _record(self, ids: Sequence[int], name: str, *arguments: Any) -> set[int]:
        """Write the outcomes of these runs; which of them were lost."""
        crash.point("finish.before")
        row = (await self._write(name, *arguments))[0]
        crash.point("finish.after")
        return set() if row["recorded"] == len(ids) else set(ids) - set(row["ids"] or ())

    async def _write(self, name: str, *arguments: Any) -> list[asyncpg.Record]:
        """A statement that may write to history: if today's partition is missing, it is made first."""
        try:
            return await self._fetch(name, *arguments)
        except asyncpg.CheckViolationError as error:
            now = arguments[-1] if isinstance(arguments[-1], datetime) else None
            await make_missing(self._database, error, now=now)
        return await self._fetch(name, *arguments)

    async def _fetch(self, name: str, *arguments: Any) -> list[asyncpg.Record]:
        async with self.connection() as connection:
            return await connection.fetch(self._database.statement(name), *arguments)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        try:
            async with self._pool.acquire(timeout=10) as connection:
                yield connection
        except CUT_OFF as error:
            raise unavailable(error) from error

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        """A connection for a handler: it waits for one as long as its own time allows, and keeps nobody else
        waiting."""
        try:
            async with self._lent.acquire() as connection:
                yield connection
        except CUT_OFF as error:
            raise unavailable(error) from error
