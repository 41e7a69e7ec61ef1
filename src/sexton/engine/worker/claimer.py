"""Claims runs from the queue when there is room, and as many as are worth a round trip.

`pace` says how far ahead of its free slots it claims. With a broker it claims the runs that notices name;
then it rarely looks by itself, unless the broker is away.

It leaves runs that may end the process of their worker to an isolated process (`isolation`, `suspects`). If
the application cannot be loaded there, it claims such a run alone: first the worker gives away or finishes
everything else.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence

import asyncpg

from sexton import clock
from sexton.engine import crash
from sexton.engine.doorbells.base import Doorbell, Ring
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.loop import Loop
from sexton.engine.worker.heartbeat import Heartbeat
from sexton.engine.worker.isolation import PAUSE_SECONDS, Isolation
from sexton.engine.worker.pace import Pace
from sexton.engine.worker.queue import Limited, RunQueue
from sexton.engine.worker.receiver import Receiver
from sexton.engine.worker.state import WorkerState
from sexton.errors import Unavailable
from sexton.printable import counted
from sexton.targets.run import RunContext

log = logging.getLogger("sexton")

LANES_SECONDS = 10.0
SUSPECTS_SECONDS = 15.0
# When suspects are announced, workers start processes for them one after another: the first may be enough.
SPREAD_SECONDS = 3.0
UNKNOWN_SECONDS = 60.0
GIVE_WAY_SECONDS = 10.0
GIVE_WAY_AGAIN_SECONDS = 60.0
# Runs that this worker has put back for less than this are claimed when their time comes, and not at the next
# poll; all those of one stretch together.
SOON_SECONDS, STRETCH_SECONDS = 10.0, 0.02


class Claimer(Loop):
    """Claims on a ring, when slots become free and there was more to claim, and every `poll_seconds`. `take`
    starts claimed runs; `load` prepares for kinds of target and for what their runs need."""

    name = "claimer"

    def __init__(
        self,
        state: WorkerState,
        pace: Pace,
        queue: RunQueue,
        heartbeat: Heartbeat,
        doorbell: Doorbell,
        *,
        handlers: Sequence[str],
        targets: Sequence[str],
        app: str | None = None,
        take: Callable[[Sequence[asyncpg.Record], int], None],
        load: Callable[[Collection[tuple[str, str]]], None],
        broker: BrokerConnection | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        super().__init__()
        self._state = state
        self._pace = pace
        self._queue = queue
        self._heartbeat = heartbeat
        self._doorbell = doorbell
        self._handlers = handlers
        self._targets = targets
        self._app = app
        self._start = take
        self._load = load
        self._loaded: frozenset[tuple[str, str]] = frozenset()
        self._lanes_at = float("-inf")
        self._isolation = isolation
        self._suspects_at = float("-inf")
        self._isolate_at = float("-inf")
        self._giving_way_until = float("-inf")
        self._give_way_again_at = float("-inf")
        self._here: frozenset[int] = frozenset()
        self._alone = False
        self._limited_first = False
        self._unknown_at = clock.monotonic() + UNKNOWN_SECONDS
        self._look_at = float("-inf")
        self._willing = False
        self._returns: set[int] = set()
        pace.on_room = self.wake
        pace.on_return = self._wake_after
        if isolation is not None:
            isolation.on_end = self._isolated_end
        self.receiver: Receiver | None = None
        if broker is not None:
            self.receiver = Receiver(state, broker, room=self.vacancies, on_notices=self.wake)

    async def setup(self) -> None:
        await self._doorbell.listen(self._rung)

    async def tick(self) -> float:
        state, settings, node = self._state, self._state.settings, self._state.node
        membership = self._heartbeat.membership
        worn_out = state.worn_out.is_set()
        if node is None or not membership.trusted() or membership.draining or worn_out:
            # A new identity wakes it; a lease in doubt is checked again soon.
            self._willing = False
            return settings.poll_seconds
        await self._look_around()
        await self._give_back_unknown(node)
        if not (state.lanes or state.limited):
            self._willing = False
            return settings.poll_seconds
        return await self.claim(node)

    async def claim(self, node: int) -> float:
        """Claim, if there is room; returns the seconds to sleep after it."""
        state, settings = self._state, self._state.settings
        if await self._alone_or_giving_way(node):
            self._willing = False
            return settings.poll_seconds
        self._willing = True
        room = self.room()
        if not self._worth(room):
            self._pace.more = True
            return settings.poll_seconds
        limit = min(room, settings.claim_size)
        if state.limited:
            return await self._claim_both(node, limit)
        full = await self._claim_freely(node, limit) == limit
        self._pace.more = full or self._hears()
        return 0 if self._more(full) else settings.poll_seconds

    def healthy(self, patience: float = 30.0) -> bool:
        """Unhealthy also if no claim got an answer for a lease: then the worker runs nothing."""
        lease = self._state.settings.worker_lease_seconds
        return super().healthy(min(patience, lease)) and not self._state.worn_out.is_set()

    async def teardown(self) -> None:
        node = self._state.node
        if self._unknown_at == float("-inf") and node is not None:
            # Otherwise they would count as runs of a crashed worker.
            with contextlib.suppress(Unavailable):
                await self.release_unknown(node)

    async def find_lanes(self) -> None:
        """Find the lanes to claim from. If a queue has new limits, runs that were claimed freely count from
        now on."""
        state = self._state
        found = await self._queue.lanes(
            state.settings.queue_names(),
            self._handlers,
            self._targets,
            namespaces=state.settings.namespace_names(),
            app=self._app,
        )
        if not set(found.limited) <= set(state.limited) and state.node is not None:
            await self._queue.count_in(state.node, list(state.held()))
        state.lanes, state.limited, state.needs = found.free, found.limited, found.needs
        needs = frozenset(found.needs.values())
        self._load(needs - self._loaded)
        self._loaded = needs

    async def release_unknown(self, node: int) -> None:
        """Give back the runs that the node holds in the database but not here: the answer to their claim was
        lost."""
        state = self._state
        given = await self._queue.release_unknown(node, list(state.held()), now=state.now())
        if given:
            log.warning("%s given back: the answer to the claim was lost", counted(given, "run"))

    async def _claim_both(self, node: int, limit: int) -> float:
        """Claim freely and under limits. They take turns in being first, so that neither delays the other."""
        state, taken, rest = self._state, 0, Limited([])
        self._limited_first = not self._limited_first
        for under_limits in (self._limited_first, not self._limited_first):
            if under_limits:
                # Not ahead: a claimed run that waits here would block others elsewhere.
                most = min(limit - taken, state.concurrency - state.in_hand)
                rest = await self._claim_limited(node, most) if most > 0 else Limited([], True)
                taken += len(rest.rows)
            elif state.lanes and taken < limit:
                taken += await self._claim_freely(node, limit - taken)
        self._pace.more = taken == limit or rest.remaining or self._hears()
        if self._more(taken == limit):
            return 0
        pause = state.settings.poll_seconds
        return pause if rest.seconds is None else min(pause, rest.seconds)

    async def _claim_limited(
        self, node: int, most: int, *, company: int | None = None, lanes: Sequence[int] | None = None
    ) -> Limited:
        state, answer = self._state, Limited([])

        async def claim() -> list[asyncpg.Record]:
            nonlocal answer
            those = rotated(list(state.limited if lanes is None else lanes))
            answer = await self._queue.claim_limited(node, those, most, company=company, now=state.now())
            return answer.rows

        await self._take(claim(), node)
        return answer

    async def _claim_freely(self, node: int, limit: int) -> int:
        """Claim from lanes without limits. With a broker, the runs that notices name. Otherwise any runs:
        without a broker, while it is away, and now and then while no notice waits, since notices can be lost
        or late."""
        state, receiver = self._state, self.receiver
        began = clock.monotonic()
        if receiver is not None and receiver.up and (receiver.waiting or began < self._look_at):
            asked, claimed = receiver.peek(limit), 0
            if asked:
                claim = self._queue.claim_by_id(node, state.lanes, asked, now=state.now())
                claimed = await self._take(claim, node)
                receiver.answered(asked, claimed)
            receiver.wake()
            return claimed
        claim = self._queue.claim(node, rotated(state.lanes), limit, now=state.now())
        claimed = await self._take(claim, node)
        self._look_at = began + (0 if claimed == limit else state.settings.sweep_seconds)
        return claimed

    def _hears(self) -> bool:
        """Whether a broker answers: then its notices say what there is to claim."""
        return self.receiver is not None and self.receiver.up

    def _more(self, full: bool) -> bool:
        """Whether to claim again at once."""
        receiver = self.receiver
        known = full or (receiver is not None and receiver.up and receiver.waiting > 0)
        return known and self._worth(self.room())

    async def _take(self, claim: Awaitable[list[asyncpg.Record]], node: int) -> int:
        """If the answer is lost, the next tick first gives back what was claimed."""
        try:
            rows = await claim
            if rows:
                crash.point("claim.after")
            self._start(rows, node)
        except BaseException:
            self._unknown_at = float("-inf")
            raise
        return len(rows)

    async def _give_back_unknown(self, node: int) -> None:
        """After a claim without an answer, and now and then: an abandoned statement may still be carried out.
        It reads all runs, so it happens more rarely the more runs there are."""
        began = clock.monotonic()
        if began >= self._unknown_at:
            self._unknown_at = began + UNKNOWN_SECONDS
            await self._queue.move_ids_on(self._state.highest_run)
            await self.release_unknown(node)
            ended = clock.monotonic()
            self._unknown_at = ended + max(UNKNOWN_SECONDS, 100 * (ended - began))

    def room(self) -> int:
        state = self._state
        if state.unwritten_outcomes > 4 * state.settings.claim_size:
            return 0
        return state.concurrency + self._pace.ahead - state.in_hand

    def vacancies(self) -> int:
        """How many runs may be taken from a broker now."""
        return self.room() if self._willing and self._worth(self.room()) else 0

    def _worth(self, room: int) -> bool:
        """A small claim costs a round trip like a big one: with work in hand, wait for more room."""
        if self._state.backlog:
            return room >= self._state.settings.claim_size // 4
        return room > 0

    def _rung(self, ring: Ring) -> None:
        match ring:
            case "runs":
                crash.point("wake.before")
                if self._state.limited or not self._hears():
                    self.wake()
            case "lanes":
                self._lanes_at = float("-inf")
                self.wake()
            case "cancels":
                self._heartbeat.poke()
            case "suspects":
                now = clock.monotonic()
                self._suspects_at = now
                self._isolate_at = min(self._isolate_at, now + random.uniform(0, SPREAD_SECONDS))
                self.wake()

    def _wake_after(self, seconds: float) -> None:
        """Look when a run that was put back may be claimed again."""
        loop = asyncio.get_running_loop()
        stretch = int((loop.time() + seconds) / STRETCH_SECONDS) + 1
        if seconds < SOON_SECONDS and stretch not in self._returns:
            self._returns.add(stretch)
            loop.call_at(stretch * STRETCH_SECONDS, self._wake_for, stretch)

    def _wake_for(self, stretch: int) -> None:
        self._returns.discard(stretch)
        # A broker has no notice of it.
        self._look_at = float("-inf")
        self.wake()

    async def _look_around(self) -> None:
        """Now and then: which lanes there are, whether the doorbell works, whether there are suspects."""
        now = clock.monotonic()
        if now - self._lanes_at >= LANES_SECONDS:
            self._lanes_at = now
            await self.find_lanes()
            await self._doorbell.check()
        if now >= self._suspects_at:
            await self.look_for_suspects()

    async def look_for_suspects(self) -> None:
        """Find the suspected jobs, and whether suspects wait: for an isolated process, or to run alone
        here."""
        state, isolation, now = self._state, self._isolation, clock.monotonic()
        lanes = state.lanes + state.limited
        if not lanes:
            return
        turn = now >= self._isolate_at
        self._isolate_at = now + SUSPECTS_SECONDS if turn else self._isolate_at
        self._suspects_at = min(now + SUSPECTS_SECONDS, self._isolate_at)
        found = await self._queue.suspects(lanes, now=state.now())
        state.suspicious = found.jobs
        self._here = frozenset(
            lane for lane in found.lanes if isolation is None or not isolation.serves(*state.needs[lane])
        )
        if isolation is not None and turn and found.lanes - self._here:
            isolation.wanted()
        if self._here and now >= self._give_way_again_at:
            self._giving_way_until = clock.monotonic() + GIVE_WAY_SECONDS

    def _isolated_end(self) -> None:
        """An isolated process has ended; its runs wait for the next one."""
        self._suspects_at = self._isolate_at = clock.monotonic() + PAUSE_SECONDS
        asyncio.get_running_loop().call_later(PAUSE_SECONDS, self.wake)

    async def _alone_or_giving_way(self, node: int) -> bool:
        """Whether the worker may claim nothing else because a run must run alone here. Outcomes that are not
        recorded yet would be lost with the process."""
        state, now = self._state, clock.monotonic()
        self._pace.more = True
        busy = state.in_hand > 0 or state.unwritten_outcomes > 0
        if self._alone:
            self._alone = busy
            return self._alone
        if now >= self._giving_way_until:
            return False
        if busy:
            # Not for too long: runs here may take hours, and another worker may be idle.
            self._give_way_again_at = now + GIVE_WAY_AGAIN_SECONDS
            return True
        self._giving_way_until = self._give_way_again_at = self._suspects_at = float("-inf")
        free = [lane for lane in state.lanes if lane in self._here]
        limited = [lane for lane in state.limited if lane in self._here]
        if free:
            claim = self._queue.claim_suspects(node, free, 1, now=state.now())
            self._alone = await self._take(claim, node) > 0
        if not self._alone and limited:
            self._alone = bool((await self._claim_limited(node, 1, company=1, lanes=limited)).rows)
        if not self._alone:
            self._suspects_at = now + SUSPECTS_SECONDS
        return self._alone

    def _in_hand(self) -> Iterator[RunContext]:
        yield from self._state.running.values()
        yield from (run for run, _ in self._state.backlog)


def rotated(lanes: list[int]) -> list[int]:
    """The lanes from a random one on, forwards or backwards: so of any two lanes each comes first half of the
    time, and a lane that always has runs does not delay the others."""
    start = random.randrange(len(lanes))
    turned = lanes[start:] + lanes[:start]
    return turned if random.getrandbits(1) else turned[::-1]
