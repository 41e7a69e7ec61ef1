"""The engine against the oracle, and against the laws that hold for any schedule.

Every example lies close to a real clock change, in one of the zones of `strategies.CLOCK_CHANGES`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from sexton.errors import ScheduleError
from sexton.schedules import next_after_many, parse
from sexton.schedules.rfc5545 import read_parts
from tests.schedules import oracle
from tests.schedules.strategies import (
    FOLDS,
    GAPS,
    SPANS,
    Question,
    cron_near_changes,
    cron_over_months,
    moments,
    policies,
    questions,
    recurrences,
    seconds,
    times,
)

if TYPE_CHECKING:
    from sexton.schedules import Schedule

# ---------------------------------------------------------------------------------------- against the oracle


@settings(max_examples=times(250))
@given(cron_near_changes())
def test_cron_near_clock_changes(question: Question) -> None:
    check(question)


@settings(max_examples=times(200))
@given(cron_over_months())
def test_cron_over_months(question: Question) -> None:
    check(question)


@pytest.mark.parametrize("frequency", SPANS)
def test_recurrences(frequency: str) -> None:
    @settings(max_examples=times(100))
    @given(recurrences(frequency))
    def ask(question: Question) -> None:
        check(question)

    ask()


@settings(max_examples=times(100))
@given(recurrences(), st.data())
def test_rdate_and_exdate(question: Question, data: st.DataObject) -> None:
    """Times are added and taken away, as wall times, as instants, and as times that hit nothing."""
    zone = ZoneInfo(question.timezone)
    span = question.end - question.start
    fires = oracle.fires(question.text, start=question.start, end=question.end, **question.options)
    fired = [(fire.wall, fire.at) for fire in fires if fire.at]
    moment = seconds(0, int(span.total_seconds())).map(
        lambda gone: (question.start + gone).replace(microsecond=0)
    )
    pairs = moment.map(lambda at: (oracle.naive(at, zone), at))
    lines = []
    for name in ("RDATE", "EXDATE"):
        values = st.one_of(pairs, st.sampled_from(fired)) if fired else pairs
        chosen = data.draw(st.lists(values, max_size=4), label=name)
        in_utc = data.draw(st.booleans(), label="in UTC")
        if chosen and in_utc:
            lines.append(f"{name}:" + ",".join(f"{at:%Y%m%dT%H%M%SZ}" for _, at in chosen))
        elif chosen:
            stamps = ",".join(f"{wall:%Y%m%dT%H%M%S}" for wall, _ in chosen)
            lines.append(f"{name};TZID={question.timezone}:{stamps}")
    check(replace(question, text="\n".join([question.text, *lines])))


@settings(max_examples=times(200))
@given(moments(), seconds(-30 * 3600, 30 * 3600), policies())
def test_one_local_time(
    moment: tuple[str, datetime], away: timedelta, policy: tuple[str | None, str | None]
) -> None:
    """Without a policy it is answered only where there is just one answer."""
    zone, change = moment
    gap, fold = policy
    assume(fold != "both")
    wall = oracle.naive(change, ZoneInfo(zone)).replace(microsecond=0) + timedelta(
        seconds=int(away.total_seconds())
    )
    text = wall.isoformat()
    candidates = oracle.instants_of(wall, ZoneInfo(zone))
    if gap is None and fold is None and len(candidates) != 1:
        with pytest.raises(ScheduleError) as refused:
            parse(text, timezone=zone)
        assert refused.value.code == ("ambiguous_time" if candidates else "nonexistent_time")
        return
    start, end = change - timedelta(days=4), change + timedelta(days=4)
    schedule = parse(text, timezone=zone, gap=gap, fold=fold)
    expected = oracle.answers(text, start=start, end=end, timezone=zone, gap=gap, fold=fold)
    assert list(schedule.between(start, end)) == expected
    assert forwards(schedule, start, end) == backwards(schedule, start, end) == expected
    for at in expected:
        assert schedule.next_after(at) is None
        assert schedule.previous_before(at) is None


@settings(max_examples=times(100))
@given(
    moments(),
    st.integers(1, 400),
    st.sampled_from("smhdw"),
    seconds(-90 * 86400, 90 * 86400),
    st.sampled_from(GAPS),
    st.sampled_from(FOLDS),
)
def test_intervals(
    moment: tuple[str, datetime], number: int, unit: str, away: timedelta, gap: str | None, fold: str | None
) -> None:
    """Elapsed time from the anchor: neither zone nor policy plays a part."""
    zone, change = moment
    anchor = change.replace(microsecond=0) + timedelta(seconds=int(away.total_seconds()))
    text = f"every {number}{unit}"
    length = timedelta(seconds=number * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[unit])
    schedule = parse(text, timezone=zone, anchor=anchor, gap=gap, fold=fold)
    start = anchor + 1000 * length - timedelta(microseconds=1)
    for begin in (start, anchor - timedelta(days=1), anchor, anchor + length / 2):
        k = max(0, (begin - anchor) // length + 1)
        expected = [anchor + n * length for n in range(k, k + 5)]
        assert list(schedule.between(begin, expected[-1])) == expected
        assert forwards(schedule, begin, expected[-1]) == expected
        assert backwards(schedule, begin, expected[-1]) == expected
    assert schedule.previous_before(anchor) is None
    assert [occurrence.note for occurrence in schedule.occurrences(anchor, anchor + 5 * length)] == [None] * 5


def check(question: Question) -> None:
    """All ways to ask the engine give what the oracle gives."""
    expected = oracle.answers(question.text, start=question.start, end=question.end, **question.options)
    schedule = read(question, expected)
    if schedule is None:
        return
    event("some answers" if expected else "no answer")
    assert list(schedule.between(question.start, question.end)) == expected
    assert forwards(schedule, question.start, question.end) == expected
    assert backwards(schedule, question.start, question.end) == expected


def read(question: Question, expected: list[datetime], **options: Any) -> Schedule | None:
    """The schedule, or None where it is refused for never firing, or for being too rare to be counted out."""
    try:
        return parse(question.text, **question.options, **options)
    except ScheduleError as error:
        refusal = error.code
    event(refusal)
    if refusal == "count_too_large":
        count = re.search(r"COUNT=(\d+)", question.text)
        assert count
        assert len(expected) < int(count[1])
    else:
        assert refusal in ("never_fires", "too_sparse")
        assert not expected
    return None


def forwards(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = start
    while (following := schedule.next_after(at)) is not None and following <= end:
        assert at < following
        found.append(at := following)
    return found


def backwards(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = end + timedelta(microseconds=1)
    while (before := schedule.previous_before(at)) is not None and before > start:
        assert before < at
        found.append(at := before)
    return found[::-1]


# ----------------------------------------------------------------------------------------------------- laws


@settings(max_examples=times(250))
@given(questions())
@example(
    Question(
        "30 1 * * *",
        "America/New_York",
        datetime(2026, 11, 1, 4, tzinfo=UTC),
        datetime(2026, 11, 1, 8, tzinfo=UTC),
        fold="both",
    )
)
def test_occurrences_tell_what_the_clock_did(question: Question) -> None:
    """Distinct instants are those of `between`; a note stands exactly where the wall time is not unique.

    A wall time that happens twice is noted whichever of its two instants the policy takes, as the reader of a
    preview wants to know that there was a choice.
    """
    expected = oracle.answers(question.text, start=question.start, end=question.end, **question.options)
    schedule = read(question, expected)
    assume(schedule is not None)
    assert schedule is not None
    fires = oracle.fires(question.text, start=question.start, end=question.end, **question.options)
    why = {(fire.wall, fire.at): fire.why for fire in fires}
    occurrences = list(schedule.occurrences(question.start, question.end))
    assert [occurrence.at for occurrence in occurrences] == sorted(
        occurrence.at for occurrence in occurrences
    )
    assert all(question.start < occurrence.at <= question.end for occurrence in occurrences)
    fired = [occurrence for occurrence in occurrences if occurrence.skipped is None]
    assert [occurrence.at for occurrence in fired] == expected
    for occurrence in fired:
        wall = occurrence.local.replace(tzinfo=None, fold=0)
        assert str(occurrence.local.tzinfo) == question.timezone
        assert (occurrence.note is not None) == (why[wall, occurrence.at] is not None)
        if why[wall, occurrence.at] != "gap":
            assert occurrence.local.astimezone(UTC) == occurrence.at
    # A skipped time stands somewhere from the gap's end to as far past it as the time was into it.
    skipped = {o.local.replace(tzinfo=None, fold=0) for o in occurrences if o.skipped == "dst_gap"}
    assert all(o.note is not None for o in occurrences if o.skipped)
    assert len(skipped) == len(occurrences) - len(fired)
    zone = ZoneInfo(question.timezone)
    taken = {fire.wall for fire in fires if fire.why == "skip"}
    places = {
        wall: [oracle.resolve(wall, zone, gap, "first")[0].at for gap in ("after", "shift")] for wall in taken
    }
    assert skipped <= {
        w for w in taken if any(at and question.start < at <= question.end for at in places[w])
    }
    assert skipped >= {
        w for w in taken if all(at and question.start < at <= question.end for at in places[w])
    }


@settings(max_examples=times(200))
@given(questions(), st.data())
def test_next_and_previous_mirror_each_other(question: Question, data: st.DataObject) -> None:
    schedule = read(question, [])
    assume(schedule is not None)
    assert schedule is not None
    at = question.start + data.draw(seconds(0, int((question.end - question.start).total_seconds())))
    following, before = schedule.next_after(at), schedule.previous_before(at)
    if following is not None:
        assert at < following
        assert following.tzinfo is UTC
        assert following.microsecond == 0
        back = schedule.previous_before(following)
        assert back is None or back <= at
        assert schedule.previous_before(following + timedelta(microseconds=1)) == following
        assert schedule.next_after(following - timedelta(microseconds=1)) == following
        assert list(schedule.between(at, following)) == [following]
        assert list(schedule.between(following, following)) == []
    if before is not None:
        assert before < at
        assert before.tzinfo is UTC
        forth = schedule.next_after(before)
        assert forth is None or forth >= at
        assert schedule.next_after(before - timedelta(microseconds=1)) == before


@settings(max_examples=times(80))
@given(questions(), st.sampled_from(["America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"]))
def test_an_instant_is_an_instant_in_any_zone(question: Question, elsewhere: str) -> None:
    """Also where the asker's own clock is in the second pass of a fold."""
    schedule = read(question, [])
    assume(schedule is not None)
    assert schedule is not None
    for zone in (elsewhere, question.timezone):
        start, end = question.start.astimezone(ZoneInfo(zone)), question.end.astimezone(ZoneInfo(zone))
        assert schedule.next_after(start) == schedule.next_after(question.start)
        assert schedule.previous_before(start) == schedule.previous_before(question.start)
        assert list(schedule.between(start, end)) == list(schedule.between(question.start, question.end))


@settings(max_examples=times(120))
@given(questions(), st.data())
def test_bounds_are_inclusive(question: Question, data: st.DataObject) -> None:
    """`starts_at` and `ends_at` cut the answers and change nothing else, not even what COUNT counts."""
    everything = oracle.answers(question.text, start=question.start, end=question.end, **question.options)
    anywhere = seconds(0, int((question.end - question.start).total_seconds())).map(question.start.__add__)
    bound = st.none() | anywhere
    if everything:
        bound |= st.sampled_from(everything)
    starts_at, ends_at = data.draw(bound, label="starts_at"), data.draw(bound, label="ends_at")
    assume(starts_at is None or ends_at is None or starts_at <= ends_at)
    expected = [
        at for at in everything if (not starts_at or starts_at <= at) and (not ends_at or at <= ends_at)
    ]
    schedule = read(question, expected, starts_at=starts_at, ends_at=ends_at)
    assume(schedule is not None)
    assert schedule is not None
    assert list(schedule.between(question.start, question.end)) == expected
    assert forwards(schedule, question.start, question.end) == expected
    assert backwards(schedule, question.start, question.end) == expected
    fired = [o.at for o in schedule.occurrences(question.start, question.end) if o.skipped is None]
    assert fired == expected


@settings(max_examples=times(80))
@given(recurrences())
def test_an_anchor_is_a_dtstart(question: Question) -> None:
    """A rule with `anchor` as a wall time, as text, or as an instant answers like the rule with DTSTART. A
    rule that takes nothing from an anchor does not begin with it either."""
    head, rule = question.text.split("\n")
    assume(read_parts(rule.removeprefix("RRULE:")).needs_anchor)
    wall = datetime.strptime(head.split(":")[1], "%Y%m%dT%H%M%S")
    expected = oracle.answers(question.text, start=question.start, end=question.end, **question.options)
    anchors: list[Any] = [wall, wall.isoformat()]
    candidates = oracle.instants_of(wall, ZoneInfo(question.timezone))
    if len(candidates) == 1:
        anchors += [candidates[0], candidates[0].isoformat()]
    for anchor in anchors:
        for text in (rule, rule.removeprefix("RRULE:")):
            schedule = read(replace(question, text=text), expected, anchor=anchor)
            assert schedule is None or list(schedule.between(question.start, question.end)) == expected


@settings(max_examples=times(120))
@given(
    recurrences(), st.lists(st.datetimes(datetime(1960, 1, 1), datetime(1971, 1, 1)), min_size=2, max_size=2)
)
def test_what_is_answered_without_an_anchor_does_not_depend_on_it(
    question: Question, starts: list[datetime]
) -> None:
    """A rule that takes something from DTSTART asks for it; any other answers the same from every start."""
    rule = question.text.split("RRULE:")[1]
    end = question.start + (question.end - question.start) / 50
    schedule = read(replace(question, text=rule), [])
    assume(schedule is not None)
    assert schedule is not None
    try:
        given = list(schedule.between(question.start, end))
    except ScheduleError as error:
        event(error.code)
        return
    event("answered")
    for start in starts:
        anchored = parse(rule, **question.options, anchor=start.replace(microsecond=0))
        assert list(anchored.between(question.start, end)) == given


# ------------------------------------------------------------------------------------ keys and descriptions


@settings(max_examples=times(120))
@given(questions(), st.lists(st.tuples(st.sampled_from(GAPS), st.sampled_from(FOLDS)), max_size=4), st.data())
def test_equal_timing_keys_mean_equal_answers(
    question: Question, others: list[tuple[str | None, str | None]], data: st.DataObject
) -> None:
    """And so, read the other way round, any input that changes an answer changes the key."""
    variants: list[tuple[Question, dict[str, Any]]] = [(question, {}), (question, {})]
    variants += [(replace(question, gap=gap, fold=fold), {}) for gap, fold in others]
    if "DTSTART" not in question.text:
        elsewhere = data.draw(st.sampled_from(["UTC", "Europe/Dublin", "Asia/Kathmandu"]))
        variants.append((replace(question, timezone=elsewhere), {}))
    else:
        variants.append((replace(question, text=question.text + "\nEXDATE:20260101T000000Z"), {}))
    middle = question.start + (question.end - question.start) / 2
    variants += [(question, {"starts_at": middle}), (question, {"ends_at": middle})]
    variants += [(question, {"exclude": [middle.date()]}), (question, {"exclude": [question.start.date()]})]
    answers: dict[str, list[datetime]] = {}
    for variant, options in variants:
        schedule = read(variant, [], **options)
        if schedule is not None:
            given = list(schedule.between(question.start, question.end))
            assert answers.setdefault(schedule.timing_key, given) == given


@settings(max_examples=times(120))
@given(questions(), st.data())
def test_a_description_is_enough_to_make_it_again(question: Question, data: st.DataObject) -> None:
    """`to_dict` survives JSON and gives `parse` all it needs."""
    bounds = {"starts_at": question.start, "ends_at": question.end}
    options = {name: at for name, at in bounds.items() if data.draw(st.booleans(), label=name)}
    days = [question.start.date(), question.end.date()]
    schedule = read(question, [], exclude=data.draw(st.sampled_from([[], days[:1], days])), **options)
    assume(schedule is not None)
    assert schedule is not None
    again = remake(schedule)
    assert again.timing_key == schedule.timing_key
    assert again.to_dict() == schedule.to_dict()
    assert again.explain() == schedule.explain()
    begin, end = question.start - timedelta(days=1), question.end + timedelta(days=1)
    assert list(again.occurrences(begin, end)) == list(schedule.occurrences(begin, end))


def remake(schedule: Schedule) -> Schedule:
    described = json.loads(json.dumps(schedule.to_dict()))
    described.pop("timing_key")
    return parse(described.pop("schedule"), **described)


@settings(max_examples=times(40))
@given(st.lists(questions(), max_size=6))
def test_many_at_once(asked: list[Question]) -> None:
    schedules = [schedule for question in asked if (schedule := read(question, []))]
    schedules += schedules[::-1]
    for at in [question.start for question in asked]:
        assert next_after_many(schedules, at) == [schedule.next_after(at) for schedule in schedules]


@given(
    text=st.sampled_from(
        ["*/7 * * * *", "0 * * * *", "30 1,2 * * *", "15 9 L * *", "0 0 * * 1#2", "every 97m"]
    ),
    name=st.sampled_from(
        ["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"]
    ),
    gap=st.sampled_from([None, "after", "shift", "skip"]),
    fold=st.sampled_from([None, "first", "second", "both"]),
    start=st.integers(0, 1_600_000_000),
    length=st.integers(0, 30_000_000),
)
def test_counting_is_going_through(
    text: str, name: str, gap: str | None, fold: str | None, start: int, length: int
) -> None:
    first = datetime.fromtimestamp(start, UTC)
    last = first + timedelta(seconds=length)
    if text.startswith("every"):
        schedule = parse(text, anchor=datetime(2000, 1, 1, tzinfo=UTC))
    else:
        schedule = parse(text, timezone=name, gap=gap, fold=fold)
    assert schedule.count(first, last) == sum(1 for _ in schedule.between(first, last))
