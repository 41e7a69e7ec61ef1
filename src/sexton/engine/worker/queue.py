"""The queue in PostgreSQL: claims, and what becomes of claimed runs, a batch in one statement.

Every statement but the claim names (run, node, claim). It leaves a run alone that the node does not hold
under that claim any more, and returns it as lost.
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
from sexton.engine.worker.share import Share, Stretch, share_out
from sexton.jobs.spec import DEFAULTS
from sexton.model import encode_id
from sexton.postgres.database import (
    BY_KEY,
    CLOSE_SECONDS,
    Connection,
    Database,
    array_text,
    by_column,
    keep_session,
    lent_by,
    unavailable,
)
from sexton.postgres.partitions import make_missing
from sexton.postgres.servers import LOST
from sexton.runs.outcomes import AGAIN, END, Again, End, Successes, Waiting
from sexton.targets.handler import is_shared

log = logging.getLogger("sexton")


# The connections with which a worker claims and records.
MOST_OWN = 4
# A queue with limits is locked for three statements; a process that is stopped between them loses the lock.
HOLD_SECONDS = 2
BUSY_SECONDS = 0.1
# A run that a handler finishes in its own transaction is locked until COMMIT. If that does not come, since
# the worker was stopped or cut off, PostgreSQL rolls back after this long, and another worker can take the
# run.
COMMIT_SECONDS = 15.0

# The parameters of a claim for jobs that do not set them.
CLAIM_DEFAULTS: dict[str, Any] = {"timeout_seconds": DEFAULTS.timeout_seconds}

# Errors that the same row would cause again: too deep, too big, or not what the column takes.
REFUSALS = (
    asyncpg.DataError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.IntegrityConstraintViolationError,
)


class Lanes(NamedTuple):
    """The lanes that a worker may claim from: freely, and under the limits of queues; and for each lane the
    kind of target and what its runs need."""

    free: list[int]
    limited: list[int]
    needs: dict[int, tuple[str, str]]

    @classmethod
    def of(cls, rows: Sequence[asyncpg.Record]) -> Lanes:
        """From the rows of `claiming/list_lanes`."""
        free = [row["id"] for row in rows if not row["limited"]]
        limited = [row["id"] for row in rows if row["limited"]]
        return cls(free, limited, {row["id"]: (row["target"], row["handler"]) for row in rows})


class Suspects(NamedTuple):
    """The lanes with runs that may end their process, and the jobs of such runs."""

    lanes: frozenset[int]
    jobs: frozenset[int]


class Limited(NamedTuple):
    """A claim under limits. `remaining`: only the limits kept other runs back; `seconds`: when to look again
    (None: when a run has ended)."""

    rows: list[asyncpg.Record]
    remaining: bool = False
    seconds: float | None = None


class RunQueue:
    """The connections with which a worker claims and records, and those that it lends to handlers. Both kinds
    are made on first use."""

    def __init__(self, database: Database, *, most_lent: int = 10) -> None:
        self._database = database
        self._most_lent = most_lent

    async def open(self) -> None:
        database = self._database

        async def pool(
            name: str, most: int, reset: Callable[[Connection], Awaitable[None]] | None, **settings: str
        ) -> asyncpg.Pool[asyncpg.Record]:
            return await database.servers.pool(
                least=0,
                most=most,
                timeout=10,
                command_timeout=database.timeout,
                reset=reset,
                **database.connecting(name, **settings),
            )

        hold = {"idle_in_transaction_session_timeout": f"{HOLD_SECONDS}s"}
        try:
            self._pool = await pool("sexton worker", MOST_OWN, keep_session, **hold, **BY_KEY)
            # Without `keep_session`: settings of one handler's session must not reach the next handler.
            self._lent = await pool("sexton handlers", self._most_lent, None)
        except (*LOST, asyncpg.PostgresError) as error:
            raise unavailable(error) from error

    async def close(self) -> None:
        for pool in (self._pool, self._lent):
            try:
                await asyncio.wait_for(pool.close(), CLOSE_SECONDS)
            except (*LOST, asyncpg.PostgresError):
                pool.terminate()

    # Claiming.

    async def lanes(
        self,
        queues: Sequence[str] | None,
        handlers: Sequence[str],
        targets: Sequence[str],
        *,
        namespaces: Sequence[str] | None = None,
        app: str | None = None,
    ) -> Lanes:
        """The lanes that a worker of an application can serve in its namespaces."""
        rows = await self._fetch(
            "claiming/list_lanes",
            namespaces=namespaces,
            queues=queues,
            handlers=handlers,
            targets=targets,
            shared=list(filter(is_shared, handlers)),
            app=app,
        )
        return Lanes.of(rows)

    async def claim(
        self, node: int, lanes: Sequence[int], limit: int, *, now: datetime | None = None
    ) -> list[asyncpg.Record]:
        return await self._write(
            "claiming/claim", node=node, lanes=lanes, limit=limit, now=now, **CLAIM_DEFAULTS
        )

    async def claim_by_id(
        self, node: int, lanes: Sequence[int], runs: Sequence[int], *, now: datetime | None = None
    ) -> list[asyncpg.Record]:
        """Claim those of these runs that are still waiting."""
        return await self._write(
            "claiming/claim_by_id", node=node, lanes=lanes, runs=array_text(runs), now=now, **CLAIM_DEFAULTS
        )

    async def claim_suspects(
        self,
        node: int,
        lanes: Sequence[int],
        limit: int,
        *,
        company: int | None = None,
        now: datetime | None = None,
    ) -> list[asyncpg.Record]:
        """Claim runs that may end the process of their worker, for a worker that has no others. `company`: it
        has such runs already, of which so many may be together."""
        return await self._write(
            "claiming/claim_suspects",
            node=node,
            lanes=lanes,
            limit=limit,
            company=company,
            now=now,
            **CLAIM_DEFAULTS,
        )

    async def claim_limited(
        self,
        node: int,
        lanes: Sequence[int],
        limit: int,
        *,
        company: int | None = None,
        now: datetime | None = None,
    ) -> Limited:
        """Claim from lanes whose queues have limits. `company`: one run that may end the process of its
        worker, and that may be together with so many others."""
        async with self.connection() as connection:
            try:
                async with connection.transaction():
                    share, runs = await self.claim_limited_in(
                        connection, node, lanes, limit, company=company, now=now
                    )
            except asyncpg.LockNotAvailableError:
                return Limited([], True, BUSY_SECONDS)
            # After the commit: the rows are large, and the queues were locked.
            fetch = self._database.fetch
            rows = await fetch("claiming/read_claimed", on=connection, node=node, runs=runs) if runs else []
        return Limited(rows, share.remaining, share.seconds)

    async def claim_limited_in(
        self, connection: Connection, node: int, lanes: Sequence[int], limit: int, **how: Any
    ) -> tuple[Share, list[int]]:
        """In an open transaction, which locks the queues until its end. Returns the ids of the runs."""
        fetch = self._database.fetch
        await fetch("claiming/lock_queues", on=connection, lanes=lanes)
        rows = await fetch("claiming/read_limited", on=connection, node=node, lanes=lanes, limit=limit, **how)
        share = share_out([Stretch(*row) for row in rows], limit)
        noted = {
            number: queue for number, queue in share.queues.items() if queue.runs or queue.cut is not None
        }
        if not noted:
            return share, []
        rows = await fetch(
            "claiming/claim_chosen",
            on=connection,
            node=node,
            now=share.now,
            runs=share.runs,
            queues=share.run_queues,
            noted=list(noted),
            tokens=[queue.tokens for queue in noted.values()],
            keys=[queue.key or queue.cut for queue in noted.values()],
            **CLAIM_DEFAULTS,
        )
        return share, [row["id"] for row in rows]

    async def count_in(self, node: int, runs: Sequence[int]) -> None:
        """Count runs that were claimed before their queues had limits."""
        await self._fetch("claiming/count_in", node=node, runs=runs)

    async def suspects(self, lanes: Sequence[int], *, now: datetime | None = None) -> Suspects:
        """What these lanes have, or may get, of runs that may end the process of their worker."""
        [row] = await self._fetch("claiming/find_suspects", lanes=lanes, now=now)
        return Suspects(frozenset(row["lanes"]), frozenset(row["jobs"]))

    async def move_ids_on(self, highest: int) -> None:
        """Make sure that no id of a run is given out again: after a failover that lost transactions, the
        sequence may be behind the runs that this worker has claimed."""
        if await self._database.fetch("claiming/move_ids_on", run_id=highest):
            log.error(
                "the database has gone back in time: it did not know the run %s; new ids begin after it",
                encode_id("r", highest),
            )

    async def release_unknown(self, node: int, known: Sequence[int], *, now: datetime | None = None) -> int:
        """Give back the runs that the node holds without knowing of them; returns how many."""
        # No index helps here: use a connection of the database's pool, which may scan.
        [row] = await self._database.fetch("claiming/release_unknown", node=node, known=known, now=now)
        return int(row[0])

    # Recording. Outcomes come back as the set of runs that were lost.

    async def finish(self, node: int, done: Successes, *, now: datetime | None = None) -> set[int]:
        return await self._record("recording/finish", done.runs, node=node, now=now, **done.parameters())

    async def finish_in(
        self, connection: Connection, node: int, done: Successes, *, now: datetime | None = None
    ) -> set[int]:
        """Record the success of runs in a transaction of their handler; returns those that were lost."""
        await connection.execute(
            f"set local idle_in_transaction_session_timeout = {round(COMMIT_SECONDS * 1000)}"
        )
        [row] = await self._database.fetch(
            "recording/finish", on=connection, node=node, now=now, **done.parameters()
        )
        return set() if row["recorded"] == len(done) else set(done.runs) - set(row["ids"] or ())

    async def end(self, node: int, rows: Sequence[End], *, now: datetime | None = None) -> set[int]:
        """Dead and cancelled runs."""
        return await self._record_rows("recording/end", END, rows, node=node, now=now)

    async def retry(self, node: int, rows: Sequence[Again], *, now: datetime | None = None) -> set[int]:
        """Runs to try again, or that their handlers have snoozed."""
        return await self._record_rows("recording/retry", AGAIN, rows, node=node, now=now)

    async def wait(self, node: int, rows: Sequence[Waiting], *, now: datetime | None = None) -> set[int]:
        """Runs (id, claim, seconds) that wait for an outside report from now on."""
        return await self._record_rows(
            "recording/wait", ("runs", "claims", "seconds"), rows, node=node, now=now
        )

    async def release(
        self,
        node: int,
        rows: Sequence[tuple[int, int, str | None]],
        *,
        delay: float = 0,
        company: int = 0,
        now: datetime | None = None,
    ) -> set[int]:
        """Give runs (id, claim, why) back as if they had not been claimed. `company`: as suspects, of which
        so many may be together."""
        return await self._record_rows(
            "recording/release",
            ("runs", "claims", "reasons"),
            rows,
            node=node,
            delay=delay,
            company=company,
            now=now,
        )

    async def recorded(self, node: int, mine: Sequence[tuple[int, int, int]], since: datetime) -> set[int]:
        """Which of these (run, claim, job) are in history: after an answer was lost."""
        columns = by_column(("runs", "claims", "jobs"), mine)
        rows = await self._fetch("recording/find_recorded", node=node, since=since, **columns)
        return {row["run_id"] for row in rows}

    async def fix_keys(self, node: int, rows: Sequence[tuple[int, int, str]]) -> None:
        """Idempotency keys made from templates."""
        await self._write("recording/fix_keys", node=node, **by_column(("runs", "claims", "keys"), rows))

    async def progress(self, node: int, rows: Sequence[tuple[int, int, str]]) -> None:
        columns = by_column(("runs", "claims", "progress"), rows)
        await self._write("recording/set_progress", node=node, **columns)

    async def log(
        self, node: int, rows: Sequence[tuple[int, int, float, str, str]], *, now: datetime | None = None
    ) -> None:
        columns = by_column(("runs", "claims", "times", "levels", "messages"), rows)
        await self._write("recording/log", node=node, now=now, **columns)

    async def _record_rows(
        self, name: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]], **parameters: Any
    ) -> set[int]:
        columns = by_column(names, rows)
        return await self._record(name, columns["runs"], **columns, **parameters)

    async def _record(self, name: str, runs: Sequence[int], /, **parameters: Any) -> set[int]:
        """Write the outcomes of these runs; which of them were lost."""
        crash.point("finish.before")
        [row] = await self._write(name, **parameters)
        crash.point("finish.after")
        return set() if row["recorded"] == len(runs) else set(runs) - set(row["ids"] or ())

    async def _write(self, name: str, /, **parameters: Any) -> list[asyncpg.Record]:
        """A statement that may write to history: if today's partition is missing, it is made first."""
        try:
            return await self._fetch(name, **parameters)
        except asyncpg.CheckViolationError as error:
            await make_missing(self._database, error, now=parameters.get("now"))
        return await self._fetch(name, **parameters)

    async def _fetch(self, name: str, /, **parameters: Any) -> list[asyncpg.Record]:
        async with self.connection() as connection:
            return await self._database.fetch(name, on=connection, **parameters)

    # Connections.

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        try:
            async with lent_by(self._pool) as connection:
                yield connection
        except LOST as error:
            raise unavailable(error) from error

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Connection]:
        """A connection for a handler. The handler waits for it as long as its timeout allows, and never
        delays a claim or an outcome."""
        try:
            async with self._lent.acquire() as connection:
                yield connection
        except LOST as error:
            if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                await self._lent.expire_connections()
            raise unavailable(error) from error
