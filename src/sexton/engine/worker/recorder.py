"""Recording outcomes: gather for a moment, then one statement per kind for all of them.

What could not be written because the database was away is kept and written later. As the answer may have
been lost after the statement was carried out, history is asked first what it knows already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from sexton import clock
from sexton.engine.loop import Loop
from sexton.errors import Unavailable
from sexton.runs.outcomes import Again, End, OutcomeBatch, Successes, encode_result
from sexton.targets.run import clean

if TYPE_CHECKING:
    from sexton.engine.worker.worker import Worker

log = logging.getLogger("sexton")

GATHER_SECONDS = 0.002
LAST_TRIES = 3

# Errors that the same row would meet again: too deep, too big, not what the column takes.
REFUSALS = (
    asyncpg.DataError,
    asyncpg.ProgramLimitExceededError,
    asyncpg.IntegrityConstraintViolationError,
)

Row = TypeVar("Row")


class Settler(Loop):
    """Writes what the worker has gathered."""

    name = "settler"

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._kept: list[OutcomeBatch] = []
        self._doubtful = False
        self._nudged = False
        self._last = clock.monotonic()
        self._reporting = asyncio.Lock()

    @property
    def kept(self) -> int:
        return sum(map(len, self._kept))

    def runs(self) -> list[int]:
        """The runs whose outcomes are being written."""
        return [run for batch in self._kept for run in batch.runs()]

    def nudge(self) -> None:
        """Something is there to be written; more may come in the next moment."""
        if not self._nudged:
            self._nudged = True
            loop = self._worker.event_loop
            if loop is not None:
                loop.call_later(GATHER_SECONDS, self.wake)

    async def stop(self) -> None:
        await super().stop()
        for left in reversed(range(LAST_TRIES)):
            try:
                await self.tick()
                return
            except Unavailable as error:
                log.warning("settler: outcomes could not be written: %s", error.message)
                return
            except Exception:
                # Such as a deadlock: what is not written now counts as a crash, and runs again.
                log.exception("settler: outcomes could not be written; %d tries left", left)

    async def tick(self) -> float:
        worker = self._worker
        self._nudged = False
        await self.report()
        self._kept += worker.swap()
        if not self._kept:
            return worker.settings.poll_seconds
        worker.claimer.wake_if_waiting()
        began, runs = self._last, self.kept
        while self._kept:
            await self._settle(self._kept[0])
            del self._kept[0]
        self._doubtful = False
        self._last = clock.monotonic()
        worker.claimer.measured(runs, self._last - began)
        worker.claimer.wake_if_waiting()
        return 0 if worker.unsettled else worker.settings.poll_seconds

    async def report(self) -> None:
        """Keys, log lines and progress: before the outcomes, as they need their runs to be there."""
        async with self._reporting:
            keys, logs, progress = self._worker.reporter.take()
            queue, now = self._worker.queue, self._worker.now()
            try:
                for node in {key[0] for key in keys}:
                    await self._tell(
                        partial(queue.fix_keys, node), [key[1:] for key in keys if key[0] == node]
                    )
                keys = []
                for node in {line[0] for line in logs}:
                    write = partial(queue.log, node, now=now)
                    await self._tell(write, [line[1:] for line in logs if line[0] == node])
                logs = []
                for node in {told[0] for told in progress.values()}:
                    rows = [(run, *told[1:]) for run, told in progress.items() if told[0] == node]
                    await self._tell(partial(queue.progress, node), rows)
            except BaseException:
                self._worker.reporter.put_back(keys, logs, progress)
                raise

    async def _tell(self, write: Callable[[Sequence[Row]], Awaitable[None]], rows: Sequence[Row]) -> None:
        """All at once; should PostgreSQL refuse one of them, one by one without that one."""
        try:
            await write(rows)
        except REFUSALS as error:
            if len(rows) == 1:
                log.warning("this cannot be written: %s: %s", rows[0], error)
                return
            for row in rows:
                await self._tell(write, [row])

    async def _settle(self, batch: OutcomeBatch) -> None:
        """Each part is emptied once it is written, so that a part that fails does not repeat the others."""
        worker, queue, now = self._worker, self._worker.queue, self._worker.now()
        telemetry = worker.telemetry
        try:
            if self._doubtful:
                await self._forget_recorded(batch)
            if done := batch.done:
                lost = await self._finish(batch.node, done, now)
                telemetry.succeeded.inc(len(done) - len(lost))
                telemetry.run_seconds.observe_many(map(float.__sub__, done.finished, done.started))
                batch.done = Successes()
                worker.count_lost(lost)
            if batch.ended:
                lost = await self._each(
                    lambda rows: queue.end(batch.node, rows, now=now), batch.ended, _plain_end
                )
                telemetry.count_ends([row[4] for row in batch.ended if row[0] not in lost])
                batch.ended, batch.ended_jobs = [], []
                worker.count_lost(lost)
            if batch.again:
                lost = await self._each(
                    lambda rows: queue.retry(batch.node, rows, now=now), batch.again, _plain_again
                )
                telemetry.count_failures([row[5] for row in batch.again if row[0] not in lost])
                batch.again = []
                worker.count_lost(lost)
            if batch.waiting:
                # What is gone by now was reported before: the service was faster than we.
                await queue.wait(batch.node, batch.waiting, now=now)
                telemetry.waiting.inc(len(batch.waiting))
                batch.waiting = []
            while batch.released:
                delay = batch.released[0][2]
                rows = [(run, claim, why) for run, claim, after, why in batch.released if after == delay]
                await queue.release(batch.node, rows, delay=delay, now=now)
                telemetry.released.inc(len(rows))
                batch.released = [row for row in batch.released if row[2] != delay]
        except Unavailable:
            # The answer may have been lost after the statement was carried out.
            self._doubtful = True
            raise

    async def _each(
        self,
        write: Callable[[Sequence[Row]], Awaitable[set[int]]],
        rows: Sequence[Row],
        plain: Callable[[Row, str], Row],
    ) -> set[int]:
        """All at once; should PostgreSQL refuse one of them, one by one, so that the others are recorded,
        and that one with a note in place of what it says."""
        try:
            return await write(rows)
        except REFUSALS:
            log.exception("an outcome was refused; they are written one by one")
        lost: set[int] = set()
        for row in rows:
            try:
                lost |= await write([row])
            except REFUSALS as error:
                note = clean(f"the outcome cannot be recorded as it was: {error}", 1000)
                try:
                    lost |= await write([plain(row, note)])
                except REFUSALS:
                    log.exception("an outcome cannot be recorded: %s; the run is given back", row)
        return lost

    async def _finish(self, node: int, done: Successes, now: datetime | None) -> set[int]:
        queue = self._worker.queue
        try:
            return await queue.finish(node, done, now=now)
        except REFUSALS as error:
            # One result that PostgreSQL does not take must not keep the others from being recorded.
            log.warning("results could not be kept: %s", error)
        lost: set[int] = set()
        for place in range(len(done)):
            one = done.chosen([place])
            try:
                lost |= await queue.finish(node, one, now=now)
            except REFUSALS as error:
                note = {"truncated": True, "note": f"the result cannot be kept: {error}"}
                one.results = [encode_result(note)]
                lost |= await queue.finish(node, one, now=now)
        return lost

    async def _forget_recorded(self, batch: OutcomeBatch) -> None:
        """What an unanswered statement has recorded after all is neither repeated nor counted as lost."""
        mine = batch.ends()
        if mine:
            since = datetime.fromtimestamp(batch.earliest() - 60, UTC)
            if (now := self._worker.now()) is not None:
                since = min(since, now)
            there = await self._worker.queue.recorded(batch.node, mine, since)
            self._worker.telemetry.succeeded.inc(batch.drop(there))


def _plain_end(row: End, note: str) -> End:
    return (*row[:7], note, None if row[8] is None else "the outcome cannot be recorded")


def _plain_again(row: Again, note: str) -> Again:
    return (*row[:6], note)
