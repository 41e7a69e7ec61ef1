"""What becomes of occurrences that were not fired in time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexton.jobs.planning import (
    MissedPolicy,
    Plan,
    paused,
    plan,
)
from sexton.jobs.spec import JobSpec
from sexton.model import MissedWindow, SkipReason, Trigger
from sexton.schedules import Schedule, parse

START = datetime(2026, 6, 1, 12, tzinfo=UTC)
NO_JITTER = timedelta(0)
EVERY_MINUTE = parse("* * * * *")


def policy(window: str, **fields: int) -> MissedPolicy:
    spec = JobSpec(name="x", schedule="* * * * *", missed_window=MissedWindow(window), **fields)  # type: ignore[arg-type]
    return MissedPolicy.of(spec)


def minutes(result: Plan) -> list[int]:
    return [int((run.scheduled_at - START).total_seconds() // 60) for run in result.runs]


def skips(result: Plan) -> list[tuple[int, int, str]]:
    """(minute, occurrences, reason)"""
    return [
        (int((skip.scheduled_at - START).total_seconds() // 60), skip.occurrences, skip.reason.value)
        for skip in result.skips
    ]


def test_what_is_within_its_grace_runs_as_if_on_time() -> None:
    for window in MissedWindow:
        result = plan(EVERY_MINUTE, policy(window), START, NO_JITTER, START + timedelta(seconds=59))
        assert [(run.scheduled_at, run.trigger, run.missed) for run in result.runs] == [
            (START, Trigger.SCHEDULE, False)
        ]
        assert result.skips == ()
        assert result.next_at == START + timedelta(minutes=1)


@pytest.mark.parametrize("window", MissedWindow)
def test_without_grace_a_second_is_on_time_all_the_same(window: MissedWindow) -> None:
    """Else a job that skips what it missed would never run: each firing takes some milliseconds."""
    without = policy(window, grace_seconds=0)
    result = plan(EVERY_MINUTE, without, START, NO_JITTER, START + timedelta(seconds=1))
    assert [(run.trigger, run.missed) for run in result.runs] == [(Trigger.SCHEDULE, False)]
    result = plan(EVERY_MINUTE, without, START, NO_JITTER, START + timedelta(seconds=1.001))
    assert [run.missed for run in result.runs] == ([] if window is MissedWindow.SKIP else [True])


def test_skip_records_what_was_missed_as_one_range() -> None:
    result = plan(EVERY_MINUTE, policy("SKIP"), START, NO_JITTER, START + timedelta(minutes=10, seconds=30))
    assert minutes(result) == [10]  # 30 s late, within its grace; the one at 9 is 90 s late
    assert skips(result) == [(0, 10, "missed")]
    assert result.skips[0].until_at == START + timedelta(minutes=9)
    assert result.next_at == START + timedelta(minutes=11)


def test_run_once_runs_the_latest_and_coalesces_the_others() -> None:
    hourly = parse("0 * * * *")
    result = plan(hourly, policy("RUN_ONCE"), START, NO_JITTER, START + timedelta(hours=3, minutes=30))
    assert [(run.scheduled_at, run.trigger, run.missed) for run in result.runs] == [
        (START + timedelta(hours=3), Trigger.CATCH_UP, True)
    ]
    assert skips(result) == [(0, 3, "coalesced")]


def test_run_once_coalesces_into_an_occurrence_that_is_just_late() -> None:
    result = plan(
        EVERY_MINUTE, policy("RUN_ONCE"), START, NO_JITTER, START + timedelta(minutes=5, seconds=10)
    )
    assert minutes(result) == [5]
    assert result.runs[0].trigger is Trigger.SCHEDULE
    assert skips(result) == [(0, 5, "coalesced")]


@pytest.mark.parametrize(("window", "reason"), [("RUN_ONCE", "coalesced"), ("SKIP", "missed")])
@pytest.mark.parametrize("standstill", [11, 51, 60, 121])
def test_after_a_standstill_a_job_faster_than_its_grace_runs_once(
    window: str, reason: str, standstill: int
) -> None:
    """However short it was: times that follow each other must not all start at once."""
    fast = parse("every 5s", anchor=START)
    now = START + timedelta(seconds=standstill)
    result = plan(fast, policy(window), START, NO_JITTER, now)
    assert [(run.scheduled_at, run.trigger) for run in result.runs] == [
        (now - timedelta(seconds=standstill % 5), Trigger.SCHEDULE)
    ]
    assert skips(result) == [(0, standstill // 5, reason)]


@pytest.mark.parametrize("standstill", [11, 51, 121])
def test_after_a_standstill_run_all_runs_each_one_after_another(standstill: int) -> None:
    now = START + timedelta(seconds=standstill)
    result = plan(parse("every 5s", anchor=START), policy("RUN_ALL"), START, NO_JITTER, now)
    assert [run.trigger for run in result.runs] == [Trigger.CATCH_UP] * (standstill // 5) + [Trigger.SCHEDULE]
    assert (result.chained, result.skips) == (True, ())


@pytest.mark.parametrize("window", list(MissedWindow))
@pytest.mark.parametrize("seconds", [1, 6, 10])
def test_a_job_faster_than_its_grace_runs_each_time_after_a_hiccup(
    window: MissedWindow, seconds: int
) -> None:
    now = START + timedelta(seconds=seconds)
    result = plan(parse("every 1s", anchor=START), policy(window), START, NO_JITTER, now)
    assert [run.trigger for run in result.runs] == [Trigger.SCHEDULE] * (seconds + 1)
    assert (result.chained, result.skips) == (False, ())


def test_a_short_grace_is_no_hiccup() -> None:
    result = plan(
        parse("every 1s", anchor=START),
        policy("SKIP", grace_seconds=2),
        START,
        NO_JITTER,
        START + timedelta(seconds=5),
    )
    assert [run.scheduled_at for run in result.runs] == [START + timedelta(seconds=5)]
    assert skips(result) == [(0, 5, "missed")]


def test_run_all_runs_the_newest_and_counts_the_rest() -> None:
    result = plan(
        EVERY_MINUTE,
        policy("RUN_ALL", max_missed=3),
        START,
        NO_JITTER,
        START + timedelta(minutes=10, seconds=30),
    )
    assert minutes(result) == [7, 8, 9, 10]
    assert [run.trigger for run in result.runs] == [Trigger.CATCH_UP] * 3 + [Trigger.SCHEDULE]
    assert skips(result) == [(0, 7, "max_missed")]


def test_run_all_does_not_reach_back_more_than_a_day_unless_told() -> None:
    hourly = parse("0 * * * *")
    now = START + timedelta(hours=30, minutes=30)
    assert skips(plan(hourly, policy("RUN_ALL"), START, NO_JITTER, now)) == [(0, 7, "outside_catch_up")]
    longer = policy("RUN_ALL", catch_up_seconds=3 * 86_400)
    assert len(plan(hourly, longer, START, NO_JITTER, now).runs) == 31


def test_a_one_off_is_run_however_late_unless_it_says_otherwise() -> None:
    once = parse("2026-06-01T12:00:00Z")
    late = START + timedelta(days=400)
    result = plan(once, policy("RUN_ONCE"), START, NO_JITTER, late)
    assert [run.missed for run in result.runs] == [True]
    assert result.next_at is None
    assert skips(plan(once, policy("SKIP"), START, NO_JITTER, late)) == [(0, 1, "missed")]
    assert skips(plan(once, policy("RUN_ONCE", catch_up_seconds=60), START, NO_JITTER, late)) == [
        (0, 1, "outside_catch_up")
    ]


def test_jitter_moves_the_due_time_not_the_identity() -> None:
    jitter = timedelta(seconds=40)
    result = plan(EVERY_MINUTE, policy("SKIP"), START, jitter, START + timedelta(minutes=2, seconds=39))
    assert minutes(result) == [
        1
    ]  # due at 1:40, 59 s late; the one at 0 is 119 s late; that at 2 is due at 2:40
    assert skips(result) == [(0, 1, "missed")]
    assert result.next_at == START + timedelta(minutes=2)


def test_nothing_is_due_yet() -> None:
    result = plan(EVERY_MINUTE, policy("RUN_ALL"), START, NO_JITTER, START - timedelta(seconds=1))
    assert result == Plan((), (), START)


def test_max_runs_ends_the_job() -> None:
    result = plan(
        EVERY_MINUTE, policy("RUN_ALL"), START, NO_JITTER, START + timedelta(minutes=5), remaining=2
    )
    assert minutes(result) == [0, 1]
    assert result.next_at is None


def test_everything_that_falls_due_in_a_pause_is_recorded() -> None:
    result = paused(EVERY_MINUTE, START, NO_JITTER, START + timedelta(minutes=90))
    assert skips(result) == [(0, 91, "paused")]
    assert result.next_at == START + timedelta(minutes=91)


@given(
    text=st.sampled_from(["* * * * *", "*/7 * * * *", "0 */2 * * *", "30 3 * * *", "2026-06-01T12:00:00Z"]),
    window=st.sampled_from(list(MissedWindow)),
    away=st.integers(0, 3 * 86_400),
    grace=st.sampled_from([1, 60, 3600]),
    jitter=st.integers(0, 90),
    max_missed=st.integers(1, 50),
    catch_up=st.none() | st.integers(1, 100_000),
)
def test_every_occurrence_gets_exactly_one_disposition(
    text: str, window: MissedWindow, away: int, grace: int, jitter: int, max_missed: int, catch_up: int | None
) -> None:
    schedule = parse(text)
    first = schedule.next_after(START - timedelta(seconds=1))
    assert first is not None
    now = first + timedelta(seconds=away)
    fields = {"max_missed": max_missed, "grace_seconds": grace}
    if catch_up is not None:
        fields["catch_up_seconds"] = catch_up
    result = plan(schedule, policy(window, **fields), first, timedelta(seconds=jitter), now)
    due = [first, *schedule.between(first, now)]
    due = [at for at in due if at + timedelta(seconds=jitter) <= now]
    ran = [run.scheduled_at for run in result.runs]
    assert ran == sorted(set(ran))
    skipped = [
        at
        for skip in result.skips
        for at in due
        if skip.scheduled_at <= at <= (skip.until_at or skip.scheduled_at)
    ]
    assert sum(skip.occurrences for skip in result.skips) == len(skipped)
    assert sorted(ran + skipped) == due
    after = due[-1] if due else first - timedelta(seconds=1)
    assert result.next_at == schedule.next_after(after)
    assert all(skip.reason is not SkipReason.COALESCED for skip in result.skips) or ran


def test_max_missed_is_for_run_all_alone() -> None:
    schedule, first = parse("0 * * * *"), datetime(2026, 1, 1, 1, tzinfo=UTC)
    now = first + timedelta(hours=3, minutes=30)
    for window, runs in (("RUN_ONCE", [first + timedelta(hours=3)]), ("RUN_ALL", [])):
        planned = plan(schedule, policy(window, max_missed=0), first, timedelta(0), now)
        assert [run.scheduled_at for run in planned.runs] == runs


TEXTS = ["* * * * * *", "*/5 * * * *", "0 9 * * 1-5", "every 7s", "every 45m", "30 1,2 * * *", "* 2 29 2 *"]
ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"]


@given(
    text=st.sampled_from(TEXTS),
    zone=st.sampled_from(ZONES),
    window=st.sampled_from(["SKIP", "RUN_ONCE", "RUN_ALL"]),
    day=st.integers(0, 500),
    outage=st.integers(1, 40_000),
    fraction=st.integers(0, 999_999),
    grace=st.sampled_from([0, 60, 4000]),
    catch_up=st.sampled_from([None, 0, 3000, 20_000]),
    max_missed=st.sampled_from([0, 1, 7, 300]),
    jitter=st.sampled_from([0, 50]),
)
@settings(max_examples=150, deadline=None)
def test_counting_decides_as_going_through_does(
    text: str, zone: str, window: str, day: int, outage: int, fraction: int, grace: int,
    catch_up: int | None, max_missed: int, jitter: int,
) -> None:  # fmt: skip
    """Long outages are counted by arithmetic; nothing else about the plan changes."""
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day)
    counts = text.startswith("every")
    schedule = parse(text, timezone="UTC" if counts else zone, anchor=start if counts else None)
    first = schedule.next_after(start)
    assert first is not None
    fields = {"grace_seconds": grace, "max_missed": max_missed}
    chosen = policy(window, **fields, **({} if catch_up is None else {"catch_up_seconds": catch_up}))
    now = first + timedelta(seconds=outage, microseconds=fraction)
    delay = timedelta(seconds=jitter)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Schedule, "count", lambda *_: None)
        walked = plan(schedule, chosen, first, delay, now)
        walked_pause = paused(schedule, first, delay, now)
    assert plan(schedule, chosen, first, delay, now) == walked
    assert paused(schedule, first, delay, now) == walked_pause


def test_a_month_of_seconds_is_counted() -> None:
    """Only what is near a clock change or near now is gone through."""
    seconds = parse("* * * * * *", timezone="America/New_York")
    start = datetime(2026, 10, 20, tzinfo=UTC)  # the clock goes back on 1 November
    end = start + timedelta(days=31)
    gone: list[datetime] = []
    walk = Schedule.between

    def watched(schedule: Schedule, first: datetime, last: datetime) -> Iterator[datetime]:
        for at in walk(schedule, first, last):
            gone.append(at)
            yield at

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Schedule, "between", watched)
        [skip] = paused(seconds, start, NO_JITTER, end).skips
        decided = plan(seconds, policy("RUN_ONCE"), start, NO_JITTER, end)
    assert (skip.occurrences, skip.until_at) == (31 * 86_400 + 1, end)
    assert len(decided.runs) == 1
    assert sum(each.occurrences for each in decided.skips) == 31 * 86_400
    assert len(gone) < 30_000


@pytest.mark.parametrize("window", [None, "RUN_ONCE", "SKIP", "RUN_ALL"])
def test_defaults_of_a_policy(window: str | None) -> None:
    spec = JobSpec(name="x", schedule="@daily", missed_window=MissedWindow(window) if window else None)
    made = MissedPolicy.of(spec)
    assert made.missed_window is MissedWindow(window or "RUN_ONCE")
    assert made.catch_up == (timedelta(days=1) if window == "RUN_ALL" else None)
    assert made.grace == timedelta(seconds=60)
    assert MissedPolicy.of(spec, 7200).catch_up == timedelta(hours=2)
    own = msgspec.structs.replace(spec, catch_up_seconds=60)
    assert MissedPolicy.of(own, 7200).catch_up == timedelta(minutes=1)
