"""The contracts of a doorbell and of a broker, and what a broker carries."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import msgspec

from sexton.connections.address import Address, complaint
from sexton.errors import InvalidField, Unavailable

# What rang: runs to claim, a change of lanes, a run to cancel, runs that may end their process.
Ring = Literal["runs", "lanes", "cancels", "suspects"]

# Where the address of a broker stands.
FIELD = "queue_url"

# As many as a worker runs at a time by default: what one has no room for must go back to the broker.
NOTICE_SIZE = 100


class Doorbell(Protocol):
    async def listen(self, rung: Callable[[Ring], None]) -> None:
        """Call `rung` at every ring from now on; returns once it listens."""
        ...

    async def check(self) -> bool:
        """Whether the listener still listens; if not, it tries again."""
        ...

    async def close(self) -> None: ...


class Notice(msgspec.Struct, frozen=True):
    """Runs of one lane that may be claimed. Brokers carry it as JSON."""

    lane: int
    runs: list[int]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a broker has handed out, as it came; `tag` is how the broker knows it."""

    body: bytes
    tag: Any


class Broker(ABC):
    """Every lane has a queue, topic, stream or subject of its own in the broker, named after the cluster and
    the lane, and made when it is first used; so workers take only what they can run.

    Calls come one at a time, from one task, and each may be cancelled. Connections are made when needed.
    What cannot be reached is `Unavailable`, and the next call starts afresh; what was handed out before may
    come again then.
    """

    name: ClassVar[str]

    # What its client raises when the server does not answer.
    lost: ClassVar[tuple[type[Exception], ...]] = (OSError,)
    # For one that has one.
    address: Address | None = None

    # Where the broker counts the time: what was not acknowledged for so long is handed out again.
    redeliver_seconds = 30.0

    def __init__(self, url: str, cluster: str) -> None:
        self.url = url
        self.cluster = cluster

    @abstractmethod
    async def publish(self, notices: Sequence[Notice]) -> None:
        """Returns when the broker has stored them."""

    @abstractmethod
    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        """About `limit` messages, of any of these lanes: what is there at once, else the first that comes
        within so many seconds. Between two calls nothing is taken."""

    @abstractmethod
    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """These need not come again. Those that the broker does not know any more are ignored."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect. What was not acknowledged comes again, sooner or later, to some worker."""

    @contextlib.contextmanager
    def reached(self) -> Iterator[None]:
        """Around everything that needs the server; and the files that its address names, which can be away
        for a while too."""
        known: tuple[type[Exception], ...] = (*self.lost, InvalidField)
        try:
            yield
        except known as error:
            raise unreachable(self.name, error, self.address) from error

    def encode(self, notice: Notice) -> bytes:
        return msgspec.json.encode(notice)

    def name_of(self, lane: int) -> str:
        """What a lane is called in the broker."""
        return f"sexton.{self.cluster}.{lane}"


def notices_of(lane: int, runs: Sequence[int]) -> Iterator[Notice]:
    """As many notices as it takes."""
    for start in range(0, len(runs), NOTICE_SIZE):
        yield Notice(lane, list(runs[start : start + NOTICE_SIZE]))


def unreachable(name: str, error: BaseException, address: Address | None = None) -> Unavailable:
    """The one error for everything that a client library raises when its server does not answer."""
    return Unavailable(
        "queue_unavailable",
        f"the broker {name} cannot be reached: {complaint(error, address)}",
        hint="runs are claimed without it meanwhile",
    )
