"""What a hint suggests can be read: each suggestion of a refusal is fed back to the parser."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.schedules import parse
from tests.schedules.corpus_cases import load

REFUSED: list[tuple[str, dict[str, Any]]] = [
    *((case["schedule"], {}) for case in load("refused")),
    ("", {}),
    ("* * * *", {}),
    ("0 0 12 ? * MON 2026", {}),
    ("0 0 12 ? * 2 2026", {}),
    ("0 0 12 ? ? ? 2026", {}),
    ("0 9 * * Monday", {}),
    ("0 9 * * MO", {}),
    ("0 9 * Janvier *", {}),
    ("0 9 * * 5#9", {}),
    ("0 9 L-40 * *", {}),
    ("0 9 L-2 L *", {}),
    ("*/x * * * *", {}),
    ("? * * * *", {}),
    ("0 12 * * ? *", {}),
    ("? 12 * * ? *", {}),
    ("0 12 ? * 2#1 *", {}),
    ("0 9 * * 1 root /bin/true", {}),
    ("@dayly", {}),
    ("@reboot", {}),
    ("@once", {}),
    ("@600", {}),
    ("@1798104600", {}),
    ("- cron: '30 5 * * 1,3'", {}),
    ("0 9 * * 1 Europe/Berlin", {}),
    ("0 9 * * weekdays", {}),
    ("0 9 * * L", {}),
    ("0 9 * * 1 2026", {}),
    ("crontab(minute='*/15')", {}),
    ("~ * * * *", {}),
    ("FREQ=DAILY;BYHOR=9", {}),
    ("FREQ=DAILY;NONSENSE=9", {}),
    ("every 1M", {}),
    ("every other week", {}),
    ("@daily 5", {}),
    ("every 15", {}),
    ("every 1.5h", {}),
    ("every 3 months", {}),
    ("every 0s", {}),
    ("every now", {}),
    ("PT1.5S", {}),
    ("PT", {}),
    ("P1M", {}),
    ("R/P1D", {}),
    ("R3/PT1H", {}),
    ("R/P1Y2M", {}),
    ("15m", {}),
    ("'0 9 * * *'", {}),
    ("every friday", {}),
    ("every day at 9", {}),
    ("SHELL=/bin/sh", {}),
    ("OnBootSec=5min", {}),
    ("*/5 * * * * 30", {}),
    ("FREQ=DAILY;TZID=Asia/Tokyo", {}),
    ("RDATE;VALUE=PERIOD:20260310T090000Z/PT1H", {}),
    ("R3/2026-01-01T00:00:00Z/PT1H", {}),
    ("R/soon", {}),
    ("cron(0 9 * * 1)", {}),
    ("cron(0 9 ? * 8 *)", {}),
    ("cron(0 9 1 * MON *)", {}),
    ("cron(0 9 1 * ? 2027)", {}),
    ("rate(1)", {}),
    ("at(soon)", {}),
    ("weekly", {}),
    ("OnCalendar=soon", {}),
    ("2027-*-01 09:00", {}),
    ("FREQ=FORTNIGHTLY", {}),
    ("INTERVAL=2", {}),
    ("FREQ=DAILY;", {}),
    ("FREQ=DAILY;INTERVAL", {}),
    ("FREQ=DAILY;INTERVAL=0", {}),
    ("FREQ=DAILY;UNTIL=2026-12-31", {}),
    ("FREQ=DAILY;BYHOUR=25", {}),
    ("FREQ=DAILY;WKST=XX", {}),
    ("FREQ=WEEKLY;BYDAY=XX", {}),
    ("DTSTART:20260101T090000Z", {}),
    ("DTSTART:2026", {}),
    ("DTSTART;TZID=Asia/Tokyo:20260101T090000", {}),
    ("EXDATE:20260101", {}),
    ("2026-12-24", {}),
    ("20261224", {}),
    ("2026-12-24T25:00", {}),
    ("2026-12-24T18:00", {}),
    ("2026-11-01T01:30", {"timezone": "America/New_York"}),
    ("2026-04-05T01:45", {"timezone": "Australia/Lord_Howe"}),
    ("2026-10-25T00:30", {"timezone": "Atlantic/Azores"}),
]

SUGGESTED = re.compile(r"(?:write(?: for example)?|such as|did you mean|known:) (.+)")
# What a suggestion is a part of.
WHOLES = (
    "{}",
    "{} * * * *",
    "0 9 * * {}",
    "0 9 * {} *",
    "FREQ=DAILY;{}",
    "DTSTART:{}\nRRULE:FREQ=DAILY",
)


def reads(text: str) -> bool:
    for whole in WHOLES:
        try:
            parse(whole.format(text), key="job", timezone="Asia/Tokyo" if "DTSTART;" in text else None)
        except ScheduleError as error:
            if error.code == "naive_time":
                return True
        else:
            return True
    return False


@pytest.mark.parametrize(("text", "options"), REFUSED)
def test_a_hint_suggests_what_can_be_read(text: str, options: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(text, **options)
    hint = caught.value.hint
    assert hint
    assert hint.isascii(), "a typographic character would be refused"
    for suggestion in SUGGESTED.findall(hint):
        words = suggestion.removesuffix("?").split(" ")
        if re.match(r"[0-9*@A-Z]|every |cron\(|rate\(", suggestion):
            prefixes = (" ".join(words[:number]).rstrip(",") for number in range(len(words), 0, -1))
            assert any(reads(prefix) for prefix in prefixes), hint


def test_the_choices_of_a_hint_are_read() -> None:
    """Hints that list what there is: names of months and days, frequencies, macros, units."""
    lists = {
        "0 9 * XXX *": "0 9 * {} *",
        "0 9 * * XXX": "0 9 * * {}",
        "FREQ=FORTNIGHTLY": "FREQ={}",
        "FREQ=WEEKLY;WKST=XX": "FREQ=WEEKLY;WKST={}",
        "FREQ=MONTHLY;BYDAY=XX": "FREQ=MONTHLY;BYDAY={}",
        "@dayly": "{}",
        "every 1x": "every 1{}",
    }
    for text, whole in lists.items():
        with pytest.raises(ScheduleError) as caught:
            parse(text)
        hint = str(caught.value.hint).partition(", such as")[0]
        choices = re.findall(r"-?\d?[A-Z]{2,}|@\w+|\b[smhdw]\b", hint)
        assert len(choices) >= 5
        for choice in choices:
            parse(whole.format(choice))
