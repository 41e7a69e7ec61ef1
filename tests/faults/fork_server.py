"""Processes of Sexton without their start: one process has imported what they need, and forks them.

`python -m sexton node` spends more than a second of a processor on imports, and the fault tests start
hundreds of nodes. A forked one differs from one that was started only in its past: it has a process id, a
session, an environment, a working directory and open files of its own, and it is killed, stopped and limited
as any other. It goes on as `python -m sexton` would, and ends as that ends.

What is set before Python runs cannot be given to it: start a program for another interpreter or its path.

    python -m tests.faults.fork_server SOCKET

Each connection to the socket is one process: a line of JSON says what to run, a line with the process id
comes back, and the exit code once it has ended. With the line may come three descriptors, for its standard
input, output and error. The end of the standard input is the end of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sexton.api.application import WATCHED, load_late_modules, routes
from sexton.cli.load import load
from sexton.cli.table import COMMANDS, GROUPS
from sexton.config import Settings
from sexton.engine import crash

# What a node imports when it is started, or when its first run comes.
PRELOADED = (
    "sexton.cli.engine.node",
    "sexton.cli.engine.migrate",
    "sexton.cli.engine.up",
    "sexton.engine.node",
    "sexton.engine.cluster.egress",
    "sexton.api.server",
    "sexton.app",
    "sexton.postgres.replica",
)

COMMAND = """\
#!{python} -IS
import json, os, signal, socket, sys

connection = socket.socket(socket.AF_UNIX)
connection.connect({socket!r})
asked = dict(arguments=sys.argv[1:], cwd=os.getcwd(), environment=dict(os.environ))
socket.send_fds(connection, [json.dumps(asked).encode() + b"\\n"], [0, 1, 2])
lines = connection.makefile()
pid = int(lines.readline())
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(pid, number))
code = int(lines.readline())
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class Forked:
    """One process, as `asyncio.subprocess.Process` shows it."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._end = asyncio.create_task(self._watch(reader, writer))

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    async def wait(self) -> int:
        return await asyncio.shield(self._end)

    async def _watch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        self.returncode = int(await reader.readline())
        writer.close()
        return self.returncode


class ForkServer:
    """The process that forks the others, as the tests see it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def run(self, *arguments: str, cwd: Path, environment: Mapping[str, str], output: Path) -> Forked:
        """`python -m sexton` with these arguments, in a session of its own; what it says goes to a file."""
        output.touch()
        reader, writer = await asyncio.open_unix_connection(self._path)
        asked = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environment": dict(environment),
            "output": str(output),
        }
        writer.write(json.dumps(asked).encode() + b"\n")
        return Forked(int(await reader.readline()), reader, writer)

    def write_command(self, directory: Path) -> None:
        """A program `sexton` for the PATH of a shell: what it is asked, a forked process does."""
        directory.mkdir(exist_ok=True)
        program = directory / "sexton"
        program.write_text(COMMAND.format(python=sys.executable, socket=str(self._path)), encoding="utf-8")
        program.chmod(0o755)


@contextmanager
def fork_server() -> Iterator[ForkServer]:
    """One for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="fork-server-") as directory:
        path = Path(directory) / "socket"
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline(), "the fork server did not start"
            yield ForkServer(path)
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait()


class _Server:
    """The other side: what runs in the process that forks."""

    def __init__(self, path: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(64)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        #: By the descriptor that tells of the end of a process: its id, and whom to tell.
        self._forked: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> dict[str, Any] | None:
        """What to become, in a process that was forked; None at the end."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    return None
                if key.fileobj is not self._listener:
                    self._end(key.fd)
                elif (asked := self._fork()) is not None:
                    return asked

    def _fork(self) -> dict[str, Any] | None:
        """What was asked for, in the new process; None in the old one."""
        connection, _ = self._listener.accept()
        line, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        while not line.endswith(b"\n"):
            line += connection.recv(1 << 20)
        asked: dict[str, Any] = {**json.loads(line), "descriptors": descriptors}
        pid = os.fork()
        if not pid:
            self._close()
            connection.close()
            return asked
        for each in descriptors:
            os.close(each)
        descriptor = os.pidfd_open(pid)
        self._forked[descriptor] = pid, connection
        self._selector.register(descriptor, selectors.EVENT_READ)
        connection.sendall(b"%d\n" % pid)
        return None

    def _end(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        pid, connection = self._forked.pop(descriptor)
        _, status = os.waitpid(pid, 0)
        with connection, contextlib.suppress(BrokenPipeError):
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))

    def _close(self) -> None:
        self._selector.close()
        self._listener.close()
        for descriptor, (_, connection) in self._forked.items():
            os.close(descriptor)
            connection.close()


def _become(asked: Mapping[str, Any]) -> None:
    """Go on as the process that was asked for."""
    os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    importlib.reload(crash)  # which reads its variable when it is imported
    given = asked["descriptors"]
    if not given:
        output = os.open(asked["output"], os.O_WRONLY | os.O_CREAT)
        given = os.open(os.devnull, os.O_RDONLY), output, os.dup(output)
    for place, descriptor in enumerate(given):
        os.dup2(descriptor, place)
        os.close(descriptor)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = asked["arguments"]
    runpy.run_module("sexton", run_name="__main__", alter_sys=True)


def main(arguments: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which ends us
    server = _Server(arguments[0])
    commands = (*COMMANDS.values(), *(each for group in GROUPS.values() for each in group.commands.values()))
    for name in PRELOADED:
        importlib.import_module(name)
    for command in commands:
        load(command)
    for only in (None, WATCHED):
        routes(only)
    load_late_modules(Settings())
    gc.freeze()
    print("ready", flush=True)
    asked = server.serve()
    if asked is not None:
        _become(asked)


if __name__ == "__main__":
    main(sys.argv[1:])
