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

PATIENCE = 10.0


class Place:
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


def _stop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
