"""The consuming side of a broker: takes notices as far as the worker has room, and keeps them until they
are answered.

Nothing is taken while no slot is free, and nothing is acknowledged before its runs were claimed or found to
be gone. A notice may be larger than the room that is left. The rest of it waits here for the next free
slots, but not for long: then it goes back to the broker, for other workers may be idle.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from sexton import clock
from sexton.engine.doorbells.base import (
    NOTICE_SIZE,
    Delivery,
    Notice,
    notices_of,
)
from sexton.engine.doorbells.line import Line
from sexton.engine.loop import Loop
from sexton.errors import Unavailable

if TYPE_CHECKING:
    from sexton.engine.worker.worker import Worker

log = logging.getLogger("sexton")

# How long one call waits for a notice. A lane that is new is waited for only afterwards.
WAIT_SECONDS = 1.0
HOLD_SECONDS = 1.0
FULL_SECONDS = 0.25

read_notice = msgspec.json.Decoder(Notice).decode


@dataclass(slots=True)
class Held:
    """A notice, and those of its runs that were not claimed yet."""

    delivery: Delivery
    lane: int
    left: list[int]
    since: float


class Receiver(Loop):
    """Fills itself from the broker; the claimer takes the runs from it."""

    name = "receiver"

    def __init__(self, worker: Worker, line: Line) -> None:
        super().__init__()
        self._worker = worker
        self.line = line
        self._held: deque[Held] = deque()
        self._done: list[Delivery] = []
        self._size = float(NOTICE_SIZE)

    @property
    def up(self) -> bool:
        return self.line.up

    @property
    def waiting(self) -> int:
        """Runs that can be asked for."""
        return sum(len(held.left) for held in self._held)

    def peek(self, limit: int) -> list[int]:
        """Up to so many runs to ask PostgreSQL for."""
        runs: list[int] = []
        for held in self._held:
            runs += held.left[: limit - len(runs)]
            if len(runs) >= limit:
                break
        return list(dict.fromkeys(runs))

    def answered(self, runs: Collection[int], claimed: int) -> None:
        """These were asked for; so many of them were ours to have."""
        asked, told = set(runs), self.waiting
        for held in self._held:
            held.left = [run for run in held.left if run not in asked]
        self._worker.telemetry.rings_empty.inc(max(0, told - self.waiting - claimed))
        while self._held and not self._held[0].left:
            self._done.append(self._held.popleft().delivery)

    async def tick(self) -> float:
        try:
            return await self._fill()
        except Unavailable:
            # What was in hand comes again with the next connection, or is rung for again.
            self._held.clear()
            self._done.clear()
            raise

    async def _fill(self) -> float:
        await self._settle()
        worker = self._worker
        room = worker.claimer.vacancies() - self.waiting
        if room <= 0 or not worker.lanes:
            return FULL_SECONDS
        deliveries = await self.line.receive(worker.lanes, max(1, int(room / self._size)), WAIT_SECONDS)
        for delivery in deliveries:
            self._read(delivery)
        if self._held:
            worker.claimer.wake()
        return 0.0

    async def teardown(self) -> None:
        """What is held here is somebody else's to answer."""
        # If that fails, it is rung for again.
        with contextlib.suppress(Unavailable):
            await self._settle(hold=0.0)
        await self.line.close()

    def _read(self, delivery: Delivery) -> None:
        try:
            notice = read_notice(delivery.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("the queue carried something that is no notice; it is dropped: %s", error)
            self._done.append(delivery)
            return
        self._size = max(1.0, (self._size + len(notice.runs)) / 2)
        self._worker.telemetry.rings_received.inc(len(notice.runs))
        if notice.runs:
            self._held.append(Held(delivery, notice.lane, notice.runs, clock.monotonic()))
        else:
            self._done.append(delivery)

    async def _settle(self, hold: float = HOLD_SECONDS) -> None:
        """Pass on what was held for too long, and acknowledge what is done with."""
        overdue = clock.monotonic() - hold
        passed = [held for held in self._held if held.since <= overdue]
        if passed:
            await self.line.publish(
                [notice for held in passed for notice in notices_of(held.lane, held.left)]
            )
            self._done += [held.delivery for held in passed]
            self._held = deque(held for held in self._held if held.since > overdue)
        if self._done:
            done, self._done = self._done, []
            await self.line.acknowledge(done)
