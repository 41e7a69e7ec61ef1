"""The state of the hosts that a process sends requests to: the running requests, the rate, and the circuit.

A circuit opens after so many failures in a row (no connection, no answer, a status from 500 on) within a
minute. While it is open, nothing is sent. Then one request goes as a probe, and its answer closes the circuit
or opens it again. Each namespace has its own circuits: one that makes a host fail must not keep it from the
others. A run that finds a host busy or its circuit open gets `HostBusy` at once, or after a second of
waiting, with the time for the next try: a run that cannot be sent must not keep its slot in the worker.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sexton import clock
from sexton.config import Settings

PATIENCE_SECONDS = 1.0
WINDOW_SECONDS = 60.0
PROBE_SECONDS = 5.0
SPREAD_SECONDS = 5.0
MOST_HOSTS = 10_000


class HostBusy(Exception):
    """Nothing was sent: come back after `seconds`."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


class Hosts:
    """The hosts by origin (`https://host:443`). Hosts without state are forgotten."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._hosts: dict[str, Host] = {}
        self._circuits: dict[tuple[str, str], Circuit] = {}

    @asynccontextmanager
    async def admit(self, origin: str, namespace: str = "") -> AsyncIterator[Permit]:
        """A permit to send one request; note its outcome on the permit."""
        host = self._hosts.get(origin)
        if host is None:
            if len(self._hosts) >= MOST_HOSTS:
                self._hosts = {name: each for name, each in self._hosts.items() if not each.forgettable}
            host = self._hosts[origin] = Host(origin, self._settings)
        circuit = self._circuits.get((origin, namespace))
        if circuit is None:
            if len(self._circuits) >= MOST_HOSTS:
                self._circuits = {name: each for name, each in self._circuits.items() if not each.forgettable}
            circuit = self._circuits[origin, namespace] = Circuit(origin, self._settings)
        async with circuit.used(), host.slot(circuit):
            probe = circuit.enter()
            permit = Permit()
            try:
                await host.pace()
                yield permit
            finally:
                circuit.leave(probe, permit.good)

    def opened(self) -> list[str]:
        """The origins with an open circuit, of any namespace."""
        now = clock.monotonic()
        return sorted({name for (name, _), each in self._circuits.items() if each.open_until > now})


class Permit:
    """The result of one request: whether the host is healthy, or None if the request does not tell."""

    good: bool | None = None

    def answered(self, status: int) -> None:
        self.good = status < 500

    def failed(self) -> None:
        """There was no connection, or no answer. An answer that broke off after its status counts as one."""
        if self.good is None:
            self.good = False


class Host:
    """One origin."""

    def __init__(self, origin: str, settings: Settings) -> None:
        self.origin = origin
        self._limit = settings.http_per_host
        self._rate = settings.http_rate_per_host
        self._slots = asyncio.Semaphore(self._limit) if self._limit else None
        self._next_at = 0.0
        self._users = 0

    @property
    def forgettable(self) -> bool:
        return not self._users and self._next_at <= clock.monotonic()

    @asynccontextmanager
    async def slot(self, circuit: Circuit) -> AsyncIterator[None]:
        """Wait for one of the slots for running requests, and hold it."""
        self._users += 1
        try:
            if self._slots is None:
                yield
                return
            circuit.check()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._slots.acquire()
            except TimeoutError:
                raise HostBusy(
                    f"{self.origin} has {self._limit} requests under way from this worker (http_per_host)",
                    PATIENCE_SECONDS + random.uniform(0, PATIENCE_SECONDS),
                ) from None
            try:
                yield
            finally:
                self._slots.release()
        finally:
            self._users -= 1

    async def pace(self) -> None:
        """Wait for this request's turn, if it comes soon. The requests of one second may go at once."""
        if not self._rate:
            return
        now, gap = clock.monotonic(), 1 / self._rate
        turn = max(self._next_at, now - max(0.0, 1 - gap))
        if turn - now > PATIENCE_SECONDS:
            raise HostBusy(
                f"{self.origin} gets {self._rate:g} requests a second from this worker (http_rate_per_host)",
                turn - now,
            )
        self._next_at = turn + gap
        if turn > now:
            await clock.sleep(turn - now)


class Circuit:
    """Of one origin, for one namespace."""

    def __init__(self, origin: str, settings: Settings) -> None:
        self.origin = origin
        self.open_until = 0.0
        self._threshold = settings.http_breaker_failures
        self._pause = settings.http_breaker_seconds
        self._failures = 0
        self._failing_since = 0.0
        self._open = False
        self._probing = False
        self._users = 0

    @property
    def forgettable(self) -> bool:
        """Whether a new one would do the same. One that is open is kept for a while longer, for its probe."""
        counting = self._failures and clock.monotonic() - self._failing_since <= WINDOW_SECONDS
        probing = self._open and clock.monotonic() - self.open_until <= WINDOW_SECONDS
        return not (self._users or counting or probing)

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """It is not forgotten meanwhile."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1

    def enter(self) -> bool:
        """Pass the circuit; returns whether this request is the probe."""
        self.check()
        if not self._open:
            return False
        if self._probing:
            wait = PROBE_SECONDS + random.uniform(0, SPREAD_SECONDS)
            raise HostBusy(f"a single request tests {self.origin} after failures", wait)
        self._probing = True
        return True

    def leave(self, probe: bool, good: bool | None) -> None:
        """Note the result of a request; None: it does not tell."""
        if probe:
            self._probing = False
        if good is None or not self._threshold:
            return
        now = clock.monotonic()
        if good:
            self._failures, self._open, self.open_until = 0, False, 0.0
            return
        if not self._failures or now - self._failing_since > WINDOW_SECONDS:
            self._failures, self._failing_since = 0, now
        self._failures += 1
        if probe or (self._failures >= self._threshold and not self._open):
            self._open, self.open_until = True, now + self._pause

    def check(self) -> None:
        left = self.open_until - clock.monotonic()
        if left > 0:
            raise HostBusy(
                f"{self.origin} gets no requests for {left:.0f} s: {self._failures} in a row failed",
                left + random.uniform(0, SPREAD_SECONDS),
            )
