"""Schedules from the fields of a job: what is refused, what they count from, where a new job begins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.jobs.timing import first_occurrence, read_schedule
from sexton.jobs.validation import read_spec

NOW = datetime(2026, 6, 3, 12, 34, 56, 789, tzinfo=UTC)
COMPLETE = "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0"
JOB = {"name": "report", "schedule": "0 9 * * 1"}


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"timezone": "Europe/Belin"}, "unknown_timezone", "timezone"),
        ({"schedule": "0 25 * * *"}, "out_of_range", "schedule"),
        ({"schedule": "0 0 30 2 *"}, "never_fires", "schedule"),
        ({"schedule": "every 0.5s"}, "bad_interval", "schedule"),
        ({"schedule": "2026-11-01T01:30", "timezone": "America/New_York"}, "ambiguous_time", "schedule"),
        ({"schedule": "2027-03-14T02:30", "timezone": "America/New_York"}, "nonexistent_time", "schedule"),
        ({"schedule": "2026-11-01T01:30"}, "naive_time", "schedule"),
        ({"gap": "jump"}, "bad_option", "gap"),
        ({"starts_at": "9999-12-31T23:59:59Z"}, "bad_time", "starts_at"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(fields: dict[str, Any], code: str, field: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        read_schedule(read_spec({**JOB, **fields}), NOW)
    assert (caught.value.field, bool(caught.value.hint)) == (field, True)
    assert caught.value.code == code


def first(**fields: Any) -> datetime:
    spec = read_spec({**JOB, **fields})
    return first_occurrence(spec, read_schedule(spec, NOW)[0], NOW)


def test_a_single_time_in_the_past_needs_a_word() -> None:
    with pytest.raises(ScheduleError) as caught:
        first(schedule="2026-06-01T00:00:00Z")
    assert caught.value.code == "in_the_past"
    assert first(schedule="2026-06-01T00:00:00Z", missed_window="RUN_ONCE") == datetime(
        2026, 6, 1, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"ends_at": "2026-06-02T00:00:00Z"},
        {"schedule": "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY;COUNT=3"},
        {"schedule": "2026-12-24T00:00:00Z", "exclude": ["2026-12-24"]},
    ],
)
def test_a_schedule_that_is_over_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError) as caught:
        first(**fields)
    assert caught.value.code == "never_fires"


@pytest.mark.parametrize(
    ("fields", "anchor"),
    [
        ({"schedule": "every 15m"}, NOW.replace(microsecond=0)),
        ({"schedule": "FREQ=DAILY"}, NOW.replace(second=0, microsecond=0)),
        ({"schedule": "FREQ=DAILY", "starts_at": "2026-07-01T00:00:00Z"}, datetime(2026, 7, 1, tzinfo=UTC)),
        ({"schedule": COMPLETE, "anchor": "2026-07-01T00:00:00Z"}, datetime(2026, 7, 1, tzinfo=UTC)),
        ({"schedule": COMPLETE}, None),
        ({"starts_at": "2026-07-01T00:00:00Z"}, None),
        ({"schedule": "every 1h", "anchor": "2026-01-01T00:00:00Z"}, datetime(2026, 1, 1, tzinfo=UTC)),
        (
            {"schedule": "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY"},
            datetime(2026, 1, 1, 8, tzinfo=UTC),
        ),
    ],
)
def test_the_anchor_is_given_or_the_time_of_making(fields: dict[str, Any], anchor: datetime | None) -> None:
    """A schedule that counts from nothing has none."""
    assert read_schedule(read_spec({**JOB, **fields}), NOW)[1] == anchor


@pytest.mark.parametrize("schedule", ["0 9 * * *", "2026-12-24T18:00:00Z"])
def test_an_anchor_that_nothing_counts_from_is_refused(schedule: str) -> None:
    fields = {"schedule": schedule, "anchor": "2026-07-01T00:00:00Z"}
    with pytest.raises(ScheduleError, match="to begin later give starts_at") as caught:
        read_schedule(read_spec({**JOB, **fields}), NOW)
    assert (caught.value.code, caught.value.field) == ("bad_option", "anchor")


def test_an_interval_first_fires_one_interval_after_it_was_made() -> None:
    assert first(schedule="every 15m") == NOW.replace(microsecond=0) + timedelta(minutes=15)


def test_an_anchor_beside_a_text_with_its_own_start_is_refused() -> None:
    lines = "DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY"
    same = read_spec({**JOB, "schedule": lines, "anchor": "2026-01-01T09:00:00Z"})
    assert read_schedule(same, NOW)[1] == datetime(2026, 1, 1, 9, tzinfo=UTC)
    with pytest.raises(ScheduleError) as caught:
        read_schedule(read_spec({**JOB, "schedule": lines, "anchor": "2026-01-01T10:00:00Z"}), NOW)
    assert (caught.value.code, caught.value.field) == ("bad_option", "anchor")
