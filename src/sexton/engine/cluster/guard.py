"""Protects the node from failures of its elector: every call has a deadline, a failure is logged once and
tried again with back-off, and none of them stops the node from renewing its lease in PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from sexton import clock
from sexton.engine.cluster.electors.base import Elector, View, patience
from sexton.errors import InvalidField, SextonError

log = logging.getLogger("sexton")
T = TypeVar("T")

LONGEST_BACK_OFF = 5.0


@dataclass(frozen=True, slots=True)
class ElectorHealth:
    """Whether the elector answers, and if not, why. `since`: when this state began."""

    name: str
    ok: bool
    error: str | None
    since: datetime


class ElectorGuard:
    """Calls an elector. Only `open` raises: any other call that fails returns nothing."""

    def __init__(self, elector: Elector, *, lease_seconds: float) -> None:
        self._elector = elector
        self._patience = patience(lease_seconds)
        self._failures = 0
        self._failing: set[str] = set()
        self._try_at = 0.0
        self._stopped = False
        self.health = ElectorHealth(elector.name, True, None, clock.now())

    @property
    def final(self) -> bool:
        return self._elector.final

    @property
    def backend_pids(self) -> list[int]:
        return self._elector.backend_pids

    def trusted(self) -> bool:
        """Whether the grants of the elector are surely still valid."""
        return clock.monotonic() < self._elector.trusted_until

    async def open(self, cluster: str, on_lost: Callable[[], None]) -> None:
        """Raises `InvalidField` if this elector can never work here."""
        self._elector.on_lost = lambda: self._noticed(on_lost)
        try:
            await self._within(self._elector.open(cluster))
        except InvalidField:
            raise
        except Exception as error:
            self._failed("renew", error)

    async def renew(self, view: View) -> set[int] | None:
        """The shards that this node holds, as the elector says; None if it does not answer."""
        if clock.monotonic() < self._try_at:
            self._say_stopped()
            return None
        try:
            held = await self._within(self._elector.renew(view))
        except Exception as error:
            self._failed("renew", error)
            return None
        self._failures, self._try_at, self._stopped = 0, 0.0, False
        self._succeeded("renew")
        return held

    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        """Acquire shards; returns those that this node holds now."""
        try:
            got = await self._within(self._elector.acquire(shards, view)) if shards else set()
        except Exception as error:
            self._failed("acquire", error)
            return set()
        self._succeeded("acquire")
        return got

    async def release(self, shards: Collection[int]) -> None:
        """Release shards. After a failure the next renewal finds them held, or they expire."""
        try:
            if shards:
                await self._within(self._elector.release(shards))
        except Exception as error:
            self._failed("release", error)
        else:
            self._succeeded("release")

    async def close(self) -> None:
        try:
            await self._within(self._elector.close())
        except Exception as error:
            log.warning(
                "elector %s: could not release all leases: %s; they expire by themselves",
                self._elector.name,
                _reason(error),
            )

    def _noticed(self, on_lost: Callable[[], None]) -> None:
        """The elector has noticed a change: ask it now."""
        self._try_at = 0.0
        on_lost()

    async def _within(self, call: Awaitable[T]) -> T:
        async with asyncio.timeout(self._patience):
            return await call

    def _succeeded(self, call: str) -> None:
        self._failing.discard(call)
        if not self.health.ok and not self._failing:
            log.warning("elector %s: answers again", self._elector.name)
            self.health = ElectorHealth(self._elector.name, True, None, clock.now())

    def _failed(self, call: str, error: Exception) -> None:
        self._failing.add(call)
        self._failures += 1
        # While a grant is still valid, every beat tries to renew it.
        if not self.trusted():
            pause = min(LONGEST_BACK_OFF, self._patience * 2 ** min(self._failures, 10))
            self._try_at = clock.monotonic() + pause * random.uniform(0.5, 1)
        reason = _reason(error)
        if self.health.ok:
            left = max(0.0, self._elector.trusted_until - clock.monotonic())
            log.warning(
                "%s; its leases are trusted for another %.1f s",
                reason if isinstance(error, SextonError) else f"elector {self._elector.name}: {reason}",
                left,
                exc_info=None if isinstance(error, (SextonError, TimeoutError)) else error,
            )
        since = clock.now() if self.health.ok else self.health.since
        self.health = ElectorHealth(self._elector.name, False, reason, since)
        self._say_stopped()

    def _say_stopped(self) -> None:
        if not self._stopped and not self.trusted():
            self._stopped = True
            log.warning(
                "elector %s: its leases have run out; nothing is fired until it answers", self.health.name
            )


def _reason(error: BaseException) -> str:
    if isinstance(error, SextonError):
        return error.message
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
