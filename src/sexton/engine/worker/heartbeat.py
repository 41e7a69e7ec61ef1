"""Renews the lease of a worker, from a thread with its own event loop and its own connection.

A handler that blocks the worker's event loop must not cost the worker its lease, so the renewal does not
depend on that loop. Each beat is one statement: it renews the lease (`cluster.membership`) and returns the
runs that callers have cancelled. The thread also notices when the worker's loop does not answer, and logs
what blocks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
import traceback
from collections.abc import Callable

import asyncpg

from sexton import clock
from sexton.engine.cluster.membership import Membership
from sexton.engine.worker.state import WorkerState
from sexton.errors import Conflict
from sexton.postgres.database import BY_KEY, Database, close_connection
from sexton.postgres.servers import LOST, reason

log = logging.getLogger("sexton")

PROBE_SECONDS = 1.0
RETRY_SECONDS = 0.5


class Heartbeat:
    """Start it from the worker's loop. The callbacks are called in that loop."""

    name = "heartbeat"

    def __init__(
        self,
        state: WorkerState,
        database: Database,
        membership: Membership,
        *,
        on_identity: Callable[[int], None],
        on_lost: Callable[[int], None],
        on_cancel: Callable[[list[int]], None],
    ) -> None:
        self._state = state
        self._database = database
        self.membership = membership
        self._beat = min(state.settings.heartbeat_seconds, membership.lease.seconds / 3)
        self._on_identity = on_identity
        self._on_lost = on_lost
        self._on_cancel = on_cancel
        self._thread: threading.Thread | None = None
        self._own: asyncio.AbstractEventLoop | None = None
        self._poked = asyncio.Event()
        self._stopping = False
        self._answered = 0.0
        self.lag_seconds = 0.0
        self.beats = 0

    def start(self) -> None:
        self._worker_loop = asyncio.get_running_loop()
        self._worker_thread = threading.get_ident()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._main, name="sexton-heartbeat", daemon=True)
        self._thread.start()

    def healthy(self) -> bool:
        """Whether the thread lives, and has renewed the lease in time."""
        return self._thread is not None and self._thread.is_alive() and self.membership.trusted()

    def poke(self) -> None:
        """Beat now."""
        if self._own is not None and not self._own.is_closed():
            self._own.call_soon_threadsafe(lambda: self._poked.set())

    async def stop(self) -> None:
        """No renewal is under way after it."""
        self._stopping = True
        self.poke()
        if self._thread is not None:
            # Not by joining it in a thread: handlers may have taken all of those.
            await self._ended.wait()
            self._thread = None

    # In the thread.

    def _main(self) -> None:
        try:
            with asyncio.Runner() as runner:
                self._own = runner.get_loop()
                runner.run(self._live())
        finally:
            self._call(self._ended.set)

    async def _live(self) -> None:
        self._poked = asyncio.Event()
        connection: asyncpg.Connection[asyncpg.Record] | None = None
        due = clock.monotonic()
        while not self._stopping:
            if self._poked.is_set() or clock.monotonic() >= due:
                self._poked.clear()
                try:
                    if connection is None:
                        connection = await self._connect()
                    await self._renew(connection)
                    due = clock.monotonic() + self._beat
                except Exception as error:
                    # Without beats the worker takes no more work: try again after any error.
                    known = isinstance(error, (*LOST, asyncpg.PostgresError, Conflict))
                    log.warning("heartbeat: %s; trying again", reason(error), exc_info=not known)
                    if connection is not None:
                        connection.terminate()  # at once: a server that is gone does not answer
                        connection = None
                    # Another program took the name of the application while this worker was counted as dead.
                    pause = self._beat if isinstance(error, Conflict) else RETRY_SECONDS
                    due = clock.monotonic() + pause
            self._probe()
            wait = max(0.0, min(due - clock.monotonic(), PROBE_SECONDS))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._poked.wait(), wait)
        if connection is not None:
            await close_connection(connection)

    async def _connect(self) -> asyncpg.Connection[asyncpg.Record]:
        # A renewal without an answer must leave time for another one before the lease ends.
        patience = self.membership.lease.seconds / 2
        return await self._database.connect(
            "sexton heartbeat", timeout=patience, command_timeout=patience, **BY_KEY
        )

    async def _renew(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        membership = self.membership
        if (node := membership.node) is not None:
            row = await membership.renew(
                self._database,
                on=connection,
                running=self._state.in_hand,
                detail={"lag_ms": round(self.lag_seconds * 1000), "lanes": self._state.lanes_in_hand()},
            )
            if row is not None:
                self.beats += 1
                if row["cancelled"]:
                    self._call(self._on_cancel, list(row["cancelled"]))
                return
            self._call(self._on_lost, node)
        self._call(self._on_identity, await membership.join(self._database, on=connection))

    def _probe(self) -> None:
        """Check that the worker's loop answers; if it has not since the last probe, log what blocks it."""
        asked = clock.monotonic()
        waited = asked - self._answered
        if self._answered and waited > PROBE_SECONDS * 1.5:
            log.warning(
                "the event loop has not answered for %.1f s: %s blocks it (a plain def runs in a thread)",
                waited,
                self._culprit(),
            )
            self._state.telemetry.blocked.inc()
            self._state.telemetry.loop_lag.set(waited)
        elif not self._answered:
            self._answered = asked
        self._call(self._answer, asked)

    def _answer(self, asked: float) -> None:
        self._answered = clock.monotonic()
        self.lag_seconds = self._answered - asked

    def _culprit(self) -> str:
        try:
            return self._running_now()
        except Exception as error:
            return f"something ({error!r})"

    def _running_now(self) -> str:
        task = asyncio.current_task(self._worker_loop)
        frame = sys._current_frames().get(self._worker_thread)
        stack = "".join(traceback.format_stack(frame)[-4:]) if frame is not None else ""
        for run in list(self._state.running.values()):
            if task is not None and run.task is task:
                return f"the handler of {run.job_name} ({run.run_id})\n{stack}"
        return f"{task.get_name() if task is not None else 'something'}\n{stack}"

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        """In the worker's loop."""
        try:
            self._worker_loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The worker's loop is closed.
            self._stopping = True
