"""Live inboxes: one query per second for all inboxes that are watched in a process.

A watcher gets each new message once, and the number of unread messages whenever it changes, also by another
process or another tab. A process without watchers sends no queries. Each watcher holds a connection: an
inbox may have few, and when all are taken, the namespace with the most of them gives one back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
from asyncpg import Record

from sexton import clock
from sexton.errors import SextonError, Unavailable
from sexton.notifications.recipients.inbox import MOST_COUNTED, InboxItem, shown
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

LOOK_SECONDS = 1.0
LATEST = 20
MOST_WAITING = 1000
# Watchers of a process, and of one inbox.
MOST_WATCHERS, MOST_OF_ONE = 200, 10


class InboxEvent(msgspec.Struct, frozen=True):
    """A new message, or a changed number of unread messages."""

    number: int
    item: InboxItem | None = None
    unread: int | None = None


@dataclass(eq=False)
class _Watcher:
    namespace: str
    user_id: str
    #: The last message that the watcher knows; None: it knows all that exist when it starts.
    after: int | None
    unread: int | None = None
    seen: set[int] = field(default_factory=set)
    #: None: no more events follow.
    events: asyncio.Queue[InboxEvent | None] = field(default_factory=lambda: asyncio.Queue(MOST_WAITING))


class InboxFeed:
    def __init__(self, database: Database) -> None:
        self._database = database
        #: In the order in which they came.
        self._watchers: dict[_Watcher, None] = {}
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watch(
        self, namespace: str, user_id: str, after: int | None = None
    ) -> AsyncIterator[asyncio.Queue[InboxEvent | None]]:
        """The queue of events from now on, or after the message `after`. Raises `too_many_feeds`."""
        if (other := self.check_room(namespace, user_id)) is not None:
            _tell(other, None)
            del self._watchers[other]
        watcher = _Watcher(namespace, user_id, after)
        self._watchers[watcher] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_on())
        try:
            yield watcher.events
        finally:
            self._watchers.pop(watcher, None)

    def check_room(self, namespace: str, user_id: str) -> _Watcher | None:
        """For another watcher of an inbox: the one that gives way to it, if all places are taken. Raises
        `too_many_feeds`."""
        own = sum((each.namespace, each.user_id) == (namespace, user_id) for each in self._watchers)
        held = Counter(each.namespace for each in self._watchers)
        if own < MOST_OF_ONE:
            if held.total() < MOST_WATCHERS:
                return None
            largest, most = held.most_common(1)[0]
            if most > held[namespace] + 1:
                return next(each for each in self._watchers if each.namespace == largest)
        raise SextonError(
            "too_many_feeds",
            f"{own} streams of this inbox are open, {held.total()} in all",
            hint=f"close some: an inbox may have {MOST_OF_ONE}, all together {MOST_WATCHERS}",
        )

    def stop(self) -> None:
        """Tell all watchers that no more events follow."""
        for watcher in self._watchers:
            _tell(watcher, None)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _look_on(self) -> None:
        while self._watchers:
            try:
                await self.look()
            except Unavailable as error:
                log.debug("the inboxes cannot be read: %s", error)
            except Exception:
                # Without this loop the watchers would wait for ever.
                log.exception("cannot read the inboxes")
            await clock.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Query once, and send the news to the watchers."""
        watchers = list(self._watchers)
        keys = sorted({(each.namespace, each.user_id) for each in watchers})
        rows = await self._database.fetch(
            "inbox/look",
            namespaces=[namespace for namespace, _ in keys],
            user_ids=[user for _, user in keys],
            latest=LATEST,
            most=MOST_COUNTED,
            now=None,
        )
        unread = {(row["namespace"], row["user_id"]): row["unread"] for row in rows}
        items: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
        for row in rows:
            if row["id"] is not None:
                items[row["namespace"], row["user_id"]].append(row)
        for watcher in watchers:
            mine = items[watcher.namespace, watcher.user_id]
            if watcher.after is None:
                # A smaller number may be committed later than a larger one: remember all of the latest.
                watcher.after = 0
                watcher.seen = {row["id"] for row in mine}
            fresh = [row for row in mine if row["id"] > watcher.after and row["id"] not in watcher.seen]
            watcher.seen = {row["id"] for row in mine}
            for row in sorted(fresh, key=lambda row: int(row["id"])):
                _tell(watcher, InboxEvent(row["id"], item=shown(row)))
            count = unread.get((watcher.namespace, watcher.user_id), 0)
            if count != watcher.unread:
                watcher.unread = count
                _tell(watcher, InboxEvent(max(watcher.seen, default=0), unread=count))


def _tell(watcher: _Watcher, event: InboxEvent | None) -> None:
    if watcher.events.full():
        # The watcher does not read: drop its oldest event.
        watcher.events.get_nowait()
    watcher.events.put_nowait(event)
