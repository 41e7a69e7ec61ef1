"""Leading shards: a lease on the node, an epoch on the shard.

A scheduler node renews its own lease once a second, in a statement that also tells who else lives and who
holds which shard. From that each node works out for itself, by rendezvous hashing, which shards it should
lead: joins, leaves and crashes move only the shards concerned. It takes those that are free (nobody holds
them, or the holder's lease has ended on the database's clock), and hands over those that others should lead.

Taking a shard mints its next epoch. Every firing carries the epochs it believes in and is refused as a whole
if one of them is no longer true, so a leader that slept through its lease can do no harm. It also stops by
itself: it trusts its lease only until a margin before its end, measured on the monotonic clock from the
moment before the renewal was sent.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections import deque
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

import asyncpg

from sexton import clock
from sexton.config import Settings
from sexton.errors import Unavailable
from sexton.loop import Loop
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

MARGIN = 0.25


class DatabaseClock:
    """The database's time, estimated from the monotonic clock and recent samples: never ahead of it."""

    def __init__(self) -> None:
        self._offsets: deque[float] = deque(maxlen=30)

    def sample(self, said: datetime, after: float) -> None:
        """What the database said, and the monotonic clock when its answer had come. The answer was under way
        for a while, so the sample that took least is nearest to the truth: the largest offset."""
        self._offsets.append(said.timestamp() - after)

    @property
    def known(self) -> bool:
        return bool(self._offsets)

    def now(self) -> float:
        """Seconds since 1970."""
        return clock.monotonic() + max(self._offsets)


class Leadership(Loop):
    """Keeps this node's lease and its shards. `led` maps each shard to the epoch it is led with."""

    name = "leadership"

    def __init__(
        self, database: Database, settings: Settings, time: DatabaseClock, *, name: str, version: str
    ) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._time = time
        self._node_name = name
        self._version = version
        self._trusted_until = 0.0
        self._steady_since = 0.0
        self._own: Database | None = None
        self.backend_pids: list[int] = []
        self.node: int | None = None
        self.led: dict[int, int] = {}
        self.fenced = 0
        self.on_change: Callable[[], None] = lambda: None

    def trusted(self) -> bool:
        """Whether the lease is surely still ours."""
        return self.node is not None and clock.monotonic() < self._trusted_until

    def steady(self, seconds: float) -> bool:
        """Whether the lease was renewed without a gap for so long: only then may others be judged dead, for
        after an outage of the database everybody's lease has ended."""
        return self.trusted() and clock.monotonic() - self._steady_since >= seconds

    async def setup(self) -> None:
        if self._own is None:
            # Connections of its own: the lease must not wait behind slow requests or handlers.
            self._own = await Database.open(
                self._database.url,
                schema=self._database.schema,
                size=2,
                timeout=self._settings.lease_seconds,
                name="sexton leadership",
                settings={"lock_timeout": "500ms"},
            )
        before = self._steady_since = clock.monotonic()
        row = await self._own.fetchrow(
            "join",
            self._node_name,
            ["scheduler"],
            None,
            [],
            [],
            self._settings.lease_seconds,
            0,
            self._version,
        )
        assert row is not None
        self.node = row["id"]
        self._time.sample(row["now"], clock.monotonic())
        self._trusted_until = before + self._settings.lease_seconds - MARGIN

    async def tick(self) -> float:
        assert self._own is not None
        before = clock.monotonic()
        row = await self._own.fetchrow("beat", self.node, self._settings.lease_seconds, self.backend_pids)
        assert row is not None
        self._time.sample(row["now"], clock.monotonic())
        if not row["alive"]:
            self._lose_everything()
            await self.setup()
            return 0
        if before >= self._trusted_until:
            self._steady_since = before
        self._trusted_until = before + self._settings.lease_seconds - MARGIN
        await self._settle(row["others"], row["epochs"], row["holders"], set(row["holding"]))
        return self._settings.renew_seconds

    async def teardown(self) -> None:
        """A clean stop hands everything over at once."""
        shards, self.led = list(self.led), {}
        self._trusted_until = 0.0
        if self._own is None:
            return
        try:
            async with self._own.transaction() as connection:
                await connection.execute(self._database.statement("give_shards"), shards, self.node)
                await connection.execute(
                    self._database.sql("delete from sexton.nodes where id = $1"), self.node
                )
        except Unavailable as error:
            log.warning("leadership: could not hand over: %s; the lease ends by itself", error.message)
        finally:
            await self._own.close()
            self._own = None

    async def _settle(
        self, others: list[int], epochs: list[int], holders: list[int], holding: set[int]
    ) -> None:
        """Lose what was taken, give what others should lead, take what is free and ours."""
        assert self.node is not None
        assert self._own is not None
        before = dict(self.led)
        mine = wanted(self.node, others, len(epochs))
        lost = [
            shard
            for shard, epoch in self.led.items()
            if holders[shard] != self.node or epochs[shard] != epoch
        ]
        # Also what is held but not led: a hand-over whose answer was lost is tried again.
        given = [shard for shard, holder in enumerate(holders) if holder == self.node and shard not in mine]
        for shard in {*lost, *given} & set(self.led):
            del self.led[shard]
        if lost:
            self.fenced += len(lost)
            log.warning(
                "fenced: %d shard%s taken over by another node",
                len(lost),
                "s were" if len(lost) > 1 else " was",
            )
        if given:
            # An open firing of our own may be in the way: it is tried again at the next beat.
            with contextlib.suppress(asyncpg.LockNotAvailableError):
                await self._own.fetch("give_shards", given, self.node)
        for shard in sorted(mine - set(self.led)):
            if holders[shard] not in holding or holders[shard] == self.node:
                try:
                    row = await self._own.fetchrow("take_shard", shard, self.node, epochs[shard])
                except asyncpg.LockNotAvailableError:
                    # An open firing of the old leader is in the way, though its lease has ended: it was
                    # stopped in the middle. Its backend is ended, which rolls the firing back.
                    log.warning(
                        "the takeover of shard %d is blocked by its old leader: ending its backend", shard
                    )
                    await self._own.fetch("end_backends", holders[shard])
                    break
                if row is not None:
                    self.led[shard] = row["epoch"]
        if self.led != before:
            self.on_change()

    def _lose_everything(self) -> None:
        self.fenced += len(self.led)
        self.led = {}
        self.node = None
        log.warning("fenced: this node was declared dead; joining again under a new identity")


@lru_cache(maxsize=16)
def _wanted(node: int, others: tuple[int, ...], shards: int) -> frozenset[int]:
    def score(who: int, shard: int) -> bytes:
        return hashlib.blake2b(f"{who}:{shard}".encode(), digest_size=8).digest()

    return frozenset(
        shard for shard in range(shards) if all(score(node, shard) > score(other, shard) for other in others)
    )


def wanted(node: int, others: list[int], shards: int) -> frozenset[int]:
    """The shards that a node should lead, by rendezvous hashing: everybody works out the same."""
    return _wanted(node, tuple(sorted(others)), shards)
