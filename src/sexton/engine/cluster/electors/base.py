"""The contract of an elector: it decides which node holds a shard.

Membership is PostgreSQL's business whichever elector is used: nodes have a lease there, and rendezvous
hashing over those that live says which should lead what. The elector then makes sure that one of them holds a
shard at a time, and takes it from one that vanishes. Even a wrong answer does no harm: the epoch of a shard
is minted in PostgreSQL when it is taken, and every firing is fenced by it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from sexton.connections.address import Address, complaint
from sexton.errors import Unavailable

# Where the address of an elector stands.
FIELD = "elector"

LONGEST_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class View:
    """What a beat said: our node, the shards, and the nodes whose lease is good."""

    node: int
    epochs: Mapping[int, int] = field(default_factory=dict)
    holders: Mapping[int, int | None] = field(default_factory=dict)
    live: frozenset[int] = frozenset()

    def free(self, shard: int) -> bool:
        """Whether no other live node leads the shard, by PostgreSQL's account."""
        holder = self.holders[shard]
        return holder is None or holder == self.node or holder not in self.live


class Elector(ABC):
    """Calls come one at a time, from one task. What cannot be reached is `Unavailable`; the next call may
    find it again. `trusted_until`, on the monotonic clock, is how long what `renew` said is surely true; it
    is counted from before the renewal was sent. An elector that learns of a loss by itself sets it back and
    calls `on_lost`.
    """

    name: str

    # Whether holding a shard is enough to take it, though its old leader's node lease in PostgreSQL is good.
    final = True

    def __init__(self) -> None:
        self.trusted_until = -math.inf
        self.on_lost: Callable[[], None] = lambda: None
        # Sessions in PostgreSQL that must end before another node can hold our shards.
        self.backend_pids: list[int] = []

    @abstractmethod
    async def open(self, cluster: str) -> None:
        """Get ready, for the shards of this cluster. Refuses what can never work with `InvalidField`; need
        not reach its server."""

    @abstractmethod
    async def renew(self, view: View) -> set[int]:
        """Prolong what we hold, connecting first if need be. Returns the shards of the view that are ours."""

    @abstractmethod
    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        """Try to hold these, which we do not. Returns those that are ours now."""

    @abstractmethod
    async def release(self, shards: Collection[int]) -> None:
        """Give these up, if they are ours, so that others can hold them at once."""

    @abstractmethod
    async def close(self) -> None:
        """Give everything up at once, and disconnect. It can be opened again."""


def patience(lease_seconds: float) -> float:
    """How long an answer is waited for: a lease must survive one that does not come."""
    return min(lease_seconds / 4, LONGEST_PATIENCE)


def unreachable(name: str, error: BaseException, address: Address | None = None) -> Unavailable:
    """The one error for everything that a client library raises when its server does not answer."""
    return Unavailable(
        "elector_unavailable",
        f"the elector {name} cannot be reached: {complaint(error, address)}",
        hint="it is tried again",
    )
