"""Warnings: texts that are read here, but may well mean other times to their author."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import islice

import pytest

from sexton.schedules import parse
from tests.schedules.corpus_cases import load

START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2030, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # Numbers for days of the week as Quartz has them.
        ("0 0 12 ? * 2", ["Tuesday here", "Monday in Quartz"]),
        ("0 0 12 ? * 6#3", ["the third Saturday here", "the third Friday in Quartz"]),
        ("0 0 12 ? * 6L", ["the last Saturday here", "the last Friday in Quartz"]),
        ("0 0 12 ? * 2-6", ["Tuesday through Saturday here", "weekdays in Quartz"]),
        ("0 12 ? * 7", ["Sunday here", "Saturday in Quartz"]),
        # The seconds last.
        ("0 9 * * * 0", ["At 09:00 every day", "seconds=last"]),
        ("* * * * * */10", ["Every 10 seconds", "seconds=last"]),
        ("*/5 * * * * 1", ["At second 1 of every 5th minute"]),
        ("0 0 9 * * 0", ["At 00:00 on the 9th of the month"]),
        # A year last.
        ("0 9 * * 1-5 *", ["At 09:00 on weekdays", "write 0 9 * * 1-5"]),
        ("30 9 * * 1 *", ["At 09:30 on Monday", "write 30 9 * * 1"]),
        # Both days in six fields.
        ("0 0 0 13 * 5", ["13 or day of week 5", "Spring"]),
        # Steps that leave their field.
        ("*/90 * * * *", ["*/90", "matches 0 only", "each hour", "every 90m"]),
        ("*/45 * * * *", ["matches 0 and 45 only", "every 45m"]),
        ("0/45 * * * *", ["matches 0 and 45 only", "every 45m"]),
        ("0 */36 * * *", ["matches 0 only", "every 36h"]),
        ("*/90 * * * * *", ["matches 0 only", "every 90s"]),
        ("5/90 * * * *", ["matches 5 only"]),
        ("0 0 */45 * *", ["matches 1 only", "every 45d"]),
        ("0 0 1 */18 *", ["matches 1 only", "FREQ=MONTHLY;INTERVAL=18"]),
        ("0,*/90 * * * *", ["*/90"]),
        ("10-30/45 * * * *", ["matches 10 only", "every 45m"]),
        # Days that a month does not have.
        ("0 9 31 2,7 *", ["February has no day 31"]),
        ("0 9 30,31 2-5 *", ["February has no day 30 or 31"]),
        ("0 9 31 1-6 *", ["February, April and June have no day 31"]),
        ("FREQ=YEARLY;BYMONTH=2,7;BYMONTHDAY=30", ["February has no day 30"]),
        # Rules of RFC 5545.
        ("FREQ=YEARLY;BYMONTHDAY=1,15", ["the month of its start only", "FREQ=MONTHLY"]),
        ("DTSTART:20261102T090000Z RRULE:FREQ=YEARLY;BYMONTHDAY=2", ["November only"]),
        ("DTSTART:20260101T090000Z FREQ=WEEKLY;BYDAY=MO", ["1 January 2026 09:00", "5 January 2026 09:00"]),
    ],
)  # fmt: skip
def test_warned_of(text: str, parts: list[str]) -> None:
    [warning] = [each for each in parse(text).warnings if parts[0] in each]
    for part in parts:
        assert part in warning
    suggested = re.search(r"write (every \w+|FREQ=[\w;=]+)$", warning)
    if suggested:
        parse(suggested[1])


@pytest.mark.parametrize(
    "text",
    [
        "0 0 12 ? * MON",
        "0 0 12 ? * 1-7",
        "0 0 12 ? * */2",
        "0 0 12 ? * 0",
        "0 0 12 * * 2",
        "0 0 12 1 * ?",
        "0 0 9 * * 1-5",
        "0 0 9 * * 1",
        "0 0 9 * * MON",
        "*/10 * * * * *",
        "30 0 9 * * *",
        "0 */5 * * * *",
        "0 30 * * * *",
        "0 0 9 * 1-5 *",
        "*/15 * * * *",
        "*/7 * * * *",
        "*/60 * * * *",
        "0 */24 * * *",
        "0 */12 * * *",
        "0 0 13 * 5",
        "0 0 */2 * *",
        "0 0 1 */3 *",
        "@daily",
        "Mon..Fri 09:00",
        "cron(0 9 ? * 2 *)",
        "FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=1,15",
        "FREQ=MONTHLY;BYMONTHDAY=1,15",
        "FREQ=WEEKLY;BYDAY=MO",
        "DTSTART:20260105T090000Z RRULE:FREQ=WEEKLY;BYDAY=MO",
        "every 90m",
        "2026-12-24T18:00:00Z",
    ],
)
def test_not_warned_of(text: str) -> None:
    assert parse(text).warnings == ()


@pytest.mark.parametrize("text", ["0 9 * * *", "2026-12-24T18:00:00Z"])
def test_an_anchor_that_nothing_counts_from(text: str) -> None:
    schedule = parse(text, anchor="2030-01-01T00:00:00Z")
    [warning] = schedule.warnings
    assert "to begin later give starts_at" in warning
    assert (schedule.anchor, schedule.timing_key) == (None, parse(text).timing_key)


def test_an_option_says_which_reading_is_meant() -> None:
    text = "0 9 * * * 0"
    assert parse(text).warnings
    assert parse(text, seconds="first").warnings == ()
    assert parse(text, seconds="last").warnings == ()
    assert parse(text).timing_key == parse(text, seconds="first").timing_key
    assert parse(text).timing_key != parse(text, seconds="last").timing_key
    assert parse(text, seconds="last").explain() == "At 09:00 every day, UTC"
    assert parse("0 12 ? * MON 0", seconds="last").explain() == "At 12:00 on Monday, UTC"


def test_the_other_reading_really_differs() -> None:
    """Over all cron lines that are known: a warning about the seconds quotes what seconds=last reads."""
    warned = 0
    for case in load("cron"):
        if case["kind"] != "cron" or case.get("or_refused") or "H" in case["schedule"]:
            continue
        schedule = parse(case["schedule"])
        for warning in schedule.warnings:
            if "seconds=last" in warning:
                warned += 1
                other = parse(case["schedule"], seconds="last")
                assert other.explain().removesuffix(", UTC") in warning
                theirs, ours = (list(islice(each.between(START, END), 50)) for each in (other, schedule))
                assert theirs != ours
    assert warned
