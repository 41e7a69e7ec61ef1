"""No text, however odd, does harm: it is answered or refused with a ScheduleError, and soon.

How many steps an answer may take is tested beside the engine; here a generous limit on the clock only catches
what would hang.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexton.errors import ScheduleError
from sexton.schedules import parse
from tests.schedules.corpus_cases import load
from tests.schedules.strategies import GAPS, times

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
# Of the processor's time, and far above the 50 ms an answer may take: a busy machine must not fail this.
SECONDS = 1.0

KNOWN: list[str] = sorted(
    {case["schedule"] for name in ("cron", "recurrence", "refused") for case in load(name)}
)
FAR_ZONES = ["UTC", "Pacific/Kiritimati", "Pacific/Niue", "America/New_York", "Africa/Monrovia"]

NASTY = [
    "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=0;BYSECOND=0",
    "FREQ=SECONDLY;INTERVAL=86400;BYHOUR=3;BYMINUTE=0;BYSECOND=1",
    "FREQ=MINUTELY;INTERVAL=1439;BYDAY=MO;BYMONTHDAY=29;BYMONTH=2;BYHOUR=3;BYMINUTE=0",
    "FREQ=HOURLY;INTERVAL=23;BYMONTH=2;BYMONTHDAY=29;BYHOUR=4",
    "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
    "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
    "FREQ=DAILY;INTERVAL=365;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=WEEKLY;INTERVAL=52;BYMONTH=11;BYDAY=MO",
    "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31",
    "FREQ=MONTHLY;INTERVAL=37;BYMONTHDAY=12;BYSETPOS=3",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=24",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=1",
    "FREQ=YEARLY;BYYEARDAY=366;BYDAY=MO;INTERVAL=100",
    "FREQ=YEARLY;INTERVAL=9999",
    "FREQ=SECONDLY;INTERVAL=2147483647",
    "FREQ=SECONDLY;INTERVAL=99999999999999999999",
    "FREQ=SECONDLY;COUNT=99999999999999999999",
    "FREQ=DAILY;COUNT=2147483647",
    "FREQ=MINUTELY;BYDAY=MO;BYSECOND=0,1,2;BYSETPOS=2;COUNT=100000000",
    "FREQ=YEARLY;COUNT=99999",
    "FREQ=SECONDLY;UNTIL=99991231T235959Z",
    "FREQ=DAILY;UNTIL=00010101T000000Z",
    "FREQ=DAILY;UNTIL=00000101T000000Z",
    "FREQ=YEARLY;BYMONTHDAY="
    + ",".join(map(str, range(1, 32)))
    + ";BYMONTH="
    + ",".join(map(str, range(1, 13))),
    "FREQ=YEARLY;BYDAY=MO;BYSETPOS=" + ",".join(map(str, range(1, 367))),
    "FREQ=YEARLY;BYHOUR=0,1,2,3,4,5,6,7,8,9;BYMINUTE=" + ",".join(map(str, range(60))) + ";BYSETPOS=366",
    "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR="
    + ",".join(map(str, range(24)))
    + ";BYMINUTE="
    + ",".join(map(str, range(60)))
    + ";BYSECOND="
    + ",".join(map(str, range(60)))
    + ";BYSETPOS=-1",
    "DTSTART:00010101T000000Z\nRRULE:FREQ=SECONDLY",
    "DTSTART:99991231T235959Z\nRRULE:FREQ=SECONDLY",
    "DTSTART:99991231T235959Z\nRRULE:FREQ=YEARLY;INTERVAL=9999;COUNT=3",
    "DTSTART;TZID=Pacific/Kiritimati:00010101T000000\nRRULE:FREQ=DAILY",
    "DTSTART;TZID=Pacific/Niue:99991231T235959\nRRULE:FREQ=DAILY",
    "DTSTART;TZID=America/New_York:00010101T000000\nRRULE:FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
    "DTSTART:20260230T000000Z\nRRULE:FREQ=DAILY",
    "DTSTART:20260101T250000Z\nRRULE:FREQ=DAILY",
    "DTSTART:\nRRULE:",
    "RRULE:" * 100,
    "DTSTART:20260101T000000Z\n" * 60,
    "DTSTART:20260101T000000Z\nRDATE:"
    + ",".join(f"2026{n // 28 % 12 + 1:02}{n % 28 + 1:02}" for n in range(150)),
    "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY\nEXDATE:" + ",".join(["20260101T000000Z"] * 100),
    "0 0 30 2 *",
    "0 0 31 2,4,6,9,11 *",
    "0 0 29 2 1#5",
    "0 0 L-30 2 *",
    "0 0 */31 2 1#5",
    "59 59 23 31 12 ?",
    "* * * * * *",
    ",".join(map(str, range(60))) + " * * * *",
    ",".join(["*/1"] * 400) + " * * * *",
    "0-59/99999999999999999999 * * * *",
    "99999999999999999999999999999999999999999999 * * * *",
    "0" * 2000 + " * * * *",
    "1" * 2000 + " * * * *",
    "*" * 2000,
    "* " * 1000,
    "@" * 2000,
    "every 99999999999999999999w",
    "every 1s" + "1s" * 1000,
    "every 9999999999d",
    "P99999999999999999999D",
    "PT" + "9" * 2000 + "S",
    "P" * 2000,
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-12:00",
    "9999-12-31T23:59:59",
    "0001-01-01T00:00:00",
    "0000-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T23:59:60Z",
    "2026-01-01T00:00:00+99:99",
    "2026-W01-1T00:00:00Z",
    "\0",
    "0 0 * * *\0",
    "\0 0 * * *",
    "FREQ=DAILY\0;COUNT=1",
    "٣ * * * *",
    "0 ٣ * * *",
    "FREQ=DAILY;COUNT=٣",
    "FREQ=DAILY;BYHOUR=٣",
    "every ٣m",
    "２０２６-01-01T00:00:00Z",
    "０ ９ * * *",
    "0 0 ¹ * *",
    "0 0 ½ * *",
    "0 0 * * ＭＯＮ",
    "FREQ=DAİLY",
    "freq=daily",
    "0 0 * * mon-ﬁ",
    "🕘 * * * *",
    "every 🕘",
    "0\u00a09\u00a0*\u00a0*\u00a0*",
    "0\u20289 * * *",
    "\ufeff0 9 * * *",
    "0 9 * * *\r\n",
    "\ud800 * * * *",
    "CRON_TZ= 0 0 * * *",
    "CRON_TZ=../../etc/passwd 0 0 * * *",
    "CRON_TZ=" + "A/" * 900 + " 0 0 * * *",
    "CRON_TZ=UTC " * 100,
    "H(0-99999999999) * * * *",
    "H/0 * * * *",
    "H,H,H H-H H/99 * *",
    "-1 * * * *",
    "+1 * * * *",
    "1_0 * * * *",
    "0x10 * * * *",
    "1e1 * * * *",
    "1.5 * * * *",
    "FREQ=DAILY;INTERVAL=1_0",
    "FREQ=DAILY;INTERVAL=+2",
    "FREQ=DAILY;INTERVAL= 2",
    "FREQ=DAILY;;;;",
    ";=;=;=",
    "%s%n%x{}{0}",
    "' OR 1=1 --",
]


def survives(text: str, instants: list[datetime] | None = None, **options: Any) -> None:
    """Nothing but answers, None and our own errors comes out, and within the limit."""
    began = time.process_time()
    with suppress(ScheduleError):
        schedule = parse(text, **options)
        schedule.explain()
        schedule.to_dict()
        for instant in instants or [NOON, FIRST, LAST]:
            for ask, is_right in ((schedule.next_after, is_later), (schedule.previous_before, is_earlier)):
                with suppress(ScheduleError):
                    answer = ask(instant)
                    assert answer is None or (answer.tzinfo is UTC and is_right(answer, instant))
    assert time.process_time() - began < SECONDS


def is_later(answer: datetime, instant: datetime) -> bool:
    return answer > instant


def is_earlier(answer: datetime, instant: datetime) -> bool:
    return answer < instant


@pytest.mark.parametrize("number", range(len(NASTY)))
def test_nasty_texts(number: int) -> None:
    text = NASTY[number]
    survives(text)
    survives(text, anchor=NOON, timezone="America/New_York", key="a")
    survives(text, anchor=FIRST, timezone="America/New_York", gap="shift", fold="first", key="a")
    survives(text, anchor=LAST, timezone="Pacific/Niue", gap="skip", fold="first", key="a")
    for kind in ("cron", "recurrence", "interval", "once"):
        survives(text, kind=kind, anchor=NOON)


@pytest.mark.parametrize("zone", FAR_ZONES)
@pytest.mark.parametrize("gap", GAPS)
def test_the_ends_of_time(zone: str, gap: str | None) -> None:
    """Where Python's calendar ends there is no answer, or an error of ours; near it, answers are right."""
    steps = [
        timedelta(0),
        timedelta(microseconds=1),
        timedelta(hours=13),
        timedelta(days=1),
        timedelta(days=40),
    ]
    instants = [FIRST + step for step in steps] + [LAST - step for step in steps]
    instants += [instant.astimezone(ZoneInfo(name)) for instant in instants[2:5] for name in ("Asia/Tokyo",)]
    texts = [
        "* * * * *",
        "0 0 1 1 *",
        "0 0 29 2 *",
        "0 0 L * 5",
        "30 2 * * *",
        *(
            f"FREQ={freq}"
            for freq in ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
        ),
        "FREQ=DAILY;INTERVAL=1000;COUNT=100000",
        "every 15m",
        "every 52w",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
    ]
    for text in texts:
        for anchor in (FIRST, FIRST + timedelta(days=1), NOON, LAST - timedelta(days=1), LAST):
            survives(text, instants, timezone=zone, anchor=anchor, gap=gap)


def test_ranges_at_the_ends_of_time() -> None:
    for text in ("0 0 1 1 *", "FREQ=YEARLY", "every 52w"):
        schedule = parse(text, anchor=datetime(9990, 1, 1, tzinfo=UTC))
        with suppress(ScheduleError):
            assert all(at <= LAST for at in schedule.between(datetime(9995, 1, 1, tzinfo=UTC), LAST))
        with suppress(ScheduleError):
            assert all(o.at <= LAST for o in schedule.occurrences(datetime(9995, 1, 1, tzinfo=UTC), LAST))
    assert list(parse("0 0 * * *").between(LAST, FIRST)) == []
    assert list(parse("0 0 * * *").occurrences(NOON, NOON)) == []


# ---------------------------------------------------------------------------------------------------- fuzzing

alphabet = st.one_of(
    st.sampled_from("0123456789*/,-?#LWHFREQ=;:TZ@ \n\t\0"),
    st.characters(),
    st.sampled_from("٣３½🕘\u00a0\u2028"),
)
kinds = st.sampled_from([None, "cron", "recurrence", "interval", "once"])
zones = st.sampled_from([None, *FAR_ZONES])
anchors = st.one_of(st.none(), st.datetimes(timezones=st.just(UTC)), st.just(NOON))
moments = st.lists(st.datetimes(timezones=st.just(UTC)), min_size=1, max_size=2)


@settings(max_examples=times(400))
@given(st.text(alphabet, max_size=60), kinds, zones, anchors, moments)
def test_random_text(
    text: str, kind: str | None, zone: str | None, anchor: datetime | None, instants: list[datetime]
) -> None:
    survives(text, instants, kind=kind, timezone=zone, anchor=anchor)


@st.composite
def mutations(draw: st.DrawFn) -> str:
    """A known text with some of it dropped, doubled, changed, or swapped for a piece of another."""
    text = draw(st.sampled_from(KNOWN))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 6)))
        other = draw(st.sampled_from(KNOWN))
        at = draw(st.integers(0, len(other)))
        text = draw(
            st.sampled_from(
                [
                    text[:start] + text[stop:],
                    text[:start] + text[start:stop] * 2 + text[stop:],
                    text[:start] + other[at : at + 8] + text[stop:],
                    text[:start] + draw(st.text(alphabet, max_size=3)) + text[stop:],
                    text[:start] + str(draw(st.integers(-1000, 10**12))) + text[stop:],
                    text.replace(
                        draw(st.sampled_from("0123456789*,;= ")), draw(st.sampled_from("0123456789*,;= "))
                    ),
                ]
            )
        )
    return text


@settings(max_examples=times(1000))
@given(mutations(), kinds, zones, anchors, moments)
def test_mutated_texts(
    text: str, kind: str | None, zone: str | None, anchor: datetime | None, instants: list[datetime]
) -> None:
    survives(text, instants, kind=kind, timezone=zone, anchor=anchor)


@st.composite
def wild_rules(draw: st.DrawFn) -> str:
    """Recurrences of legal shape and wild numbers: large intervals, contradicting parts, far positions."""
    freq = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]))
    ranges = {
        "BYMONTH": (1, 12),
        "BYMONTHDAY": (-31, 31),
        "BYYEARDAY": (-366, 366),
        "BYWEEKNO": (-53, 53),
        "BYHOUR": (0, 23),
        "BYMINUTE": (0, 59),
        "BYSECOND": (0, 60),
        "BYSETPOS": (-366, 366),
    }
    parts = [f"FREQ={freq}"]
    for name, (low, high) in ranges.items():
        if draw(st.integers(0, 2)) == 0:
            values = draw(
                st.lists(st.integers(low, high).filter(bool) | st.just(high), min_size=1, max_size=9)
            )
            parts.append(f"{name}=" + ",".join(map(str, values)))
    if draw(st.booleans()):
        days = st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU", "1MO", "-1SU", "53WE", "5FR"])
        parts.append("BYDAY=" + ",".join(draw(st.lists(days, min_size=1, max_size=4))))
    if draw(st.booleans()):
        parts.append(
            f"INTERVAL={draw(st.one_of(st.integers(1, 100), st.integers(1, 10**6), st.just(86399)))}"
        )
    if draw(st.integers(0, 3)) == 0:
        parts.append(f"COUNT={draw(st.one_of(st.integers(1, 1000), st.integers(1, 10**9)))}")
    return ";".join(parts)


@settings(max_examples=times(600))
@given(wild_rules(), zones, st.sampled_from(GAPS), st.datetimes(timezones=st.just(UTC)), moments)
def test_wild_rules(
    rule: str, zone: str | None, gap: str | None, anchor: datetime, instants: list[datetime]
) -> None:
    survives(rule, instants, timezone=zone, gap=gap, anchor=anchor)
    survives(rule, [NOON], timezone=zone, gap=gap, anchor=NOON)
