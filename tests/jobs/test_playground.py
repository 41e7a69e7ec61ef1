"""A schedule is explained to anyone, within bounds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.jobs.clock_change import clock_changes
from sexton.jobs.playground import (
    MOST_DIFFERENCES,
    ExplainRequest,
    OtherSchedule,
    explain_schedule,
    find_zones,
)

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_words_times_and_clock_changes() -> None:
    shown = explain_schedule(ExplainRequest(schedule="30 2 * * 0", timezone="Europe/Berlin", count=3), NOW)
    assert shown.explanation.endswith("Berlin time")
    assert [each.scheduled_at.isoformat() for each in shown.occurrences] == [
        "2026-06-07T00:30:00+00:00",
        "2026-06-14T00:30:00+00:00",
        "2026-06-21T00:30:00+00:00",
    ]
    assert [each.text for each in shown.clock_changes] == [
        "25 October 2026: clocks go back 1 h: 03:00 becomes 02:00, times in between exist twice",
        "28 March 2027: clocks go forward 1 h: 02:00 becomes 03:00, times in between do not exist",
    ]
    assert (shown.kind, shown.difference) == ("cron", None)


@pytest.mark.parametrize(
    ("schedule", "policies", "autumn", "spring"),
    [
        (
            "30 2 * * *", {},
            "02:30 happens twice: it fires at the first",
            "02:30 does not exist: moved to 03:00",
        ),
        (
            "30 2 * * *", {"gap": "skip", "fold": "both"},
            "02:30 happens twice: it fires both times",
            "02:30 does not exist: skipped",
        ),
        (
            "*/15 * * * *", {},
            "4 times happen twice: it fires both times",
            "4 times do not exist, and are skipped",
        ),
        (
            "0 9 * * *", {},
            "it is not touched: it has no time in between",
            "it is not touched: it has no time in between",
        ),
    ],
)  # fmt: skip
def test_what_a_clock_change_does_to_the_schedule(
    schedule: str, policies: dict[str, Any], autumn: str, spring: str
) -> None:
    wish = ExplainRequest(schedule=schedule, timezone="Europe/Berlin", **policies)
    assert [each.effect for each in explain_schedule(wish, NOW).clock_changes] == [autumn, spring]


def test_an_interval_knows_no_clock_changes() -> None:
    assert explain_schedule(ExplainRequest(schedule="every 15m"), NOW).clock_changes == []


def test_where_two_schedules_differ() -> None:
    other = OtherSchedule(schedule="0 9 * * 1-5", timezone="UTC")
    shown = explain_schedule(ExplainRequest(schedule="0 9 * * *", compare=other), NOW).difference
    assert shown is not None
    assert (shown.only_in_first, shown.only_in_second) == (114, 0)
    assert shown.common == 286
    assert len(shown.differences) == MOST_DIFFERENCES
    assert {each.only_in for each in shown.differences} == {"first"}
    assert shown.differences[0].at == datetime(2026, 6, 6, 9, tzinfo=UTC)


def test_comparing_two_of_every_second_ends_early() -> None:
    other = OtherSchedule(schedule="*/2 * * * * *")
    shown = explain_schedule(ExplainRequest(schedule="* * * * * *", compare=other), NOW).difference
    assert shown is not None
    assert shown.common + shown.only_in_first + shown.only_in_second == 2000
    assert (shown.until - NOW).total_seconds() < 3600


def test_what_cannot_be_read_is_refused_as_for_a_job() -> None:
    with pytest.raises(ScheduleError) as refused:
        explain_schedule(ExplainRequest(schedule="0 25 * * *"), NOW)
    assert refused.value.hint


def test_zones_are_found_by_city() -> None:
    assert find_zones("berlin", NOW)[0].zone == "Europe/Berlin"
    assert (find_zones("new york", NOW)[0].offset, find_zones("new york", NOW)[0].abbreviation) == (
        "-04:00",
        "EDT",
    )
    assert len(find_zones("a", NOW)) == 20
    assert find_zones("nowhere", NOW) == []


def test_a_zone_without_changes_has_none() -> None:
    assert clock_changes("UTC", NOW, datetime(2030, 1, 1, tzinfo=UTC)) == []
