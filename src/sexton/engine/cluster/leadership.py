"""A scheduler's beat: renews the lease of its node, and takes and hands over shards. See `engine.cluster`."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import asyncpg

from sexton.config import Settings
from sexton.engine.cluster.electors.base import Elector, View
from sexton.engine.cluster.electors.choice import choose_elector
from sexton.engine.cluster.firing import Firing
from sexton.engine.cluster.guard import ElectorGuard, ElectorHealth
from sexton.engine.cluster.membership import Membership
from sexton.engine.loop import Loop
from sexton.errors import Unavailable
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

# The pause before this node asks again for a shard whose leader has gone; also the shortest pause between
# beats.
RETRY_SECONDS = 0.1


class Leadership(Loop):
    """Keeps this node's lease and its shards. `led` maps each shard to the epoch it is led with."""

    name = "leadership"

    def __init__(
        self,
        database: Database,
        settings: Settings,
        membership: Membership,
        *,
        elector: Elector | None = None,
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._guard = ElectorGuard(
            elector or choose_elector(settings, database), lease_seconds=settings.lease_seconds
        )
        self._own: Database | None = None
        self._opened = False
        self._mixed: set[str] = set()
        self.membership = membership
        # The backends of the scheduler: a node that takes over may have to end them.
        self.backend_pids: list[int] = []
        self.led: dict[int, int] = {}
        # The epoch with which this node led each shard when it last handed it over.
        self.handed_over: dict[int, int] = {}
        # Firings that were refused because another node leads, and shards that another node has taken over.
        self.fenced = 0
        self.shards_lost = 0
        self.on_change: Callable[[], None] = lambda: None
        self.firing = Firing(settings.lease_seconds, blind=database.pooled)
        # Ends the statement that the scheduler waits for.
        self.give_up_waiting: Callable[[], None] = lambda: None
        self.wheel_entries: Callable[[], int] = lambda: 0
        self.wheel_sizes: Callable[[], dict[str, int]] = dict

    @property
    def elector_health(self) -> ElectorHealth:
        return self._guard.health

    def trusted(self) -> bool:
        """Whether the lease and the shards are surely still ours."""
        return self.membership.trusted() and self._guard.trusted()

    def describe(self) -> dict[str, Any]:
        """How this scheduler is; its row in `nodes` shows it to the others."""
        health = self._guard.health
        return {
            "elector": health.name,
            "elector_ok": health.ok,
            "elector_error": health.error,
            "wheel": self.wheel_entries(),
            "wheels": self.wheel_sizes(),
            "fenced": self.fenced,
            "fires": self.firing.able,
            "fired": self._database_seconds(self.firing.proven_at),
        }

    async def open_elector(self) -> None:
        """Open the elector, unless it is open. Raises `InvalidField` if it can never work here."""
        if not self._opened:
            await self._guard.open(await self._database.fetchval("cluster/read_name"), self._elector_lost)
            self._opened = True

    async def setup(self) -> None:
        if self._own is None:
            # Its own connections: the lease must not wait for slow requests or handlers.
            self._own = await Database.open(
                self._database.url,
                schema=self._database.schema,
                size=2,
                timeout=self._settings.lease_seconds,
                name="sexton leadership",
                settings={"lock_timeout": "500ms"},
                beside=self._database,
            )
        await self.open_elector()
        # Ask the elector before joining: a node must not get shards that it cannot hold.
        await self._guard.renew(View(node=0))
        await self.membership.join(self._own, detail=self.describe())

    async def tick(self) -> float:
        if self.membership.node is None:  # it was declared dead
            await self.setup()
        assert self._own is not None
        row = await self.membership.renew(
            self._own,
            "cluster/beat",
            backend_pids=[*self.backend_pids, *self._guard.backend_pids],
            detail=self.describe(),
        )
        if row is None:
            await self._lose_everything()
            return 0
        self._watch_electors(row["electors"])
        changed = await self._judge_firing(alone=not row["candidates"])
        waiting = await self._settle(self._view(row), row["candidates"], self._helpers(row))
        if waiting or changed:
            return min(RETRY_SECONDS, self._settings.renew_seconds)
        # Beat when the next lease ends, so that its node is replaced then and not up to a beat later.
        end = row["next_end_seconds"]
        return self._settings.renew_seconds if end is None else self._pause(end)

    async def teardown(self) -> None:
        """Hand all shards over at once."""
        shards, node = self._stop_leading(list(self.led)), self.membership.node
        if self._own is None:
            return
        try:
            async with self._own.transaction() as connection:
                await self._own.execute("cluster/give_shards", on=connection, shards=shards, node=node)
                await self.membership.leave(self._own, on=connection)
        except Unavailable as error:
            log.warning(
                "leadership: could not hand over its shards: %s; its lease expires by itself", error.message
            )
        finally:
            await self._guard.close()
            self._opened = False
            await self._own.close()
            self._own = None

    def _view(self, row: asyncpg.Record) -> View:
        assert self.membership.node is not None
        return View(
            node=self.membership.node,
            epochs=dict(zip(row["shards"], row["epochs"], strict=True)),
            holders=dict(zip(row["shards"], row["holders"], strict=True)),
            live=frozenset(row["live"]),
        )

    async def _judge_firing(self, *, alone: bool) -> bool:
        """Judge again whether this node can fire; returns whether that has changed. If PostgreSQL does not
        work on the statement of the scheduler, no answer will come on that connection: end the wait."""
        assert self._own is not None
        firing, works, sessions = self.firing, False, self.backend_pids
        before = firing.able
        if firing.waits:
            works = await self._own.fetchval("cluster/is_working", backend_pids=sessions)
            if not works:
                log.warning("scheduler: its connection does not answer; it opens another one")
                await self._own.execute("cluster/end_own_backends", backend_pids=sessions)
                self.give_up_waiting()
        firing.judge(works=works, alone=alone)
        if firing.stuck:
            self.on_change()  # PostgreSQL answers here: the scheduler should try again now
        if before and not firing.able:
            log.error("this node cannot fire, though its lease is good: its shards go to a node that can")
        elif firing.able and not before:
            log.warning("this node can fire again")
        return firing.able is not before

    def _helpers(self, row: asyncpg.Record) -> list[int]:
        """The candidates that have proved that they can fire, since this node could not."""
        since = self.firing.since
        if since is None:
            return []
        told = zip(row["candidates"], row["fired"], strict=True)
        return [node for node, fired in told if fired > self._database_seconds(since)]

    def _database_seconds(self, moment: float) -> float:
        """A moment of the monotonic clock as seconds since 1970 on the database's; 0 for long ago."""
        return max(0.0, moment + self.membership.time.offset)

    def _ours(self, view: View, candidates: list[int], helpers: list[int]) -> frozenset[int]:
        """The shards that this node should lead."""
        if self.membership.draining:
            return frozenset()
        if self.firing.able:
            return wanted(view.node, candidates, max(view.epochs, default=0) + 1)
        if helpers:
            return frozenset()
        return frozenset(shard for shard, holder in view.holders.items() if holder == view.node)

    async def _settle(self, view: View, candidates: list[int], helpers: list[int]) -> bool:
        """Stop leading what other nodes have taken, hand over what others should lead, and take free shards.
        Returns whether a shard that this node should lead has no leader, but is not free yet."""
        before = dict(self.led)
        mine = view.epochs.keys() & self._ours(view, candidates, helpers)
        held = await self._guard.renew(view)
        self._lose(view, held)
        await self._give(view, held or set(), mine)
        if held is not None:
            await self._take(view, held, mine)
        if self.led != before:
            self.on_change()
        return held is not None and any(view.free(shard) for shard in mine - self.led.keys())

    def _lose(self, view: View, held: set[int] | None) -> None:
        """Stop leading what another node has taken, or what the elector does not grant any more."""
        gone = self._stop_leading(self.led.keys() - view.epochs.keys())
        if gone:
            log.warning("the number of shards is being changed: %s handed over", _shards_were(len(gone)))
        taken = [
            shard
            for shard, epoch in self.led.items()
            if view.holders[shard] != view.node or view.epochs[shard] != epoch
        ]
        for shard in taken:
            del self.led[shard]
        if taken:
            self.shards_lost += len(taken)
            log.warning("fenced: %s taken over by another node", _shards_were(len(taken)))
        ended = [] if held is None else [shard for shard in self.led if shard not in held]
        for shard in ended:
            del self.led[shard]
        if ended:
            log.warning("elector %s: the lease of %s lost", self._guard.health.name, _shards_were(len(ended)))

    async def _give(self, view: View, held: set[int], mine: set[int]) -> None:
        """Hand over in PostgreSQL first. There our own open firing may block it; if the elector released the
        shard first, another node would take it and end that firing."""
        assert self._own is not None
        # Also shards that are held but not led: after a lost answer the hand-over is tried again.
        given = {shard for shard, holder in view.holders.items() if holder == view.node and shard not in mine}
        self._stop_leading(given & self.led.keys())
        if given:
            try:
                await self._own.execute("cluster/give_shards", shards=sorted(given), node=view.node)
            except asyncpg.LockNotAvailableError:
                return  # tried again at the next beat
        await self._guard.release(held - mine)

    async def _take(self, view: View, held: set[int], mine: set[int]) -> None:
        assert self._own is not None
        asked = mine - self.led.keys()
        got = held & asked | await self._guard.acquire(asked - held, view)
        for shard in sorted(got):
            holder = view.holders[shard]
            final = self._guard.final and holder != view.node
            try:
                epoch = await self._own.fetchval(
                    "cluster/take_shard", shard=shard, node=view.node, epoch=view.epochs[shard], final=final
                )
            except asyncpg.LockNotAvailableError:
                # An open firing of the old leader blocks the takeover, although it does not hold the shard
                # any more: it was stopped in the middle. Ending its backend rolls the firing back.
                log.warning(
                    "the takeover of shard %d is blocked by its old leader: ending its backend", shard
                )
                await self._own.execute("cluster/end_backends", node=holder, final=final)
                return
            if epoch is not None:
                self.led[shard] = epoch

    def _stop_leading(self, shards: Collection[int]) -> list[int]:
        for shard in shards:
            self.handed_over[shard] = self.led.pop(shard)
        return list(shards)

    def _pause(self, next_end_seconds: float) -> float:
        return min(self._settings.renew_seconds, max(next_end_seconds + 0.01, RETRY_SECONDS))

    def _watch_electors(self, names: list[str]) -> None:
        mixed = set(names) - {self._guard.health.name}
        if mixed - self._mixed:
            log.warning(
                "other nodes use the elector %s, this one uses %s: set the same on all",
                ", ".join(sorted(mixed)),
                self._guard.health.name,
            )
        self._mixed = mixed

    def _elector_lost(self) -> None:
        """The elector has noticed a loss by itself: stop firing, and beat at once."""
        self.on_change()
        self.wake()

    async def _lose_everything(self) -> None:
        self.shards_lost += len(self.led)
        self.led = {}
        await self._guard.close()
        self._opened = False


def _shards_were(count: int) -> str:
    return f"{count} shards were" if count > 1 else "1 shard was"


@lru_cache(maxsize=16)
def _wanted(node: int, others: tuple[int, ...], shards: int) -> frozenset[int]:
    def score(candidate: int, shard: int) -> bytes:
        return hashlib.blake2b(f"{candidate}:{shard}".encode(), digest_size=8).digest()

    return frozenset(
        shard for shard in range(shards) if all(score(node, shard) > score(other, shard) for other in others)
    )


def wanted(node: int, others: list[int], shards: int) -> frozenset[int]:
    """The shards that a node should lead, by rendezvous hashing: every node computes the same."""
    return _wanted(node, tuple(sorted(others)), shards)
