"""Files that only their user can read: made whole or not at all, and refused if another user owns them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

from sexton.errors import Conflict, Unavailable


def make_private_file(path: Path, content: str) -> None:
    """Make the file with this line, unless it exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent) as directory:
        made = Path(directory, path.name)
        made.touch(0o600)
        made.write_text(content + "\n", "ascii")
        try:
            os.link(made, path)
        except FileExistsError:
            return


def read_private_file(path: Path) -> str:
    """The line in the file. Raises `Unavailable` if another user may have written or read it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as error:
        raise _not_private(path) from error
    with os.fdopen(descriptor, encoding="ascii") as file:
        status, line = os.fstat(descriptor), file.read().strip()
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or not line:
        raise _not_private(path)
    return line


def check_own_file(path: Path) -> None:
    """Raises `Conflict` if another user may have written the file."""
    for status in (path.lstat(), path.stat()):  # of a link and of what it leads to
        writable = not stat.S_ISLNK(status.st_mode) and status.st_mode & 0o022
        if status.st_uid != os.geteuid() or writable:
            raise Conflict(
                "file_not_own",
                f"another user owns {path}, or may write it",
                hint=f"see who made it; if it is yours, make it your own: chown, and chmod 600 {path}",
            )


def _not_private(path: Path) -> Unavailable:
    return Unavailable(
        "file_not_private",
        f"{path} is empty, or other users can read it",
        hint="remove it, so that it is made anew",
    )
