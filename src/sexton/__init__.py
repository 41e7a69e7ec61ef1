"""Sexton: a distributed scheduler that fires every job on time in its own time zone.

What is public is listed in `__all__`; the schedule engine is a library of its own in
`sexton.schedules`. Names are loaded when first used, so that importing `sexton` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sexton.app import Sexton
    from sexton.errors import RunFailed, ScheduleError, SextonError
    from sexton.jobs.tally import Tally
    from sexton.jobs.view import JobView
    from sexton.model import Cancel, Retry, Snooze, Wait
    from sexton.runs.events import RunEvent
    from sexton.runs.trigger import Backfill
    from sexton.runs.view import RunView, Why
    from sexton.schedules import Calendar, Occurrence, Schedule, next_after_many, parse
    from sexton.targets.face import Run

__version__ = "0.1.0"

__all__ = [
    "Backfill",
    "Calendar",
    "Cancel",
    "JobView",
    "Occurrence",
    "Retry",
    "Run",
    "RunEvent",
    "RunFailed",
    "RunView",
    "Schedule",
    "ScheduleError",
    "Sexton",
    "SextonError",
    "Snooze",
    "Tally",
    "Wait",
    "Why",
    "__version__",
    "next_after_many",
    "parse",
]

_HOMES = {
    "Backfill": "sexton.runs.trigger",
    "JobView": "sexton.jobs.view",
    "RunView": "sexton.runs.view",
    "Tally": "sexton.jobs.tally",
    "Wait": "sexton.model",
    "Why": "sexton.runs.view",
    "Calendar": "sexton.schedules",
    "Cancel": "sexton.model",
    "Occurrence": "sexton.schedules",
    "Retry": "sexton.model",
    "Run": "sexton.targets.face",
    "RunEvent": "sexton.runs.events",
    "RunFailed": "sexton.errors",
    "Schedule": "sexton.schedules",
    "ScheduleError": "sexton.errors",
    "Sexton": "sexton.app",
    "SextonError": "sexton.errors",
    "Snooze": "sexton.model",
    "next_after_many": "sexton.schedules",
    "parse": "sexton.schedules",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'sexton' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
