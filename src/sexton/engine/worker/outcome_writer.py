"""Writes outcomes: it gathers them for a moment, then runs one statement per kind for all of them.

While the database is away it keeps the outcomes, and writes them later. The answer may have been lost after
the statement was carried out, so it first asks history what was recorded already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from sexton import clock
from sexton.engine.loop import Loop
from sexton.engine.worker.feedback import WorkerFeedback
from sexton.engine.worker.pace import Pace
from sexton.engine.worker.queue import REFUSALS, RunQueue
from sexton.engine.worker.state import WorkerState
from sexton.errors import Unavailable
from sexton.printable import counted
from sexton.runs.outcomes import Again, End, OutcomeBatch, Successes, encode_result
from sexton.targets.run import clean

log = logging.getLogger("sexton")

GATHER_SECONDS = 0.002
LAST_TRIES = 3
# Runs of a job that has ended a process run in isolated processes, so many together.
APART_COMPANY = 16
APART_REASON = "a run of its job has ended the process of a worker: it runs in another process"

Row = TypeVar("Row")


class OutcomeWriter(Loop):
    """Writes the batches of the worker, the oldest first, and before them the feedback of its runs."""

    name = "outcome_writer"

    def __init__(self, state: WorkerState, pace: Pace, queue: RunQueue, feedback: WorkerFeedback) -> None:
        super().__init__()
        self._state = state
        self._pace = pace
        self._queue = queue
        self._feedback = feedback
        self._doubtful = False
        self._nudged = False
        self._last = clock.monotonic()
        state.on_outcome = self._nudge

    def _nudge(self) -> None:
        """There is something to write. Wait a moment, since more may come."""
        if not self._nudged:
            self._nudged = True
            asyncio.get_running_loop().call_later(GATHER_SECONDS, self.wake)

    async def stop(self) -> None:
        await super().stop()
        for left in reversed(range(LAST_TRIES)):
            try:
                await self.tick()
                return
            except Unavailable as error:
                log.warning("could not write outcomes: %s", error.message)
                return
            except Exception:
                # Such as a deadlock. A run whose outcome is not written now counts as crashed, and runs
                # again.
                log.exception("could not write outcomes; %s left", counted(left, "try", "tries"))

    async def tick(self) -> float:
        state, pace = self._state, self._pace
        self._nudged = False
        # In this order: feedback that comes while lines are written must be written before the run's outcome.
        state.close_batch()
        batches = len(state.unwritten)
        await self._feedback.write()
        if not batches:
            return state.settings.poll_seconds
        pace.room_again()
        began, runs = self._last, sum(map(len, state.unwritten[:batches]))
        for _ in range(batches):
            await self.write(state.unwritten[0], state.now())
            del state.unwritten[0]
        self._doubtful = False
        self._last = clock.monotonic()
        pace.measured(runs, self._last - began)
        pace.room_again()
        return 0 if state.unwritten_outcomes else state.settings.poll_seconds

    async def write(self, batch: OutcomeBatch, now: datetime | None) -> None:
        """Write a batch. Each part is emptied once it is written, so that an error does not repeat other
        parts."""
        state, queue = self._state, self._queue
        telemetry = state.telemetry
        try:
            if self._doubtful:
                await self._forget_recorded(batch)
            if done := batch.done:
                lost = await self._finish(batch.node, done, now)
                telemetry.succeeded.inc(len(done) - len(lost))
                telemetry.run_seconds.observe_many(map(float.__sub__, done.finished, done.started))
                state.audience.done(batch.heard, done, lost)
                batch.done = Successes()
                state.count_lost(lost)
            if batch.ended:
                lost = await self._each(
                    lambda rows: queue.end(batch.node, rows, now=now), batch.ended, _plain_end
                )
                telemetry.count_ends([row[4] for row in batch.ended if row[0] not in lost])
                state.audience.ended(batch.heard, batch.ended, lost)
                batch.ended, batch.ended_jobs = [], []
                state.count_lost(lost)
            if batch.again:
                lost = await self._each(
                    lambda rows: queue.retry(batch.node, rows, now=now), batch.again, _plain_again
                )
                telemetry.count_failures([row[5] for row in batch.again if row[0] not in lost])
                state.audience.again(batch.heard, batch.again, lost)
                for row in batch.again:
                    self._pace.on_return(row[4])
                batch.again = []
                state.count_lost(lost)
            if batch.waiting:
                # A run that is gone by now was reported already: the service was faster than this statement.
                await queue.wait(batch.node, batch.waiting, now=now)
                telemetry.waiting.inc(len(batch.waiting))
                batch.waiting = []
            while batch.released:
                delay = batch.released[0][2]
                rows = [(run, claim, why) for run, claim, after, why in batch.released if after == delay]
                await queue.release(batch.node, rows, delay=delay, now=now)
                telemetry.released.inc(len(rows))
                self._pace.on_return(delay)
                batch.released = [row for row in batch.released if row[2] != delay]
            if batch.apart:
                apart = [(run, claim, APART_REASON) for run, claim in batch.apart]
                await queue.release(batch.node, apart, company=APART_COMPANY, now=now)
                telemetry.released.inc(len(apart))
                batch.apart = []
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
        """Write all rows at once. If PostgreSQL refuses one, write them one by one, and that one with a note
        in place of its text."""
        try:
            return await write(rows)
        except REFUSALS:
            log.exception("the database refused an outcome; now each outcome is written by itself")
        lost: set[int] = set()
        for row in rows:
            try:
                lost |= await write([row])
            except REFUSALS as error:
                note = clean(f"the outcome cannot be recorded as it was: {error}", 1000)
                try:
                    lost |= await write([plain(row, note)])
                except REFUSALS:
                    log.exception("cannot record an outcome: %s; its run is given back", row)
        return lost

    async def _finish(self, node: int, done: Successes, now: datetime | None) -> set[int]:
        try:
            return await self._queue.finish(node, done, now=now)
        except REFUSALS as error:
            # A result that PostgreSQL refuses must not block the others.
            log.warning("the database refused the results of runs: %s", error)
        lost: set[int] = set()
        for place in range(len(done)):
            one = done.chosen([place])
            try:
                lost |= await self._queue.finish(node, one, now=now)
            except REFUSALS as error:
                note = {"truncated": True, "note": f"the result cannot be kept: {error}"}
                one.results = [encode_result(note)]
                lost |= await self._queue.finish(node, one, now=now)
        return lost

    async def _forget_recorded(self, batch: OutcomeBatch) -> None:
        """Drop outcomes that an unanswered statement has recorded: they are neither repeated nor counted as
        lost."""
        ends = batch.ends()
        if ends:
            since = datetime.fromtimestamp(batch.earliest() - 60, UTC)
            if (now := self._state.now()) is not None:
                since = min(since, now)
            recorded = await self._queue.recorded(batch.node, ends, since)
            lost = {number for number, _, _ in ends} - recorded
            self._state.audience.done(batch.heard, batch.done, lost)
            self._state.audience.ended(batch.heard, batch.ended, lost)
            self._state.telemetry.succeeded.inc(batch.drop(recorded))


def _plain_end(row: End, note: str) -> End:
    return (*row[:7], note, None if row[8] is None else "the outcome cannot be recorded")


def _plain_again(row: Again, note: str) -> Again:
    return (*row[:6], note)
