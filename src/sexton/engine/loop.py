"""A loop runs one round again and again: it starts, stops, wakes, backs off, and reports its health."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from abc import ABC, abstractmethod
from typing import Protocol

from sexton import clock
from sexton.errors import Unavailable
from sexton.postgres.database import NOT_NOW
from sexton.postgres.servers import reason

log = logging.getLogger("sexton")

LONGEST_BACK_OFF = 5.0


class Vital(Protocol):
    """A part that must run for a process to work: a loop, or a thread."""

    @property
    def name(self) -> str: ...

    def healthy(self) -> bool: ...

    async def stop(self) -> None: ...


class Loop(ABC):
    """Subclasses say what one round does and how long to sleep after it."""

    name: str = "loop"

    def __init__(self) -> None:
        self.last_tick: float | None = None
        self.failures = 0
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._stopping = False
        self._sleep = 1.0

    @abstractmethod
    async def tick(self) -> float:
        """One round; returns the seconds to sleep before the next."""

    async def setup(self) -> None:  # noqa: B027
        """Runs before the first round, again and again until it succeeds."""

    async def teardown(self) -> None:  # noqa: B027
        """Runs after the last round."""

    def start(self) -> None:
        self._stopping = False
        self._task = asyncio.create_task(self._run(), name=f"sexton {self.name}")

    async def stop(self) -> None:
        """Let the current round finish, then end."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await self._task
            self._task = None

    def wake(self) -> None:
        """End the sleep."""
        self._wake.set()

    def healthy(self, patience: float = 30.0) -> bool:
        """Whether its last round succeeded, and not too long ago."""
        if self.last_tick is None or self.failures or (self._task is not None and self._task.done()):
            return False
        return clock.monotonic() - self.last_tick < max(self._sleep * 2, patience)

    async def _run(self) -> None:
        ready = False
        while not self._stopping:
            self._wake.clear()
            try:
                if not ready:
                    await self.setup()
                    ready = True
                self._sleep = await self.tick()
                self.failures = 0
                self.last_tick = clock.monotonic()
            except Unavailable as error:
                self._back_off()
                log.warning("%s: %s; trying again in %.1f s", self.name, error.message, self._sleep)
            except NOT_NOW as error:
                self._back_off()
                log.warning(
                    "%s: the database cannot do this now: %s; trying again in %.1f s",
                    self.name,
                    reason(error),
                    self._sleep,
                )
            except Exception:
                # No error ends a loop: it is logged, and the next round may succeed.
                self._back_off()
                log.exception("%s failed; trying again in %.1f s", self.name, self._sleep)
            await self._wait(self._sleep)
        try:
            await self.teardown()
        except Exception:
            # Nor does one keep the other parts of a process from their end.
            log.exception("%s did not end in good order", self.name)

    def _back_off(self) -> None:
        self.failures += 1
        self._sleep = min(LONGEST_BACK_OFF, 0.1 * 2 ** min(self.failures, 10)) * random.uniform(0.5, 1)

    async def _wait(self, seconds: float) -> None:
        if self._stopping or seconds <= 0:
            await clock.sleep(0)
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
