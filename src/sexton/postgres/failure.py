"""Errors of PostgreSQL's programs and of the system, with a hint what to do."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from typing import TYPE_CHECKING

from sexton.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def explained(data: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise failure(f"The private PostgreSQL in {data} cannot be used", str(error), data) from error


def failure(message: str, said: str, data: Path) -> Unavailable:
    """The error for the output of a program or of the system, with a hint what to do."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"FATAL|PANIC|ERROR|error:", line)] or lines
    text = ": ".join([message, *telling[-1:]])
    code, hint = "private_server_failed", f"its log: {data / 'postgres' / 'log'} and {data / 'start.log'}"
    full = f"make room on the disk of {data}, or choose another directory with --data"
    denied = f"make {data} writable for you, or choose another with --data"
    read_only = "the file system is read-only: choose another directory with --data"
    for numbers, code_found, hint_found in (
        ((errno.ENOSPC, errno.EDQUOT), "disk_full", full),
        ((errno.EACCES, errno.EPERM), "data_directory_denied", denied),
        ((errno.EROFS,), "data_directory_denied", read_only),
    ):
        if any(os.strerror(number) in said for number in numbers):
            code, hint = code_found, hint_found
    return Unavailable(code, text, hint=hint)
