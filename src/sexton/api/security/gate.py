"""Limits how many expensive requests run at a time: lists, previews and exports.

They share the connections and the processor of the process with all other requests. So there are fewer places
than connections, and one caller never gets all of them; nor do all callers of one scope, such as the keys of
one namespace. A request without a place waits a while for one.
Exports have places of their own, since they last as long as their callers read: one part of each is in
memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from sexton.errors import SextonError

# Places for all callers, for one, and for all of one scope. A process has ten connections for requests.
PLACES, PLACES_OF_ONE, PLACES_OF_SCOPE = 6, 3, 5
EXPORTS, EXPORTS_OF_ONE, EXPORTS_OF_SCOPE = 12, 3, 9
WAIT_SECONDS = 10.0


class RequestCaller(NamedTuple):
    """Who shares what a process has: a credential, or an address; and its scope (`Principal.scope`)."""

    name: str
    scope: str = ""


class Gate:
    """Places for expensive requests."""

    def __init__(
        self,
        places: int = PLACES,
        of_one: int = PLACES_OF_ONE,
        wait_seconds: float = WAIT_SECONDS,
        *,
        of_scope: int | None = None,
        what: str = "list or preview",
    ) -> None:
        self._what = what
        self._places = places
        self._of_one = of_one
        self._of_scope = places if of_scope is None else of_scope
        self._wait_seconds = wait_seconds
        self._inside: Counter[RequestCaller] = Counter()
        self._scopes: Counter[str] = Counter()
        self._waiting: deque[tuple[RequestCaller, asyncio.Future[None]]] = deque()

    @property
    def taken(self) -> int:
        return self._inside.total()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @asynccontextmanager
    async def place(self, caller: RequestCaller) -> AsyncIterator[None]:
        """Hold a place for the block. Raises `too_many_lists` if none became free in time."""
        if self._has_room(caller):
            self._enter(caller)
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._leave(caller)

    async def in_turn(self, parts: AsyncIterator[bytes], caller: RequestCaller) -> AsyncIterator[bytes]:
        """Read each part at a place; none is held while the caller reads it, however slowly. A stream that
        has begun waits for its place as long as necessary."""
        while True:
            try:
                async with self.place(caller):
                    part = await anext(parts, None)
            except SextonError as error:
                if error.code != "too_many_lists":
                    raise
                continue
            if part is None:
                return
            yield part

    async def _wait(self, caller: RequestCaller) -> None:
        """Wait for a place. A caller that leaves gives its place to the first waiting caller that may have
        it."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((caller, mine))
        try:
            await asyncio.wait_for(mine, self._wait_seconds)
        except BaseException as error:
            if mine.done() and not mine.cancelled():
                self._leave(caller)  # the place came just before the timeout
            if not isinstance(error, TimeoutError):
                raise
            raise SextonError(
                "too_many_lists",
                f"no place for another {self._what} became free within {self._wait_seconds:g} s: "
                f"{self._inside[caller]} of this caller are being read, {self.taken} in all",
                hint=f"send at most {self._of_one} at a time, and ask for smaller pages",
            ) from None
        finally:
            self._waiting = deque(each for each in self._waiting if each[1] is not mine)

    def _enter(self, caller: RequestCaller) -> None:
        self._inside[caller] += 1
        self._scopes[caller.scope] += 1

    def _leave(self, caller: RequestCaller) -> None:
        self._inside[caller] -= 1
        self._scopes[caller.scope] -= 1
        if not self._inside[caller]:
            del self._inside[caller]
        if not self._scopes[caller.scope]:
            del self._scopes[caller.scope]
        # Those with the fewest places come first: the many requests of one caller do not delay others.
        for each, waiter in sorted(self._waiting, key=self._held):
            if not waiter.done() and self._has_room(each):
                self._enter(each)
                waiter.set_result(None)

    def _held(self, waiting: tuple[RequestCaller, asyncio.Future[None]]) -> tuple[int, int]:
        caller, _ = waiting
        return self._scopes[caller.scope], self._inside[caller]

    def _has_room(self, caller: RequestCaller) -> bool:
        return (
            self.taken < self._places
            and self._inside[caller] < self._of_one
            and self._scopes[caller.scope] < self._of_scope
        )


async def until_end(parts: AsyncIterator[bytes], held: AsyncExitStack) -> AsyncIterator[bytes]:
    """The parts; `held` is closed after the last of them."""
    async with held:
        async for part in parts:
            yield part
