"""`sexton diff`."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from sexton.schedules import parse

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

RANGE = ("--from", "2026-10-20T00:00:00Z", "--to", "2026-11-01T00:00:00Z")
DAILY_AGAINST_WEEKDAYS = ("diff", "0 9 * * *", "0 9 * * 1-5", "--timezone", "Europe/Berlin", *RANGE)


def test_a_table_and_the_counts(sexton: Sexton) -> None:
    result = sexton(*DAILY_AGAINST_WEEKDAYS)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "- " + parse("0 9 * * *", timezone="Europe/Berlin").explain(),
        "+ " + parse("0 9 * * 1-5", timezone="Europe/Berlin").explain(),
        "",
        "   local time            zone  UTC                only in",
        "-  Sat 2026-10-24 09:00  CEST  2026-10-24 07:00Z  the first",
        "-  Sun 2026-10-25 09:00  CET   2026-10-25 08:00Z  the first",
        "-  Sat 2026-10-31 09:00  CET   2026-10-31 08:00Z  the first",
        "",
        "9 in both, 3 only in the first, 0 only in the second, after 2026-10-20T00:00:00Z",
        "up to 2026-11-01T00:00:00Z.",
    ]


def test_json() -> None:
    """As its users run it."""
    out = subprocess.check_output(
        [sys.executable, "-m", "sexton", *DAILY_AGAINST_WEEKDAYS, "--rows", "1", "--json"]
    )
    assert json.loads(out) == {
        "from": "2026-10-20T00:00:00Z",
        "to": "2026-11-01T00:00:00Z",
        "complete": True,
        "common": 9,
        "first": {
            "schedule": "0 9 * * *",
            "kind": "cron",
            "timezone": "Europe/Berlin",
            "explanation": parse("0 9 * * *", timezone="Europe/Berlin").explain(),
            "only": 3,
        },
        "second": {
            "schedule": "0 9 * * 1-5",
            "kind": "cron",
            "timezone": "Europe/Berlin",
            "explanation": parse("0 9 * * 1-5", timezone="Europe/Berlin").explain(),
            "only": 0,
        },
        "differences": [
            {"at": "2026-10-24T07:00:00Z", "local": "2026-10-24T09:00:00+02:00", "only_in": "first"},
        ],
        "more": 2,
    }


def test_both_sides(sexton: Sexton) -> None:
    answer = sexton("diff", "0 9 * * *", "0 10 * * *", *RANGE, "--rows", "3", "--json").json()
    assert [(each["at"], each["only_in"]) for each in answer["differences"]] == [
        ("2026-10-20T09:00:00Z", "first"),
        ("2026-10-20T10:00:00Z", "second"),
        ("2026-10-21T09:00:00Z", "first"),
    ]
    assert (answer["common"], answer["first"]["only"], answer["second"]["only"], answer["more"]) == (
        0,
        12,
        12,
        21,
    )


def test_more_than_fits_is_counted(sexton: Sexton) -> None:
    out = sexton("diff", "0 * * * *", "30 * * * *", *RANGE).out
    assert out.count("the first\n") + out.count("the second\n") == 20
    assert "… and 556 more" in out


def test_equal_schedules(sexton: Sexton) -> None:
    result = sexton("diff", "0 9 * * 1-5", "0 9 * * MON-FRI", *RANGE, "--exit-code")
    assert result.code == 0
    assert "9 in both, 0 only in the first, 0 only in the second" in " ".join(result.out.split())
    assert "local time" not in result.out


def test_exit_code_when_asked_for(sexton: Sexton) -> None:
    assert sexton(*DAILY_AGAINST_WEEKDAYS).code == 0
    assert sexton(*DAILY_AGAINST_WEEKDAYS, "--exit-code").code == 1


def test_the_default_is_the_next_thirty_days(sexton: Sexton, at: Any) -> None:
    at(datetime(2026, 10, 20, 12, 0, 0, 123, tzinfo=UTC))
    answer = sexton("diff", "0 9 * * *", "0 9 * * *", "--json").json()
    assert (answer["from"], answer["to"]) == ("2026-10-20T12:00:00Z", "2026-11-19T12:00:00Z")
    assert answer["common"] == 30


def test_the_start_is_outside_and_the_end_inside(sexton: Sexton) -> None:
    ends = ("--from", "2026-10-20T09:00:00Z", "--to", "2026-10-21T09:00:00Z", "--json")
    assert sexton("diff", "0 9 * * *", "0 9 * * *", *ends).json()["common"] == 1


def test_zones_of_their_own(sexton: Sexton) -> None:
    answer = sexton("diff", "CRON_TZ=Asia/Tokyo 0 9 * * *", "CRON_TZ=UTC 0 9 * * *", *RANGE, "--json").json()
    assert [each["local"] for each in answer["differences"][:2]] == [
        "2026-10-20T09:00:00+00:00",
        "2026-10-21T09:00:00+09:00",
    ]


def test_an_interval_counts_from_the_start_of_the_range(sexton: Sexton) -> None:
    result = sexton("diff", "every 15m", "*/15 * * * *", *RANGE)
    assert "0 only in the first, 0 only in the second" in " ".join(result.out.split())
    assert result.err.count("--anchor") == 1


def test_too_much_to_compare_is_said(sexton: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexton.cli.schedules.schedules.MOST_COMPARED", 100)
    answer = sexton("diff", "* * * * *", "*/2 * * * *", *RANGE, "--json").json()
    assert answer["complete"] is False
    assert answer["common"] + answer["first"]["only"] == 100
    assert answer["to"] == "2026-10-20T01:40:59Z"
    assert "Stopped after" in sexton("diff", "* * * * *", "*/2 * * * *", *RANGE).out


def test_the_schedule_at_fault_is_shown(sexton: Sexton) -> None:
    result = sexton("diff", "0 9 * * *", "75 9 * * *", *RANGE)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[1:3] == ["  75 9 * * *", "  ^"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--from", "2026-10-20T00:00:00Z", "--to", "2026-10-20T00:00:00Z"), "bad_range"),
        (("--from", "2026-10-20"), "naive_time"),
        (("--to", "later"), "bad_time"),
        (("--rows", "-1"), "bad_count"),
    ],
)
def test_ranges_are_refused(sexton: Sexton, arguments: tuple[str, ...], code: str) -> None:
    result = sexton("diff", "0 9 * * *", "0 10 * * *", *arguments, "--json")
    assert result.code == 2
    assert result.json()["error"]["code"] == code


def test_nothing_is_wider_than_the_terminal(sexton: Sexton) -> None:
    result = sexton("diff", "*/7 * * * * *", "*/5 * * * * *", "--timezone", "Australia/Lord_Howe", *RANGE)
    assert max(map(len, result.out.splitlines())) <= 80
