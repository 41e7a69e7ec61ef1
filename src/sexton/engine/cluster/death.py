"""A worker that is surely dead: its parent has seen its process end, and tells the database at once.

So nothing waits for the end of its lease, and only the runs that had begun count a crash. The way in which it
ended tells about them. A process that exited, or died by a fault, was ended by its own code: by one of the
handlers. A process that was killed was ended from outside; its runs are probably innocent.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

import asyncpg

from sexton.engine.begun import Begun
from sexton.errors import SextonError
from sexton.postgres.database import Database

# What may keep the report from the database. The lease of the worker ends by itself then.
UNREPORTED = (SextonError, TimeoutError, asyncpg.PostgresError)

# The signals of a process that has failed by itself.
_NAMES = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP")
FAULTS = frozenset(signal.Signals[name] for name in _NAMES)


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended. `own`: by its own code."""

    how: str
    own: bool


def end_of(code: int) -> ProcessEnd:
    """How a process ended, from its return code; a signal is a number below 0."""
    if code >= 0:
        return ProcessEnd(f"exit code {code}", own=True)
    try:
        name = f" ({signal.Signals(-code).name})"
    except ValueError:  # a real-time signal
        name = ""
    return ProcessEnd(f"signal {-code}{name}", own=-code in FAULTS)


async def report_death(database: Database, begun: Begun, end: ProcessEnd) -> None:
    """Record the death. The statement notifies the schedulers, which take the runs back."""
    await database.execute(
        "cluster/report_death", node=begun.node, begun=begun.runs, ended_by=end.how, own_end=end.own
    )
