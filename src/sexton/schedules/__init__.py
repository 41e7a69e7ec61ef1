"""When: schedules as pure functions of time. A small library of its own.

    from sexton.schedules import parse

    schedule = parse("0 9 * * 1", timezone="America/New_York")
    schedule.next_after(instant)

Follow one question through the files: `parse` tells the kind and makes a rule (`cron`, `recurrence` read by
`rfc5545`, `interval`, `once`) of wall times (`wall`), `zone` places it among the instants, and `schedule`
keeps to bounds and calendars (`calendar`, `ics`).
"""

from sexton.schedules.calendar import Calendar
from sexton.schedules.parse import parse
from sexton.schedules.schedule import Occurrence, Schedule, next_after_many

__all__ = ["Calendar", "Occurrence", "Schedule", "next_after_many", "parse"]
