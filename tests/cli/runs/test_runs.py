"""Runs, dead letters and `why`, against a real server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from sexton.api.route import Route
from sexton.api.runs import routes
from sexton.cli.runs import dead
from sexton.cli.runs import runs as following
from sexton.model import decode_id
from tests.cli.server import Server
from tests.runs.rows import MINUTE, NOON, insert, make_ended
from tests.runs.test_dead_letters import bury

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

HOURLY = ("jobs", "add", "hourly", "--schedule", "0 * * * *", "--handler", "sexton.log")


def number(job_id: str) -> int:
    found = decode_id("j", job_id)
    assert found is not None
    return found


def test_why_and_history(sexton: Sexton, server: Server) -> None:
    job = number(sexton(*HOURLY, "--json").json()["job_id"])
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    server.run(make_ended(server.database, job, 77, hour))
    server.run(make_ended(server.database, job, None, hour - timedelta(hours=1), reason="overlap"))
    told = sexton("why", "hourly").out
    assert "r_2d  fired on time; success" in told
    assert "had not ended (overlap)" in told
    assert told.count("due in") == 3
    assert [
        line["run_id"] for line in sexton("why", "hourly", "--at", hour.isoformat(), "--json").json()
    ] == ["r_2d"]
    before = sexton("why", "hourly", "--at", "2020-01-01T00:00:00Z")
    assert (before.code, before.out) == (0, "It has no occurrences around 2020-01-01 00:00:00Z.\n")
    listed = sexton("runs", "list", "--job", "hourly", "--skipped").out
    assert "success" in listed
    assert "overlap" in listed


def test_dead_letters(sexton: Sexton, server: Server) -> None:
    assert "No dead letters" in sexton("dead", "list").out
    job = number(sexton(*HOURLY, "--json").json()["job_id"])
    for run in range(3):
        server.run(bury(server.database, job, 1_000_000 + run, died_at=NOON + run * MINUTE))
    server.run(
        insert(server.database, "attempts", run_id=1_000_000, attempt=1, outcome="failed", error="boom")
    )
    letters = [letter["run_id"] for letter in sexton("dead", "list", "--json").json()]
    assert len(letters) == 3
    assert "boom" in sexton("dead", "list", "--groups").out
    assert "attempt 1" in sexton("dead", "show", letters[-1]).out
    both = sexton("dead", "discard", letters[0], "--job", "hourly", "--yes")
    assert (both.code, "give one of them" in both.err) == (2, True)
    for verb, would in (("redrive", "run again"), ("discard", "discarded")):
        counted = sexton("dead", verb, "--job", "hourly", "--dry-run")
        assert (counted.code, counted.out.splitlines()[-1]) == (0, f"3 dead letters would be {would}")
        assert sexton("dead", verb, "--dry-run").code == 2
    asked = sexton("dead", "discard", "--all")
    assert (asked.code, "Discard 3 dead letters?" in asked.err) == (2, True)
    many = sexton("dead", "redrive", "--all", "--payload", "1")
    assert (many.code, "--payload is for one letter" in many.err) == (2, True)
    assert sexton("dead", "redrive", letters[0], "--payload", "{").code == 2
    redriven = sexton("dead", "redrive", letters[0], "--payload", '{"n": 2}', "--json").json()["run_id"]
    assert sexton("runs", "show", redriven, "--json").json()["payload"] == {"n": 2}
    assert sexton("dead", "discard", letters[1], "--yes", "--json").json() == {"discarded": 1}
    assert "1 run on the way" in sexton("dead", "redrive", "--all", "--rate", "10").out
    assert sexton("dead", "discard", "--job", "hourly", "--yes", "--json").json() == {"discarded": 0}


def test_no_more_dead_letters_are_discarded_than_were_confirmed(
    sexton: Sexton, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = number(sexton(*HOURLY, "--json").json()["job_id"])

    def die(run: int) -> None:
        server.run(bury(server.database, job, run, died_at=NOON + run * MINUTE))

    def another_dies(question: str, yes: bool) -> bool:
        assert (question, yes) == ("Discard 2 dead letters?", False)
        die(3)
        return True

    die(1)
    die(2)
    with monkeypatch.context() as patched:
        patched.setattr(dead, "confirm", another_dies)
        refused = sexton("dead", "discard", "--all")
    assert (refused.code, "3 dead letters match now, and 2 were expected" in refused.err) == (1, True)
    monkeypatch.setattr(dead, "confirm", lambda question, yes: question == "Discard 3 dead letters?")
    assert sexton("dead", "discard", "--all").out == "3 discarded\n"


class Ended:
    """A server with a run that has ended, and its log."""

    def __init__(self, lines: int) -> None:
        self.log = [
            {"at": f"2026-06-01T12:00:{n:02}Z", "level": "info", "message": f"line {n}"} for n in range(lines)
        ]

    def ask(self, route: Route, *path: str, after: str | None = None, **_: int) -> Any:
        """Two lines at a time: how many come together depends on their size, too."""
        assert route is routes.GET_RUN_LOG
        return [line for line in self.log if after is None or line["at"] > after][:2]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_long_log_is_followed_to_its_last_line(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    server: Any = Ended(5)
    found = {
        "run_id": "r_1", "log": server.log[:2], "status": "success", "progress": None, "attempt": 1,
        "error": None, "result": None, "started_at": None, "finished_at": None,
    }  # fmt: skip
    assert following._follow(server, found, as_json) == 0
    *lines, end = capsys.readouterr().out.splitlines()
    # Without --json the first lines have been shown with the run.
    assert [line[line.index("line ") :][:6] for line in lines] == [
        f"line {n}" for n in range(0 if as_json else 2, 5)
    ]
    assert "success" in end
