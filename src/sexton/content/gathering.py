"""Groups runs: those that a worker has at the same time share a transaction.

While one batch is written, the next one collects; no run waits for others. If a batch fails, each of its runs
is carried out alone, so that a run does not fail because of another. If the database cannot be reached, all
are tried again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from sexton.content.adapters.base import NotNow
from sexton.model import Outcome
from sexton.targets.run import RunContext

MOST_TOGETHER = 500

Work = Callable[[Sequence[RunContext]], Awaitable[Sequence[Outcome]]]
Waiting = tuple[RunContext, asyncio.Future[Outcome]]


class Gathering:
    """`work` carries out runs and returns their outcomes in order."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._waiting: list[Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def carry_out(self, run: RunContext) -> Outcome:
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        waiting = (run, future)
        self._waiting.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._go_on())
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                raise
            # It is part of a batch that is being written: find out whether it was committed.
            await asyncio.wait([future])
            if run.committed:
                return future.result()
            raise

    async def _go_on(self) -> None:
        try:
            # Runs that were claimed together start in the same turn of the event loop.
            await _turn()
            while self._waiting:
                batch, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
                await self._carry_out(batch)
        finally:
            self._task = None
            for _, future in self._waiting:
                future.cancel()

    async def _carry_out(self, batch: Sequence[Waiting]) -> None:
        try:
            outcomes = await self._work([run for run, _ in batch])
        except NotNow as error:
            # Retrying them alone would not help: the database cannot be reached.
            for _, future in batch:
                _end(future, error)
            return
        except Exception as error:
            if len(batch) > 1:
                for each in batch:
                    await self._carry_out([each])
            else:
                _end(batch[0][1], error)
            return
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)


async def _turn() -> None:
    """Let other ready tasks of the event loop run first."""
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(turn.set_result, None)
    await turn


def _end(future: asyncio.Future[Outcome], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        # If the run was stopped, no task reads the exception.
        future.exception()
