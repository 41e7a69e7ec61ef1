"""Open consoles: those who follow the feed, and how many there may be."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass, field

from sexton import clock
from sexton.api.console.change import EVERYTHING, encoded
from sexton.errors import SextonError

# Consoles of a process, and of one credential.
MOST_CONSOLES, MOST_OF_ONE = 500, 300
# Events, and their bytes, that wait for a console that does not read: then it is to read everything again.
MOST_UNREAD, MOST_UNREAD_BYTES = 200, 1024 * 1024
# What is sent at a time. A caller that reads slowly makes the process hold no more than about this.
PIECE_BYTES = 64 * 1024


@dataclass(eq=False, slots=True)
class Console:
    """One that follows the feed."""

    namespace: str
    sees_cluster: bool = False
    credential: str = ""
    #: See `Principal.scope`.
    scope: str = ""
    job: int | None = None
    run: int | None = None
    #: When it began to follow.
    began_at: float = field(default_factory=clock.monotonic)
    unread: deque[bytes] = field(default_factory=deque)
    unread_bytes: int = 0
    #: The latest answer of each list that it shows, if it has not read it.
    answers: dict[str, bytes] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False

    @property
    def audience(self) -> tuple[str, bool]:
        return self.namespace, self.sees_cluster

    def tell(self, event: bytes) -> None:
        full = len(self.unread) >= MOST_UNREAD or self.unread_bytes + len(event) > MOST_UNREAD_BYTES
        if full and self.unread:
            self.unread.clear()
            self.unread_bytes = 0
            self._append(encoded("changed", EVERYTHING))
        self._append(event)

    def answer(self, address: str, event: bytes) -> None:
        """In place of an older answer."""
        self.answers[address] = event

    def take(self) -> bytes:
        """Some of what it was told and has not read, the answers last; nothing if it has read everything."""
        events: list[bytes] = []
        size = 0
        while (self.unread or self.answers) and size < PIECE_BYTES:
            if self.unread:
                each = self.unread.popleft()
                self.unread_bytes -= len(each)
            else:
                each = self.answers.pop(next(iter(self.answers)))
            events.append(each)
            size += len(each)
        return b"".join(events)

    def _append(self, event: bytes) -> None:
        self.unread.append(event)
        self.unread_bytes += len(event)

    def wake(self) -> None:
        """Send what it was told; after a look, so that all of it goes out together."""
        if self.unread or self.answers:
            self.news.set()

    def end(self) -> None:
        self.ended = True
        self.news.set()


def make_room(consoles: Collection[Console], newcomer: Console) -> Console | None:
    """For another console. If all places are taken, the oldest console of the credential with the most of
    them gives way: in the scope with the most places, unless the newcomer's would then have more; else in the
    newcomer's own, unless its credential would then have more. Raises `too_many_feeds` if there is no
    room."""
    own = sum(each.credential == newcomer.credential for each in consoles)
    if own < MOST_OF_ONE:
        if len(consoles) < MOST_CONSOLES:
            return None
        scopes = Counter(each.scope for each in consoles)
        scope, most = scopes.most_common(1)[0]
        crowded = most > scopes[newcomer.scope] + 1
        chosen = scope if crowded else newcomer.scope
        held = Counter(each.credential for each in consoles if each.scope == chosen)
        for largest, most in held.most_common(1):
            if crowded or most > own + 1:
                theirs = (each for each in consoles if each.credential == largest)
                return min(theirs, key=lambda console: console.began_at)
    raise SextonError(
        "too_many_feeds",
        f"{own} feeds of this caller are open, {len(consoles)} in all",
        hint=f"close some: a caller may have {MOST_OF_ONE}, all callers together {MOST_CONSOLES}; when "
        "these are taken, each caller has an equal share",
    )
