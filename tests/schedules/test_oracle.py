"""The oracle itself, held against answers it did not make: half the corpus, and clock changes by hand."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.schedules import oracle
from tests.schedules.corpus_cases import Case, instant, load, show


@pytest.mark.parametrize(
    ("name", "every", "at_least"), [("cron", 2, 400), ("recurrence", 2, 150), ("clock-changes", 3, 750)]
)
def test_the_oracle_knows_the_corpus(name: str, every: int, at_least: int) -> None:
    cases = [case for case in load(name)[::every] if is_affordable(case)]
    assert len(cases) >= at_least
    failures = []
    for case in cases:
        given = ask(case)
        if "not_expected" in case:
            if set(given) & {instant(text) for text in case["not_expected"]}:
                failures.append(f"{case['id']}: {case['schedule']!r} gave {show(given)}")
        elif given[: case["count"]] != [instant(text) for text in case["expected"]]:
            failures.append(f"{case['id']}: {case['schedule']!r} gave {show(given)}, not {case['expected']}")
    assert not failures, "\n".join(failures)


def ask(case: Case) -> list[datetime]:
    return oracle.answers(
        case["schedule"],
        start=instant(case["after"]),
        end=horizon(case),
        timezone=case["timezone"],
        gap=case["gap"],
        fold=case["fold"],
        anchor=instant(case["anchor"]) if "anchor" in case else None,
    )


def horizon(case: Case) -> datetime:
    """Up to where a case can be checked: its last answer, or some time without one where it ends."""
    if "until" in case:
        return instant(case["until"])
    last = (case.get("expected") or case.get("not_expected") or [case["after"]])[-1]
    if len(case.get("expected", "?")) == case["count"]:
        return instant(last)
    return instant(last) + timedelta(
        days=2 if re.search("HOURLY|MINUTELY|SECONDLY", case["schedule"]) else 400
    )


def is_affordable(case: Case) -> bool:
    """Not what the RFC forbids, and no more than some ten thousand candidates to look at."""
    span = horizon(case) - instant(case["after"])
    limit = {"SECONDLY": 1, "MINUTELY": 10, "HOURLY": 200}
    fine = re.search("HOURLY|MINUTELY|SECONDLY", case["schedule"])
    return "or_refused" not in case and span.days <= (limit[fine[0]] if fine else 8000)


@pytest.mark.parametrize(
    ("zone", "wall", "gap", "fold", "expected"),
    [
        ("America/New_York", "2026-03-08T02:30", "after", "first", ["2026-03-08T07:00Z"]),
        ("America/New_York", "2026-03-08T02:30", "shift", "first", ["2026-03-08T07:30Z"]),
        ("America/New_York", "2026-03-08T02:30", "skip", "first", []),
        ("America/New_York", "2026-03-08T03:00", "skip", "first", ["2026-03-08T07:00Z"]),
        ("America/New_York", "2026-11-01T01:30", "skip", "first", ["2026-11-01T05:30Z"]),
        ("America/New_York", "2026-11-01T01:30", "skip", "second", ["2026-11-01T06:30Z"]),
        ("America/New_York", "2026-11-01T01:30", "skip", "both", ["2026-11-01T05:30Z", "2026-11-01T06:30Z"]),
        ("America/New_York", "2026-11-01T02:00", "skip", "both", ["2026-11-01T07:00Z"]),
        ("Australia/Lord_Howe", "2025-10-05T02:10", "shift", "first", ["2025-10-04T15:40Z"]),
        ("Antarctica/Troll", "2025-03-30T02:30", "shift", "first", ["2025-03-30T02:30Z"]),
        ("Pacific/Apia", "2011-12-30T09:00", "after", "first", ["2011-12-30T10:00Z"]),
        ("Pacific/Apia", "2011-12-30T09:00", "shift", "first", ["2011-12-30T19:00Z"]),
        ("Pacific/Kwajalein", "1993-08-21T09:00", "after", "first", ["1993-08-21T12:00Z"]),
        ("Africa/Monrovia", "1972-01-07T00:10", "after", "first", ["1972-01-07T00:44:30Z"]),
        ("Asia/Kathmandu", "1986-01-01T00:07", "shift", "first", ["1985-12-31T18:37Z"]),
    ],
)
def test_wall_times_by_hand(zone: str, wall: str, gap: str, fold: str, expected: list[str]) -> None:
    found = oracle.resolve(datetime.fromisoformat(wall), ZoneInfo(zone), gap, fold)
    assert [fire.at for fire in found if fire.at] == [datetime.fromisoformat(at) for at in expected]


def test_the_zone_database_is_the_packaged_one() -> None:
    assert datetime(2026, 7, 1, tzinfo=UTC).astimezone(ZoneInfo("Europe/Berlin")).hour == 2
    assert not __import__("zoneinfo").TZPATH
