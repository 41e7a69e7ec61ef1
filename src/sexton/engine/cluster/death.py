"""A worker that is known to be dead: its parent has seen its process end, and tells the database at once.

Nothing has to wait for the end of its lease then, and only the runs that had begun are charged. How it ended
says what to think of them. A process that left, or died by a fault, was ended by its own code: by one of the
handlers. One that was killed was ended from outside; what it ran is most probably innocent.
"""

from __future__ import annotations

import logging
import signal
from dataclasses import dataclass

from sexton.engine.begun import Begun
from sexton.postgres.database import Database

log = logging.getLogger("sexton")

FAULTS = frozenset(
    (
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGSEGV,
        signal.SIGSYS,
        signal.SIGTRAP,
    )
)


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended. `own`: by what it did itself."""

    how: str
    own: bool


def end_of(code: int) -> ProcessEnd:
    """From the return code of a process, which is below 0 for a signal."""
    if code >= 0:
        return ProcessEnd(f"exit code {code}", own=True)
    try:
        name = f" ({signal.Signals(-code).name})"
    except ValueError:  # one of those for real time
        name = ""
    return ProcessEnd(f"signal {-code}{name}", own=-code in FAULTS)


async def report_death(database: Database, begun: Begun, end: ProcessEnd) -> None:
    """Schedulers are notified, and take its runs back."""
    await database.execute(
        "cluster/report_death", node=begun.node, begun=begun.runs, ended_by=end.how, own_end=end.own
    )
