"""A server of a test module's own, that can be stopped and started again at the same address."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sexton import clock
from tests.servers.__main__ import PROGRAMS, START_SECONDS
from tests.servers.sandbox import Sandbox
from tests.servers.table import SERVERS, Server


class Restartable(Sandbox):
    """Remembers how its server was started."""

    def __init__(self, folder: Path, programs: Path) -> None:
        super().__init__(folder, programs)
        self._commands: list[tuple[Sequence[str | Path], Mapping[str, str] | None]] = []

    def run(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        self._commands.append((command, environment))
        super().run(command, environment)

    def run_again(self) -> None:
        for command, environment in self._commands:
            super().run(command, environment)


class OwnServer:
    """An entry of the table, or one like it, in a folder of its own."""

    def __init__(self, entry: Server, sandbox: Restartable) -> None:
        self._entry = entry
        self._sandbox = sandbox
        self.url = self._entry.start(sandbox)
        self._wait()

    def stop(self) -> None:
        self._sandbox.close()

    def start(self) -> None:
        """From the main thread: the server ends with the thread that has started it."""
        self._sandbox.run_again()
        self._wait()

    def freeze(self) -> None:
        """It neither answers nor ends."""
        self._sandbox.freeze()

    def thaw(self) -> None:
        self._sandbox.thaw()

    def _wait(self) -> None:
        end = clock.monotonic() + START_SECONDS
        while not self._entry.ready(self.url):
            why = self._sandbox.failed()
            assert not why, why
            assert clock.monotonic() < end, f"{self._entry.name} was not ready in time"
            clock.block(0.05)


@contextlib.contextmanager
def own_server(server: str | Server, folder: Path) -> Iterator[OwnServer]:
    """The entry of the table by this name, or this one."""
    entry = server if isinstance(server, Server) else next(each for each in SERVERS if each.name == server)
    folder.chmod(0o755)
    made = Restartable(folder, PROGRAMS)
    try:
        yield OwnServer(entry, made)
    finally:
        made.close()
