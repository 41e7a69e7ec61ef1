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

# As many as a worker runs at a time by default: a worker must return notices for which it has no room.
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
    """A message of a broker, as it came; `tag` is the broker's reference to it."""

    body: bytes
    tag: Any


class Broker(ABC):
    """Every lane has its own queue, topic, stream or subject in the broker, named after the cluster and the
    lane, and made on first use. So a worker takes only what it can run.

    Calls come one at a time, from one task, and each may be cancelled. Connections are made on demand. A call
    raises `Unavailable` if the server cannot be reached; the next call starts again, and earlier messages may
    come again.
    """

    name: ClassVar[str]

    # The errors of its client when the server does not answer.
    lost: ClassVar[tuple[type[Exception], ...]] = (OSError,)
    # For one that has one.
    address: Address | None = None

    # If the broker measures time: it delivers a message again that was not acknowledged for so long.
    redeliver_seconds = 30.0

    def __init__(self, url: str, cluster: str) -> None:
        self.url = url
        self.cluster = cluster

    @abstractmethod
    async def publish(self, notices: Sequence[Notice]) -> None:
        """Returns when the broker has stored them."""

    @abstractmethod
    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        """About `limit` messages of any of these lanes: those that are there, else the first that comes
        within so many seconds. Nothing is taken between two calls."""

    @abstractmethod
    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """These messages need not come again. Ignores messages that the broker does not know any more."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect. Messages that were not acknowledged come again, to some worker."""

    @contextlib.contextmanager
    def reached(self) -> Iterator[None]:
        """Wrap everything that needs the server, and the files that its address names: they can be away for a
        while, too."""
        known: tuple[type[Exception], ...] = (*self.lost, InvalidField)
        try:
            yield
        except known as error:
            raise unreachable(self.name, error, self.address) from error

    def encode(self, notice: Notice) -> bytes:
        return msgspec.json.encode(notice)

    def name_of(self, lane: int) -> str:
        """The name of a lane in the broker."""
        return f"sexton.{self.cluster}.{lane}"


def notices_of(lane: int, runs: Sequence[int]) -> Iterator[Notice]:
    """The notices for these runs."""
    for start in range(0, len(runs), NOTICE_SIZE):
        yield Notice(lane, list(runs[start : start + NOTICE_SIZE]))


def unreachable(name: str, error: BaseException, address: Address | None = None) -> Unavailable:
    """The error for everything that a client library raises when its server does not answer."""
    return Unavailable(
        "queue_unavailable",
        f"the broker {name} cannot be reached: {complaint(error, address)}",
        hint="runs are claimed without it meanwhile",
    )
