"""Lists that open consoles show: worked out once when something has changed, and sent to all that show them.

A console names the addresses of what it shows. All that name the same address, and would get the same answer
to it, follow one list: when the feed tells of a change that concerns it, the answer is made and encoded once,
and is sent to them if it differs from the last one. So a console asks nothing while it is open, however often
its list changes. A list is made anew at most every two seconds.

What a caller can make this cost is bounded. Few lists are made at a time, fewer of one credential or scope:
the others wait, so those of other callers are made in time. Large answers are not kept here: a console is
told that it has to ask for its list.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Annotated

import asyncpg
import msgspec

from sexton import clock
from sexton.api.console.change import Kind, SeenChanges, encoded
from sexton.api.console.open_console import Console
from sexton.api.replay import StoredAnswer
from sexton.api.security.gate import Gate, RequestCaller
from sexton.errors import SextonError, Unavailable
from sexton.model import encode_id
from sexton.refusal import about

log = logging.getLogger("sexton.api")

REST_SECONDS = 2.0
# Addresses that a console may follow.
MOST_ADDRESSES = 8
# Lists that are made at a time, in all, of one credential and of one scope: fewer than places for all lists.
AT_ONCE, OF_ONE, OF_SCOPE = 4, 2, 3
# An answer that is sent, and all of them together: of a larger one only that it has changed.
LARGEST_ANSWER, MOST_BYTES = 256 * 1024, 32 * 1024 * 1024
JOB_SHOWN = re.compile(rb'"job_id":"(j_\w+)"')


class ListAnswer(msgspec.Struct, frozen=True):
    """What an address answers now."""

    address: Annotated[str, about("The address of the list, as the caller wrote it.")]
    headers: Annotated[
        dict[str, str], about("Headers of the answer: how many there are, where the next page is.")
    ]
    answer: Annotated[
        msgspec.Raw | None, about("The body of the answer; null if it is too large to be sent: ask for it.")
    ]


@dataclass(frozen=True, slots=True)
class FollowedQuestion:
    """What a console shows to its caller. `key`: all that the answer depends on; `kinds`: what makes it
    old."""

    caller: RequestCaller
    address: str
    namespace: str
    key: Hashable
    kinds: frozenset[Kind]
    make: Callable[[], Awaitable[StoredAnswer]]


@dataclass(eq=False, slots=True)
class FollowedList:
    """One list, and all who follow it."""

    question: FollowedQuestion
    lists: FollowedLists
    consoles: dict[Console, bytes] = field(default_factory=dict)
    event: bytes = b""
    old: bool = True
    _said: int | None = None
    _jobs: frozenset[bytes] = frozenset()
    _due_at: float = 0.0
    _task: asyncio.Task[None] | None = None

    def add(self, console: Console) -> None:
        """It hears at once what the list has now."""
        self.consoles[console] = b""
        if self.old:
            self.renew()
        else:
            self._tell()

    def concerns(self, changes: SeenChanges) -> bool:
        """Whether a change may be seen in it: one of its kinds, or runs of a job that it shows."""
        if changes.kinds & self.question.kinds:
            return True
        if "runs" not in changes.kinds or not self._jobs:
            return False
        return changes.more or any(encode_id("j", job).encode() in self._jobs for job in changes.jobs_of_runs)

    def renew(self) -> None:
        self.old = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="sexton followed list")

    def end(self) -> asyncio.Task[None] | None:
        """Its task, which may go on for a moment."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    async def _run(self) -> None:
        while self.old and self.consoles:
            await clock.sleep(max(0.0, self._due_at - clock.monotonic()))
            self.old, self._due_at = False, clock.monotonic() + REST_SECONDS
            try:
                await self._make()
            except (Unavailable, asyncpg.PostgresError):
                self.old = True  # the feed tells that the database cannot be read
            except SextonError as error:
                self.old = True
                if error.code != "too_many_lists":
                    return  # those who ask by themselves are told
            except Exception:
                self.old = True
                log.exception("%s cannot be read for those who follow it", self.question.address)
                return

    async def _make(self) -> None:
        """On its own, so that no answer is kept while its list waits to be made again."""
        async with self.lists.gate.place(self.question.caller):
            answer = await self.question.make()
        self._take(answer)

    def _take(self, answer: StoredAnswer) -> None:
        said = hash((answer.body, *answer.headers.items()))
        if said != self._said:
            self._said, self._jobs = said, frozenset(JOB_SHOWN.findall(answer.body))
            self.event = b""
            body = msgspec.Raw(answer.body) if self.lists.has_room(len(answer.body)) else None
            self.event = encoded("answer", ListAnswer(self.question.address, answer.headers, body))
        self._tell()

    def _tell(self) -> None:
        for console, told in self.consoles.items():
            if told is not self.event:
                self.consoles[console] = self.event
                console.answer(self.question.address, self.event)
                console.wake()


class FollowedLists:
    """All of a process."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, FollowedList] = {}
        self.gate = Gate(AT_ONCE, OF_ONE, of_scope=OF_SCOPE)

    def has_room(self, size: int) -> bool:
        """Whether an answer of this size is kept."""
        kept = sum(len(one.event) for one in self._lists.values())
        return size <= LARGEST_ANSWER and kept + size <= MOST_BYTES

    def add(self, console: Console, questions: Iterable[FollowedQuestion]) -> None:
        for question in questions:
            self._lists.setdefault(question.key, FollowedList(question, self)).add(console)

    def remove(self, console: Console) -> None:
        for key, one in list(self._lists.items()):
            one.consoles.pop(console, None)
            if not one.consoles:
                one.end()
                del self._lists[key]

    def changed(self, namespace: str, changes: SeenChanges) -> None:
        """Make anew what the change concerns."""
        for one in self._lists.values():
            if one.question.namespace == namespace and one.concerns(changes):
                one.renew()

    async def close(self) -> None:
        ended = [task for one in self._lists.values() if (task := one.end()) is not None]
        self._lists.clear()
        if ended:
            await asyncio.wait(ended)
