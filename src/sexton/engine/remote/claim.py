"""Claiming runs for workers over HTTP, and waiting for runs to come.

The claim, and its note in the row of the worker, are one transaction. Only a few claims run at a time, so
that workers outside the cluster do not delay those inside. The doorbell wakes a waiting caller; every caller
also looks by itself now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import asyncpg
import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.engine.doorbells.base import Ring
from sexton.engine.doorbells.postgres import PostgresDoorbell
from sexton.engine.remote.spec import MOST_HELD
from sexton.engine.remote.worker import RemoteWorker, give_back, lost, renew, worker_id_of
from sexton.engine.worker.claimer import LANES_SECONDS, rotated
from sexton.engine.worker.queue import CLAIM_DEFAULTS, Lanes, RunQueue
from sexton.engine.worker.runner import NO_HANDLER_SECONDS
from sexton.errors import Unavailable
from sexton.jobs.stored import attempt_policy
from sexton.model import Failure
from sexton.postgres.database import LOCALLY_BY_KEY, Database, by_column
from sexton.postgres.transaction import Context, command
from sexton.runs.completion import read_key, settle, token_of
from sexton.targets.handler import is_shared
from sexton.targets.run import Feedback, RunContext

log = logging.getLogger("sexton")

# Claims under way, and callers that wait, in one process.
CLAIMS, MOST_WAITING = 2, 500
# How often a waiting caller looks without a ring, if rings arrive.
LOOK_SECONDS = 5.0
# Kinds of worker whose lanes are remembered.
MOST_KINDS = 1000
# No application has this name. So a handler without an application is left to the application that has it.
NO_APP = ""

Kind = tuple[str, tuple[str, ...] | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that a worker has claimed."""

    run: RunContext
    handler: str
    token: str
    deadline_at: datetime


class RemoteClaims:
    """For all workers over HTTP that this process serves. Correctness does not depend on it: it may end at
    any time."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._settings = settings
        self._queue = RunQueue(database)
        self._doorbell = PostgresDoorbell(database)
        self._listens = False
        self._checked_at = float("-inf")
        self._rung = asyncio.Event()
        self._places = asyncio.Semaphore(CLAIMS)
        self._lanes: dict[Kind, tuple[Lanes, float]] = {}
        self.waiting = 0
        self._stopping = False

    async def claim(
        self,
        context: Context,
        worker_id: str,
        credential: str,
        limit: int,
        *,
        wait_seconds: float = 0.0,
        gone: Callable[[], bool] = lambda: False,
    ) -> tuple[RemoteWorker, list[ClaimedRun]]:
        """Claim runs for a worker, and renew its lease once. Without a run, wait for one up to
        `wait_seconds`, and less than the lease; `gone` says that the caller has stopped waiting."""
        worker = await renew(context, worker_id, credential)
        until = clock.monotonic() + min(wait_seconds, worker.lease_seconds / 2)
        while True:
            rung = self._rung
            found = [] if worker.draining else await self._claim(context, worker, limit)
            left = until - clock.monotonic()
            if found or left <= 0 or self._stopping or self.waiting >= MOST_WAITING:
                return worker, found
            self.waiting += 1
            try:
                hears = await self._hears()
                with contextlib.suppress(TimeoutError):
                    pause = LOOK_SECONDS if hears else self._settings.poll_seconds
                    await asyncio.wait_for(rung.wait(), min(left, pause))
            finally:
                self.waiting -= 1
            if gone():
                return worker, []

    def stop(self) -> None:
        """End all waits: the process stops."""
        self._stopping = True
        self._ring()

    async def close(self) -> None:
        self.stop()
        await self._doorbell.close()

    def ring(self, ring: Ring) -> None:
        if ring == "lanes":
            self._lanes.clear()
        if ring in ("lanes", "runs", "suspects"):
            self._ring()

    def _ring(self) -> None:
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    async def _hears(self) -> bool:
        """Whether rings arrive. It begins to listen with the first waiting caller."""
        now = clock.monotonic()
        if now - self._checked_at < LANES_SECONDS:
            return self._listens
        self._checked_at = now
        try:
            if not self._listens:
                await self._doorbell.listen(self.ring)
            self._listens = await self._doorbell.check()
        except Unavailable as error:
            log.warning("cannot wake workers over HTTP: %s", error.message)
            self._listens = False
        return self._listens

    async def _claim(self, context: Context, worker: RemoteWorker, limit: int) -> list[ClaimedRun]:
        if worker.suspects:
            return []  # what may end its process runs alone
        limit = min(limit, MOST_HELD - len(worker.held))
        if limit <= 0:
            return []
        async with self._places:
            lanes = await self._lanes_of(context, worker)
            if not lanes.free and not lanes.limited:
                return []
            try:
                return await _claim(context, self._queue, worker, lanes, limit)
            except asyncpg.LockNotAvailableError:
                return []  # another worker shares the queue out

    async def _lanes_of(self, context: Context, worker: RemoteWorker) -> Lanes:
        queues = None if worker.queues is None else tuple(worker.queues)
        kind = context.namespace, queues, tuple(worker.handlers)
        known = self._lanes.get(kind)
        if known is not None and clock.monotonic() - known[1] < LANES_SECONDS:
            return known[0]
        asked_at = clock.monotonic()
        rows = await context.fetch(
            "claiming/list_lanes",
            namespaces=[context.namespace],
            queues=worker.queues,
            handlers=worker.handlers,
            targets=[],
            shared=list(filter(is_shared, worker.handlers)),
            app=NO_APP,
        )
        found = Lanes.of(rows)
        if len(self._lanes) >= MOST_KINDS:
            self._lanes.clear()
        # Without a ring, a lane that is new must be found as soon as a run can be.
        self._lanes[kind] = found, asked_at if self._listens else float("-inf")
        return found


@command
async def _claim(
    context: Context, queue: RunQueue, worker: RemoteWorker, lanes: Lanes, limit: int
) -> list[ClaimedRun]:
    await context.open.execute(LOCALLY_BY_KEY)
    await context.open.execute("set local idle_in_transaction_session_timeout = '2s'")
    rows = await _taken(context, queue, worker, lanes, limit)
    if not rows:
        return []
    runs = [row["id"] for row in rows]
    deadlines = {
        row["id"]: row["deadline_at"]
        for row in await context.fetch("remote/hold", node=worker.node, runs=runs)
    }
    if not deadlines:
        raise lost(worker_id_of(worker.node))
    key = await read_key(context)
    found = [_claimed(row, key, deadlines[row["id"]]) for row in rows if row["name"] is not None]
    fit = [each for each in found if each.handler in worker.handlers]
    if new := [
        (each.run.id, each.run.claim, each.run.idempotency_key) for each in fit if each.run.has_new_key
    ]:
        await context.execute(
            "recording/fix_keys", node=worker.node, **by_column(("runs", "claims", "keys"), new)
        )
    if len(fit) < len(rows):
        await _put_back(context, worker, rows, {each.run.id for each in fit})
    return fit


async def _taken(
    context: Context, queue: RunQueue, worker: RemoteWorker, lanes: Lanes, limit: int
) -> list[asyncpg.Record]:
    """Claim freely and under the limits of queues; runs that may end their process only for a worker without
    others."""
    how: dict[str, Any] = {"node": worker.node, "now": context.now, **CLAIM_DEFAULTS}
    rows: list[asyncpg.Record] = []
    if lanes.free and not worker.held:
        rows = await context.fetch(
            "claiming/claim_suspects", lanes=lanes.free, limit=limit, company=None, **how
        )
        if rows:
            return rows
    for under_limits in rotated([0, 1]):
        left = limit - len(rows)
        if under_limits and lanes.limited and left:
            rows += await _under_limits(context, queue, worker, lanes.limited, left)
        elif not under_limits and lanes.free and left:
            rows += await context.fetch("claiming/claim", lanes=rotated(lanes.free), limit=left, **how)
    if not rows and lanes.limited and not worker.held:
        rows = await _under_limits(context, queue, worker, lanes.limited, 1, company=1)
    return rows


async def _under_limits(
    context: Context, queue: RunQueue, worker: RemoteWorker, lanes: list[int], limit: int, **how: Any
) -> list[asyncpg.Record]:
    given = {"company": None, "now": context.now, **how}
    _, runs = await queue.claim_limited_in(context.open, worker.node, rotated(lanes), limit, **given)
    return await context.fetch("claiming/read_claimed", node=worker.node, runs=runs) if runs else []


def _claimed(row: asyncpg.Record, key: bytes, deadline_at: datetime) -> ClaimedRun:
    run = RunContext(row, cast(Feedback, None), attempt_policy(row["options"] or "{}"))
    handler = msgspec.json.decode(run.target).get("handler", "")
    return ClaimedRun(run, handler, token_of(key, run.id, run.claim, run.fired_at), deadline_at)


async def _put_back(
    context: Context, worker: RemoteWorker, rows: Sequence[asyncpg.Record], fit: set[int]
) -> None:
    """Put back the runs that this worker cannot carry out: the job is gone, or got another target before the
    first attempt."""
    gone = [row["id"] for row in rows if row["name"] is None]
    other = [
        (row["id"], row["claim"], None) for row in rows if row["id"] not in fit and row["name"] is not None
    ]
    if gone:
        held = await context.fetch(
            "remote/lock_runs", runs=gone, node=worker.node, namespace=context.namespace, now=context.now
        )
        await settle(context, [(row, Failure("its job is gone", permanent=True)) for row in held])
    if other:
        await give_back(context, worker.node, other, delay=NO_HANDLER_SECONDS)
    away = [*gone, *(run for run, _, _ in other)]
    await context.execute("remote/let_go", nodes=[worker.node], runs=away)
