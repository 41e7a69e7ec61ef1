"""What a schedule comes to, before and after it is stored."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton.errors import InvalidField, NotFound, ScheduleError
from sexton.jobs.preview import preview, preview_job
from sexton.jobs.state import pause
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.jobs.making import HOUR, NOW, at, make, spec


def test_moved_and_skipped_times_are_shown_with_the_reason() -> None:
    shown = preview(
        spec(schedule="30 2 * * *", timezone="America/New_York", starts_at="2027-03-13T00:00:00Z",
             exclude=["2027-03-15"]),
        count=3,
        now=NOW,
    )  # fmt: skip
    assert [(time.local, time.skipped) for time in shown.occurrences] == [
        ("2027-03-13T02:30:00-05:00", None),
        ("2027-03-14T02:30:00-05:00", None),
        ("2027-03-15T02:30:00-04:00", "excluded"),
        ("2027-03-16T02:30:00-04:00", None),
    ]
    assert "does not exist" in str(shown.occurrences[1].note)
    assert shown.timezone == "America/New_York"
    assert "02:30" in shown.explanation


def test_a_preview_is_refused_as_the_job_would_be() -> None:
    with pytest.raises(ScheduleError):
        preview(spec(schedule="2026-06-01T00:00:00Z"), now=NOW)
    with pytest.raises(InvalidField, match="count is 0"):
        preview(spec(), count=0, now=NOW)


def test_max_runs_ends_the_list_and_a_late_single_time_is_shown() -> None:
    assert len(preview(spec(max_runs=2), now=NOW).occurrences) == 2
    late = preview(spec(schedule="2026-06-01T00:00:00Z", missed_window="RUN_ONCE"), now=NOW)
    assert len(late.occurrences) == 1


async def test_a_stored_job_goes_on_from_where_it_stands(database: Database) -> None:
    await make(database)
    shown = await preview_job(Context(database, now=NOW), "report", count=2)
    assert [time.scheduled_at for time in shown.occurrences] == [at(1), at(2)]
    await pause(Context(database, now=NOW), "report")
    shown = await preview_job(Context(database, now=NOW + HOUR), "report", count=1)
    assert shown.occurrences[0].scheduled_at == at(61)
    await make(database, name="once", schedule="2026-06-03T13:00:00Z")
    await pause(Context(database, now=at(26) + timedelta(seconds=1)), "once")
    assert (await preview_job(Context(database, now=NOW), "once")).occurrences == []
    with pytest.raises(NotFound):
        await preview_job(Context(database, now=NOW), "nobody")


async def test_other_readings_of_the_schedule_are_warned_of(database: Database) -> None:
    text = "*/90 * * * *"
    [warning] = preview(spec(schedule=text), now=NOW).warnings
    assert "every 90m" in warning
    made = await make(database, schedule=text)
    assert warning in made.warnings
    assert (await preview_job(Context(database, now=NOW), "report")).warnings == [warning]
