"""The contract of an elector: it decides which node holds a shard.

Membership is in PostgreSQL with every elector: nodes have a lease there, and rendezvous hashing over the live
nodes says which of them should lead which shard. The elector makes sure that only one node holds a shard at a
time, and takes it from a node that vanishes. A wrong answer does no harm: PostgreSQL gives out the epoch of a
shard when a node takes it, and that epoch fences every firing.
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
    """Calls come one at a time, from one task. A call raises `Unavailable` if the server cannot be reached;
    the next call may reach it. Until `trusted_until`, on the monotonic clock, the last answer of `renew` is
    surely true; it counts from the moment before the renewal was sent. An elector that learns of a loss by
    itself sets `trusted_until` back and calls `on_lost`.
    """

    name: str

    # Whether a node that holds a shard may take it although the lease of its old leader has not ended.
    final = True

    def __init__(self) -> None:
        self.trusted_until = -math.inf
        self.on_lost: Callable[[], None] = lambda: None
        # Sessions in PostgreSQL that must end before another node can hold our shards.
        self.backend_pids: list[int] = []

    @abstractmethod
    async def open(self, cluster: str) -> None:
        """Prepare for the shards of this cluster. Raises `InvalidField` for what can never work. It need not
        reach the server."""

    @abstractmethod
    async def renew(self, view: View) -> set[int]:
        """Renew what this node holds; connect first if necessary. Returns the shards of the view that it
        holds."""

    @abstractmethod
    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        """Try to hold these shards. Returns those that this node holds now."""

    @abstractmethod
    async def release(self, shards: Collection[int]) -> None:
        """Release these shards, so that other nodes can hold them at once."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything at once, and disconnect. The elector can be opened again."""


def patience(lease_seconds: float) -> float:
    """How long to wait for an answer: a lease must survive a missing one."""
    return min(lease_seconds / 4, LONGEST_PATIENCE)


def unreachable(name: str, error: BaseException, address: Address | None = None) -> Unavailable:
    """The error for everything that a client library raises when its server does not answer."""
    return Unavailable(
        "elector_unavailable",
        f"the elector {name} cannot be reached: {complaint(error, address)}",
        hint="it is tried again",
    )
