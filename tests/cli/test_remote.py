"""The commands that talk to a server, against a real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sexton.postgres.database import Database
from tests.cli.runs.test_runs import HOURLY, number
from tests.cli.server import Server
from tests.runs.test_dead_letters import bury

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton


@pytest.fixture
def working(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server(database_url, ("scheduler", "worker")) as running:
        monkeypatch.setenv("SEXTON_URL", running.url)
        yield running


@pytest.mark.usefixtures("server")
def test_every_field_is_an_option(sexton: Sexton) -> None:
    options = {
        "--schedule": "0 9 * * *", "--timezone": "Europe/Berlin", "--kind": "cron", "--gap": "skip",
        "--fold": "both", "--starts-at": "2030-01-01T00:00:00Z",
        "--ends-at": "2031-01-01T00:00:00Z", "--exclude": "2030-12-25",
        "--http": "http://localhost:8000/hook", "--http-method": "PUT", "--http-header": "X-Team: a",
        "--http-success": "204", "--payload": '{"n": 1}', "--queue": "mail", "--priority": "1",
        "--max-retries": "5", "--retry-backoff": "fixed", "--retry-base-seconds": "5",
        "--retry-max-seconds": "50", "--retry-jitter": "full", "--timeout-seconds": "9",
        "--missed-window": "RUN_ALL", "--max-missed": "7",
        "--catch-up-seconds": "60", "--grace-seconds": "30", "--overlap": "SKIP", "--jitter-seconds": "3",
        "--expires-seconds": "90", "--max-runs": "4", "--idempotency-key-template": "k-{{date}}",
        "--keep-completed-seconds": "5", "--label": "team=a", "--description": "d", "--owner": "o",
    }  # fmt: skip
    pairs = [word for pair in options.items() for word in pair]
    result = sexton("jobs", "add", "full", *pairs, "--json")
    assert result.code == 0, result.err
    job = result.json()
    assert job["target"]["http"] == {
        "url": "http://localhost:8000/hook",
        "method": "PUT",
        "headers": {"X-Team": "a"},
        "success_codes": [204],
    }
    assert (job["labels"], job["payload"], job["exclude"]) == ({"team": "a"}, {"n": 1}, ["2030-12-25"])
    for option, value in options.items():
        name = option[2:].replace("-", "_")
        if name in job and name not in ("payload", "exclude", "starts_at", "ends_at"):
            assert str(job[name]) == value


@pytest.mark.usefixtures("server")
def test_no_jobs_and_no_such_jobs_are_two_things(sexton: Sexton) -> None:
    assert "sexton jobs add" in sexton("jobs", "list").out
    assert sexton("jobs", "list", "--label", "team").out == "No such jobs.\n"


@pytest.mark.usefixtures("server")
def test_a_job_from_a_file(sexton: Sexton, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"name": "a", "schedule": "every 1m", "owner": "x"}))
    made = sexton("jobs", "add", "--file", str(file), "--owner", "y", "--json").json()
    assert (made["name"], made["owner"]) == ("a", "y")
    replaced = sexton("jobs", "add", "--file", str(file), "--replace", "--json").json()
    assert (replaced["job_id"], replaced["owner"]) == (made["job_id"], "x")
    misspelt = sexton("jobs", "add", "--file", "-", stdin='{"name": "z", "schedul": "@daily"}')
    assert "did you mean schedule?" in misspelt.err
    taken = sexton("jobs", "add", "--file", "-", stdin=file.read_text())
    assert taken.code == 1
    assert made["job_id"] in taken.err


@pytest.mark.usefixtures("server")
def test_the_life_of_a_job(sexton: Sexton) -> None:
    assert "No jobs. Make one" in sexton("jobs", "list").out
    made = sexton(*HOURLY)
    assert made.code == 0
    assert "hourly (j_" in made.out
    assert "warning: no worker is running" in made.err
    assert "hourly" in sexton("jobs", "list", "--status", "active").out
    assert "0 * * * *" in sexton("jobs", "show", "hourly").out
    assert sexton("jobs", "next", "hourly", "--count", "2").out.count("Z") == 2
    assert "is paused until" in sexton("jobs", "pause", "hourly", "--reason", "x", "--until", "+2h").out
    assert "fires next at" in sexton("jobs", "resume", "hourly").out
    run = sexton("jobs", "run", "hourly", "--payload", "[1]", "--json").json()["run_id"]
    assert "no worker is running" in sexton("runs", "show", run).out
    assert run in sexton("runs", "list").out
    assert run in sexton("runs", "list", "--job", "hourly", "--status", "pending").out
    waited = sexton("runs", "wait", run, "--timeout", "0")
    assert (waited.code, "has not ended" in waited.err) == (1, True)
    assert "is cancelled" in sexton("runs", "cancel", run, "--reason", "no").out
    assert sexton("runs", "wait", run, "--json").json()["status"] == "cancelled"
    dry = sexton("jobs", "backfill", "hourly", "--from", "-3h", "--to", "-1h", "--dry-run")
    assert "2 runs would be made" in dry.out
    refused = sexton("jobs", "delete", "hourly")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert sexton("jobs", "delete", "hourly", "--yes").code == 0
    gone = sexton("jobs", "show", "hourly", "--json")
    assert (gone.code, gone.json()["error"]["code"]) == (1, "job_not_found")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("jobs", "add"), "no name"),
        (("jobs", "add", "a"), "--schedule"),
        (("jobs", "add", "a", "--schedule", "every 1m", "--payload", "{"), "--payload is not JSON"),
        (("jobs", "add", "a", "--schedule", "every 1m", "--label", "x"), "team=billing"),
        (("jobs", "add", "a", "--schedule", "every 1m", "--http-method", "PUT"), "--http URL"),
        (("jobs", "add", "a", "--schedule", "every 1m", "--http", "http://x", "--handler", "y"), "give one"),
        (("jobs", "add", "a", "--schedule", "61 * * * *"), "^"),
        (("jobs", "add", "--file", "/nowhere"), "cannot be read"),
        (("jobs", "pause", "a", "--until", "soon"), "-2h"),
        (("runs", "list", "--since", "-9999999999d"), "-2h"),
        (("notify", "send", "hello", "--to", "ann", "--vars", "[1]"), "vars is not a JSON object"),
        (("templates", "put", "hello", "[1]"), "file is not a JSON object"),
        (("templates", "put", "hello", "--subject", "x", "--text", "@/nowhere"), "cannot be read"),
        (("digests", "add", "news", "ann", "--data", "1"), "data is not a JSON object"),
        (("dead", "redrive"), "--all"),
        (("runs", "list", "--status", "asleep"), "pending"),
        (("migrate", "--check", "--print"), "given together"),
        (("targets", "test"), "--file target.json, or --job JOB"),
        (("targets", "test", "--file", "x", "--job", "y"), "exactly one of --file and --job"),
    ],
)
def test_what_is_refused_says_what_to_type(sexton: Sexton, arguments: tuple[str, ...], told: str) -> None:
    result = sexton(*arguments)
    assert (result.code, result.out) == (2, "")
    assert told in result.err


def test_nothing_there_says_how_to_start(sexton: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEXTON_URL", "http://127.0.0.1:1")
    result = sexton("status", "--json")
    assert result.code == 1
    assert result.json()["error"]["code"] == "not_running"
    assert "sexton up" in result.err


@pytest.mark.usefixtures("server")
def test_import(sexton: Sexton, tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    lines = [json.dumps({"name": f"job-{index}", "schedule": "every 1m"}) for index in range(25)]
    file.write_text("\n".join(lines))
    first = sexton("import", str(file), "--chunk", "10")
    assert (first.code, "25 jobs made" in first.out) == (0, True)
    again = sexton("import", str(file), "--chunk", "10", "--json")
    assert again.code == 0
    assert [again.json()[each] for each in ("created", "changed", "unchanged")] == [0, 0, 25]
    bad = sexton(
        "import", "-", "--chunk", "2", stdin='{"name": "x", "schedule": "every 1m"}\n\n\n{"name": "y"}\n'
    )
    assert bad.code == 1
    assert "line 4: schedule is missing" in bad.err
    assert "Of each 2 lines either all are made or none: correct these, and import it again." in bad.err
    assert len(sexton("jobs", "list", "--json", "--limit", "100").json()) == 26


@pytest.mark.usefixtures("server")
def test_an_import_warns_of_other_readings(sexton: Sexton) -> None:
    line = '{"name": "odd", "schedule": "0 9 * * * 0"}\n'
    shown = sexton("import", "-", stdin=line)
    assert shown.err.startswith("warning: odd: the first of the six fields, 0, is read as the seconds")
    assert sexton("import", "-", stdin=line).err == ""


@pytest.mark.usefixtures("server")
def test_an_import_again_says_what_became_of_each_job(sexton: Sexton, tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    a, b, c = ({"name": name, "schedule": "every 1h", "labels": {"team": "x"}} for name in "abc")
    file.write_text("\n".join(map(json.dumps, (a, b))))
    assert sexton("import", str(file)).out.splitlines()[-1] == "2 jobs made"
    assert sexton("import", str(file)).out == "0 jobs made, 2 unchanged\n"
    assert sexton("jobs", "delete", "a", "--yes").code == 0
    file.write_text("\n".join(map(json.dumps, (a, {**b, "schedule": "every 2h"}, c))))
    shown = sexton("import", str(file)).out.splitlines()
    assert [line.split()[:2] for line in shown[:-1]] == [["made", "a"], ["changed", "b"], ["made", "c"]]
    assert shown[-1] == "2 jobs made, 1 changed"
    assert sexton("jobs", "show", "b", "--json").json()["schedule"] == "every 2h"
    told = sexton("import", str(file), "--json").json()
    assert [(job["line"], job["name"], job["result"]) for job in told["jobs"]] == [
        (1, "a", "unchanged"),
        (2, "b", "unchanged"),
        (3, "c", "unchanged"),
    ]


@pytest.mark.usefixtures("server")
def test_a_job_is_edited(sexton: Sexton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sexton("jobs", "add", "a", "--schedule", "every 1h", "--owner", "ops", "--priority", "1")
    words = ("--set", "schedule=0 9 * * *", "--set", "description=12", "--set", 'labels={"team": "x"}')
    changed = sexton("jobs", "edit", "a", *words, "--set", "priority=null", "--json").json()
    told = [changed[name] for name in ("schedule", "description", "labels", "priority", "owner")]
    assert told == ["0 9 * * *", "12", {"team": "x"}, 2, "ops"]
    assert "bad_value" in sexton("jobs", "edit", "a", "--set", "priority", "--json").out
    assert sexton("jobs", "edit", "a", "--set", "schedule=0 99 * * *").code == 2
    assert "expected int, got str" in sexton("jobs", "edit", "a", "--set", "priority=high").err

    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i -e s/ops/dev/ -e /description/d")
    edited = sexton("jobs", "edit", "a", "--json").json()
    assert (edited["owner"], edited["description"], edited["labels"]) == ("dev", None, {"team": "x"})
    monkeypatch.setenv("EDITOR", "true")
    assert sexton("jobs", "edit", "a").err == "nothing is changed\n"
    monkeypatch.setenv("EDITOR", "false")
    assert sexton("jobs", "edit", "a").code == 1
    monkeypatch.delenv("EDITOR")
    assert "EDITOR is not set" in sexton("jobs", "edit", "a").err


@pytest.mark.usefixtures("server")
def test_a_replaced_job_says_which_fields_it_lost(sexton: Sexton) -> None:
    sexton("jobs", "add", "a", "--schedule", "every 1h", "--owner", "ops", "--priority", "1")
    again = sexton("jobs", "add", "a", "--schedule", "every 2h", "--priority", "1", "--replace")
    assert "warning: reset to the default: owner; sexton jobs edit changes only given fields" in again.err
    same = sexton("jobs", "add", "a", "--schedule", "every 2h", "--priority", "1", "--replace")
    assert "reset to the default" not in same.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# m h\nMAILTO=x\n0 9 * * 1-5 /bin/backup\n@daily /bin/x\n", "is a crontab, not JSON"),
        ("@hourly root /bin/x\n", "is a crontab, not JSON"),
        ('[{"name": "a"}]\n', "is a JSON list"),
        ("name,schedule\n", "is not JSON: it begins with 'name,schedule'"),
    ],
)
def test_what_is_no_json_is_told_once(sexton: Sexton, text: str, said: str) -> None:
    result = sexton("import", "-", stdin=text)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(
        f"sexton: the standard input {said}\n  import takes one JSON object per line"
    )


@pytest.mark.parametrize("words", [("--frobnicate", "x.jsonl"), ("x.jsonl", "--frobnicate")])
def test_unknown_options_are_called_so(sexton: Sexton, words: tuple[str, ...]) -> None:
    assert sexton("import", *words).err.startswith("sexton: Unknown option: --frobnicate.")
    assert sexton("jobs", "pause", "a", "b").err.startswith("sexton: one argument too many: b\n")


def test_status_says_what_is_wrong(sexton: Sexton, server: Server) -> None:
    result = sexton("status")
    assert result.code == 1
    assert "no worker is running" in result.err
    assert server.url in result.out
    assert sexton("status", "--json").json()["shards_led"] == 0


def test_a_job_is_followed_to_its_end(sexton: Sexton, working: Server) -> None:
    add = ("jobs", "add", "twice", "--schedule", "every 1s", "--handler", "sexton.log", "--max-runs", "2")
    result = sexton(*add, "--payload", '{"n": 1}', "--follow", "--json")
    assert result.code == 0, result.err
    made, *runs = result.lines()
    assert made["name"] == "twice"
    assert [(run["status"], run["trigger"]) for run in runs] == [("success", "schedule")] * 2
    shown: Any = sexton("runs", "show", runs[0]["run_id"], "--json").json()
    assert shown["payload"] == {"n": 1}
    assert shown["worker_id"]
    assert sexton("status").code == 0
    assert sexton("jobs", "run", "twice", "--wait").code == 0
    failing = sexton(
        "jobs", "add", "bad", "--schedule", "@yearly", "--handler", "sexton.fail", "--max-retries", "0"
    )
    assert failing.code == 0
    waited = sexton("jobs", "run", "bad", "--wait")
    assert waited.code == 1
    assert "dead" in waited.out
    assert "twice" in sexton("jobs", "list", "--status", "completed").out
    assert working.url


def test_any_target_can_be_given_as_json(sexton: Sexton, server: Server) -> None:
    target = '{"http": {"url": "http://127.0.0.1:9/x", "redirects": 2}}'
    made = sexton("jobs", "add", "any", "--schedule", "0 * * * *", "--target", target, "--json")
    assert made.json()["target"]["http"]["redirects"] == 2
    both = sexton("jobs", "add", "both", "--schedule", "0 * * * *", "--target", target, "--handler", "x")
    assert both.code == 2
    assert "give one" in both.err


def test_a_list_says_that_there_are_more(sexton: Sexton, server: Server) -> None:
    for name in ("one", "two", "three"):
        assert sexton("jobs", "add", name, "--schedule", "0 * * * *", "--handler", "sexton.log").code == 0
        assert sexton("jobs", "run", name).code == 0
    for command in (("jobs", "list"), ("runs", "list")):
        cut = sexton(*command, "--limit", "2", "--json")
        assert len(cut.json()) == 2
        assert "more than these 2" in cut.err
        assert "--limit 20" in cut.err
        whole = sexton(*command, "--limit", "3", "--json")
        assert (len(whole.json()), whole.err) == (3, "")
    narrow = sexton("runs", "list", "--job", "one", "--limit", "1")
    assert narrow.err == ""
    job = number(sexton("jobs", "show", "one", "--json").json()["job_id"])
    for run in range(1, 4):
        server.run(bury(server.database, job, run))
    for options in ((), ("--groups",)):
        found = sexton("dead", "list", "--limit", "1", *options)
        assert ("more than these 1" in found.err) is (options == ())


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("command", ["jobs", "runs", "dead"])
def test_a_list_of_nothing_is_refused(sexton: Sexton, command: str) -> None:
    refused = sexton(command, "list", "--limit", "0")
    assert refused.code == 2
    assert "--limit is 0" in refused.err
    assert "give 1 or more" in refused.err


def test_jobs_that_are_set_aside_are_listed_with_the_reason(sexton: Sexton, server: Server) -> None:
    for name in ("sound", "broken"):
        assert sexton("jobs", "add", name, "--schedule", "0 9 * * *", "--handler", "sexton.log").code == 0
    server.run(_break(server.database))
    found = sexton("jobs", "list", "--problem")
    assert "broken" in found.out
    assert "sound" not in found.out
    assert "set aside: no such zone" in found.out
    assert "no such zone" in sexton("jobs", "show", "broken").out
    assert "set aside: no such zone" in sexton("why", "broken").out


async def _break(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute(
            """insert into sexton.problems (job_id, revision, problem)
            select id, revision, 'no such zone' from sexton.jobs where name = 'broken'"""
        )


@pytest.mark.usefixtures("server")
def test_a_job_for_a_while_from_now(sexton: Sexton) -> None:
    before = datetime.now(UTC)
    job = sexton("jobs", "add", "tea", "--in", "10m", "--handler", "sexton.log", "--json").json()
    at = datetime.fromisoformat(job["next_run_at"])
    assert timedelta(minutes=10) <= at - before <= timedelta(minutes=11)
    assert (job["kind"], job["schedule"]) == ("once", job["next_run_at"])
    edited = sexton("jobs", "edit", "tea", "--set", "schedule=in 20m", "--json").json()
    assert datetime.fromisoformat(edited["next_run_at"]) - at >= timedelta(minutes=10)
    both = sexton("jobs", "add", "two", "--in", "10m", "--schedule", "every 1m")
    assert (both.code, "--schedule and --in are given" in both.err) == (2, True)
    bad = sexton("jobs", "add", "bad", "--in", "soon")
    assert bad.code == 2
    assert "in 15m" in bad.err


@pytest.mark.usefixtures("server")
def test_the_next_run_is_moved(sexton: Sexton) -> None:
    made = sexton(*HOURLY, "--json").json()
    told = sexton("jobs", "reschedule", "hourly", "--in", "1d")
    assert told.code == 0, told.err
    assert "hourly fires next at " in told.out
    assert " instead of " in told.out
    moved = sexton("jobs", "reschedule", "hourly", "--at", "2100-01-01T00:00:30Z", "--json").json()
    assert (moved["next_run_at"], moved["moved_from"]) == ("2100-01-01T00:00:30Z", made["next_run_at"])
    assert sexton("jobs", "reschedule", "hourly", "--at", "+2h").code == 0
    for words in ((), ("--at", "+2h", "--in", "2h"), ("--at", "soon"), ("--in", "soon")):
        refused = sexton("jobs", "reschedule", "hourly", *words)
        assert (refused.code, "in 1" in refused.err or "2026-12-24" in refused.err) == (2, True), refused.err
