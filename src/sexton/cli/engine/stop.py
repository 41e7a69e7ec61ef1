"""`sexton stop`: stop the `sexton up` of a data directory cleanly."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sexton import clock
from sexton.cli import DONE, NOT_DONE
from sexton.cli.demo.directory import demo_directory
from sexton.cli.output import console, write
from sexton.engine.up.directory import DataDirectory
from sexton.errors import Unavailable
from sexton.postgres.server import default_data_directory

POLL_SECONDS = 0.2


def stop(
    *,
    data: Annotated[Path | None, Parameter(help="Data directory of the Sexton to stop.")] = None,
) -> int:
    """Stop the Sexton that this user started with sexton up.

    Waits until it has ended. One on a PostgreSQL of yours is stopped with Ctrl-C
    or SIGTERM.
    """
    path = Path(data or os.environ.get("SEXTON_DATA") or default_data_directory()).expanduser().absolute()
    asked: int | None = None
    while path.exists():
        with DataDirectory(path).lock() as owner:
            pid = None if owner is None else owner.pid
        if pid is None or asked not in (None, pid):
            break
        if asked is None:
            _ask(pid)
            asked = pid
        clock.block(POLL_SECONDS)
    if asked is None:
        write(console(error=True), f"no sexton up runs on {path}")
        demo = demo_directory()
        if data is None and demo.exists():
            with DataDirectory(demo).lock() as owner:
                if owner is not None:
                    write(console(error=True), f"  a demo does: sexton stop --data {shlex.quote(str(demo))}")
        return NOT_DONE
    write(console(), f"process {asked} has stopped")
    return DONE


def _ask(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return  # it has just ended
    except PermissionError:
        hint = "stop it as the user who started it"
        raise Unavailable("not_permitted", f"process {pid} belongs to another user", hint=hint) from None
