"""What a worker does for a run while it is under way: log lines, progress, tokens, transactions.

It gathers keys, lines and progress, and writes them before the outcomes of their runs: the statements need
the rows of the runs.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import msgspec

from sexton import clock
from sexton.engine.worker.queue import REFUSALS, RunQueue
from sexton.engine.worker.state import WorkerState
from sexton.errors import LeaseLost
from sexton.model import encode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.servers import LOST
from sexton.postgres.transaction import Context
from sexton.runs import completion
from sexton.runs.outcomes import Successes, encode_result
from sexton.targets.run import RunContext, clean

log = logging.getLogger("sexton")

# The most lines that wait to be written: a handler that logs in a loop must not fill the memory. The log of a
# run says how many of its lines were dropped.
LOG_LIMIT = 20_000
TOO_MANY = f"{LOG_LIMIT:,} lines of this worker were waiting to be written"

# (node, run, claim, at, level, message); (node, run, claim, key); by run: (node, claim, progress as JSON).
LogLine = tuple[int, int, int, float, str, str]
NewKey = tuple[int, int, int, str]
Progress = dict[int, tuple[int, int, str]]

Row = TypeVar("Row")


class WorkerFeedback:
    """The `Feedback` of `sexton.targets.run`, for all runs of one worker."""

    def __init__(self, state: WorkerState, queue: RunQueue, database: Database) -> None:
        self._state = state
        self._queue = queue
        self._database = database
        self._loop: asyncio.AbstractEventLoop | None = None
        self._report_key: bytes | None = None
        self._logs: list[LogLine] = []
        self._dropped: Counter[tuple[int, int, int]] = Counter()
        self._dropping = threading.Lock()
        self._progress: Progress = {}
        self._keys: list[NewKey] = []
        self._writing = asyncio.Lock()

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    # For handlers, from any thread.

    def progress(self, run: RunContext, fraction: float, text: str | None) -> None:
        progress = {"fraction": fraction, **({} if text is None else {"text": clean(text, 1000)})}
        node = self._state.node
        if node is not None:
            self._progress[run.id] = (node, run.claim, msgspec.json.encode(progress).decode())
            self._nudge()

    def log(self, run: RunContext, level: str, message: str) -> None:
        node = self._state.node
        if node is None:
            return
        if len(self._logs) < LOG_LIMIT:
            at = self.database_seconds(clock.monotonic())
            self._logs.append((node, run.id, run.claim, at, clean(level, 20), message))
            self._nudge()
        else:
            self._state.telemetry.lines_dropped.inc()
            with self._dropping:
                self._dropped[node, run.id, run.claim] += 1

    def database_seconds(self, moment: float) -> float:
        return self._state.database_seconds(moment)

    def _nudge(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._state.on_outcome)

    # For handlers, in the worker's event loop.

    async def token(self, run: RunContext) -> str:
        if self._report_key is None:
            self._report_key = await completion.read_key(Context(self._database))
        return completion.token_of(self._report_key, run.id, run.claim, run.fired_at)

    @asynccontextmanager
    async def transaction(self, done: Mapping[RunContext, Any]) -> AsyncIterator[Connection]:
        node = self._state.node
        if node is None:
            raise LeaseLost(next((run.run_id for run in done), "in hand"))
        _refuse_lost(done)
        async with self._queue.lent() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                yield connection
                _refuse_lost(done)
            except BaseException:
                await transaction.rollback()
                raise
            # Even if the handler is cancelled, wait until it is known whether the runs were finished.
            committing = asyncio.ensure_future(self._commit(done, node, connection, transaction))
            try:
                await asyncio.shield(committing)
            except asyncio.CancelledError:
                await asyncio.wait([committing])
            recorded = committing.result()
            for run in done:
                run.committed = True
            self._state.audience.done({run.id: run for run in done}, recorded, set())

    async def _commit(
        self, done: Mapping[RunContext, Any], node: int, connection: Connection, transaction: Any
    ) -> Successes:
        state, recorded = self._state, Successes()
        if not done:
            await transaction.commit()
            return recorded
        await self.write()
        finished = self.database_seconds(clock.monotonic())
        for run, result in done.items():
            recorded.add(run, self.database_seconds(run.started), finished, encode_result(result))
        if lost := await self._queue.finish_in(connection, node, recorded, now=state.now()):
            await transaction.rollback()
            state.count_lost(lost)
            raise LeaseLost(encode_id("r", min(lost)))
        try:
            await transaction.commit()
        except LOST:
            since = datetime.fromtimestamp(min(recorded.started) - 60, UTC)
            if (now := state.now()) is not None:
                since = min(since, now)
            claims = [(run.id, run.claim, run.job) for run in done]
            # Either all are recorded, or none is.
            if not await self._queue.recorded(node, claims[:1], since):
                raise
        return recorded

    # For the worker.

    @property
    def lines(self) -> int:
        """Log lines that wait to be written."""
        return len(self._logs)

    def fix_key(self, node: int, run: RunContext) -> None:
        """Keep the key of the first attempt: it never changes for the run."""
        self._keys.append((node, run.id, run.claim, run.idempotency_key))

    async def write(self) -> None:
        """Write everything that was gathered. After an error the rest is kept."""
        async with self._writing:
            keys, logs, progress = self._take()
            queue, now = self._queue, self._state.now()
            try:
                for node in {key[0] for key in keys}:
                    await self._each(queue.fix_keys, node, [key[1:] for key in keys if key[0] == node])
                keys = []
                for node in {line[0] for line in logs}:
                    write = partial(queue.log, now=now)
                    await self._each(write, node, [line[1:] for line in logs if line[0] == node])
                logs = []
                for node in {each[0] for each in progress.values()}:
                    rows = [(run, *each[1:]) for run, each in progress.items() if each[0] == node]
                    await self._each(queue.progress, node, rows)
            except BaseException:
                self._keys = keys + self._keys
                self._logs = logs + self._logs
                self._progress = progress | self._progress
                raise

    def _take(self) -> tuple[list[NewKey], list[LogLine], Progress]:
        keys, self._keys = self._keys, []
        logs, self._logs = self._logs, []
        progress, self._progress = self._progress, {}
        with self._dropping:
            dropped, self._dropped = self._dropped, Counter()
        at = self.database_seconds(clock.monotonic())
        for (node, run, claim), lines in dropped.items():
            logs.append((node, run, claim, at, "warning", f"{lines:,} lines were dropped here: {TOO_MANY}"))
        return keys, logs, progress

    async def _each(
        self, write: Callable[[int, Sequence[Row]], Awaitable[None]], node: int, rows: Sequence[Row]
    ) -> None:
        """Write all rows at once. If PostgreSQL refuses one, write them one by one and drop that one."""
        try:
            await write(node, rows)
        except REFUSALS as error:
            if len(rows) == 1:
                log.warning("the database refused this row, which is dropped: %s: %s", rows[0], error)
                return
            for row in rows:
                await self._each(write, node, [row])


def _refuse_lost(runs: Iterable[RunContext]) -> None:
    for run in runs:
        if run.stop == "lost":
            raise LeaseLost(run.run_id)
