"""What a worker does for its runs while they are under way: log lines, progress, tokens, transactions.

Lines, progress and keys are gathered; the settler writes them, before the outcomes of their runs.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from sexton import clock
from sexton.engine.worker.queue import CUT_OFF
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import Context
from sexton.runs import completion as report
from sexton.runs.outcomes import Successes, encode_result
from sexton.targets.run import LeaseLost, RunContext, clean

if TYPE_CHECKING:
    from sexton.engine.worker.worker import Worker

# Lines that wait to be written: a handler that logs in a loop must not take all the memory. How many of a run
# were dropped is counted, and said in its log.
LOG_LIMIT = 20_000
TOO_MANY = f"{LOG_LIMIT:,} lines of this worker were waiting to be written"

# (node, run, claim, at, level, message); (node, run, claim, key); by run: (node, claim, progress as JSON).
LogLine = tuple[int, int, int, float, str, str]
NewKey = tuple[int, int, int, str]
Progress = dict[int, tuple[int, int, str]]


class WorkerReporter:
    """The `Feedback` of `sexton.targets.run`, for all runs of one worker."""

    def __init__(self, worker: Worker, database: Database) -> None:
        self._worker = worker
        self._database = database
        self._report_key: bytes | None = None
        self._logs: list[LogLine] = []
        self._dropped: Counter[tuple[int, int, int]] = Counter()
        self._dropping = threading.Lock()
        self._progress: Progress = {}
        self._keys: list[NewKey] = []

    def progress(self, run: RunContext, fraction: float, text: str | None) -> None:
        told = {"fraction": fraction} if text is None else {"fraction": fraction, "text": clean(text, 1000)}
        node = self._worker.node
        if node is not None:
            self._progress[run.id] = (node, run.claim, msgspec.json.encode(told).decode())
            self._nudge_from_anywhere()

    def log(self, run: RunContext, level: str, message: str) -> None:
        node = self._worker.node
        if node is None:
            return
        if len(self._logs) < LOG_LIMIT:
            at = self.database_seconds(clock.monotonic())
            self._logs.append((node, run.id, run.claim, at, clean(level, 20), message))
            self._nudge_from_anywhere()
        else:
            self._worker.telemetry.lines_dropped.inc()
            with self._dropping:
                self._dropped[node, run.id, run.claim] += 1

    async def token(self, run: RunContext) -> str:
        if self._report_key is None:
            self._report_key = await report.read_key(Context(self._database))
        return report.token_of(self._report_key, run.id, run.claim)

    def database_seconds(self, moment: float) -> float:
        return moment + self._worker.offset

    @asynccontextmanager
    async def transaction(self, run: RunContext, result: Any) -> AsyncIterator[Connection]:
        node = self._worker.node
        if node is None or run.stop == "lost":
            raise LeaseLost(run.run_id)
        async with self._worker.queue.lent() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                yield connection
            except BaseException:
                await transaction.rollback()
                raise
            # A cancellation must not leave open whether the run was finished.
            committing = asyncio.ensure_future(self._commit(run, node, connection, transaction, result))
            try:
                await asyncio.shield(committing)
            except asyncio.CancelledError:
                await asyncio.wait([committing])
                committing.result()
            run.settled = True

    def fix_key(self, node: int, run: RunContext) -> None:
        """The key that its first attempt has is the run's for good."""
        self._keys.append((node, run.id, run.claim, run.idempotency_key))

    def take(self) -> tuple[list[NewKey], list[LogLine], Progress]:
        """What was gathered, to be written."""
        keys, self._keys = self._keys, []
        logs, self._logs = self._logs, []
        with self._dropping:
            dropped, self._dropped = self._dropped, Counter()
        at = self.database_seconds(clock.monotonic())
        for (node, run, claim), lines in dropped.items():
            logs.append((node, run, claim, at, "warning", f"{lines:,} lines were dropped here: {TOO_MANY}"))
        progress, self._progress = self._progress, {}
        return keys, logs, progress

    def put_back(self, keys: list[NewKey], logs: list[LogLine], progress: Progress) -> None:
        """It could not be written yet."""
        self._keys = keys + self._keys
        self._logs = logs + self._logs
        self._progress = progress | self._progress

    async def _commit(
        self, run: RunContext, node: int, connection: Connection, transaction: Any, result: Any
    ) -> None:
        await self._worker.settler.report()
        done, began = Successes(), self.database_seconds(run.started)
        done.add(run, began, self.database_seconds(clock.monotonic()), encode_result(result))
        if not await self._worker.queue.finish_in(connection, node, done, now=self._worker.now()):
            await transaction.rollback()
            self._worker.count_lost({run.id})
            raise LeaseLost(run.run_id)
        try:
            await transaction.commit()
        except CUT_OFF:
            since = datetime.fromtimestamp(began - 60, UTC)
            if (now := self._worker.now()) is not None:
                since = min(since, now)
            if run.id not in await self._worker.queue.recorded(node, [(run.id, run.claim, run.job)], since):
                raise

    def _nudge_from_anywhere(self) -> None:
        # Handlers in threads come here, too.
        loop = self._worker.event_loop
        assert loop is not None
        loop.call_soon_threadsafe(self._worker.settler.nudge)
