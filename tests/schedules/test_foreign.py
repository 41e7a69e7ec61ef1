"""Schedules as other programs write them: read as the same times, or refused with a line that can be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.schedules import parse
from sexton.schedules.parse import kind_of, names_start, takes_anchor

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 6, 1, tzinfo=UTC)
ANCHOR = datetime(2026, 1, 1, 6, tzinfo=UTC)


def answers(text: str, number: int = 60, **options: Any) -> list[datetime]:
    return list(islice(parse(text, **options).between(START, END), number))


def refused(text: str, **options: Any) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        parse(text, **options)
    assert caught.value.position is None or 0 <= caught.value.position <= len(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "same"),
    [
        # AWS: the year last, days of the week from 1 = Sunday.
        ("cron(0 12 * * ? *)", "0 12 * * *"),
        ("cron(0/15 8-17 ? * 2-6 *)", "0/15 8-17 * * MON-FRI"),
        ("cron(0 10 ? * 6L *)", "0 10 * * FRIL"),
        ("cron(0 10 ? * 3#2 *)", "0 10 * * TUE#2"),
        ("cron(0 10 ? * 1,7 *)", "0 10 * * SUN,SAT"),
        ("cron(0 10 ? * L *)", "0 10 * * SAT"),
        ("cron(0 10 ? * 2/2 *)", "0 10 * * MON,WED,FRI"),
        ("cron(0 10 ? JAN-MAR MON-FRI *)", "0 10 * 1-3 1-5"),
        ("cron(0 8 LW * ? *)", "0 8 LW * *"),
        (" CRON( 0 8 1 * ? * ) ", "0 8 1 * *"),
        ("rate(5 minutes)", "every 5m"),
        ("rate(1 hour)", "every 1h"),
        ("rate(7 days)", "every 7d"),
        ("at(2026-11-20T13:00:00)", "2026-11-20T13:00:00"),
        # systemd
        ("Mon..Fri 09:00", "0 9 * * 1-5"),
        ("Mon-Fri 09:00", "0 9 * * 1-5"),
        ("Monday,wed 9:5", "5 9 * * 1,3"),
        ("Sat,Sun *-*-* 10:30:15", "15 30 10 * * 6,0"),
        ("*-*-01 00:00:00", "0 0 1 * *"),
        ("*-01,07-01", "0 0 1 1,7 *"),
        ("*:0/15", "*/15 * * * *"),
        ("*-*-* *:*:00", "* * * * *"),
        ("*-*-* *:*:0/10", "*/10 * * * * *"),
        ("9..17:00,30", "0,30 9-17 * * *"),
        ("08..18/2:00", "0 8-18/2 * * *"),
        ("*-*~01 12:00", "0 12 L * *"),
        ("*-02~03", "0 0 L-2 2 *"),
        ("12-24 18:00", "0 18 24 12 *"),
        ("Fri *-*-13 18:00", "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR;BYHOUR=18;BYMINUTE=0;BYSECOND=0"),
        ("Mon *-*~07/1 09:00", "0 9 * * 1L"),
        ("Sat..Sun *-*-1,2 09:00", "FREQ=MONTHLY;BYMONTHDAY=1,2;BYDAY=SA,SU;BYHOUR=9;BYMINUTE=0;BYSECOND=0"),
        ("OnCalendar=Mon..Fri 09:00", "0 9 * * 1-5"),
        ("OnCalendar = weekly", "0 0 * * 1"),
        ("2026-12-24 18:00:00", "2026-12-24T18:00:00"),
        ("OnCalendar=2026-12-24 18:00", "2026-12-24T18:00"),
        ("minutely", "* * * * *"),
        ("hourly", "@hourly"),
        ("daily", "@daily"),
        ("monthly", "@monthly"),
        ("quarterly", "0 0 1 1,4,7,10 *"),
        ("semiannually", "0 0 1 1,7 *"),
        ("yearly", "@yearly"),
        # What stands around a schedule.
        ("\ufeff0 9 * * 1", "0 9 * * 1"),
        ("\ufeffFREQ=DAILY", "FREQ=DAILY"),
        ("0\u00a09 * * 1", "0 9 * * 1"),
        ("0 9 * * 1 # every Monday", "0 9 * * 1"),
        ("0 9 * * 1\t#", "0 9 * * 1"),
        ("# m h dom mon dow\n0 9 * * 1\n", "0 9 * * 1"),
        ("every 15m # quarters", "every 15m"),
        # Dashes and stars as text editors and chats put them.
        ("0 9 * * 1\u20135", "0 9 * * 1-5"),
        ("0 9 \u2217 \uff0a *", "0 9 * * *"),
        ("2026\u201112\u201124T18:00", "2026-12-24T18:00"),
    ],
)  # fmt: skip
def test_read_as_the_same_times(text: str, same: str) -> None:
    options: dict[str, Any] = {"timezone": "America/New_York", "anchor": ANCHOR}
    theirs, ours = parse(text, **options), parse(same, **options)
    assert answers(text, **options) == answers(same, **options) != []
    assert (theirs.text, theirs.gap, theirs.fold) == (text, ours.gap, ours.fold)
    assert kind_of(text) == theirs.kind
    assert parse(text, kind=theirs.kind, **options).timing_key == theirs.timing_key


@pytest.mark.parametrize(
    ("text", "same", "timezone"),
    [
        ("CRON_TZ=Asia/Tokyo @every 1h30m", "every 90m", "Asia/Tokyo"),
        ("TZ=Asia/Tokyo PT15M", "PT15M", "Asia/Tokyo"),
        ("CRON_TZ=Asia/Tokyo every 15m", "every 15m", "Asia/Tokyo"),
        ("CRON_TZ=Asia/Tokyo FREQ=DAILY;BYHOUR=9", "FREQ=DAILY;BYHOUR=9", "Asia/Tokyo"),
        ("TZ=Asia/Tokyo RRULE:FREQ=DAILY;BYHOUR=9", "FREQ=DAILY;BYHOUR=9", "Asia/Tokyo"),
        ("TZ=Asia/Tokyo DTSTART:20260101 FREQ=DAILY", "DTSTART:20260101 FREQ=DAILY", "Asia/Tokyo"),
        ("TZ=Asia/Tokyo 2026-12-24T18:00", "2026-12-24T18:00", "Asia/Tokyo"),
        ('CRON_TZ="Asia/Tokyo" 0 9 * * *', "0 9 * * *", "Asia/Tokyo"),
        ("CRON_TZ='Asia/Tokyo' 0 9 * * *", "0 9 * * *", "Asia/Tokyo"),
        ("cron_tz = Asia/Tokyo 0 9 * * *", "0 9 * * *", "Asia/Tokyo"),
        ("CRON_TZ=Asia/Tokyo cron(0 9 * * ? *)", "0 9 * * *", "Asia/Tokyo"),
        ("CRON_TZ=Asia/Tokyo @daily # midnight", "@daily", "Asia/Tokyo"),
        ("Mon..Fri 09:00 Asia/Tokyo", "0 9 * * 1-5", "Asia/Tokyo"),
        ("2026-12-24 18:00 Asia/Tokyo", "2026-12-24T18:00", "Asia/Tokyo"),
        ("OnCalendar=daily UTC", "@daily", "UTC"),
        ("2026-12-24T18:00:00 Asia/Tokyo", "2026-12-24T18:00", "Asia/Tokyo"),
    ],
)  # fmt: skip
def test_a_zone_in_the_text_of_any_kind(text: str, same: str, timezone: str) -> None:
    anchor = None if "DTSTART" in text else ANCHOR
    assert parse(text).timezone == timezone
    assert answers(text, anchor=anchor) == answers(same, anchor=anchor, timezone=timezone) != []
    assert refused(text, timezone="Europe/Berlin").code == "timezone_conflict"


def test_two_zones_in_one_text() -> None:
    assert refused("CRON_TZ=Asia/Tokyo Mon 09:00 Europe/Berlin").code == "timezone_conflict"


@pytest.mark.parametrize(
    ("text", "first", "step"),
    [
        ("R/2026-01-02T09:05:00Z/PT15M", datetime(2026, 1, 2, 9, 5, tzinfo=UTC), timedelta(minutes=15)),
        ("R/2026-01-02T09:05:00+01:00/P1D", datetime(2026, 1, 2, 8, 5, tzinfo=UTC), timedelta(days=1)),
        ("R-1/2026-01-02T09:05:00Z/PT15M", datetime(2026, 1, 2, 9, 5, tzinfo=UTC), timedelta(minutes=15)),
        ("r/2026-01-02T09:05:00Z/p1w", datetime(2026, 1, 2, 9, 5, tzinfo=UTC), timedelta(weeks=1)),
    ],
)
def test_a_repeating_interval_brings_its_start(text: str, first: datetime, step: timedelta) -> None:
    assert answers(text, 3) == [first, first + step, first + 2 * step]
    assert names_start(text)
    assert parse(text).anchor == first
    assert answers(text, 3, anchor=first) == answers(text, 3)
    assert refused(text, anchor=first + step).field == "anchor"


def test_a_repeating_interval_without_its_start() -> None:
    assert answers("R/PT15M", anchor=ANCHOR) == answers("every 15m", anchor=ANCHOR)
    assert not names_start("R/PT15M")
    local = "R/2026-01-02T09:05:00/PT1H"
    assert refused(local).code == "naive_time"
    assert answers(local, 1, timezone="Asia/Tokyo") == [datetime(2026, 1, 2, 0, 5, tzinfo=UTC)]


# What is refused names a line that is read, and that means it.


@pytest.mark.parametrize(
    ("text", "line", "same"),
    [
        ("0 12 * * ? *", "0 12 * * *", "cron(0 12 * * ? *)"),
        ("0 12 ? * 2-6 *", "0 12 * * 1-5", "cron(0 12 ? * MON-FRI *)"),
        ("0/5 8-17 ? * MON-FRI *", "0/5 8-17 * * MON-FRI", "cron(0/5 8-17 ? * MON-FRI *)"),
        ("0 12 1 * ? 2026", "0 12 1 * *", "0 12 1 * *"),
        ("cron(0 12 1 * ? 2026-2028)", "0 12 1 * *", "0 12 1 * *"),
        ("cron(0 9 * * 1-5)", "0 9 * * 1-5", "0 9 * * 1-5"),
        ("2026..2028-*-* 10:00", "0 10 * * *", "0 10 * * *"),
        ("weekly", "0 0 * * MON", "OnCalendar=weekly"),
        ("weekly", "@weekly", "0 0 * * 0"),
        ("0 9 * * 1-5 /usr/bin/backup --all", "0 9 * * 1-5", "0 9 * * 1-5"),
        ("0 9 * * 1-5 root /usr/bin/backup", "0 9 * * 1-5", "0 9 * * 1-5"),
        ("15 0 9 * * 1-5 root /usr/bin/backup", "15 0 9 * * 1-5", "15 0 9 * * 1-5"),
        ("0 9 * * 1-5 backup", "0 9 * * 1-5", "0 9 * * 1-5"),
        ("@daily /usr/bin/backup", "@daily", "0 0 * * *"),
        ("0 0 12 ? * 2-6 2026", "0 0 12 ? * 1-5", "0 12 * * MON-FRI"),
        ("15m", "every 15m", "every 15 minutes"),
        ("1h 30 min", "every 1h 30 min", "every 90m"),
        ("'0 9 * * 1-5'", "0 9 * * 1-5", "0 9 * * 1-5"),
        ('"every 15m"', "every 15m", "every 15m"),
        ("OnUnitActiveSec=15min", "every 15min", "every 15m"),
        # Of files: the key and the quotes are not the schedule.
        ("- cron: '30 5 * * 1,3'", "30 5 * * 1,3", "30 5 * * 1,3"),
        ('schedule: "*/5 * * * *"', "*/5 * * * *", "*/5 * * * *"),
        ("cron: 0 0 * * 0 # sundays", "0 0 * * 0", "0 0 * * 0"),
        ("cron = @daily", "@daily", "0 0 * * *"),
        ("\u201c0 9 * * 1-5\u201d", "0 9 * * 1-5", "0 9 * * 1-5"),
        ("\u2018every 15m\u2019", "every 15m", "every 15m"),
        # A zone where there is no place for it.
        ("0 9 * * 1-5 Europe/Berlin", "CRON_TZ=Europe/Berlin 0 9 * * 1-5",
         "CRON_TZ=Europe/Berlin 0 9 * * 1-5"),
        ("0 9 * * 1-5 (Europe/Berlin)", "CRON_TZ=Europe/Berlin 0 9 * * 1-5",
         "CRON_TZ=Europe/Berlin 0 9 * * 1-5"),
        ("0 9 * * 1-5 UTC", "CRON_TZ=UTC 0 9 * * 1-5", "0 9 * * 1-5"),
        ("2026-12-24T18:00:00+01:00[Europe/Berlin]", "2026-12-24T18:00:00+01:00", "2026-12-24T17:00:00Z"),
        # A year, seconds since 1970, and calls of Celery.
        ("0 9 * * 1-5 2026", "0 9 * * 1-5", "0 9 * * 1-5"),
        ("0 9 1 1 * 2026-2030", "0 9 1 1 *", "0 9 1 1 *"),
        ("@1798104600", "2026-12-24T09:30:00Z", "2026-12-24T09:30:00Z"),
        ("1798104600", "2026-12-24T09:30:00Z", "2026-12-24T09:30:00Z"),
        ("1798104600000", "2026-12-24T09:30:00Z", "2026-12-24T09:30:00Z"),
        ("@600", "every 600s", "every 10m"),
        ("crontab(hour=7, minute=30, day_of_week=1)", "30 7 * * 1", "30 7 * * 1"),
        ("crontab(minute='*/15')", "*/15 * * * *", "*/15 * * * *"),
        ("crontab(0, 9, day_of_month='1')", "0 9 1 * *", "0 9 1 * *"),
        # Words of other programs.
        ("@once", "2026-12-24T18:00:00Z", "2026-12-24T18:00:00Z"),
        ("~ 5 * * *", "H", "H"),
        ("0~30 5 * * *", "H(0-30)", "H(0-30)"),
        ("0 9 * * weekdays", "1-5", "1-5"),
        ("0 9 * * weekend", "6,0", "6,0"),
        ("0 9 * * L5", "5L", "5L"),
        ("0 9 * * L", "5L", "5L"),
        ("every day 09:00", "0 9 * * *", "0 9 * * *"),
        ("every other day", "every 2d", "every 48h"),
        ("every 1M", "every 1m", "every 1m"),
        ("every 1M", "FREQ=MONTHLY", "FREQ=MONTHLY"),
        ("every monday", "0 9 * * MON", "0 9 * * 1"),
        ("every weekday at 9", "0 9 * * 1-5", "0 9 * * 1-5"),
        ("every day at 9", "0 9 * * *", "0 9 * * *"),
        ("every 2 years", "FREQ=YEARLY", "FREQ=YEARLY"),
        ("R/P1W", "FREQ=WEEKLY", "FREQ=WEEKLY"),
        ("R/P2D", "R/PT48H", "every 2d"),
        ("R/P1DT12H", "R/PT2160M", "every 36h"),
        ("R/2026-01-02T09:00:00Z/P3M", "DTSTART:20260102T090000Z RRULE:FREQ=MONTHLY;INTERVAL=3",
         "DTSTART:20260102T090000Z RRULE:FREQ=MONTHLY;INTERVAL=3"),
        ("R/2026-01-02T09:00:00/P1D", "DTSTART:20260102T090000 RRULE:FREQ=DAILY",
         "DTSTART:20260102T090000 RRULE:FREQ=DAILY"),
        ("R/2026-01-02T09:00:00Z/2026-01-02T10:00:00Z", "R/2026-01-02T09:00:00Z/PT3600S",
         "R/2026-01-02T09:00:00Z/PT1H"),
        ("R5/2026-01-02T09:00:00Z/PT12H",
         "DTSTART:20260102T090000Z RRULE:FREQ=SECONDLY;INTERVAL=43200;COUNT=5",
         "DTSTART:20260102T090000Z RRULE:FREQ=HOURLY;INTERVAL=12;COUNT=5"),
    ],
)  # fmt: skip
def test_refused_with_the_line_to_write(text: str, line: str, same: str) -> None:
    error = refused(text)
    assert line in str(error.hint)
    if line == same and len(line.split()) == 1 and not line.startswith(("FREQ", "2026")):  # one field of it
        line = same = f"0 9 * * {line}" if "H" not in line else f"{line} 5 * * *"
    anchor = ANCHOR if takes_anchor(line) else None
    assert answers(line, anchor=anchor, key="job") == answers(same, anchor=anchor, key="job") != []


@pytest.mark.parametrize(
    "text",
    [
        "cron(0 0 13 * 6 *)",
        "cron(0 9 ? * 8 *)",
        "cron(0 9 ? * 0 *)",
        "cron(0 75 * * ? *)",
        "cron()",
        "rate(5)",
        "rate(5 fortnights)",
        "at(tomorrow)",
        "R/PT0S",
        "R/2026-01-01/PT1H",
        "R/2026-01-01T09:00:00Z/P1M",
        "R/2026-01-01T09:00/P1D",
        "R/P1D",
        "R/2026-01-01T09:00:00Z/2026-01-02T09:00:00Z",
        "Mon..Fri 09:00 Mars/Olympus",
        "OnCalendar=",
        "OnCalendar=Mon..Fri soon",
        "Fri *-*-32 09:00",
        "Fri *-*-1..99999999999 09:00",
        "Fri *-*-1/0 09:00",
        "*-*-* 25:00",
        "*-*~40 09:00",
        "12:30:15.5",
        "1-5",
        "MAILTO=root\n0 9 * * *",
        "SHELL=/bin/sh",
        "OnBootSec=a while",
        "SUMMARY:Standup\nDTSTART:20260101T090000Z\nRRULE:FREQ=DAILY",
        "FREQ=DAILY;DTSTART=20260101T090000Z",
        "DTSTART:20260101T090000Z\nRDATE;VALUE=PERIOD:20260310T090000Z/PT1H",
        "0 0 9 * ? 1",
        "? * * * *",
        "* ? * * * *",
        "0 9 * ? *",
        "0 9 * * 1 MON TUE",
        "0 9 * * *\n0 10 * * *",
    ],
)
def test_what_is_not_certain_is_refused(text: str) -> None:
    error = refused(text, timezone="UTC")
    assert error.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SUMMARY:x\nDTSTART:20260101T090000Z\nRRULE:FREQ=DAILY", "unknown line 'SUMMARY'"),
        ("MAILTO=root\n0 9 * * *", "MAILTO= is a setting of a crontab"),
        ("0 0 9 * ? 1", "month: ? stands for any day"),
        ("FREQ=DAILY;DTSTART=20260101T090000Z", "DTSTART is no part of a rule"),
        ("OnBootSec=15min", "OnBootSec= counts from an event"),
        ("OnUnitActiveSec=1M", "OnUnitActiveSec= counts from an event"),
        ("@reboot", "@reboot is when a machine starts"),
        ("@reboot /usr/bin/start", "@reboot is when a machine starts"),
        ("2026-12-24T18:00:00X", "'2026-12-24T18:00:00X' is not an ISO-8601 time"),
    ],
)
def test_what_is_said_of_other_programs(text: str, said: str) -> None:
    assert refused(text).message.startswith(said)


def test_seconds_last_is_named_where_it_would_be_read() -> None:
    assert "seconds=last" in str(refused("*/5 * * * * 30").hint)
    assert "seconds=last" not in str(refused("*/5 * * * 13 30").hint)
    assert "seconds=last" not in str(refused("*/5 * * * 9").hint)
