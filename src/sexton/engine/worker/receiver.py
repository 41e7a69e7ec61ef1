"""The consuming side of a broker: takes notices while the worker has room, and keeps them until their runs
are claimed.

It takes nothing while no slot is free, and acknowledges a notice only after its runs were claimed or are
gone. A notice may be larger than the room. The rest of it waits here for free slots, but not for long: then
it goes back to the broker, since other workers may be idle.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

import msgspec

from sexton import clock
from sexton.engine.doorbells.base import NOTICE_SIZE, Delivery, Notice, notices_of
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.loop import Loop
from sexton.engine.worker.state import WorkerState
from sexton.errors import Unavailable

log = logging.getLogger("sexton")

# How long one call waits for a notice. A new lane is included only in the next call.
WAIT_SECONDS = 1.0
HOLD_SECONDS = 1.0
FULL_SECONDS = 0.25

read_notice = msgspec.json.Decoder(Notice).decode


@dataclass(slots=True)
class HeldNotice:
    """A notice, and the runs of it that were not claimed yet."""

    delivery: Delivery
    lane: int
    left: list[int]
    since: float


class Receiver(Loop):
    """Takes notices from the broker; the claimer takes the runs from here. `room` says how many runs it may
    take; `on_notices` is called when there are notices."""

    name = "receiver"

    def __init__(
        self,
        state: WorkerState,
        broker: BrokerConnection,
        *,
        room: Callable[[], int],
        on_notices: Callable[[], None],
    ) -> None:
        super().__init__()
        self._state = state
        self.broker = broker
        self._room = room
        self._on_notices = on_notices
        self._held: deque[HeldNotice] = deque()
        self._done: list[Delivery] = []
        self._size = float(NOTICE_SIZE)

    @property
    def up(self) -> bool:
        return self.broker.up

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
        """The claimer has asked for these runs, and got so many of them."""
        asked, before = set(runs), self.waiting
        for held in self._held:
            held.left = [run for run in held.left if run not in asked]
        self._state.telemetry.rings_empty.inc(max(0, before - self.waiting - claimed))
        while self._held and not self._held[0].left:
            self._done.append(self._held.popleft().delivery)

    async def tick(self) -> float:
        try:
            return await self._fill()
        except Unavailable:
            # The notices in hand come again with the next connection, or the ringer rings again.
            self._held.clear()
            self._done.clear()
            raise

    async def _fill(self) -> float:
        await self._pass_on()
        lanes, room = self._state.lanes, self._room() - self.waiting
        if room <= 0 or not lanes:
            return FULL_SECONDS
        for delivery in await self.broker.receive(lanes, max(1, int(room / self._size)), WAIT_SECONDS):
            self._read(delivery)
        if self._held:
            self._on_notices()
        return 0.0

    async def teardown(self) -> None:
        """Give the notices back to other workers."""
        # If that fails, the ringer rings again.
        with contextlib.suppress(Unavailable):
            await self._pass_on(hold=0.0)
        await self.broker.close()

    def _read(self, delivery: Delivery) -> None:
        try:
            notice = read_notice(delivery.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("dropped a message of the broker that is no notice: %s", error)
            self._done.append(delivery)
            return
        self._size = max(1.0, (self._size + len(notice.runs)) / 2)
        self._state.telemetry.rings_received.inc(len(notice.runs))
        if notice.runs:
            self._held.append(HeldNotice(delivery, notice.lane, notice.runs, clock.monotonic()))
        else:
            self._done.append(delivery)

    async def _pass_on(self, hold: float = HOLD_SECONDS) -> None:
        """Give back notices that waited too long, and acknowledge finished ones."""
        overdue = clock.monotonic() - hold
        passed = [held for held in self._held if held.since <= overdue]
        if passed:
            await self.broker.publish(
                [notice for held in passed for notice in notices_of(held.lane, held.left)]
            )
            self._done += [held.delivery for held in passed]
            self._held = deque(held for held in self._held if held.since > overdue)
        if self._done:
            done, self._done = self._done, []
            await self.broker.acknowledge(done)
