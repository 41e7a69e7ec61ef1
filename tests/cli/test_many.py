"""Acting on many jobs from the command line: count, confirmation, chunks, what became of each."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from sexton.cli import many
from sexton.cli.client import Client
from sexton.cli.output import ProgressBar
from sexton.errors import Unavailable
from tests.cli.server import Server

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

SALES = ("--label", "team=sales")


@pytest.fixture
def client(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Of a server with four jobs that belong together, and another."""
    with Server(database_url) as running, Client(running.url) as client:
        monkeypatch.setenv("SEXTON_URL", running.url)
        for number in range(4):
            client.post(
                "/jobs", {"name": f"bulk-{number}", "schedule": "@daily", "labels": {"team": "sales"}}
            )
        client.post("/jobs", {"name": "other", "schedule": "@daily"})
        yield client


def statuses(client: Client) -> list[str]:
    return [job["status"] for job in client.pages("/jobs")]


def test_without_a_terminal_it_must_be_said(sexton: Sexton, client: Client) -> None:
    refused = sexton("jobs", "delete", *SALES)
    assert (refused.code, refused.out) == (2, "")
    assert "Delete 4 jobs (bulk-0, bulk-1, bulk-2, …)?" in refused.err
    assert "add --yes" in refused.err
    assert statuses(client) == ["active"] * 5
    done = sexton("jobs", "delete", *SALES, "--yes")
    assert (done.code, done.out) == (0, "4 jobs deleted\n")
    assert statuses(client) == ["active"]
    again = sexton("jobs", "delete", *SALES, "--yes")
    assert (again.code, again.out) == (0, "No such jobs.\n")


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_on_a_terminal_it_is_asked(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    code: int,
) -> None:
    from sexton import cli

    stdin = io.StringIO(answer)
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert cli.run(["jobs", "pause", "--name", "bulk-*", "--reason", "moves"]) == code
    assert "Pause 4 jobs (bulk-0, bulk-1, bulk-2, …)? [y/N]" in capsys.readouterr().err
    assert statuses(client).count("paused") == (4 if code == 0 else 0)


def test_what_was_confirmed_is_what_is_done(
    client: Client, monkeypatch: pytest.MonkeyPatch, sexton: Sexton
) -> None:
    """If more jobs are meant than were shown, nothing is done."""

    def meanwhile(question: str, yes: bool) -> bool:
        client.patch("/jobs/other", {"labels": {"team": "sales"}})
        return True

    monkeypatch.setattr(many, "confirm", meanwhile)
    client.delete("/jobs/bulk-3")
    client.post("/jobs", {"name": "bulk-9", "schedule": "@daily", "labels": {"team": "sales"}})
    refused = sexton("jobs", "pause", *SALES)
    assert refused.code == 1
    assert "5 jobs match now, and 4 were expected" in refused.err
    assert set(statuses(client)) == {"active"}


@pytest.mark.usefixtures("client")
def test_a_dry_run_shows_how_many_and_some(sexton: Sexton) -> None:
    shown = sexton("jobs", "pause", "--name", "bulk-*", "--dry-run")
    assert shown.code == 0
    assert shown.out.splitlines()[0].split() == ["name", "id", "status"]
    assert shown.out.splitlines()[1].split()[0] == "bulk-0"
    assert shown.out.splitlines()[-1] == "4 jobs would be paused"
    counted = sexton("jobs", "pause", "--name", "bulk-*", "--dry-run", "--json").json()
    assert (counted["action"], counted["dry_run"], counted["matched"]) == ("pause", True, 4)
    assert sexton("jobs", "run", "--label", "nobody", "--dry-run").out == "No such jobs.\n"


def test_chunk_after_chunk(sexton: Sexton, client: Client, small_chunks: list[dict[str, Any]]) -> None:
    done = sexton("jobs", "pause", *SALES, "--reason", "moves", "--until", "+2h", "--yes")
    assert (done.code, done.out) == (0, "4 jobs paused\n")
    assert statuses(client) == ["paused"] * 4 + ["active"]
    assert len(small_chunks) >= 2
    assert {each["through"] for each in small_chunks} == {client.get("/jobs/bulk-3")["job_id"]}
    assert [each.get("after") for each in small_chunks][:2] == [
        None,
        client.get("/jobs/bulk-1")["job_id"],
    ]
    again = sexton("jobs", "pause", *SALES, "--reason", "moves", "--until", "2100-01-01T00:00:00Z", "--yes")
    assert again.out == "4 jobs paused\n"
    again = sexton("jobs", "pause", *SALES, "--reason", "moves", "--until", "2100-01-01T00:00:00Z", "--yes")
    assert again.out == "0 jobs paused, 4 unchanged\n"
    assert sexton("jobs", "resume", "--status", "paused", "--yes").out == "4 jobs resumed\n"


def test_what_is_refused_is_told_with_its_reason(sexton: Sexton, client: Client) -> None:
    client.patch("/jobs/bulk-1", {"overlap": "SKIP"})
    assert sexton("jobs", "run", *SALES, "--yes").out == "4 jobs run\n"
    done = sexton("jobs", "run", *SALES, "--yes")
    assert (done.code, done.out) == (1, "3 jobs run, 1 refused\n")
    assert "1 refused, overlap: run r_" in done.err
    told = sexton("jobs", "run", *SALES, "--yes", "--payload", '{"n": 1}', "--json").json()
    assert (told["action"], told["matched"], told["done"], len(told["run_ids"])) == ("run", 4, 3, 3)
    assert told["refused"][0]["sample"] == [client.get("/jobs/bulk-1")["job_id"]]
    assert client.get(f"/runs/{told['run_ids'][0]}")["payload"] == {"n": 1}


def test_the_same_command_goes_on_where_it_was_cut_off(
    sexton: Sexton, client: Client, small_chunks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a key, what was run is not run again; without one, it is said where to go on."""
    ask, calls = many._ask, 0

    def cut(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Unavailable("not_running", "nothing answers")
        return ask(*arguments)

    monkeypatch.setattr(many, "_ask", cut)
    stopped = sexton("jobs", "run", *SALES, "--yes", "--idempotency-key", "nightly")
    assert stopped.code == 1
    assert "It stopped after 2 jobs: repeat the command to continue." in stopped.err
    monkeypatch.setattr(many, "_ask", ask)
    done = sexton("jobs", "run", *SALES, "--yes", "--idempotency-key", "nightly", "--json").json()
    assert (done["done"], len(done["run_ids"])) == (4, 4)
    assert len(list(client.pages("/runs"))) == 4
    calls = 0
    monkeypatch.setattr(many, "_ask", cut)
    stopped = sexton("jobs", "run", *SALES, "--yes")
    last = client.get("/jobs/bulk-1")["job_id"]
    assert f"It stopped after 2 jobs: continue with --after {last}." in stopped.err
    monkeypatch.setattr(many, "_ask", ask)
    assert sexton("jobs", "run", *SALES, "--yes", "--after", last).out == "2 jobs run\n"
    assert len(list(client.pages("/runs"))) == 8


def test_labels_of_one_and_of_many(sexton: Sexton, client: Client) -> None:
    one = sexton("jobs", "label", "bulk-0", "--set", "tier=1", "--remove", "team")
    assert (one.code, one.out) == (0, "bulk-0 has the labels tier=1\n")
    done = sexton("jobs", "label", "--name", "bulk-*", "--set", "team=billing", "--yes")
    assert done.out == "4 jobs labelled\n"
    assert client.get("/jobs/bulk-0")["labels"] == {"tier": "1", "team": "billing"}
    assert sexton("jobs", "label", "bulk-0", "--remove", "tier", "--remove", "team").out == (
        "bulk-0 has no labels\n"
    )
    assert sexton("jobs", "label", "bulk-0").code == 2


def test_every_job_needs_a_word(sexton: Sexton, client: Client) -> None:
    for arguments in (("delete", "--yes"), ("pause",), ("run", "--yes"), ("resume", "--dry-run")):
        refused = sexton("jobs", *arguments)
        assert refused.code == 2
        assert "neither a job nor a filter is given" in refused.err
        assert "--all" in refused.err
    empty = sexton("jobs", "delete", "--label", "", "--yes")
    assert (empty.code, "label is empty" in empty.err) == (2, True)
    assert statuses(client) == ["active"] * 5
    assert sexton("jobs", "delete", "--all", "--yes").out == "5 jobs deleted\n"


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pause", "bulk-0", *SALES), "the job bulk-0 and a filter are given"),
        (("pause", "bulk-0", "--dry-run"), "--dry-run is for many jobs"),
        (("run", "bulk-0", "--after", "j_1"), "--after is for many jobs"),
        (("run", "bulk-0", "--idempotency-key", "x"), "--idempotency-key is for many jobs"),
        (("run", *SALES, "--wait", "--yes"), "--wait is for one job"),
        (("delete", "--status", "deleted", "--yes"), "deleted jobs cannot be changed"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(sexton: Sexton, arguments: tuple[str, ...], words: str) -> None:
    refused = sexton("jobs", *arguments)
    assert (refused.code, words in refused.err) == (2, True), refused.err


def test_long_work_shows_a_bar_on_a_terminal(
    sexton: Sexton, client: Client, small_chunks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    advance = ProgressBar.advance

    def watched(self: ProgressBar, jobs: int) -> None:
        assert self._bar is not None
        shown.append(jobs)
        advance(self, jobs)

    monkeypatch.setattr(ProgressBar, "advance", watched)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert sexton("jobs", "pause", *SALES, "--yes").out == "4 jobs paused\n"
    assert sum(shown) == 4
    assert len(shown) >= 2
