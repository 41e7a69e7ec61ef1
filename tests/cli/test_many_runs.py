"""Acting on many runs from the command line: count, confirmation, chunks, what became of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from sexton.cli import many
from sexton.cli.client import Client
from sexton.errors import Unavailable
from tests.cli.server import Server

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

REPORT = ("--job", "report")


@pytest.fixture
def client(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Of a server where four runs of a job wait, and one of another."""
    with Server(database_url) as running, Client(running.url) as client:
        monkeypatch.setenv("SEXTON_URL", running.url)
        for name, runs in (("report", 4), ("other", 1)):
            client.post("/jobs", {"name": name, "schedule": "@yearly"})
            for number in range(runs):
                client.post(f"/jobs/{name}/run", {"payload": {"n": number}})
        yield client


def statuses(client: Client, job: str = "report") -> list[str]:
    return [run["status"] for run in client.pages("/runs", job=job)]


def test_many_are_cancelled_after_a_count_and_a_word(
    sexton: Sexton, client: Client, small_chunks: list[dict[str, Any]]
) -> None:
    refused = sexton("runs", "cancel", *REPORT)
    assert (refused.code, refused.out) == (2, "")
    [first, second, third, fourth] = [run["run_id"] for run in client.pages("/runs", job="report")]
    assert f"Cancel 4 runs ({first} of report, {second} of report, {third} of report, …)?" in refused.err
    shown = sexton("runs", "cancel", *REPORT, "--dry-run")
    assert shown.out.splitlines()[0].split() == ["job", "run", "status"]
    assert shown.out.splitlines()[-1] == "4 runs would be cancelled"
    assert statuses(client) == ["pending"] * 4
    done = sexton("runs", "cancel", *REPORT, "--reason", "wrong month", "--yes")
    assert (done.code, done.out) == (0, "4 runs cancelled\n")
    assert len(small_chunks) >= 2
    assert statuses(client) == ["cancelled"] * 4
    assert statuses(client, "other") == ["pending"]
    assert client.get(f"/runs/{fourth}")["reason"] == "wrong month"
    assert sexton("runs", "cancel", *REPORT, "--yes").out == "No such runs.\n"


def test_a_count_that_found_none_yet_is_not_taken_for_none(
    sexton: Sexton, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what no index finds only the latest are counted."""
    answers = {None: {"cursor": "further"}, "further": {"matched": 1, "done": 1}}

    def found_later(self: Client, method: str, path: str, body: Any = None, **more: Any) -> Any:
        if body.get("dry_run"):
            return {"dry_run": True, "matched": 0, "estimated": True}, {}
        return answers[body.get("after")], {}

    monkeypatch.setattr(Client, "request", found_later)
    old = ("runs", "again", "--queue", "old")
    assert sexton(*old, "--dry-run").out.splitlines()[-1] == "0 runs or more would be repeated"
    assert "Repeat 0 runs or more?" in sexton(*old).err
    assert sexton(*old, "--yes").out == "1 run repeated\n"


def test_many_are_run_again_with_their_payloads(sexton: Sexton, client: Client) -> None:
    sexton("runs", "cancel", "--all", "--yes")
    told = sexton("runs", "again", "--status", "cancelled", *REPORT, "--yes", "--json").json()
    assert (told["action"], told["matched"], told["done"]) == ("again", 4, 4)
    payloads = [client.get(f"/runs/{run}")["payload"]["n"] for run in told["run_ids"]]
    assert sorted(payloads) == [0, 1, 2, 3]
    client.delete("/jobs/other")
    done = sexton("runs", "again", "--job", "other", "--yes")
    assert (done.code, done.out) == (1, "0 runs repeated, 1 refused\n")
    assert "1 refused, job_deleted" in done.err


def test_one_is_named(sexton: Sexton, client: Client) -> None:
    [run, *_] = [run["run_id"] for run in client.pages("/runs", job="report")]
    assert sexton("runs", "cancel", run).out == f"{run} is cancelled\n"
    assert "is on its way" in sexton("runs", "again", run, "--payload", '{"n": 9}').out
    [made, *_] = client.pages("/runs", job="report")
    assert client.get(f"/runs/{made['run_id']}")["payload"] == {"n": 9}


def test_what_is_repeated_goes_on_where_it_was_cut_off(
    sexton: Sexton, client: Client, small_chunks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sexton("runs", "cancel", *REPORT, "--yes")
    ask, calls = many._ask, 0

    def cut(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Unavailable("not_running", "nothing answers")
        return ask(*arguments)

    small_chunks.clear()
    monkeypatch.setattr(many, "_ask", cut)
    stopped = sexton("runs", "again", "--status", "cancelled", "--yes")
    assert stopped.code == 1
    told = stopped.err.split("It stopped after 2 runs: continue with --after ")[1]
    monkeypatch.setattr(many, "_ask", ask)
    after = told.split(".")[0].strip("'")
    assert sexton("runs", "again", "--status", "cancelled", "--yes", "--after", after).out == (
        "2 runs repeated\n"
    )
    assert statuses(client).count("pending") == 4


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cancel", "--yes"), "neither a run nor a filter is given"),
        (("cancel", "r_1", *REPORT), "the run r_1 and a filter are given"),
        (("cancel", "r_1", "--dry-run"), "--dry-run is for many runs"),
        (("again", *REPORT, "--payload", "1"), "--payload is for one run"),
        (("cancel", "--status", "dead", "--yes"), "a run that has ended cannot be cancelled"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(sexton: Sexton, arguments: tuple[str, ...], words: str) -> None:
    refused = sexton("runs", *arguments)
    assert (refused.code, words in refused.err) == (2, True), refused.err
