"""Keeps processes running: starts them, restarts those that die, and stops them in order.

Each is in its own process group: Ctrl-C reaches only the supervisor, which then stops them. If the supervisor
is killed, the kernel sends them SIGTERM.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sexton import clock
from sexton.engine.cluster.death import end_of
from sexton.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

log = logging.getLogger("sexton")

# A child that exits with this code has finished its work, and asks for a new process in its place.
REPLACE = os.EX_TEMPFAIL
# A child that exits with an error this soon after its first start cannot work; later it is restarted.
HOPELESS_SECONDS = 10.0
SHORTEST_BACK_OFF, LONGEST_BACK_OFF = 0.5, 30.0
# Nodes get this much beyond the grace of their runs, to give runs back and to leave. A worker that is killed
# before counts as crashed.
MARGIN_SECONDS = 15.0
TEND_SECONDS = 1.0


class Stop:
    """Requests to stop: after the first the children finish their runs; the second ends them at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()

    def on(self, *signals: signal.Signals) -> None:
        for each in signals:
            if signal.getsignal(each) is signal.SIG_IGN:
                continue  # as nohup wants it
            asyncio.get_running_loop().add_signal_handler(each, self)

    def __call__(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()

    async def unless(self, task: asyncio.Task[Any]) -> bool:
        """Wait for a task, and raise its error. False if a request to stop comes first."""
        asked = asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait([asked, task], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                return False
            task.result()
            return True
        finally:
            for each in (asked, task):
                each.cancel()
            await asyncio.gather(asked, task, return_exceptions=True)


@dataclass(frozen=True)
class Child:
    """One process to keep running."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()
    #: Called with its return code when it has ended by itself. Returns whether it had worked.
    on_end: Callable[[int], Awaitable[bool]] | None = None


class Supervisor:
    """Starts children, restarts those that die, and stops them all."""

    def __init__(self, children: list[Child], *, grace_seconds: float) -> None:
        self.children = children
        self.grace_seconds = grace_seconds
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self._stopping = asyncio.Event()

    async def run(
        self,
        stop: Stop,
        *,
        ready: Callable[[], Any],
        announce: Callable[[], None],
        tend: Callable[[], Any] | None = None,
    ) -> None:
        """Keep everything running until a request to stop. Raises an error that no restart can cure."""
        keepers = [asyncio.create_task(self._keep(child)) for child in self.children]
        others = [asyncio.create_task(self._announce(ready, announce))]
        if tend is not None:
            others.append(asyncio.create_task(_repeat(tend)))
        asked = asyncio.create_task(stop.asked.wait())
        try:
            done, _ = await asyncio.wait([asked, *keepers], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (asked, *others):
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._stop(stop, keepers)
        for task in done - {asked}:
            task.result()

    async def _keep(self, child: Child) -> None:
        """Run one child again and again."""
        failures = 0
        first = True
        while not self._stopping.is_set():
            began = clock.monotonic()
            try:
                code = await self._run(child)
            except OSError as error:
                # The system has no process or memory to spare. What runs goes on meanwhile.
                if first:
                    raise
                ended = f"cannot be started: {error.strerror or error}"
            else:
                lived = clock.monotonic() - began
                if self._stopping.is_set():
                    return
                worked = child.on_end is not None and await child.on_end(code)
                if first and not worked and code > 0 and code != REPLACE and lived < HOPELESS_SECONDS:
                    raise Unavailable(
                        "start_failed",
                        f"{child.name} cannot start: it left with {code}.",
                        hint="its output is above",
                    )
                ended = _how_it_ended(code)
            first = False
            failures = 0 if clock.monotonic() - began > LONGEST_BACK_OFF else failures + 1
            pause = min(LONGEST_BACK_OFF, SHORTEST_BACK_OFF * 2 ** (failures - 1)) if failures else 0.0
            log.warning("%s %s; it is started again in %.1f s", child.name, ended, pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _run(self, child: Child) -> int:
        """Run a child to its end; returns its code."""
        process = self.processes[child.name] = await _spawn(child)
        if self._stopping.is_set():
            process.send_signal(signal.SIGTERM)
        return await process.wait()

    async def _announce(self, ready: Callable[[], Any], announce: Callable[[], None]) -> None:
        while not await ready():
            await clock.sleep(0.05)
        announce()

    async def _stop(self, stop: Stop, keepers: list[asyncio.Task[None]]) -> None:
        """Ask the children to stop, wait as long as their runs may take, then kill them."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        log.info("stopping: running runs have %g s to end; Ctrl-C again stops at once", self.grace_seconds)
        insisted = asyncio.create_task(stop.insisted.wait())
        gone = asyncio.create_task(asyncio.wait(keepers))
        await asyncio.wait(
            [insisted, gone],
            timeout=self.grace_seconds + MARGIN_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        insisted.cancel()
        self._signal(signal.SIGKILL)
        await gone
        await asyncio.gather(*keepers, return_exceptions=True)

    def _signal(self, number: signal.Signals) -> None:
        for process in self.processes.values():
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)


async def _repeat(tend: Callable[[], Any]) -> None:
    while True:
        await clock.sleep(TEND_SECONDS)
        try:
            await tend()
        except OSError as error:  # such as a full disk: the next time may be better
            log.error("could not check the private PostgreSQL: %s", error)


async def _spawn(child: Child) -> asyncio.subprocess.Process:
    parent = os.getpid()

    def follow_parent() -> None:
        # In the child, before the program: SIGTERM when the parent is gone, also if it is gone already.
        if _PRCTL is not None:
            _PRCTL(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
            if os.getppid() != parent:
                os._exit(1)

    return await asyncio.create_subprocess_exec(
        *child.command,
        stdin=asyncio.subprocess.DEVNULL,
        env={**os.environ, **child.environment},
        pass_fds=child.descriptors,
        process_group=0,
        preexec_fn=follow_parent,
    )


_PR_SET_PDEATHSIG = 1
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def _how_it_ended(code: int) -> str:
    return "has asked to be replaced" if code == REPLACE else f"has ended with {end_of(code).how}"
