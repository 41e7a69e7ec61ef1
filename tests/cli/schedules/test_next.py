"""`sexton next`."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sexton.cli.output import distance
from sexton.errors import ScheduleError
from sexton.schedules import parse

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

BERLIN = ("--timezone", "Europe/Berlin")
WEEKDAYS = ("next", "0 9 * * 1-5", *BERLIN, "--after", "2026-10-20T00:00:00Z", "--count", "6")


def instants(answer: Any) -> list[str]:
    return [each["at"] for each in answer["occurrences"]]


def test_words_then_a_table(sexton: Sexton) -> None:
    result = sexton(*WEEKDAYS)
    assert (result.code, result.err) == (0, "")
    words, blank, *table = result.out.splitlines()
    assert words == parse("0 9 * * 1-5", timezone="Europe/Berlin").explain()
    assert blank == ""
    assert table == [
        "local time            zone  UTC                distance",
        "Tue 2026-10-20 09:00  CEST  2026-10-20 07:00Z  in 7 h",
        "Wed 2026-10-21 09:00  CEST  2026-10-21 07:00Z  in 1 d 7 h",
        "Thu 2026-10-22 09:00  CEST  2026-10-22 07:00Z  in 2 d 7 h",
        "Fri 2026-10-23 09:00  CEST  2026-10-23 07:00Z  in 3 d 7 h",
        "Mon 2026-10-26 09:00  CET   2026-10-26 08:00Z  in 6 d 8 h",
        "Tue 2026-10-27 09:00  CET   2026-10-27 08:00Z  in 7 d 8 h",
    ]


def test_json_is_exactly_this() -> None:
    """As its users run it."""
    out = subprocess.check_output([sys.executable, "-m", "sexton", *WEEKDAYS, "--json"])
    local = [
        ("2026-10-20T07:00:00Z", "2026-10-20T09:00:00+02:00"),
        ("2026-10-21T07:00:00Z", "2026-10-21T09:00:00+02:00"),
        ("2026-10-22T07:00:00Z", "2026-10-22T09:00:00+02:00"),
        ("2026-10-23T07:00:00Z", "2026-10-23T09:00:00+02:00"),
        ("2026-10-26T08:00:00Z", "2026-10-26T09:00:00+01:00"),
        ("2026-10-27T08:00:00Z", "2026-10-27T09:00:00+01:00"),
    ]
    assert json.loads(out) == {
        "schedule": "0 9 * * 1-5",
        "kind": "cron",
        "timezone": "Europe/Berlin",
        "explanation": parse("0 9 * * 1-5", timezone="Europe/Berlin").explain(),
        "warnings": [],
        "occurrences": [{"at": at, "local": wall, "note": None} for at, wall in local],
    }
    assert out.count(b"\n") == 1


def test_warnings_are_shown_beside_the_answer(sexton: Sexton) -> None:
    shown = sexton("next", "*/90 * * * *", "--after", "2026-10-20T00:00:00Z", "--count", "1")
    assert " ".join(shown.err.split()).startswith("warning: */90 in the field minute matches 0 only")
    assert "warning" not in shown.out
    answer = json.loads(sexton("next", "*/90 * * * *", "--count", "1", "--json").out)
    assert "every 90m" in answer["warnings"][0]
    last = sexton("next", "0 9 * * * 0", "--after", "2026-10-20T00:00:00Z", "--seconds", "last")
    assert (last.err, "At 09:00 every day" in last.out) == ("", True)


def test_the_default_is_five_from_now(sexton: Sexton, at: Any) -> None:
    at(datetime(2026, 10, 20, 12, 0, 30, tzinfo=UTC))
    answer = sexton("next", "0 * * * *", "--json").json()
    assert instants(answer) == [f"2026-10-20T{hour}:00:00Z" for hour in range(13, 18)]
    assert "in 59 min 30 s" in sexton("next", "0 * * * *").out


def test_a_time_moved_out_of_a_gap_has_a_note(sexton: Sexton) -> None:
    ask = ("next", "30 2 * * *", *BERLIN, "--after", "2027-03-27T12:00:00Z", "--count", "2")
    moved, ordinary = sexton(*ask, "--json").json()["occurrences"]
    assert (moved["at"], moved["local"]) == ("2027-03-28T01:00:00Z", "2027-03-28T03:00:00+02:00")
    assert moved["note"]
    assert ordinary["note"] is None
    assert " ".join(moved["note"].split()) in " ".join(sexton(*ask).out.split())


def test_what_a_gap_takes_away_is_shown_but_does_not_count(sexton: Sexton) -> None:
    ask = ("next", "30 2 * * *", *BERLIN, "--gap", "skip", "--after", "2027-03-26T12:00:00Z", "--count", "2")
    assert instants(sexton(*ask, "--json").json()) == ["2027-03-27T01:30:00Z", "2027-03-29T00:30:00Z"]
    table = sexton(*ask).out
    assert "Sun 2027-03-28 02:30  -     -                  skipped\n" in table


def test_what_a_gap_takes_away_is_shown_before_what_follows_the_gap(sexton: Sexton) -> None:
    ask = ("next", "*/20 * * * *", *BERLIN, "--after", "2027-03-28T00:20:00Z", "--count", "4")
    rows = [line for line in sexton(*ask).out.splitlines() if line.startswith("Sun")]
    assert [row[15:20] for row in rows] == ["01:40", "02:00", "02:20", "02:40", "03:00", "03:20", "03:40"]
    assert [row.endswith("skipped") for row in rows] == [False, True, True, True, False, False, False]


def test_a_doubled_time(sexton: Sexton) -> None:
    ask = ("next", "30 2 * * *", *BERLIN, "--fold", "both", "--after", "2026-10-24T12:00:00Z", "--count", "2")
    first, second = sexton(*ask, "--json").json()["occurrences"]
    assert (first["at"], first["local"]) == ("2026-10-25T00:30:00Z", "2026-10-25T02:30:00+02:00")
    assert (second["at"], second["local"]) == ("2026-10-25T01:30:00Z", "2026-10-25T02:30:00+01:00")
    assert first["note"]
    assert second["note"]


def test_excluded_days_are_shown_but_do_not_count(sexton: Sexton) -> None:
    ask = ["next", "0 9 * * *", "--after", "2026-12-23T12:00:00Z", "--count", "2"]
    ask += ["--exclude", "2026-12-24", "--exclude", "2026-12-26..2027-01-01"]
    assert instants(sexton(*ask, "--json").json()) == ["2026-12-25T09:00:00Z", "2027-01-02T09:00:00Z"]
    assert sexton(*ask).out.count("  skipped\n") == 8


def test_a_long_exclusion_is_not_listed_whole(sexton: Sexton) -> None:
    ask = ["next", "* * * * * *", "--after", "2026-12-23T23:59:58Z", "--count", "3"]
    ask += ["--exclude", "2026-12-24..2027-12-31"]
    fired = ["2026-12-23T23:59:59Z", "2028-01-01T00:00:00Z", "2028-01-01T00:00:01Z"]
    assert instants(sexton(*ask, "--json").json()) == fired
    table = sexton(*ask).out
    assert len(table.splitlines()) < 60
    assert "the others up to the next below too" in " ".join(table.split())


def test_an_exclusion_without_end(sexton: Sexton) -> None:
    ask = ("next", "0 9 * * *", "--after", "2026-12-23T12:00:00Z", "--exclude", "2026-12-25..9999-12-31")
    assert instants(sexton(*ask, "--json").json()) == ["2026-12-24T09:00:00Z"]
    assert "all later ones too" in " ".join(sexton(*ask).out.split())


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_end_of_time(sexton: Sexton, zone: str) -> None:
    result = sexton(
        "next", "0 * * * *", "--timezone", zone, "--after", "9999-12-30T20:00:00Z", "--count", "100"
    )
    assert result.code == 0
    assert "9999-12-3" in result.out


def test_bounds(sexton: Sexton) -> None:
    ask = ["next", "0 9 * * *", "--after", "2026-10-01T00:00:00Z", "--json"]
    ask += ["--starts-at", "2026-10-20T09:00:00Z", "--ends-at", "2026-10-21T09:00:00Z"]
    assert instants(sexton(*ask).json()) == ["2026-10-20T09:00:00Z", "2026-10-21T09:00:00Z"]


def test_nothing_more(sexton: Sexton) -> None:
    ask = ("next", "2026-10-20T09:00:00Z", "--after", "2026-10-20T09:00:00Z")
    assert sexton(*ask, "--json").json()["occurrences"] == []
    result = sexton(*ask)
    assert result.code == 0
    assert "Nothing fires after 2026-10-20T09:00:00Z." in result.out


def test_an_interval_without_an_anchor_is_a_job_made_then(sexton: Sexton) -> None:
    ask = ("next", "every 90m", "--after", "2026-10-20T00:00:10.5Z", "--count", "2")
    result = sexton(*ask, "--json")
    assert instants(result.json()) == ["2026-10-20T01:30:10Z", "2026-10-20T03:00:10Z"]
    assert result.err == ""
    told = sexton(*ask)
    assert told.code == 0
    assert told.err.count("\n") == 1
    assert "2026-10-20T00:00:10Z" in told.err
    assert "--anchor" in told.err


def test_a_recurrence_without_an_anchor_is_a_job_made_then(sexton: Sexton) -> None:
    ask = ("next", "FREQ=DAILY", *BERLIN, "--after", "2026-10-24T07:15:40Z", "--count", "2")
    assert instants(sexton(*ask, "--json").json()) == ["2026-10-25T08:15:00Z", "2026-10-26T08:15:00Z"]


def test_an_anchor_is_taken_and_not_spoken_of(sexton: Sexton) -> None:
    result = sexton("next", "every 2h", "--anchor", "2026-10-19T23:00:00Z", "--after", "2026-10-20T00:00:00Z")
    assert result.err == ""
    assert "2026-10-20 01:00Z" in result.out


def test_an_anchor_may_be_local(sexton: Sexton) -> None:
    ask = (
        "next",
        "FREQ=DAILY",
        *BERLIN,
        "--anchor",
        "2026-10-20T09:00:00",
        "--after",
        "2026-10-21T00:00:00Z",
    )
    assert instants(sexton(*ask, "--count", "1", "--json").json()) == ["2026-10-21T07:00:00Z"]


def test_the_start_is_the_anchor_when_there_is_no_other(sexton: Sexton) -> None:
    ask = (
        "next",
        "every 2h",
        "--starts-at",
        "2026-10-20T05:00:00Z",
        "--after",
        "2026-10-20T00:00:00Z",
        "--json",
    )
    assert instants(sexton(*ask, "--count", "1").json())[0] in (
        "2026-10-20T05:00:00Z",
        "2026-10-20T07:00:00Z",
    )


def test_kind_key_and_order_of_seconds(sexton: Sexton) -> None:
    after = ("--after", "2026-10-20T00:00:00Z", "--count", "1", "--json")
    assert instants(sexton("next", "0 9 * * * 30", "--seconds", "last", *after).json()) == [
        "2026-10-20T09:00:30Z"
    ]
    assert sexton("next", "0 9 * * *", "--kind", "cron", *after).json()["kind"] == "cron"
    one, same, other = (
        instants(sexton("next", "H H * * *", "--key", key, *after).json()) for key in ("one", "one", "other")
    )
    assert one == same != other
    refused = sexton("next", "0 9 * * *", "--kind", "interval", *after)
    assert refused.code == 2


@pytest.mark.parametrize(
    "schedule", ["@daily", "@every 1h", "*/5 * * * *", "PT15M", "RRULE:FREQ=DAILY;BYHOUR=9"]
)
def test_texts_that_look_like_something_else_to_a_command_line(sexton: Sexton, schedule: str) -> None:
    assert sexton("next", schedule, "--json").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("*/7 * * * * *", "--timezone", "Australia/Lord_Howe"),
        ("30 2 * * *", "--timezone", "America/St_Johns", "--gap", "skip", "--after", "2027-03-12T00:00:00Z"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=9,12,15;BYMINUTE=0,15,30,45", "--count", "40"),
        ("0 0 29 2 1", "--timezone", "Antarctica/Troll"),
        (
            "5,10,15,20 0,6,12,18 1,2,3,4,5 1,2,3,4,5,6 1,2,3",
            "--timezone",
            "America/Argentina/ComodRivadavia",
        ),
    ],
)
def test_nothing_is_wider_than_the_terminal(sexton: Sexton, arguments: tuple[str, ...]) -> None:
    result = sexton("next", *arguments)
    assert result.code == 0
    assert max(map(len, result.out.splitlines() + result.err.splitlines())) <= 80


# --- refusals -------------------------------------------------------------------------------------


def test_an_error_points_at_its_place(sexton: Sexton) -> None:
    text = "0 9 * * 1-5,9"
    with pytest.raises(ScheduleError) as caught:
        parse(text)
    assert caught.value.position is not None
    result = sexton("next", text)
    assert (result.code, result.out) == (2, "")
    message, line, caret, *hint = result.err.splitlines()
    assert message == f"sexton: {caught.value.message}"
    assert line == f"  {text}"
    assert caret == "  " + " " * caught.value.position + "^"
    assert hint == ([f"  {caught.value.hint}"] if caught.value.hint else [])

    result = sexton("next", text, "--json")
    assert result.code == 2
    assert result.json() == {"error": caught.value.to_dict()}
    assert caret in result.err


def test_an_error_in_one_of_several_lines_points_into_that_line(sexton: Sexton) -> None:
    result = sexton("next", "DTSTART:20261020T090000Z\nRRULE:FREQ=DAILY;BYHOUR=25")
    _, line, caret, *_ = result.err.splitlines()
    assert line == "  RRULE:FREQ=DAILY;BYHOUR=25"
    assert line[caret.index("^") :].startswith(("25", "BYHOUR"))


def test_a_long_text_is_cut_around_the_place(sexton: Sexton) -> None:
    result = sexton("next", ",".join(["1"] * 200) + ",x * * * *")
    _, line, caret, *_ = result.err.splitlines()
    assert len(line) <= 80
    assert len(caret) <= 80
    assert line[caret.index("^") :].startswith("x")


def test_control_characters_do_not_reach_the_terminal(sexton: Sexton) -> None:
    result = sexton("next", "0 9 * * \x1b[31mred")
    assert result.code == 2
    assert "\x1b" not in result.err


def test_bytes_that_are_no_text_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sexton", "next", b"0 9 * * \xff", "--json"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"]


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("--timezone", "Europe/Berlim"), None, "timezone"),
        (("--after", "2026-10-20T00:00:00"), "naive_time", "after"),
        (("--after", "tomorrow"), "bad_time", "after"),
        (("--after", "0001-01-01T00:00:00+14:00"), "bad_time", "after"),
        (("--count", "0"), "bad_count", "count"),
        (("--count", "10001"), "bad_count", "count"),
        (("--exclude", "24.12.2026"), None, "exclude"),
        (("--exclude", "2026-12-24..x"), None, "exclude"),
        (("--starts-at", "soon"), None, "starts_at"),
        (("--anchor", "soon"), None, "anchor"),
        (("--jsonl",), "bad_usage", "jsonl"),
    ],
)
def test_options_are_refused(
    sexton: Sexton, arguments: tuple[str, ...], code: str | None, field: str
) -> None:
    result = sexton("next", "0 9 * * *", *arguments, "--json")
    assert result.code == 2
    error = result.json()["error"]
    assert error["field"] == field
    assert error["code"] == code or code is None
    assert result.err.startswith("sexton: ")
    assert "^" not in result.err


def test_no_schedule(sexton: Sexton) -> None:
    assert sexton("next").code == 2


# --- many questions at once -----------------------------------------------------------------------


def test_lines_are_answered_in_order_whatever_they_hold(sexton: Sexton) -> None:
    good = '{"schedule":"0 9 * * *","timezone":"Europe/Berlin","after":"2026-10-20T00:00:00Z","count":1}'
    lines = [
        good,
        "not json",
        "",
        "[]",
        '{"schedule":"75 * * * *"}',
        '{"timezone":"UTC"}',
        '{"schedule":"0 9 * * *","colour":"red"}',
        '{"schedule":"0 9 * * *","count":"6"}',
        '{"schedule":"0 9 * * *","count":0}',
        '{"schedule":"0 9 * * *","timezone":"Nowhere/Atall"}',
        '{"schedule":"0 9 * * *","after":"2026-10-20T00:00:00"}',
        '{"schedule":"0 9 * * *","gap":"sideways"}',
        '{"schedule":"\\ud800"}',
        "[" * 100_000,
        '{"schedule":"every 1h","after":"2026-10-20T00:00:00Z","count":1,"gap":null,"fold":null}',
        good,
    ]
    result = sexton("next", "--jsonl", stdin="\n".join(lines))
    assert (result.code, result.err) == (0, "")
    answers = result.lines()
    assert len(answers) == len(lines)
    assert answers[0] == answers[-1]
    assert instants(answers[0]) == ["2026-10-20T07:00:00Z"]
    assert instants(answers[-2]) == ["2026-10-20T01:00:00Z"]
    errors = [answer["error"] for answer in answers[1:-2]]
    assert all(list(error) == ["code", "message", "position"] for error in errors)
    codes = [error["code"] for error in errors]
    assert codes[:3] == ["bad_json", "bad_json", "bad_request"]
    assert codes[4:8] == ["bad_request", "bad_request", "bad_request", "bad_count"]
    assert codes[9] == "naive_time"
    assert codes[11:] == ["bad_json", "bad_request"]
    assert "internal" not in codes
    assert errors[3]["position"] == 0


def test_a_line_is_answered_like_the_command(sexton: Sexton) -> None:
    question = {
        "schedule": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "after": "2027-03-26T12:00:00Z",
        "count": 3,
        "anchor": None,
        "gap": "skip",
        "fold": "both",
        "exclude": ["2027-03-27"],
    }
    line = sexton("next", "--jsonl", stdin=json.dumps(question) + "\n").out
    ask = ["next", "30 2 * * *", *BERLIN, "--after", "2027-03-26T12:00:00Z", "--count", "3", "--gap", "skip"]
    assert line == sexton(*ask, "--fold", "both", "--exclude", "2027-03-27", "--json").out


def test_lines_have_the_same_defaults(sexton: Sexton, at: Any) -> None:
    at(datetime(2026, 10, 20, tzinfo=UTC))
    assert (
        sexton("next", "--jsonl", stdin='{"schedule":"0 9 * * *"}').out
        == sexton("next", "0 9 * * *", "--json").out
    )


def test_a_fault_in_one_line_leaves_the_others(sexton: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("sexton.cli.schedules.answers.upcoming", broken)
    answers = sexton("next", "--jsonl", stdin='{"schedule":"0 9 * * *"}\nx\n').lines()
    assert [each["error"]["code"] for each in answers] == ["internal", "bad_json"]


def test_each_line_is_answered_at_once() -> None:
    command = [sys.executable, "-m", "sexton", "next", "--jsonl"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for hour in (9, 10):
            process.stdin.write(
                b'{"schedule":"0 %d * * *","after":"2026-10-20T00:00:00Z","count":1}\n' % hour
            )
            process.stdin.flush()
            assert instants(json.loads(process.stdout.readline())) == [f"2026-10-20T{hour:02}:00:00Z"]
        process.stdin.close()
        assert process.wait() == 0


# --- pieces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        ({"seconds": 0.4}, "in 0 s"),
        ({"seconds": 45}, "in 45 s"),
        ({"minutes": 3}, "in 3 min"),
        ({"minutes": 3, "seconds": 20}, "in 3 min 20 s"),
        ({"hours": 3, "minutes": 20, "seconds": 59}, "in 3 h 20 min"),
        ({"hours": 3, "seconds": 59}, "in 3 h"),
        ({"days": 2, "hours": 4}, "in 2 d 4 h"),
        ({"days": 2, "minutes": 4}, "in 2 d"),
        ({"days": 1461}, "in 1461 d"),
    ],
)
def test_distance(ahead: dict[str, float], words: str) -> None:
    assert distance(timedelta(**ahead)) == words
