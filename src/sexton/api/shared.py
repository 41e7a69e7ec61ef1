"""Answers that callers share: many open consoles ask the same question at once when something has changed.

A caller that accepts an answer of some age says so with `Cache-Control: max-age=…`, as the console does. It
gets the answer that another caller with the same rights got to the same question, or is waiting for, unless
something has changed since that answer was begun: the feed has reported a change, or this process has made
one. Without the header, a caller gets an answer of its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

from sexton import clock
from sexton.api.replay import StoredAnswer
from sexton.errors import SextonError

# How long an answer is kept at most, whatever age a caller accepts.
LONGEST_SECONDS = 2.0
# The total size of kept answers; the latest are kept. A page of a list may have 4 MiB.
MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Entry:
    version: tuple[int, int]
    begun_at: float
    task: asyncio.Task[StoredAnswer]

    @property
    def size(self) -> int:
        """Of the answer, once it is there."""
        failed = self.task.cancelled() or self.task.exception() is not None
        return 0 if failed else len(self.task.result().body)


class SharedAnswers:
    """`told` returns how many changes of a namespace the feed has reported."""

    def __init__(self, told: Callable[[str], int]) -> None:
        self._told = told
        self._made: dict[str, int] = {}
        self._entries: dict[Hashable, _Entry] = {}

    def changed(self, namespace: str) -> None:
        """Note that this process has changed something in a namespace."""
        self._made[namespace] = self._made.get(namespace, 0) + 1

    async def answer(
        self, namespace: str, question: Hashable, age: float, make: Callable[[], Awaitable[StoredAnswer]]
    ) -> StoredAnswer:
        """The answer to a question that names everything it depends on: a new one, or a shared one."""
        now = clock.monotonic()
        version = self._told(namespace), self._made.get(namespace, 0)
        known = self._entries.get((namespace, question))
        mine = (
            known is None
            or known.version != version
            or (known.task.done() and now - known.begun_at > min(age, LONGEST_SECONDS))
            or (known.task.done() and (known.task.cancelled() or known.task.exception() is not None))
        )
        if known is None or mine:
            self._entries.pop((namespace, question), None)
            self._forget_old(now)
            known = _Entry(version, now, asyncio.create_task(_run(make), name="sexton shared answer"))
            self._entries[namespace, question] = known
        # If this caller disconnects, the others still wait for the answer.
        try:
            return await asyncio.shield(known.task)
        except SextonError as error:
            # The caller that made it got no place at the gate; this caller may get one.
            if mine or error.code != "too_many_lists":
                raise
        return await make()

    def _forget_old(self, now: float) -> None:
        kept = 0
        for question, entry in reversed(list(self._entries.items())):
            if entry.task.done():
                kept += entry.size
                if kept > MOST_BYTES or now - entry.begun_at > LONGEST_SECONDS:
                    del self._entries[question]
        if len(self._made) > 10_000:
            self._made.clear()
            self._entries.clear()


async def _run(make: Callable[[], Awaitable[StoredAnswer]]) -> StoredAnswer:
    return await make()


def accepted_age(headers: Any) -> float:
    """The greatest age of an answer that a caller accepts, in seconds; 0: it needs its own."""
    found = re.search(r"(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])", headers.get("cache-control", ""))
    return 0.0 if found is None else float(found[1])
