"""Taking runs from the queue: when there is room, and as many as are worth a round trip.

How far ahead a worker claims follows from how fast it has been lately: a few hundredths of a second of
work, and nothing at all while its handlers are slow. With a broker it claims what it has notices of;
looking by itself is then rare, unless the broker is away. A run that has crashed two workers is taken
alone: the worker lets go of everything else first.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Awaitable
from typing import TYPE_CHECKING

import asyncpg

from sexton import clock
from sexton.engine import crash
from sexton.engine.doorbells.base import Ring
from sexton.engine.loop import Loop
from sexton.engine.worker.queue import Limited
from sexton.errors import Unavailable

if TYPE_CHECKING:
    from sexton.engine.worker.worker import Worker

AHEAD_SECONDS = 0.05
LANES_SECONDS = 10.0
SUSPECTS_SECONDS = 15.0
UNKNOWN_SECONDS = 60.0
GIVE_WAY_SECONDS = 10.0
GIVE_WAY_AGAIN_SECONDS = 60.0


class Claimer(Loop):
    """Claims on a ring, when slots became free while there was more, and every `poll_seconds`."""

    name = "claimer"

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._waiting = False
        self._ahead = 0
        self._lanes_at = float("-inf")
        self._suspects_at = float("-inf")
        self._giving_way_until = float("-inf")
        self._alone = False
        self._limited_first = False
        self._unknown_at = clock.monotonic() + UNKNOWN_SECONDS
        self._look_at = float("-inf")
        self._willing = False

    async def setup(self) -> None:
        await self._worker.doorbell.listen(self._rung)

    async def tick(self) -> float:
        worker, settings = self._worker, self._worker.settings
        node = worker.node
        heart = worker.heartbeat
        if node is None or worker.batch is None or not heart.trusted() or heart.draining:
            # Woken by the new identity; a lease in doubt is looked at again soon.
            self._willing = False
            return settings.poll_seconds
        await self._look_around()
        await self._give_back_unknown(node)
        if not (worker.lanes or worker.limited) or await self._alone_or_giving_way(node):
            self._willing = False
            return settings.poll_seconds
        self._willing = True
        room = self.room()
        if not self._worth(room):
            self._waiting = True
            return settings.poll_seconds
        limit = min(room, settings.claim_size)
        if worker.limited:
            return await self._claim_both(node, limit)
        full = await self._claim_freely(node, limit) == limit
        self._waiting = full or self._hears()
        return 0 if self._more(full) else settings.poll_seconds

    async def teardown(self) -> None:
        node = self._worker.node
        if self._unknown_at == float("-inf") and node is not None:
            # Else they would count as runs of a crashed worker.
            with contextlib.suppress(Unavailable):
                await self._worker.release_unknown(node)

    async def _claim_both(self, node: int, limit: int) -> float:
        """Freely and under limits, taking turns at being first, so that neither keeps the other waiting."""
        worker, taken, rest = self._worker, 0, Limited([])
        self._limited_first = not self._limited_first
        for under_limits in (self._limited_first, not self._limited_first):
            if under_limits:
                # Not ahead of time: what waits here would keep others from running elsewhere.
                most = min(limit - taken, worker.concurrency - worker.in_hand)
                rest = await self._claim_limited(node, most) if most > 0 else Limited([], True)
                taken += len(rest.rows)
            elif worker.lanes and taken < limit:
                taken += await self._claim_freely(node, limit - taken)
        self._waiting = taken == limit or rest.remaining or self._hears()
        if self._more(taken == limit):
            return 0
        pause = worker.settings.poll_seconds
        return pause if rest.seconds is None else min(pause, rest.seconds)

    async def _claim_limited(self, node: int, most: int, *, alone: bool = False) -> Limited:
        worker, answer = self._worker, Limited([])

        async def claim() -> list[asyncpg.Record]:
            nonlocal answer
            lanes = self._rotated(worker.limited)
            answer = await worker.queue.claim_limited(node, lanes, most, alone=alone, now=worker.now())
            return answer.rows

        await self._take(claim(), node, alone=alone)
        return answer

    async def _claim_freely(self, node: int, limit: int) -> int:
        """From lanes without limits. With a broker, what it has notices of. Else what is there: without a
        broker or with one that is away, and now and then while no notice waits, for notices can be
        lost or late."""
        worker, receiver = self._worker, self._worker.receiver
        began = clock.monotonic()
        if receiver is not None and receiver.up and (receiver.waiting or began < self._look_at):
            asked, claimed = receiver.peek(limit), 0
            if asked:
                claim = worker.queue.claim_by_id(node, worker.lanes, asked, now=worker.now())
                claimed = await self._take(claim, node)
                receiver.answered(asked, claimed)
            receiver.wake()
            return claimed
        claim = worker.queue.claim(node, self._rotated(worker.lanes), limit, now=worker.now())
        claimed = await self._take(claim, node)
        self._look_at = began + (0 if claimed == limit else worker.settings.sweep_seconds)
        return claimed

    def _hears(self) -> bool:
        """Whether a broker tells what there is; it must be told when there is room."""
        return self._worker.receiver is not None and self._worker.receiver.up

    def _more(self, full: bool) -> bool:
        """Whether to go on at once."""
        receiver = self._worker.receiver
        known = full or (receiver is not None and receiver.up and receiver.waiting > 0)
        return known and self._worth(self.room())

    async def _take(self, claim: Awaitable[list[asyncpg.Record]], node: int, *, alone: bool = False) -> int:
        """If the answer is lost, whatever was claimed is given back before anything else is."""
        try:
            rows = await claim
            if rows:
                crash.point("claim.after")
            self._worker.take(rows, node, alone=alone)
        except BaseException:
            self._unknown_at = float("-inf")
            raise
        return len(rows)

    async def _give_back_unknown(self, node: int) -> None:
        """After a claim without an answer, and now and then: a statement may be carried out after it was
        given up. It looks at all runs, so the more there are, the rarer."""
        began = clock.monotonic()
        if began >= self._unknown_at:
            self._unknown_at = began + UNKNOWN_SECONDS
            await self._worker.release_unknown(node)
            ended = clock.monotonic()
            self._unknown_at = ended + max(UNKNOWN_SECONDS, 100 * (ended - began))

    def room(self) -> int:
        worker = self._worker
        if worker.unsettled > 4 * worker.settings.claim_size:
            return 0
        return worker.concurrency + self._ahead - worker.in_hand

    def vacancies(self) -> int:
        """How many runs may be taken from a broker now."""
        return self.room() if self._willing and self._worth(self.room()) else 0

    def wake_if_waiting(self) -> None:
        """There is room again; it matters only if there was more to claim."""
        if self._waiting:
            self.wake()

    def measured(self, runs: int, seconds: float) -> None:
        """How fast it goes; only a worker that could have had more tells."""
        if self._waiting:
            wanted = runs / max(seconds, 0.001) * AHEAD_SECONDS
            self._ahead = int(min(2 * self._worker.settings.claim_size, (self._ahead + wanted) / 2))

    def slow_down(self) -> None:
        self._ahead = 0

    def _worth(self, room: int) -> bool:
        """A small claim costs a round trip as a big one does: with work in hand, wait for more room."""
        if self._worker.backlog:
            return room >= self._worker.settings.claim_size // 4
        return room > 0

    def _rotated(self, lanes: list[int]) -> list[int]:
        """A lane that always has something to do must not keep the others waiting. Forwards or backwards, so
        that of any two lanes each comes first half of the time, however many there are."""
        start = random.randrange(len(lanes))
        rotated = lanes[start:] + lanes[:start]
        return rotated if random.getrandbits(1) else rotated[::-1]

    def _rung(self, ring: Ring) -> None:
        match ring:
            case "runs":
                crash.point("wake.before")
                if self._worker.limited or not self._hears():
                    self.wake()
            case "lanes":
                self._lanes_at = float("-inf")
                self.wake()
            case "cancels":
                self._worker.heartbeat.poke()

    async def _look_around(self) -> None:
        """Now and then: which lanes there are, whether the doorbell works, whether a run must run alone."""
        worker, now = self._worker, clock.monotonic()
        if now - self._lanes_at >= LANES_SECONDS:
            self._lanes_at = now
            await worker.find_lanes()
            await worker.doorbell.check()
        lanes = worker.lanes + worker.limited
        if now - self._suspects_at >= SUSPECTS_SECONDS and lanes:
            self._suspects_at = now
            if await worker.queue.suspects(lanes, now=worker.now()):
                self._giving_way_until = clock.monotonic() + GIVE_WAY_SECONDS

    async def _alone_or_giving_way(self, node: int) -> bool:
        """Whether nothing else may be claimed for the sake of a run that must run alone."""
        worker, now = self._worker, clock.monotonic()
        self._waiting = True
        if self._alone:
            self._alone = worker.in_hand > 0
            return self._alone
        if now >= self._giving_way_until:
            return False
        if worker.in_hand:
            # Not for too long: what runs here may take hours, and another worker may be idle.
            self._suspects_at = now + GIVE_WAY_AGAIN_SECONDS
            return True
        self._giving_way_until = self._suspects_at = float("-inf")
        claim = worker.queue.claim_alone(node, worker.lanes, now=worker.now())
        self._alone = await self._take(claim, node, alone=True) > 0
        if not self._alone and worker.limited:
            self._alone = bool((await self._claim_limited(node, 1, alone=True)).rows)
        if not self._alone:
            self._suspects_at = now
        return self._alone
