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


# A queue with limits is locked for three statements; a process that is stopped between them loses the lock.
HOLD_SECONDS = 2
BUSY_SECONDS = 0.1
# A run that a handler finishes in its own transaction is held until COMMIT. Should that not arrive, as the
# worker was stopped or cut off, the transaction is undone after this long, and the run can be taken over.
COMMIT_SECONDS = 15.0

# What a claim takes for jobs that do not say it.
CLAIM_DEFAULTS: dict[str, Any] = {"timeout_seconds": DEFAULTS.timeout_seconds}

# Errors that the same row would meet again: too deep, too big, not what the column takes.
REFUSALS = (
    asyncpg.DataError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.IntegrityConstraintViolationError,
)


class Lanes(NamedTuple):
    """What a worker may claim from: freely, and under the limits of queues; and of each of them the kind of
    target with what its runs need."""

    free: list[int]
    limited: list[int]
    needs: dict[int, tuple[str, str]]


class Suspects(NamedTuple):
    """The lanes in which runs wait that may end their process, and the jobs whose runs are treated alike."""

    lanes: frozenset[int]
    jobs: frozenset[int]


class Limited(NamedTuple):
    """A claim under limits: whether something was left that could go but for them, and in how many seconds
    it is worth looking again (None: when something has ended)."""

    rows: list[asyncpg.Record]
    remaining: bool = False
    seconds: float | None = None


class RunQueue:
    """The connections that a worker claims and writes with, and those it lends to handlers. Neither are made
    before they are needed."""

    def __init__(self, database: Database, *, size: int = 4, lent: int = 10) -> None:
        self._database = database
        self._sizes = size, lent

    async def open(self) -> None:
        database, (size, lent) = self._database, self._sizes

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
            self._pool = await pool("sexton worker", size, keep_session, **hold, **BY_KEY)
            # Without `keep_session`: what a handler has set in its session must not meet the next one.
            self._lent = await pool("sexton handlers", lent, None)
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
        free = [row["id"] for row in rows if not row["limited"]]
        limited = [row["id"] for row in rows if row["limited"]]
        return Lanes(free, limited, {row["id"]: (row["target"], row["handler"]) for row in rows})

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
        """Runs that may end the process of their worker: for one that has nothing else. `company`: beside
        runs that it has already, of which so many may be together."""
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
        """From lanes whose queues have limits. `company`: one run that may end the process of its worker, and
        may run beside so many others."""
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
        """In an open transaction, which holds the locks of the queues until its end; the runs by their
        ids."""
        share = await self._share_out(connection, node, lanes, limit, **how)
        return share, await self._claim_share(connection, node, share)

    async def _share_out(
        self, connection: Connection, node: int, lanes: Sequence[int], limit: int, **how: Any
    ) -> Share:
        await self._database.fetch("claiming/lock_queues", on=connection, lanes=lanes)
        rows = await self._database.fetch(
            "claiming/read_limited", on=connection, node=node, lanes=lanes, limit=limit, **how
        )
        return share_out([Stretch(*row) for row in rows], limit)

    async def _claim_share(self, connection: Connection, node: int, share: Share) -> list[int]:
        noted = {
            number: queue for number, queue in share.queues.items() if queue.runs or queue.cut is not None
        }
        if not noted:
            return []
        rows = await self._database.fetch(
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
        return [row["id"] for row in rows]

    async def count_in(self, node: int, runs: Sequence[int]) -> None:
        """Let runs count that were claimed before their queues had limits."""
        await self._fetch("claiming/count_in", node=node, runs=runs)

    async def suspects(self, lanes: Sequence[int], *, now: datetime | None = None) -> Suspects:
        """What waits in these lanes, or comes there, and may end the process of its worker."""
        [row] = await self._fetch("claiming/find_suspects", lanes=lanes, now=now)
        return Suspects(frozenset(row["lanes"]), frozenset(row["jobs"]))

    async def move_ids_on(self, highest: int) -> None:
        """See that no id of a run is given out again: after a failover that lost transactions, the sequence
        may be behind what this worker has claimed."""
        if await self._database.fetch("claiming/move_ids_on", run_id=highest):
            log.error(
                "the database has gone back in time: it did not know the run %s; ids go on beyond it",
                encode_id("r", highest),
            )

    async def release_unknown(self, node: int, known: Sequence[int], *, now: datetime | None = None) -> int:
        """Give back what the node holds beyond the runs it knows of; how many there were."""
        # There is no index for this: on a connection of the pool, which may scan.
        [row] = await self._database.fetch("claiming/release_unknown", node=node, known=known, now=now)
        return int(row[0])

    # Recording. Outcomes come back as the set of runs that were lost.

    async def finish(self, node: int, done: Successes, *, now: datetime | None = None) -> set[int]:
        return await self._record("recording/finish", done.runs, node=node, now=now, **done.parameters())

    async def finish_in(
        self, connection: Connection, node: int, done: Successes, *, now: datetime | None = None
    ) -> set[int]:
        """The success of runs in a transaction of their handler's; those that the node held no more."""
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
        """Runs to be tried again, or put off by their handlers."""
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
        """Runs (id, claim, why) given back as if they had not been claimed. `company`: as suspects, of which
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
        """Which of these (run, claim, job) are in history: for when an answer was lost."""
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
        """A connection for a handler: it waits for one as long as its own time allows, and keeps no claim and
        no outcome waiting."""
        try:
            async with self._lent.acquire() as connection:
                yield connection
        except LOST as error:
            if isinstance(error, asyncpg.ReadOnlySQLTransactionError):
                await self._lent.expire_connections()
            raise unavailable(error) from error
