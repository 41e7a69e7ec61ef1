"""The data directory of `sexton up`: a lock lets one run on it at a time, and a file names its owner."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sexton import clock
from sexton.config import ROLES
from sexton.errors import Unavailable
from sexton.postgres.file_lock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long the owner of the lock may take to write its name.
SETTLE_SECONDS = 15.0


@dataclass(frozen=True)
class Up:
    """A running `sexton up`."""

    pid: int
    address: str | None
    workers: int
    data: Path | None
    moved_from: int | None = None
    roles: tuple[str, ...] = ROLES


class DataDirectory:
    """The lock on a data directory, and the file that names its owner."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owner_file = path / "up.json"

    @contextlib.contextmanager
    def lock(self) -> Iterator[Up | None]:
        """Lock the data directory for the block; yields the current owner, if there is one."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = FileLock(self.path / "up.lock")
        except OSError as error:
            raise Unavailable(
                "data_directory_denied",
                f"{self.path} cannot be used: {error.strerror}.",
                hint="make it writable for you, or choose another directory with --data",
            ) from error
        with contextlib.closing(lock):
            deadline = clock.monotonic() + SETTLE_SECONDS
            while not lock.try_exclusive():
                if (owner := self._owner()) is not None:
                    yield owner
                    return
                if clock.monotonic() > deadline:
                    raise Unavailable(
                        "starting",
                        f"Another `sexton up` on {self.path} has been starting or stopping for a while.",
                        hint="look again in a moment",
                    )
                clock.block(0.05)
            self._owner_file.unlink(missing_ok=True)
            try:
                yield None
            finally:
                self._owner_file.unlink(missing_ok=True)

    def name_owner(self, up: Up) -> None:
        """For the owner of the lock: write its name."""
        note = {"pid": up.pid, "address": up.address, "workers": up.workers, "roles": up.roles}
        text = json.dumps(note)
        beside = self._owner_file.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self._owner_file)

    def _owner(self) -> Up | None:
        """None while the owner starts or stops."""
        try:
            note = json.loads(self._owner_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Up(
            pid=note["pid"],
            address=note["address"],
            workers=note["workers"],
            data=self.path,
            roles=tuple(note.get("roles", ROLES)),
        )
