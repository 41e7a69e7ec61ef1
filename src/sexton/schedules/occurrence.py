"""One nominal time of a schedule, and what a change of the clocks does to it, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sexton.schedules.zone import Change

_CHANGE_NOTES = {
    Change.MOVED: "{nominal} does not exist on {day}: moved to {actual}",
    Change.SKIPPED: "{nominal} does not exist on {day}: skipped",
    Change.FIRST_OF_TWO: "{nominal} happens twice on {day}: this is the first",
    Change.SECOND_OF_TWO: "{nominal} happens twice on {day}: this is the second",
}


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One nominal time: `at`, the instant; `local`, what the rule says, even where the clock on the wall
    never showed it; a `note`, such as on a clock change; and `skipped`, why it does not fire: `dst_gap`,
    `excluded` or `rescheduled`."""

    at: datetime
    local: datetime
    note: str | None = None
    skipped: str | None = None


def change_note(change: Change, nominal: datetime, actual: datetime) -> str:
    """What happens to a nominal time when clocks change."""
    return _CHANGE_NOTES[change].format(
        nominal=_time(nominal), day=f"{nominal:%Y-%m-%d}", actual=_time(actual)
    )


def _time(when: datetime) -> str:
    return f"{when:%H:%M:%S}".removesuffix(":00")
