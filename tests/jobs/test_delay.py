"""`in 10m` as a schedule: counted from when the job is made or edited, and kept as the instant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sexton.errors import ScheduleError
from sexton.jobs.bulk import create_many
from sexton.jobs.edit import edit, replace
from sexton.jobs.preview import preview
from sexton.jobs.read import get
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.schedules import parse
from tests.jobs.making import HOUR, NOW, make, spec, timer

# Ten minutes after NOW, to the next full second.
THEN = datetime(2026, 6, 3, 12, 44, 57, tzinfo=UTC)


def test_a_delay_counts_from_its_anchor() -> None:
    schedule = parse("in 1h30m", anchor="2026-06-03T12:00:00Z")
    assert (schedule.kind, schedule.explain()) == ("once", "Once on 3 June 2026 at 13:30, UTC")
    assert schedule.next_after(NOW) == datetime(2026, 6, 3, 13, 30, tzinfo=UTC)
    assert schedule.next_after(NOW + HOUR) is None


def test_a_delay_is_never_early() -> None:
    anchor = NOW.replace(microsecond=1)
    assert parse("in 10m", anchor=anchor).next_after(NOW) == THEN
    assert parse("in 10m", anchor=NOW.replace(microsecond=0)).next_after(NOW) == THEN - timedelta(seconds=1)


def test_a_delay_needs_an_anchor() -> None:
    schedule = parse("in 10 minutes")
    assert (schedule.needs_anchor, schedule.explain()) == (True, "Once, in 10 minutes, UTC")
    with pytest.raises(ScheduleError) as caught:
        schedule.next_after(NOW)
    assert caught.value.code == "anchor_missing"


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("in 10", 5, "such as in 15m"),
        ("in ten minutes", 3, "in 15m"),
        ("in 1.5h", 3, "in 1h30m"),
        ("  in 5 parsecs", 7, "such as in 15m"),
        ("in 0s", 0, "in 1s"),
        ("in 101 years", 7, "use s, m, h, d or w"),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, position: int, hint: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse(text)
    assert (caught.value.code, caught.value.position) == ("bad_interval", position)
    assert hint in (caught.value.hint or "")


async def test_a_job_keeps_the_instant(database: Database) -> None:
    made = await make(database, schedule="in 10m", timezone="Europe/Berlin")
    assert (made.schedule, made.kind, made.timezone) == ("2026-06-03T12:44:57Z", "once", "Europe/Berlin")
    assert (made.next_run_at, (await timer(database, made))["due_at"]) == (THEN, THEN)
    assert (await get(Context(database), "report")).next_run_at == THEN


async def test_an_edit_counts_from_the_edit(database: Database) -> None:
    await make(database, schedule="every 5m")
    later = Context(database, now=NOW + HOUR)
    assert (await edit(later, "report", {"schedule": "in 10m"})).next_run_at == THEN + HOUR
    job, created = await replace(later, "report", spec(schedule="in 20m"))
    assert (created, job.next_run_at) == (False, THEN + HOUR + timedelta(minutes=10))


async def test_a_line_of_many_counts_from_now(database: Database) -> None:
    [made] = await create_many(Context(database, now=NOW), [b'{"name": "a", "schedule": "in 10m"}'])
    assert (await get(Context(database), made.job_id)).next_run_at == THEN


def test_a_preview_counts_from_now() -> None:
    [only] = preview(spec(schedule="TZ=Europe/Berlin in 10m"), now=NOW).occurrences
    assert (only.scheduled_at, only.local[:16]) == (THEN, "2026-06-03T14:44")


async def test_an_anchor_beside_it_is_refused(database: Database) -> None:
    with pytest.raises(ScheduleError) as caught:
        await make(database, schedule="in 10m", anchor="2026-06-03T12:00:00Z")
    assert (caught.value.code, caught.value.field) == ("bad_option", "anchor")
