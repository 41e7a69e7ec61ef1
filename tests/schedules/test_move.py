"""A schedule of which one occurrence was moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.schedules import Schedule, parse
from sexton.schedules.move import Move
from sexton.schedules.zone import zone

DAY = datetime(2026, 6, 3, tzinfo=UTC)
TEXTS = ("0 * * * *", "*/7 * * * *", "every 11m", "FREQ=HOURLY;BYMINUTE=5,50", "30 1,2,3 * * *")
minutes = st.integers(0, 24 * 60)


def clock(text: str) -> datetime:
    hour, minute = map(int, text.split(":"))
    return DAY + timedelta(hours=hour, minutes=minute)


def hourly(since: str, origin: str, to: str) -> Schedule:
    return parse("0 * * * *").moved(Move(clock(since), clock(origin), clock(to)))


def hours(schedule: Schedule) -> list[str]:
    return [f"{at:%H:%M}" for at in schedule.between(clock("09:30"), clock("16:00"))]


def test_later() -> None:
    schedule = hourly("10:30", "11:00", "13:30")
    assert hours(schedule) == ["10:00", "13:30", "14:00", "15:00", "16:00"]
    shown = [
        (f"{each.at:%H:%M}", each.skipped, each.note)
        for each in schedule.occurrences(clock("10:30"), clock("14:00"))
    ]
    assert shown == [
        ("11:00", "rescheduled", "its run was moved"),
        ("12:00", "rescheduled", "its run was moved"),
        ("13:00", "rescheduled", "its run was moved"),
        ("13:30", None, "moved from 2026-06-03 11:00:00"),
        ("14:00", None, None),
    ]


def test_earlier() -> None:
    schedule = hourly("10:10", "11:00", "10:20")
    assert hours(schedule) == ["10:00", "10:20", "12:00", "13:00", "14:00", "15:00", "16:00"]
    [moved] = [each for each in schedule.occurrences(DAY, clock("12:00")) if each.skipped]
    assert (moved.at, moved.skipped) == (clock("11:00"), "rescheduled")


def test_to_a_time_of_the_rule() -> None:
    assert hours(hourly("10:30", "11:00", "14:00")) == ["10:00", "14:00", "15:00", "16:00"]


def test_to_a_day_that_is_excluded() -> None:
    """The caller who moves it there means it."""
    schedule = parse("0 9 * * *", exclude=["2026-06-04", "2026-06-05"])
    there = DAY + timedelta(days=1, hours=12)
    moved = schedule.moved(Move(DAY, DAY + timedelta(hours=9), there))
    assert moved.next_after(DAY) == there
    assert moved.next_after(there) == DAY + timedelta(days=3, hours=9)


def test_before_the_start_of_the_rule() -> None:
    schedule = parse("DTSTART:20270101T090000Z\nRRULE:FREQ=DAILY;COUNT=3")
    first = datetime(2027, 1, 1, 9, tzinfo=UTC)
    moved = schedule.moved(Move(DAY, first, clock("12:00")))
    assert list(moved.between(DAY, first + timedelta(days=9))) == [
        clock("12:00"),
        first + timedelta(days=1),
        first + timedelta(days=2),
    ]
    assert moved.previous_before(first) == clock("12:00")


def test_other_clock_changes_do_not_move_it() -> None:
    rule = parse("0 9 * * *", timezone="Europe/Berlin")
    moved = rule.moved(Move(DAY, clock("07:00"), clock("12:00")))
    assert moved.under(zone("Asia/Tokyo")).next_after(DAY + timedelta(hours=8)) == clock("12:00")
    nominal = [(at, wall is None) for at, wall, _ in moved.nominal(DAY, DAY + timedelta(days=1, hours=8))]
    assert nominal == [(clock("12:00"), True), (clock("07:00") + timedelta(days=1), False)]


def test_it_is_another_schedule() -> None:
    rule = parse("0 * * * *")
    first, second = hourly("10:30", "11:00", "13:30"), hourly("10:30", "11:00", "13:31")
    assert len({rule.timing_key, first.timing_key, second.timing_key}) == 3
    assert first.moved(None).timing_key == rule.timing_key
    assert first.explain() == rule.explain()


@pytest.mark.parametrize("text", TEXTS)
@given(since=minutes, ahead=st.integers(1, 300), to=st.integers(1, 300), asked=minutes)
def test_every_answer_agrees_with_what_was_moved(
    text: str, since: int, ahead: int, to: int, asked: int
) -> None:
    rule = parse(text, anchor=DAY, timezone="Europe/Berlin" if "every" not in text else None)
    start, end = DAY - timedelta(hours=1), DAY + timedelta(days=3)
    moment = DAY + timedelta(minutes=since)
    origin = rule.next_after(moment + timedelta(minutes=ahead))
    assert origin is not None
    move = Move(moment, origin, moment + timedelta(minutes=to))
    schedule, all_ = rule.moved(move), list(rule.between(start, end))
    wanted = sorted({move.to, *(at for at in all_ if at <= moment or at > move.until)})
    assert list(schedule.between(start, end)) == wanted
    shown = list(schedule.occurrences(start, end))
    assert [each.at for each in shown if each.skipped is None] == wanted
    gone = [each.at for each in shown if each.skipped == "rescheduled"]
    assert sorted({*gone, *wanted} - {move.to}) == sorted({*all_} - {move.to})
    at = DAY + timedelta(minutes=asked)
    assert schedule.next_after(at) == next(each for each in wanted if each > at)
    before = [each for each in wanted if each < at]
    if before:
        assert schedule.previous_before(at) == before[-1]
