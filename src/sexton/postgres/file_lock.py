"""Locks on files: every process that uses the private server holds one. The kernel drops it with the
process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from sexton import clock
from sexton.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POLL_SECONDS = 0.01


class FileLock:
    """A lock on an open file, by `flock`: it ends with the last process that has the file open."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @classmethod
    def shared(cls, path: Path) -> FileLock:
        lock = cls(path)
        # Only the last user holds this one exclusively, and only while it holds start.lock.
        fcntl.flock(lock.descriptor, fcntl.LOCK_SH)
        return lock

    @classmethod
    @contextlib.contextmanager
    def exclusive(cls, path: Path, *, seconds: float) -> Iterator[FileLock]:
        lock = cls(path)
        try:
            deadline = clock.monotonic() + seconds
            while not lock.try_exclusive():
                if clock.monotonic() >= deadline:
                    raise Unavailable(
                        "private_server_locked",
                        f"Another process has been starting or stopping the private PostgreSQL for "
                        f"{seconds:.0f} seconds; it holds {path}.",
                        hint=f"find it with: fuser -v {path}",
                    )
                clock.block(POLL_SECONDS)
            yield lock
        finally:
            lock.close()

    def try_exclusive(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        os.close(self.descriptor)


def is_free(path: Path) -> bool:
    """Whether no process holds this lock."""
    lock = FileLock(path)
    try:
        return lock.try_exclusive()
    finally:
        lock.close()
