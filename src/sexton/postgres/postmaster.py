"""A PostgreSQL seen from outside: its postmaster.pid, its processes, its socket."""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
from pathlib import Path

ANSWER_SECONDS = 5


class Postmaster:
    """The main process of the server on a cluster's directory, if there is one."""

    def __init__(self, cluster: Path) -> None:
        self.cluster = cluster

    def status(self) -> str | None:
        """`starting`, `ready`, `stopping` …: the eighth line, which pg_ctl reads as well."""
        lines = self._file()
        return lines[7].strip() if len(lines) > 7 else None

    def pid(self) -> int | None:
        """The main process, if the number in postmaster.pid is that of a PostgreSQL."""
        lines = self._file()
        if not lines or not lines[0].strip().isdigit():
            return None
        pid = int(lines[0])
        return pid if "postgres" in _command_of(pid) else None

    def answers(self) -> bool:
        """Whether it serves a connection: a server that was killed a moment ago looks alive otherwise."""
        lines = self._file()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(f"{lines[4].strip()}/.s.PGSQL.{lines[3].strip()}")
                # "Do you speak TLS?" is answered by a new backend, with one byte and before anything else.
                connection.sendall(struct.pack("!II", 8, 80877103))
                return connection.recv(1) != b""
        except (OSError, IndexError):
            return False

    def started_by_hand(self) -> bool:
        """Whether it was started with pg_ctl on the directory itself: such a server does not hold our
        lock."""
        pid = self.pid()
        return pid is not None and str(self.cluster) in _command_of(pid)

    def _file(self) -> list[str]:
        with contextlib.suppress(OSError):
            return (self.cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        return []


def _command_of(pid: int) -> str:
    """The command line of a process; empty if there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    if Path("/proc/self").exists():
        return ""
    with contextlib.suppress(OSError):
        done = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
        return done.stdout.decode(errors="replace")
    return ""
