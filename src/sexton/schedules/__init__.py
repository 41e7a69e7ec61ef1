"""When: schedules as pure functions of time. A small library of its own.

    from sexton.schedules import parse

    schedule = parse("0 9 * * 1", timezone="America/New_York")
    schedule.next_after(instant)

Follow one question through the files: `parse` takes the form of the text (`form`; of other programs,
`foreign` and `systemd`), tells the kind and makes a rule of wall times (`wall`): `cron`, `recurrence` (read
by `lines` and `rfc5545`), `interval` or `once`. `zone` places it among the instants, and `schedule` keeps
to bounds and calendars (`calendar`, `ics`). `explanation` says it in words, `warning` where another reading
is likely.
"""

from sexton.schedules.calendar import Calendar
from sexton.schedules.occurrence import Occurrence
from sexton.schedules.parse import parse
from sexton.schedules.schedule import Schedule, next_after_many

__all__ = ["Calendar", "Occurrence", "Schedule", "next_after_many", "parse"]
