"""`sexton audit`, and that what the command line changes is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sexton.postgres.transaction import Context
from sexton.security import secrets
from sexton.security.access import own_name
from sexton.security.audit_chain import seal
from tests.changes import entries, tables
from tests.cli.server import Server
from tests.seeding import Store

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton


@pytest.fixture(autouse=True)
def server(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SEXTON_DATABASE_URL", database_url)
    monkeypatch.setenv("SEXTON_SECRET_KEY", secrets.new_key())
    with Server(database_url) as running:
        monkeypatch.setenv("SEXTON_URL", running.url)
        yield running


def written(server: Server) -> list[dict[str, Any]]:
    return server.run(entries(Store(server.database)))


def seal_all(server: Server) -> None:
    server.run(seal(Context(server.database)))


def add(sexton: Sexton, *more: str) -> None:
    assert sexton("jobs", "add", "nightly", "--schedule", "@daily", "--handler", "work", *more).code == 0


def test_a_command_says_why(sexton: Sexton, server: Server) -> None:
    add(sexton, "--reason", "Müller: 100 % sicher")
    sexton("jobs", "pause", "nightly", "--reason", "it moves")
    sexton("jobs", "run", "nightly", "--reason", "to see")
    sexton("queues", "set", "mail", "--rate", "3", "--reason", "too hot")
    sexton("dead", "target", "--none", "--reason", "tidy")
    found = written(server)
    assert [(each["action"], each["reason"], each["face"]) for each in found] == [
        ("job.created", "Müller: 100 % sicher", "cli"),
        ("job.paused", "it moves", "cli"),
        ("job.run", "to see", "cli"),
        ("queue.limited", "too hot", "cli"),
    ]
    assert {each["actor"] for each in found} == {f"user:{own_name()}"}


def test_discarding_takes_because_as_reason_is_a_filter(sexton: Sexton, server: Server) -> None:
    add(sexton)
    server.run(
        Store(server.database).execute(
            """insert into sexton.dead (run_id, job_id, reason, error_group, lane, priority, scheduled_at,
                due_at, revision, trigger, missed, attempt)
            select 7, job_id, 'exhausted', 'E', lane, 2, now(), now(), 1, 'schedule', false, 3
            from sexton.timers"""
        )
    )
    sexton("dead", "discard", "--reason", "exhausted", "--because", "too old", "--yes")
    last = written(server)[-1]
    assert (last["action"], last["reason"]) == ("dead.discarded", "too old")
    assert json.loads(last["detail"]) == {
        "count": 1, "first_run_id": "r_7", "last_run_id": "r_7", "reason": "exhausted",
    }  # fmt: skip


def test_an_import_says_why(sexton: Sexton, server: Server) -> None:
    sexton("import", "-", "--reason", "from cron", stdin='{"name": "a", "schedule": "@daily"}\n')
    [entry] = written(server)
    assert (entry["action"], entry["reason"], entry["face"]) == ("job.created", "from cron", "cli")


@pytest.mark.parametrize(
    ("words", "action"),
    [
        (("secret", "set", "crm", "--anywhere"), "secret.set"),
        (("secret", "delete", "there", "--yes"), "secret.deleted"),
        (("secret", "rotate", "--yes"), "webhook_secret.rotated"),
        (("secret", "rekey", "--yes", "--to", "{}/key"), "secrets.rekeyed"),
        (("reshard", "7"), "shards.changed"),
    ],
)
def test_what_a_command_changes_in_the_database_itself(
    sexton: Sexton,
    server: Server,
    tmp_path: Path,
    words: tuple[str, ...],
    action: str,
    request: pytest.FixtureRequest,
) -> None:
    if words[0] == "reshard":
        words = (*words, "--database-url", request.getfixturevalue("own_database_url"))
        with Server(words[-1]) as own:
            _check(sexton, own, words, action)
        return
    sexton("secret", "set", "there", "--host", "crm.example.com", stdin="s3cret-value")
    _check(sexton, server, tuple(word.format(tmp_path) for word in words), action)


def _check(sexton: Sexton, server: Server, words: tuple[str, ...], action: str) -> None:
    store = Store(server.database)
    before, told = server.run(tables(store)), len(written(server))
    done = sexton(*words, "--reason", "by hand", stdin="s3cret-value")
    assert done.code == 0, done.err
    assert server.run(tables(store)) != before
    [entry] = written(server)[told:]
    assert (entry["action"], entry["face"], entry["reason"]) == (action, "cli", "by hand")
    assert entry["actor"] == f"user:{own_name()}"
    assert "s3cret-value" not in str(entry)


def test_changes_are_listed_with_what_differs(sexton: Sexton) -> None:
    assert "No changes" in sexton("audit", "list").out
    add(sexton)
    sexton("jobs", "edit", "nightly", "--set", "max_retries=9", "--reason", "flaky")
    shown = sexton("audit", "list").out
    assert "job.edited" in shown
    assert "max_retries: 3 → 9; revision: 2; because: flaky" in " ".join(shown.split())
    assert sexton("audit", "list", "--action", "job.created", "--json").json()[0]["object_name"] == "nightly"
    cut = sexton("audit", "list", "--limit", "1")
    assert "There are more than these 1" in cut.err
    assert sexton("audit", "list", "--since", "+1h").out == "No changes.\n"


def test_an_export_is_verified_from_its_file(sexton: Sexton, server: Server, tmp_path: Path) -> None:
    add(sexton)
    sexton("jobs", "pause", "nightly")
    seal_all(server)
    out = sexton("audit", "export", "--every").out
    assert [json.loads(line)["action"] for line in out.splitlines()] == ["job.created", "job.paused"]
    file = tmp_path / "audit.jsonl"
    file.write_text(out)
    good = sexton("audit", "verify", "--file", str(file))
    assert (good.code, good.out.splitlines()[0]) == (0, "2 rows from 1 to 2 are sound")
    head = good.out.split()[-1]
    assert sexton("audit", "verify", "--head", head).code == 0
    nowhere = sexton("audit", "verify", "--file", str(tmp_path / "nowhere"))
    assert (nowhere.code, "cannot be read" in nowhere.err) == (2, True)
    file.write_text(out.replace("nightly", "mightly"))
    bad = sexton("audit", "verify", "--file", str(file), "--json")
    assert (bad.code, bad.json()["sound"]) == (1, False)
    assert sexton("audit", "export", "--format", "csv").out.startswith("entry_id,sequence,at,")


def test_tampering_is_told_with_its_row(sexton: Sexton, server: Server) -> None:
    add(sexton)
    for _ in range(3):
        sexton("jobs", "run", "nightly")
    seal_all(server)
    good = sexton("audit", "verify")
    assert (good.code, good.out.splitlines()[0]) == (0, "4 rows from 1 to 4 are sound")
    server.run(Store(server.database).execute("update sexton.audit set actor = 'x' where sequence = 3"))
    bad = sexton("audit", "verify")
    assert bad.code == 1
    assert "row 3: job.run of " in bad.err
    assert "the audit was changed" in bad.out
    found = sexton("audit", "verify", "--json").json()
    assert (found["sound"], found["fault_count"], found["faults"][0]["sequence"]) == (False, 1, 3)
    refused = sexton("audit", "verify", "--head", "nonsense")
    assert refused.code == 2
    assert "NUMBER:HASH" in refused.err


def test_what_no_scheduler_seals_is_told(sexton: Sexton, server: Server) -> None:
    add(sexton)
    store = Store(server.database)
    server.run(store.execute("update sexton.audit_pending set at = at - interval '2 minutes'"))
    found = sexton("audit", "verify")
    assert found.code == 1
    assert "1 are not sealed" in found.err
    assert "does a scheduler run?" in found.err
