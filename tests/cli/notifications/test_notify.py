"""`sexton notify`, `recipients`, `templates`, `campaigns` and what belongs to them, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.server import Server

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

NINE = "2099-03-13 09:00"
PEOPLE = """user_id,email,timezone,field.plan
ann,ann@example.org,Europe/Berlin,pro
bob,bob@example.org,America/New_York,pro
eve,eve@example.org,Asia/Tokyo,free
"""


@pytest.fixture
def sending(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """With a scheduler and a worker."""
    with Server(database_url, ("scheduler", "worker")) as running:
        monkeypatch.setenv("SEXTON_URL", running.url)
        yield running


@pytest.fixture
def people(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    return file


def texts(sexton: Sexton, name: str = "hello") -> None:
    made = sexton("templates", "put", name, "--subject", "Hello", "--text", "Hello {{ recipient.user_id }}")
    assert made.code == 0, made.err


def test_recipients_are_imported_shown_exported_and_erased(
    server: Server, sexton: Sexton, people: Path
) -> None:
    assert sexton("recipients", "import", str(people)).out == "3 recipients made, 0 changed\n"
    again = sexton("recipients", "import", str(people), "--json").json()
    assert (again["created"], again["changed"], again["errors"]) == (0, 3, [])
    assert "Europe/Berlin" in sexton("recipients", "show", "ann").out
    people.write_text(PEOPLE + "kim,nothing,UTC,\n")
    wrong = sexton("recipients", "import", str(people))
    assert wrong.code == 1
    assert "line 5: 'nothing' is not an e-mail address (such as ann@example.org)" in wrong.err
    texts(sexton)
    sent = sexton("notify", "send", "hello", "--to", "ann", "--at", NINE, "--json").json()
    known = sexton("recipients", "export", "ann").json()
    assert [each["notification_id"] for each in known["notifications"]] == [sent["notification_id"]]
    refused = sexton("recipients", "erase", "ann")
    assert (refused.code, "add --yes" in refused.err) == (2, True)
    erased = sexton("recipients", "erase", "ann", "--yes", "--json", "--reason", "she asked for it").json()
    assert (erased["rows"]["recipients"], erased["rows"]["messages"]) == (1, 1)
    assert sexton("recipients", "show", "ann").code == 1
    assert sexton("notify", "show", sent["notification_id"]).code == 1
    [entry] = sexton("audit", "list", "--action", "recipient.erased", "--json").json()
    assert (entry["object_id"], entry["reason"]) == ("ann", "she asked for it")


def test_a_message_is_scheduled_moved_explained_and_cancelled(
    server: Server, sexton: Sexton, people: Path
) -> None:
    sexton("recipients", "import", str(people))
    texts(sexton)
    made = sexton("notify", "send", "hello", "--to", "bob", "--at", NINE, "--json").json()
    number = made["notification_id"]
    assert made["send_at_utc"] == "2099-03-13T13:00:00Z"
    assert number in sexton("notify", "list", "--to", "bob", "--status", "pending").out
    moved = sexton("notify", "reschedule", number, "2099-03-14 09:00", "--json").json()
    assert moved["send_at_utc"] == "2099-03-14T13:00:00Z"
    assert sexton("notify", "cancel", number, "--reason", "she is ill").code == 0
    told = sexton("notify", "why", number).out
    assert "rescheduled by" in told
    assert "she is ill" in told
    assert "is already cancelled" in sexton("notify", "cancel", number).err
    for verb in ("resend", "confirm"):
        refused = sexton("notify", verb, number, "--json")
        assert (refused.code, refused.json()["error"]["code"]) == (1, "not_in_doubt")


def test_templates(server: Server, sexton: Sexton) -> None:
    assert "No templates" in sexton("templates", "list").out
    texts(sexton)
    texts(sexton)
    assert "hello, version 2 of 2" in sexton("templates", "show", "hello").out
    versions = sexton("templates", "versions", "hello", "--json").json()
    assert [each["version"] for each in versions] == [2, 1]
    shown = sexton("templates", "preview", "hello").out
    assert "text: Hello sample" in shown
    assert sexton("templates", "put", "bad", "--subject", "x", "--text", "{% if %}").code == 2
    sent = sexton("templates", "test", "hello", "--channel", "email", "--address", "ann@example.org")
    assert (sent.code, "is sent" in sent.out) == (0, True)
    assert sexton("templates", "delete", "hello").out == "hello is deleted\n"
    assert sexton("templates", "show", "hello", "--json").json()["deleted_at"] is not None


def test_a_campaign_is_made_checked_started_and_watched(
    sending: Server, sexton: Sexton, people: Path
) -> None:
    assert "No campaigns" in sexton("campaigns", "list").out
    sexton("recipients", "import", str(people))
    texts(sexton)
    assert sexton("providers", "set", "nowhere", "--channel", "email", "--kind", "null").code == 0
    segment = sexton("segments", "put", "pro", '{"field": "plan", "is": "pro"}', "--json").json()
    assert segment["recipients"] == 2
    given = ("--name", "spring", "--template-id", "hello", "--segment", "pro")
    made = sexton("campaigns", "create", *given, "--local-time", "2099-03-14 08:00", "--json").json()
    number = made["campaign_id"]
    checked = sexton("campaigns", "check", number).out
    assert "Europe/Berlin     2099-03-14 07:00:00Z  1" in checked
    assert sexton("campaigns", "check", number, "--json").json()["recipients"] == 2
    paused = sexton("campaigns", "pause", number, "--reason", "a wrong price")
    assert "status    paused: a wrong price" in paused.out
    watched = sexton("campaigns", "status", number, "--watch")
    assert (watched.code, "paused" in watched.out) == (1, True)
    assert sexton("campaigns", "resume", number, "--json").json()["status"] == "scheduled"
    assert sexton("campaigns", "start", number, "--now").code == 0
    watched = sexton("campaigns", "status", number, "--watch")
    assert watched.code == 0, watched.out
    assert "] " + " 2 of 2  100 %  done" in watched.out
    assert "sent      2" in watched.out
    lines = sexton("campaigns", "status", number, "--watch", "--json").lines()
    assert lines[-1]["counts"]["sent"] == 2
    assert number in sexton("campaigns", "list", "--status", "done").out
    for verb in ("resend", "confirm"):
        assert sexton("campaigns", verb, number, "--json").json()["counts"]["unconfirmed"] == 0
    over = sexton("campaigns", "cancel", number, "--json")
    assert (over.code, over.json()["error"]["code"]) == (1, "campaign_done")


def test_a_campaign_to_an_uploaded_list_is_cancelled(
    server: Server, sexton: Sexton, people: Path, tmp_path: Path
) -> None:
    sexton("recipients", "import", str(people))
    texts(sexton)
    (tmp_path / "guests.jsonl").write_text(
        '{"user_id": "ann", "vars": {"seat": "12A"}}\n{"user_id": "eve"}\n'
    )
    shown = sexton("audiences", "upload", "guests", str(tmp_path / "guests.jsonl"), "--json").json()
    assert shown["size"] == 2
    assert "guests" in sexton("audiences", "list").out
    given = ("--name", "party", "--template-id", "hello", "--list", "guests", "--window", "09:00-20:00")
    made = sexton("campaigns", "create", *given, "--json").json()
    assert (made["status"], made["window"]) == ("draft", {"start": "09:00", "end": "20:00"})
    assert sexton("campaigns", "cancel", made["campaign_id"], "--json").json()["status"] == "cancelled"
    assert sexton("audiences", "delete", "guests").out == "guests is deleted\n"
    assert sexton("audiences", "show", "guests").code == 1
    assert sexton("campaigns", "create", *given).code == 1


def test_what_recurs(server: Server, sexton: Sexton, people: Path) -> None:
    sexton("recipients", "import", str(people))
    texts(sexton)
    given = ("--to", "ann", "--template", "hello", "--rule", "0 9 * * mon")
    made = sexton("notify", "add-schedule", *given, "--json").json()
    number = made["schedule_id"]
    assert (made["timezone"], made["follows_recipient"]) == ("Europe/Berlin", True)
    assert "Europe/Berlin" in sexton("notify", "schedules", "--to", "ann").out
    changed = sexton("notify", "change-schedule", number, "--rule", "0 10 * * tue", "--var", "a=b", "--json")
    assert changed.json()["recurrence_rule"] == "0 10 * * tue"
    assert changed.json()["template_vars"] == {"a": "b"}
    assert "paused" in sexton("notify", "pause-schedule", number).out
    assert "active" in sexton("notify", "resume-schedule", number).out
    assert "that of the recipient" in sexton("notify", "show-schedule", number).out
    assert sexton("notify", "add-schedule", *given[:-1], "never").code == 2
    # When she is erased, so is what recurs for her, with its job.
    assert sexton("recipients", "erase", "ann", "--yes").code == 0
    assert "No notifications recur" in sexton("notify", "schedules").out
    assert sexton("jobs", "show", made["job_id"], "--json").json()["status"] == "deleted"
    other = sexton("notify", "add-schedule", "--to", "bob", *given[2:], "--json").json()["schedule_id"]
    assert sexton("notify", "delete-schedule", other).out == f"{other} is deleted\n"


def test_digests(server: Server, sexton: Sexton, people: Path) -> None:
    sexton("recipients", "import", str(people))
    texts(sexton)
    assert "No digests" in sexton("digests", "list").out
    given = ("--template", "hello", "--schedule", "0 9 * * mon")
    assert sexton("digests", "put", "week", *given, "--json").json()["is_active"] is True
    first = sexton(
        "digests", "add", "week", "ann", "--field", "text=one", "--event-id", "c-1", "--json"
    ).json()
    again = sexton("digests", "add", "week", "ann", "--data", '{"text": "one"}', "--event-id", "c-1")
    assert f"c-1 is in {first['notification_id']}" in again.out
    assert sexton("digests", "add", "week", "ann", "--data", "[1]").code == 2
    assert "week" in sexton("digests", "list").out
    assert "0 9 * * mon" in sexton("digests", "show", "week").out
    assert sexton("digests", "put", "week", *given, "--inactive", "--json").json()["is_active"] is False
    refused = sexton("digests", "add", "week", "ann", "--field", "text=two", "--json")
    assert refused.json()["error"]["code"] == "digest_inactive"
    assert sexton("digests", "delete", "week").out == "week is deleted\n"


def test_sequences(server: Server, sexton: Sexton, people: Path, tmp_path: Path) -> None:
    sexton("recipients", "import", str(people))
    texts(sexton)
    steps = [
        {"template_id": "hello", "channel": "email", "after_seconds": 3600},
        {"template_id": "hello", "channel": "email", "day": 3, "at": "09:00"},
    ]
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    put = sexton("sequences", "put", "drip", f"@{tmp_path / 'steps.json'}", "--stop-on", "bought")
    assert "2     day 3 at 09:00  hello     email" in put.out
    entered = sexton("sequences", "enter", "drip", "ann", "--json").json()
    assert [each["status"] for each in entered["steps"]] == ["pending", "pending"]
    assert sexton("sequences", "enter", "drip", "ann").code == 1
    assert sexton("sequences", "event", "ann", "bought").out == "stopped: drip\n"
    assert "cancelled" in sexton("sequences", "member", "drip", "ann").out
    sexton("sequences", "enter", "drip", "bob")
    assert sexton("sequences", "leave", "drip", "bob", "--json").json()["stopped_at"] is not None
    assert "bought" in sexton("sequences", "list").out
    assert "after 3,600 s" in sexton("sequences", "show", "drip").out
    assert sexton("sequences", "delete", "drip").out == "drip is deleted\n"


def test_many_messages_are_cancelled_after_a_count_and_a_word(
    server: Server, sexton: Sexton, people: Path
) -> None:
    sexton("recipients", "import", str(people))
    texts(sexton)
    texts(sexton, "other")
    for to, template in (("ann", "hello"), ("bob", "hello"), ("eve", "other")):
        assert sexton("notify", "send", template, "--to", to, "--at", NINE).code == 0
    counted = sexton("notify", "cancel", "--template", "hello", "--dry-run")
    assert counted.code == 0
    assert "2 messages would be cancelled" in counted.out
    assert "bob" in counted.out
    asked = sexton("notify", "cancel", "--template", "hello")
    assert (asked.code, "Cancel 2 messages (" in asked.err) == (2, True)
    done = sexton("notify", "cancel", "--template", "hello", "--reason", "a wrong date", "--yes")
    assert (done.code, done.out) == (0, "2 messages cancelled\n")
    assert sexton("notify", "cancel", "--all", "--yes", "--json").json()["done"] == 1
    assert sexton("notify", "cancel", "--to", "ann", "--yes").out == "No such messages.\n"
    listed = sexton("notify", "list", "--status", "cancelled", "--sort", "created_at", "--json").json()
    assert [each["user_id"] for each in listed] == ["ann", "bob", "eve"]
    [entry, *_] = sexton("audit", "list", "--action", "notification.cancelled", "--json").json()[::-1]
    assert entry["reason"] == "a wrong date"
    nothing = sexton("notify", "cancel")
    assert (nothing.code, "neither a message nor a filter is given" in nothing.err) == (2, True)
    assert sexton("notify", "cancel", listed[0]["notification_id"]).code != 0
