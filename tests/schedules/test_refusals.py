"""What a refused schedule says: a stable code, where in the text, and what to type instead."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.errors import ScheduleError
from sexton.schedules import next_after_many, parse

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def refused(text: Any, **options: Any) -> ScheduleError:
    with pytest.raises(ScheduleError) as caught:
        parse(text, **options)
    error = caught.value
    assert error.message
    assert error.to_dict()["code"] == error.code
    assert error.message in str(error)
    if error.position is not None:
        assert 0 <= error.position <= len(text)
    return error


# ------------------------------------------------------------------------------------- what the words promise


def test_a_number_out_of_range() -> None:
    error = refused("75 * * * *")
    assert (error.code, error.message, error.position) == ("out_of_range", "minute 75 is out of range", 0)


@pytest.mark.parametrize(
    ("text", "number", "hint", "position"),
    [
        ("0 75 * * * *", "minute 75", "use 0 to 59", 2),
        ("60 0 * * * *", "second 60", "use 0 to 59", 0),
        ("0 24 * * *", "hour 24", "use 0 to 23", 2),
        ("0 0 32 * *", "day of month 32", "use 1 to 31", 4),
        ("0 0 0 * *", "day of month 0", "use 1 to 31", 4),
        ("0 0 * 13 *", "month 13", "use 1 to 12", 6),
        ("0 0 * * 8", "day of week 8", "use 0 to 7", 8),
        ("0 1,2,24 * * *", "hour 24", "use 0 to 23", 6),
        ("0 0  *   13 *", "month 13", "use 1 to 12", 9),
    ],
)
def test_each_field_knows_its_range_and_its_place(text: str, number: str, hint: str, position: int) -> None:
    error = refused(text)
    assert error.code == "out_of_range"
    assert error.position == position
    assert (error.message, error.hint) == (f"{number} is out of range", hint)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("America/NewYork", "America/New_York"),
        ("New York", "America/New_York"),
        ("america/new_york", "America/New_York"),
        ("Europe/Berln", "Europe/Berlin"),
        ("Asia/Katmandoo", "Asia/Kat"),
        ("Australia/Lord Howe", "Australia/Lord_Howe"),
        ("W. Europe Standard Time", "Europe/Berlin"),
    ],
)
def test_an_unknown_zone(name: str, meant: str) -> None:
    error = refused("0 9 * * *", timezone=name)
    assert (error.code, error.field) == ("unknown_timezone", "timezone")
    assert error.hint is not None
    assert error.hint.startswith(f"did you mean {meant}")


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../../etc/passwd", "Europe", "\0", "localtime", "💥", "x" * 5000]
)
def test_a_zone_is_never_a_path(name: str) -> None:
    assert refused("0 9 * * *", timezone=name).code == "unknown_timezone"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("CRON_TZ=Europe/Belin 0 9 * * *", 8),
        ("DTSTART;TZID=Europe/Belin:20260101T090000\nRRULE:FREQ=DAILY", 13),
    ],
)
def test_an_unknown_zone_in_the_text(text: str, position: int) -> None:
    error = refused(text)
    assert (error.code, error.position) == ("unknown_timezone", position)
    assert "did you mean Europe/Berlin?" in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "0 0 30 2 *",
        "0 0 0 30 Feb ?",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTHDAY=30;BYMONTH=2",
    ],
)
def test_a_day_that_never_comes(text: str) -> None:
    error = refused(text, anchor=NOON)
    assert (error.code, error.message) == ("never_fires", "30 February never comes")


@pytest.mark.parametrize(
    "text",
    [
        "0 0 31 4,6,9,11 *",
        "0 0 L-30 2 *",
        "0 0 31W 2 *",
        "FREQ=DAILY;BYMONTH=4;BYMONTHDAY=31",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYMONTH=1;BYYEARDAY=200",
        "FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=2MO",
        "FREQ=YEARLY;BYWEEKNO=10;BYMONTH=12",
    ],
)
def test_other_rules_that_never_come(text: str) -> None:
    assert refused(text, anchor=NOON).code == "never_fires"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FREQ=YEARLY;BYMONTH=7;BYMONTHDAY=31;BYDAY=1MO", "no time matches this rule"),
        ("FREQ=YEARLY;BYMONTH=7;BYMONTHDAY=31;BYSETPOS=2", "no time matches this rule"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-30", "no time matches this rule"),
        ("0 0 31 4,6,9,11 *", "no day matches '31' in April, June, September and November"),
        ("0 0 31W 2 *", "no day matches '31W' in February"),
    ],
)
def test_a_day_that_comes_is_not_said_never_to_come(text: str, message: str) -> None:
    error = refused(text, anchor=NOON)
    assert (error.code, error.message) == ("never_fires", message)


def test_a_local_time_that_happens_twice() -> None:
    error = refused("2026-11-01T01:30", timezone="America/New_York")
    assert error.code == "ambiguous_time"
    assert error.message == (
        "01:30 on 2026-11-01 happens twice in New York: 05:30Z or 06:30Z, choose fold=first or second"
    )


def test_a_local_time_that_does_not_exist() -> None:
    error = refused("2026-03-08T02:30", timezone="America/New_York")
    assert error.code == "nonexistent_time"
    assert "02:30 on 2026-03-08 does not exist in New York" in error.message
    assert "07:00Z" in error.message
    assert "07:30Z" in error.message


def test_candidates_on_another_day_are_named_with_it() -> None:
    """Half a day lies between the two candidates of a time in Apia's missing day."""
    error = refused("2011-12-30T09:00", timezone="Pacific/Apia")
    assert error.code == "nonexistent_time"
    assert "10:00Z" in error.message
    assert "19:00Z" in error.message


@pytest.mark.parametrize("fold", ["first", "second"])
def test_a_fold_resolves_it(fold: str) -> None:
    schedule = parse("2026-11-01T01:30", timezone="America/New_York", fold=fold)
    hour = 5 if fold == "first" else 6
    assert schedule.next_after(NOON) == datetime(2026, 11, 1, hour, 30, tzinfo=UTC)


def test_exrule() -> None:
    text = "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY"
    error = refused(text)
    assert "EXRULE" in error.message
    assert "RFC 5545" in error.message
    assert error.position == text.index("EXRULE")
    assert "EXDATE" in str(error.hint)


# ----------------------------------------------------------------------------------------- texts of no kind


@pytest.mark.parametrize("text", ["", " ", "\n", "\t \n"])
def test_empty(text: str) -> None:
    assert refused(text).code == "empty"


@pytest.mark.parametrize(
    "text",
    [
        "0 " * 1025,
        "0,1," * 600 + "2 * * * *",
        "0 0 * * *" + " " * 2040,
        "FREQ=DAILY;BYHOUR=" + ",".join(["9"] * 1500),
        "DTSTART:20260101T000000Z\nRDATE:" + ",".join(["20260102T000000Z"] * 200),
        "ü" * 1025,
    ],
)
def test_more_than_two_kilobytes(text: str) -> None:
    assert len(text.encode()) > 2048
    assert refused(text).code == "too_long"


def test_two_kilobytes_are_read() -> None:
    text = ("0," * 1019 + "0 * * * *").ljust(2048)
    assert len(text) == 2048
    assert parse(text).next_after(NOON) == datetime(2026, 6, 1, 13, tzinfo=UTC)


@pytest.mark.parametrize("text", [None, 5, b"0 9 * * *", ["0 9 * * *"], NOON])
def test_no_text(text: Any) -> None:
    assert refused(text).code == "bad_text"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("0 9 * * MUN", "MUN"),
        ("0 9 * FOO *", "FOO"),
        ("0 9x * * *", "9x"),
        ("*/0 * * * *", "0"),
        ("1-5/0 * * * *", "0"),
        ("0 1,2,1-30 * * *", "30"),
        ("0 9 1,2,40W * *", "40W"),
        ("0 9 * * 1,3#6", "3#6"),
        ("CRON_TZ=UTC 0 75 * * *", "75"),
        ("CRON_TZ=UTC @dayly", "@dayly"),
        ("@dayly", "@dayly"),
        ("FREQ=FORTNIGHTLY", "FORTNIGHTLY"),
        ("FREQ=DAILY;BYHOUR=25", "25"),
        ("FREQ=DAILY;BYHOUR=1,22,25,3", "25"),
        ("FREQ=MONTHLY;BYDAY=MO,2XX", "2XX"),
        ("FREQ=DAILY;COLOUR=1", "COLOUR"),
        ("FREQ=DAILY;INTERVAL=0", "0"),
        ("FREQ=DAILY;UNTIL=tomorrow", "tomorrow"),
        ("DTSTART:20260230T000000Z\nRRULE:FREQ=DAILY", "20260230"),
        ("DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY;BYHOUR=25", "25"),
        ("DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY\nRDATE:20260102T000000Z,x", "x"),
        ("DTSTART:20260101T000000Z\nCOLOUR:1", "COLOUR"),
        ("every 15x", "x"),
        ("every 1h5x", "x"),
        ("every 1.5h", "1.5h"),
        ("@every 15x", "x"),
        ("P1M", "1M"),
    ],
)
def test_where_it_is_wrong(text: str, wrong: str) -> None:
    error = refused(text, anchor=NOON)
    assert error.position == text.rindex(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=DAILY;BYDAY=1MO",
        "FREQ=WEEKLY;BYMONTHDAY=1",
        "FREQ=MONTHLY;BYYEARDAY=1",
        "FREQ=MONTHLY;BYWEEKNO=1",
        "FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO",
        "FREQ=DAILY;BYSETPOS=1",
        "FREQ=DAILY;COUNT=1;UNTIL=20270101",
        "COUNT=1",
    ],
)
def test_what_the_rfc_forbids(text: str) -> None:
    error = refused(text, anchor=NOON, kind="recurrence")
    assert error.code == "bad_recurrence"


# ------------------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("gap", "later"),
        ("fold", "third"),
        ("kind", "crontab"),
        ("seconds", "middle"),
        ("timezone", 5),
        ("anchor", "yesterday"),
        ("anchor", 5),
        ("starts_at", "soon"),
        ("ends_at", object()),
        ("exclude", ["someday"]),
    ],
)
def test_the_option_at_fault_is_named(option: str, value: Any) -> None:
    assert refused("0 9 * * *", **{option: value}).field == option


@pytest.mark.parametrize(
    "text",
    [
        "every 15m",
        "PT15M",
        "FREQ=DAILY",
        "FREQ=DAILY;BYHOUR=9",
        "FREQ=DAILY;BYHOUR=9;BYMINUTE=0",
        "FREQ=HOURLY;BYMINUTE=0",
        "FREQ=HOURLY;BYSECOND=0",
        "FREQ=MINUTELY",
        "FREQ=SECONDLY;INTERVAL=2",
        "FREQ=SECONDLY;COUNT=2",
        "FREQ=WEEKLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=MONTHLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=YEARLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=YEARLY;BYMONTH=6;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=YEARLY;BYMONTHDAY=6;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=YEARLY;BYWEEKNO=6;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
    ],
)
def test_a_rule_without_its_anchor(text: str) -> None:
    schedule = parse(text)
    for ask in (schedule.next_after, schedule.previous_before):
        with pytest.raises(ScheduleError) as caught:
            ask(NOON)
        assert (caught.value.code, caught.value.field) == ("anchor_missing", "anchor")


@pytest.mark.parametrize(
    "text",
    [
        "FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=YEARLY;BYDAY=20MO;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=YEARLY;BYYEARDAY=200;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=HOURLY;BYMINUTE=0;BYSECOND=0",
        "FREQ=MINUTELY;BYSECOND=0",
        "FREQ=SECONDLY;BYHOUR=9",
    ],
)
def test_a_rule_that_says_everything_needs_no_anchor(text: str) -> None:
    assert parse(text).next_after(NOON) is not None


def test_a_hash_without_its_key() -> None:
    assert refused("H H * * *").code == "key_missing"


def test_two_zones() -> None:
    assert refused("CRON_TZ=Europe/Berlin 0 9 * * *", timezone="UTC").code == "timezone_conflict"
    text = "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY"
    assert refused(text, timezone="Asia/Tokyo").code == "timezone_conflict"


# --------------------------------------------------------------------------------------------- naive times


@pytest.mark.parametrize("text", ["0 9 * * *", "FREQ=DAILY", "every 15m", "2026-07-01T09:00:00Z"])
def test_naive_instants_are_refused(text: str) -> None:
    schedule = parse(text, timezone="Europe/Berlin", anchor=datetime(2026, 1, 1, tzinfo=UTC))
    naive = datetime(2026, 6, 1)
    asks: list[Any] = [
        lambda: schedule.next_after(naive),
        lambda: schedule.previous_before(naive),
        lambda: list(schedule.between(naive, NOON)),
        lambda: list(schedule.between(NOON, naive)),
        lambda: list(schedule.occurrences(naive, NOON)),
        lambda: list(schedule.occurrences(NOON, naive)),
        lambda: next_after_many([schedule], naive),
    ]
    for ask in asks:
        with pytest.raises(ScheduleError) as caught:
            ask()
        assert caught.value.code == "naive_time"


def test_local_times_need_a_zone() -> None:
    local = "2026-07-01T09:00"
    assert refused(local).code == "naive_time"
    for option in ("anchor", "starts_at", "ends_at"):
        error = refused("0 9 * * *", **{option: local})
        assert (error.code, error.field) == ("naive_time", option)
        parse("0 9 * * *", timezone="Europe/Berlin", **{option: local})
