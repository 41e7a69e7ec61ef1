"""Inboxes, live: one look at the database a second for all that are watched in a process.

A watcher gets each new message once and the number of unread ones whenever it changes, also if another
process or another tab made the change. A process without watchers asks nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from sexton import clock
from sexton.errors import Unavailable
from sexton.notifications.recipients.inbox import MOST_COUNTED, InboxItem, shown
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

LOOK_SECONDS = 1.0
LATEST = 20
MOST_WAITING = 1000


class InboxEvent(msgspec.Struct, frozen=True):
    """A new message, or another number of unread ones."""

    number: int
    item: InboxItem | None = None
    unread: int | None = None


@dataclass(eq=False)
class _Watcher:
    namespace: str
    user_id: str
    #: The last message that it knows; None: whatever is there when it comes is known.
    after: int | None
    unread: int | None = None
    seen: set[int] = field(default_factory=set)
    #: None: there will be no more.
    events: asyncio.Queue[InboxEvent | None] = field(default_factory=lambda: asyncio.Queue(MOST_WAITING))


class InboxFeed:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._watchers: set[_Watcher] = set()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watch(
        self, namespace: str, user_id: str, after: int | None = None
    ) -> AsyncIterator[asyncio.Queue[InboxEvent | None]]:
        """What comes from now on; or from the message `after` on, of the latest."""
        watcher = _Watcher(namespace, user_id, after)
        self._watchers.add(watcher)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_on())
        try:
            yield watcher.events
        finally:
            self._watchers.discard(watcher)

    def stop(self) -> None:
        """Let the watchers go."""
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
                log.debug("inboxes are not looked at: %s", error)
            except Exception:
                # Those who watch would wait for ever.
                log.exception("cannot read the inboxes")
            await clock.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Tell the watchers what is new."""
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
        items = [row for row in rows if row["id"] is not None]
        for watcher in watchers:
            mine = [
                row
                for row in items
                if (row["namespace"], row["user_id"]) == (watcher.namespace, watcher.user_id)
            ]
            if watcher.after is None:
                # A number that is given out earlier may be committed later: all of the latest are remembered.
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
        # It does not read: it starts anew from what it has.
        watcher.events.get_nowait()
    watcher.events.put_nowait(event)
