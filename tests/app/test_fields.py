"""A schedule in Python: text, a timedelta, a datetime, or what `parse` has read."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args, get_type_hints

import pytest

from sexton import Calendar, Schedule, Sexton, parse
from sexton.app.fields import JobFields, Status
from sexton.errors import InvalidField
from sexton.jobs.timing import read_schedule
from sexton.model import Backoff, JobStatus, MissedWindow, Overlap, RetryJitter
from sexton.schedules.parse import Kind
from sexton.schedules.zone import Fold, Gap

NOW = datetime(2026, 3, 1, tzinfo=UTC)
START = datetime(2026, 1, 1, 9, tzinfo=UTC)
WINTER = datetime(2026, 1, 1, 9)
IN_A_GAP = datetime(2026, 3, 8, 2, 30)


def nothing(run: Any) -> None: ...


def declared(schedule: Schedule, **fields: Any) -> Schedule:
    app = Sexton(name="test")
    app.job(schedule, name="job", **fields)(nothing)
    return read_schedule(app.jobs["job"], NOW)[0]


@pytest.mark.parametrize(
    "schedule",
    [
        parse("30 2 * * *", timezone="America/New_York", gap="skip", fold="both"),
        parse("CRON_TZ=Europe/Berlin 0 9 * * 1"),
        parse("0 9 * * * 0", seconds="last"),
        parse("every 15m", anchor=START, starts_at=START, ends_at=START + timedelta(days=365)),
        parse("2026-06-01T09:00", timezone="Europe/Berlin"),
        parse("DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY;INTERVAL=2", gap="shift"),
        parse("RRULE:FREQ=DAILY;INTERVAL=2", timezone="America/New_York", anchor=WINTER),
        parse("@daily", exclude=["2026-12-25", (date(2026, 12, 24), date(2027, 1, 2))]),
        parse("@hourly", exclude=[(datetime(2026, 1, 1, 10), datetime(2026, 1, 1, 12))]),
    ],
    ids=lambda schedule: schedule.text,
)
def test_a_schedule_brings_its_zone_and_policies(schedule: Schedule) -> None:
    assert declared(schedule).timing_key == schedule.timing_key


def test_a_schedule_without_a_start_counts_from_the_creation_of_the_job() -> None:
    assert declared(parse("every 7h")).next_after(NOW) == NOW + timedelta(hours=7)


@pytest.mark.parametrize(
    ("schedule", "fields", "field", "words"),
    [
        (parse("@daily"), {"timezone": "Europe/Berlin"}, "timezone", "parse(…, timezone=…)"),
        (parse("@daily"), {"exclude": ["2026-12-25"]}, "exclude", "a Schedule, which has its own"),
        (parse("H 3 * * *", key="mine"), {}, "schedule", "give its text"),
        (parse("@daily", exclude=Calendar("feasts", ("2026-12-25",))), {}, "schedule", "calendar 'feasts'"),
        (
            parse("RRULE:FREQ=DAILY;INTERVAL=2", timezone="America/New_York", anchor=IN_A_GAP),
            {},
            "schedule",
            "give the anchor as an instant",
        ),
    ],
)
def test_what_a_job_cannot_keep_is_refused(schedule: Any, fields: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidField) as caught:
        declared(schedule, **fields)
    assert caught.value.field == field
    assert words in str(caught.value)


async def test_a_job_is_made_and_edited_with_a_schedule(database_url: str) -> None:
    app = Sexton(database_url, name="test")
    app.handler("later")(nothing)
    job = await app.schedule("later", schedule=parse("0 9 * * 1", timezone="Europe/Berlin", gap="skip"))
    assert (job.schedule, job.timezone, job.gap) == ("0 9 * * 1", "Europe/Berlin", "skip")
    job = await app.edit(job.job_id, schedule=parse("0 8 * * *", timezone="America/New_York"))
    assert (job.schedule, job.timezone, job.gap) == ("0 8 * * *", "America/New_York", None)
    job = await app.edit(job.job_id, schedule=timedelta(minutes=5), priority=1)
    assert (job.schedule, job.priority) == ("every 300s", 1)


@pytest.mark.parametrize(
    ("hint", "choices"),
    [
        (get_type_hints(JobFields)["kind"], Kind),
        (get_type_hints(JobFields)["gap"], Gap),
        (get_type_hints(JobFields)["fold"], Fold),
        (get_type_hints(JobFields)["retry_backoff"], Backoff),
        (get_type_hints(JobFields)["retry_jitter"], RetryJitter),
        (get_type_hints(JobFields)["missed_window"], MissedWindow),
        (get_type_hints(JobFields)["overlap"], Overlap),
        (Status, JobStatus),
    ],
)
def test_the_literals_are_the_choices(hint: Any, choices: Any) -> None:
    [literal] = [each for each in get_args(hint) if get_args(each)]
    assert list(get_args(literal)) == [each.value for each in choices]
