"""Answers that callers share: many open consoles ask the same at once when something has changed.

A caller that takes an answer of some age says so with `Cache-Control: max-age=…`, as the console does. It
then gets the answer that another caller with the same rights got to the same question, or is waiting for,
however long that takes; unless something has changed since that was begun: the feed has told of a change, or
this process has made one. A caller that says nothing gets an answer of its own.
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

# The longest that an answer is kept, whatever age a caller takes.
LONGEST_SECONDS = 2.0
# Of the answers that are kept; the latest ones stay. A page of a list may have 4 MiB.
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
    """`told` says how many changes of a namespace the feed has told of."""

    def __init__(self, told: Callable[[str], int]) -> None:
        self._told = told
        self._made: dict[str, int] = {}
        self._entries: dict[Hashable, _Entry] = {}

    def changed(self, namespace: str) -> None:
        """This process has changed something there."""
        self._made[namespace] = self._made.get(namespace, 0) + 1

    async def answer(
        self, namespace: str, question: Hashable, age: float, make: Callable[[], Awaitable[StoredAnswer]]
    ) -> StoredAnswer:
        """The answer to a question that names all that it depends on, made anew or shared."""
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
        # A caller that goes away leaves the others waiting.
        try:
            return await asyncio.shield(known.task)
        except SextonError as error:
            # The caller that was to make it found no place; this one may.
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
    """How old an answer a caller takes, in seconds; 0: it must be its own."""
    found = re.search(r"(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])", headers.get("cache-control", ""))
    return 0.0 if found is None else float(found[1])
