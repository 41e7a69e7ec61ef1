"""Whatever people do to a job, each of its occurrences has exactly one disposition."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest

from sexton.jobs.edit import edit
from sexton.jobs.read import get
from sexton.jobs.state import delete, pause, resume
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.occurrences import list_occurrences
from tests.jobs.making import MINUTE, NOW, at, history, make, number, rows, timer


async def dispositions(database: Database, job: Any) -> Counter[datetime]:
    """How often each minute was fired or skipped; ranges are spread out."""
    found: Counter[datetime] = Counter()
    for run in await rows(database, "select scheduled_at from sexton.runs where job_id = $1", number(job)):
        found[run["scheduled_at"]] += 1
    for first, until, occurrences, _, _ in await history(database, job):
        listed = [first + place * MINUTE for place in range(occurrences or 1)]
        assert until is None or listed[-1] == until
        found.update(listed)
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("overlap", ["ALLOW", "QUEUE_ONE"])
async def test_every_minute_is_accounted_for_once(database: Database, seed: int, overlap: str) -> None:
    choice = random.Random(seed)
    window = choice.choice(["SKIP", "RUN_ONCE", "RUN_ALL"])
    jitter = choice.choice([0, 0, 50, 3000])
    job = await make(database, missed_window=window, overlap=overlap, max_missed=3, jitter_seconds=jitter)
    now = NOW
    for step in range(12):
        now += timedelta(seconds=choice.choice([1, 20, 70, 400]))
        match choice.randrange(4):
            case 0:
                await pause(Context(database, now=now), "report")
            case 1:
                await resume(Context(database, now=now), "report")
            case _:
                await edit(Context(database, now=now), "report", {"payload": step})
    place = (await timer(database, job))["scheduled_at"]
    found = await dispositions(database, job)
    # What stands before the timer has happened, once; what comes after has not.
    expected = {at(minute) for minute in range(1, int((place - at(0)) / MINUTE))}
    assert set(found) == expected
    assert set(found.values()) <= {1}
    await delete(Context(database, now=now), "report")
    assert set((await dispositions(database, job)).values()) <= {1}


async def test_changes_of_the_schedule_leave_no_time_twice(database: Database) -> None:
    choice = random.Random(7)
    job = await make(database, missed_window="RUN_ALL", grace_seconds=0)
    now = NOW
    for step in range(15):
        now += timedelta(seconds=choice.choice([1, 30, 90, 200]))
        text = choice.choice(["* * * * *", "*/2 * * * *", "every 60s", "0 * * * *"])
        await edit(Context(database, now=now), "report", {"schedule": text, "payload": step})
        assert (await timer(database, job))["scheduled_at"] > now
    found = await dispositions(database, job)
    assert set(found.values()) <= {1}
    assert all(moment <= now for moment in found)


@pytest.mark.parametrize("seed", range(25))
async def test_nothing_vanishes_within_its_jitter(database: Database, seed: int) -> None:
    """Pauses with and without an end, edits of every sort and a deletion, at any time between an occurrence
    and the end of its jitter: every time that came under a schedule is accounted for once."""
    choice = random.Random(seed)
    texts = {"* * * * *": 1, "*/2 * * * *": 2, "*/5 * * * *": 5}
    text, since, now = "* * * * *", NOW, NOW
    job = await make(
        database, missed_window=choice.choice(["SKIP", "RUN_ONCE", "RUN_ALL"]), jitter_seconds=170
    )
    expected: set[datetime] = set()

    def came() -> set[datetime]:
        minutes = (at(place) for place in range(int((now - at(0)) / MINUTE) + 1))
        return {each for each in minutes if since < each <= now and each.minute % texts[text] == 0}

    for step in range(14):
        now += timedelta(seconds=choice.choice([1, 20, 45, 70, 200]))
        context = Context(database, now=now)
        match choice.randrange(6):
            case 0:
                await pause(context, "report")
            case 1:
                await pause(context, "report", until=now + timedelta(seconds=choice.choice([5, 50, 100])))
            case 2:
                await resume(context, "report")
            case 3:
                await edit(context, "report", {"payload": step})
            case 4:
                await edit(context, "report", {"jitter_seconds": choice.choice([0, 30, 170])})
            case _:
                expected |= came()
                since, text = now, choice.choice(list(texts))
                await edit(context, "report", {"schedule": text})
    now += timedelta(seconds=choice.choice([1, 30, 90]))
    expected |= came()
    await delete(Context(database, now=now), "report")
    found: Counter[datetime] = Counter()
    for each in await list_occurrences(Context(database, now=now), number(job), NOW, now, limit=1000):
        found[each.scheduled_at] += 1
    assert set(found) == expected
    assert set(found.values()) <= {1}


async def test_what_has_come_is_told_of_though_no_more_runs_are_left(database: Database) -> None:
    job = await make(database, jitter_seconds=3000, max_runs=5)
    await edit(Context(database, now=at(1.5)), "report", {"max_runs": 1})
    assert set(await dispositions(database, job)) == {at(1)}
    assert (await get(Context(database, now=at(1.5)), job.job_id)).next_run_at is None


async def test_what_is_caught_up_is_spread_and_comes_last(database: Database) -> None:
    job = await make(database, missed_window="RUN_ALL", priority=0)
    now = at(5) + timedelta(seconds=10)
    await edit(Context(database, now=now), "report", {"payload": 1})
    found = await rows(
        database, "select * from sexton.runs where job_id = $1 order by scheduled_at", number(job)
    )
    assert [(run["trigger"], run["missed"], run["priority"]) for run in found] == [
        *[("catch_up", True, 3)] * 4,
        ("schedule", False, 0),
    ]
    starts = [found[0]["available_at"], *(run["not_before"] for run in found[1:4])]
    assert [start - now for start in starts] == [place * timedelta(milliseconds=10) for place in range(4)]
    assert [run["slot"] is None for run in found] == [False] * 4 + [True]
    assert found[4]["available_at"] == at(5)
