"""Who is up on a data directory: one `sexton up` at a time, and the others are told where it is."""

from __future__ import annotations

import contextlib
import fcntl
import json
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sexton import clock
from sexton.config import ROLES
from sexton.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long another one on the same data may take to say who it is.
SETTLE_SECONDS = 15.0


@dataclass(frozen=True)
class Up:
    """Who is running, where."""

    pid: int
    address: str | None
    workers: int
    data: Path | None
    moved_from: int | None = None
    roles: tuple[str, ...] = ROLES


class Place:
    """The data directory's note of who is up on it, and the lock that makes it true."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.note = data / "up.json"

    @contextlib.contextmanager
    def taken(self) -> Iterator[Up | None]:
        """Take the place for the block; gives who has it, if somebody has."""
        try:
            self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = (self.data / "up.lock").open("a", encoding="utf-8")
        except OSError as error:
            raise Unavailable(
                "data_directory_denied",
                f"{self.data} cannot be used: {error.strerror}.",
                hint="make it writable for you, or choose another directory with --data",
            ) from error
        with file:
            deadline = clock.monotonic() + SETTLE_SECONDS
            while not _locked(file):
                if (other := self.read()) is not None:
                    yield other
                    return
                if clock.monotonic() > deadline:
                    raise Unavailable(
                        "starting",
                        f"Another `sexton up` on {self.data} has been starting or stopping for a while.",
                        hint="look again in a moment",
                    )
                clock.block(0.05)
            self.note.unlink(missing_ok=True)
            try:
                yield None
            finally:
                self.note.unlink(missing_ok=True)

    def write(self, up: Up) -> None:
        note = {"pid": up.pid, "address": up.address, "workers": up.workers, "roles": up.roles}
        text = json.dumps(note)
        beside = self.note.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.note)

    def read(self) -> Up | None:
        """Who holds the lock; nobody yet, or nobody any more, while they start or stop."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Up(
            pid=note["pid"],
            address=note["address"],
            workers=note["workers"],
            data=self.data,
            roles=tuple(note.get("roles", ROLES)),
        )


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
