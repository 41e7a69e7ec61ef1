"""Isolated processes for runs that may end their process, apart from the worker and its other runs.

Such a process is also a worker and a node: it loads the same application, claims only suspects (`suspects`),
and leaves when there are none. It gets its order on its standard input, which then stays open: end of file
means that the worker that started it has ended. If the isolated process dies, that worker knows which runs
had begun, and how it ended.

`Origin` says from where to load the application. A handler that cannot be loaded there, such as one that was
made inside a function, runs alone in the worker itself (`claimer`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.engine.begun import Begun, make_descriptor, take_begun
from sexton.engine.cluster.death import UNREPORTED, ProcessEnd, end_of, report_death
from sexton.errors import SextonError
from sexton.postgres.database import Database
from sexton.postgres.servers import reason
from sexton.targets.handler import BUILT_IN, HandlerKind, split_name

log = logging.getLogger("sexton")

# The most processes of one worker at a time. Another one starts when suspects have waited for so long beside
# the others.
MOST_PROCESSES = 4
FURTHER_SECONDS = 15.0
# The pause between the death of one process and the start of the next.
PAUSE_SECONDS = 0.5
# The time to load the application, and to become a node.
READY_SECONDS = 60.0
# After so many processes that ended before they were ready, no other is started.
MOST_FAILURES = 3
# The time to end, beyond the grace.
STOP_SECONDS = 15.0

# First of all, modules must be found where the worker finds them.
BOOTSTRAP = """
import json, sys
line = sys.stdin.buffer.readline()
origin = json.loads(line)["origin"]
sys.path[:], sys.argv[:] = origin["path"], origin["arguments"]
from sexton.app.isolated import main
main(line)
"""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where another process can load an application."""

    #: Its name; None: only Sexton's own handlers.
    app: str | None = None
    #: The started program, if the application needs it: a file, or a module with -m.
    program_file: str | None = None
    program_module: str | None = None
    modules: list[str] = []
    path: list[str] = []
    arguments: list[str] = []
    #: Why it cannot be loaded, if the reason is known.
    obstacle: str | None = None


class IsolationOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The order to an isolated process."""

    origin: Origin
    handlers: list[str]
    url: str
    settings: dict[str, Any]
    begun: int
    answer: int


class IsolationAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of an isolated process: it is ready, or has met an obstacle."""

    lacking: list[str] = []
    obstacle: str | None = None


class Isolation:
    """Starts isolated processes on demand, and checks how they end. Calls `on_end` after each."""

    def __init__(
        self, database: Database, settings: Settings, handlers: Collection[str], origin: Origin | None = None
    ) -> None:
        self._database = database
        self._settings = settings
        self._origin = origin or Origin(path=list(sys.path))
        self._handlers = sorted(handlers)
        self._tasks: set[asyncio.Task[None]] = set()
        self._processes: set[asyncio.subprocess.Process] = set()
        self._starting = False
        self._stopping = False
        self._failures = 0
        self._next_at = float("-inf")
        self._further_at = float("-inf")
        self._lacking: frozenset[str] = frozenset(handlers if origin is None else ())
        self.on_end: Callable[[], None] = lambda: None
        if self._origin.obstacle is not None:
            self._give_up(self._origin.obstacle)

    @property
    def running(self) -> int:
        return len(self._processes)

    def serves(self, kind: str, need: str) -> bool:
        """Whether an isolated process can carry out the runs of a lane. Before the first process this is
        assumed."""
        if kind != HandlerKind.name or need in BUILT_IN:
            return self._failures < MOST_FAILURES
        return self._failures < MOST_FAILURES and split_name(need)[1] not in self._lacking

    def wanted(self) -> None:
        """Suspects wait: start a process, unless one is starting or may still take them."""
        now = clock.monotonic()
        if self._starting or self._stopping or self._failures >= MOST_FAILURES or now < self._next_at:
            return
        if len(self._tasks) >= MOST_PROCESSES or (self._tasks and now < self._further_at):
            return
        self._starting = True
        self._further_at = now + FURTHER_SECONDS
        task = asyncio.create_task(self._keep(), name="sexton isolation")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self, grace: float) -> None:
        """Let the processes finish their runs, within their grace."""
        self._stopping = True
        self._signal(signal.SIGTERM)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace + STOP_SECONDS)
            self._signal(signal.SIGKILL)
            if late:
                await asyncio.wait(late)

    async def _keep(self) -> None:
        """One process, from its start to its end."""
        try:
            await self._run()
        except (OSError, SextonError) as error:
            log.error("runs that may crash their process wait: no isolated process can be started: %s", error)
            self._failures += 1
        finally:
            self._starting = False
            self._next_at = clock.monotonic() + PAUSE_SECONDS
        self.on_end()

    async def _run(self) -> None:
        with contextlib.ExitStack() as stack:
            begun = make_descriptor()
            stack.callback(os.close, begun)
            reader, writer = os.pipe()
            answers = stack.enter_context(os.fdopen(reader, "rb"))
            try:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-X", "faulthandler", "-c", BOOTSTRAP,
                    stdin=asyncio.subprocess.PIPE, pass_fds=(begun, writer), process_group=0,
                )  # fmt: skip
            finally:
                os.close(writer)
            self._processes.add(process)
            try:
                assert process.stdin is not None
                with contextlib.suppress(ConnectionError):
                    process.stdin.write(msgspec.json.encode(self._order(begun, writer)) + b"\n")
                    await process.stdin.drain()
                if self._stopping:
                    process.terminate()
                await self._hear(process, answers)
                code = await process.wait()
            finally:
                self._processes.discard(process)
            await self._look_at_end(take_begun(begun), code)

    async def _hear(self, process: asyncio.subprocess.Process, answers: Any) -> None:
        """Wait for the answer of a process, and kill it if there is none."""
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), answers)
        try:
            line = await asyncio.wait_for(stream.readline(), READY_SECONDS)
        except TimeoutError:
            line = b""
            log.warning("an isolated process was not ready after %g s", READY_SECONDS)
            process.kill()
        finally:
            transport.close()
        self._starting = False
        if not line:
            self._failures += 1
            if self._failures == MOST_FAILURES:
                self._give_up("it ends, or hangs, when it is loaded in another process")
            return
        answer = msgspec.json.decode(line, type=IsolationAnswer)
        if answer.obstacle is not None:
            self._give_up(answer.obstacle)
            return
        self._failures = 0
        if lacking := frozenset(answer.lacking) - self._lacking:
            self._lacking |= lacking
            log.warning(
                "these handlers cannot be loaded in another process: %s. Their runs that may end their "
                "process run here, one at a time and without others: define them at the top of a module",
                ", ".join(sorted(lacking)),
            )

    async def _look_at_end(self, begun: Begun | None, code: int) -> None:
        if begun is None:
            return
        end = end_of(code)
        if self._stopping:
            # It was killed because it took too long: that is not a fault of its runs.
            begun, end = Begun(begun.node, []), ProcessEnd("it was stopped", own=False)
        else:
            log.error("an isolated process with suspected runs has ended: %s", end.how)
        try:
            await report_death(self._database, begun, end)
        except UNREPORTED as error:
            log.warning(
                "could not report the end of a process: %s; its lease expires by itself",
                reason(error),
            )

    def _order(self, begun: int, answer: int) -> IsolationOrder:
        """The order for a process: the same settings, without a broker, since only PostgreSQL knows
        suspects."""
        settings = {
            name: str(value) if isinstance(value, Path) else value
            for name, value in msgspec.structs.asdict(self._settings).items()
            if value is not None
        }
        settings |= {"database_url": self._database.url, "roles": "worker", "queue_url": "postgres"}
        for name in ("app", "data", "metrics_port"):
            settings.pop(name, None)
        return IsolationOrder(
            origin=self._origin,
            handlers=self._handlers,
            url=self._database.url,
            settings=settings,
            begun=begun,
            answer=answer,
        )

    def _give_up(self, obstacle: str) -> None:
        self._failures = MOST_FAILURES
        log.warning(
            "the application cannot be loaded in another process: %s. Runs that may end their process run "
            "here, one at a time and without others",
            obstacle,
        )

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)
