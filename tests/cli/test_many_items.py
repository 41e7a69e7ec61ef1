"""Acting on many campaigns, templates, recipients, planned actions and releases from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from sexton.cli import many
from sexton.cli.client import Client
from sexton.errors import Unavailable
from tests.cli.server import Server

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

WHEN = "2099-03-14T09:00:00Z"


@pytest.fixture
def client(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Of a server with three campaigns, two templates, two recipients, three banners and two releases."""
    with Server(database_url) as running, Client(running.url) as client:
        monkeypatch.setenv("SEXTON_URL", running.url)
        for name in ("old-one", "old-two"):
            client.put(f"/templates/{name}", {"email": {"subject": "Hello", "text": "Hello"}})
        for name in ("test-1", "test-2"):
            client.put(f"/recipients/{name}", {"email": f"{name}@example.org"})
        for name in ("spring one", "spring two", "autumn"):
            wish = {"name": name, "template_id": "old-one", "audience": {"everyone": True}, "send_at": WHEN}
            client.post("/campaigns", {**wish, "channel": "email"})
        for number in range(3):
            client.post("/content/schedules", action("banner", number))
        for note in ("spring", "autumn"):
            items = [{"entity_type": "post", "entity_id": note, "action": "publish"}]
            client.post("/content/releases", {"items": items, "at": WHEN, "created_by": "ann", "note": note})
        yield client


def action(kind: str, number: int) -> dict[str, Any]:
    return {
        "entity_type": kind, "entity_id": str(number), "action": "publish", "created_by": "ann", "at": WHEN,
    }  # fmt: skip


def statuses(client: Client, path: str, name: str = "status", **filters: Any) -> list[str]:
    return [each[name] for each in client.pages(path, **filters)]


def test_campaigns_are_paused_after_a_count_and_a_word(sexton: Sexton, client: Client) -> None:
    asked = sexton("campaigns", "pause", "--search", "spring")
    assert (asked.code, asked.out) == (2, "")
    assert "Pause 2 campaigns (spring two, spring one)?" in asked.err
    shown = sexton("campaigns", "pause", "--search", "spring", "--dry-run")
    assert shown.out.splitlines()[-1] == "2 campaigns would be paused"
    done = sexton("campaigns", "pause", "--search", "spring", "--reason", "a wrong price", "--yes")
    assert (done.code, done.out) == (0, "2 campaigns paused\n")
    paused = list(client.pages("/campaigns", status="paused"))
    assert {each["reason"] for each in paused} == {"a wrong price"}
    one = sexton("campaigns", "resume", paused[0]["campaign_id"])
    assert (one.code, one.out.count("scheduled")) == (0, 1)
    told = sexton("campaigns", "cancel", "--all", "--yes", "--json").json()
    assert (told["action"], told["done"], len(told["ids"])) == ("cancel", 3, 3)
    assert sexton("campaigns", "start", "--all", "--now", "--yes").code == 2


@pytest.mark.usefixtures("client")
def test_an_estimate_is_no_bound(sexton: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    wishes: list[dict[str, Any]] = []
    ask = many._ask

    def noted(*given: Any) -> Any:
        wishes.append(given[2])
        found = ask(*given)
        return msgspec.structs.replace(found, estimated=found.dry_run)

    monkeypatch.setattr(many, "_ask", noted)
    monkeypatch.setattr(many, "confirm", lambda *_: True)
    assert sexton("campaigns", "pause", "--search", "spring").out == "2 campaigns paused\n"
    assert [wish.get("expected") for wish in wishes] == [None, None]
    assert sexton("recipients", "suppress", "--search", "test-").code == 0
    assert wishes[-1]["expected"] == 2


def test_templates_are_deleted_and_one_is_restored(sexton: Sexton, client: Client) -> None:
    assert sexton("templates", "delete", "--search", "old-", "--yes").out == "2 templates deleted\n"
    assert statuses(client, "/templates", "template_id") == []
    assert sexton("templates", "restore", "old-two").out == "1 template restored\n"
    assert statuses(client, "/templates", "template_id") == ["old-two"]
    assert sexton("templates", "delete", "old-two").out == "old-two is deleted\n"
    refused = sexton("templates", "restore", "never")
    assert (refused.code, "template_not_found" in refused.err) == (1, True)


def test_recipients_are_suppressed_and_unsuppressed(sexton: Sexton, client: Client) -> None:
    counted = sexton("recipients", "suppress", "--search", "test-", "--dry-run")
    assert counted.out.splitlines()[-1] == "2 recipients would be suppressed"
    done = sexton("recipients", "suppress", "--search", "test-", "--reason", "asked by phone", "--yes")
    assert (done.code, done.out) == (0, "2 recipients suppressed\n")
    assert statuses(client, "/recipients", "suppressed_reason") == ["asked by phone"] * 2
    assert "asked by phone" in sexton("recipients", "list").out
    assert sexton("recipients", "unsuppress", "test-1").out == "1 recipient unsuppressed\n"
    refused = sexton("recipients", "unsuppress", "test-1")
    assert (refused.code, "not_suppressed" in refused.err) == (1, True)
    assert sexton("recipients", "unsuppress", "--all", "--yes").out == "1 recipient unsuppressed\n"


def test_many_are_erased_only_with_a_reason(sexton: Sexton, client: Client) -> None:
    silent = sexton("recipients", "erase", "--search", "test-", "--yes")
    assert (silent.code, "Sexton-Reason" in silent.err) == (2, True)
    assert statuses(client, "/recipients", "user_id") == ["test-1", "test-2"]
    done = sexton("recipients", "erase", "--search", "test-", "--reason", "the test is over", "--yes")
    assert (done.code, done.out) == (0, "2 recipients erased\n")
    assert statuses(client, "/recipients", "user_id") == []


def test_planned_actions_are_cancelled_restored_and_moved(sexton: Sexton, client: Client) -> None:
    assert sexton("content", "move", "--type", "banner", "--days", "1", "--yes").out == "3 actions moved\n"
    times = set(statuses(client, "/content/schedules", "scheduled_at_utc", entity_type="banner"))
    assert times == {"2099-03-15T09:00:00Z"}
    assert sexton("content", "cancel", "--type", "banner", "--yes").out == "3 actions cancelled\n"
    [first, *_] = client.pages("/content/schedules", entity_type="banner")
    assert sexton("content", "restore", first["schedule_id"]).out == "1 action restored\n"
    assert sorted(statuses(client, "/content/schedules", entity_type="banner")) == [
        "cancelled", "cancelled", "pending",
    ]  # fmt: skip
    assert sexton("content", "move", first["schedule_id"], "--minutes", "-30").code == 0
    assert client.get(f"/content/schedules/{first['schedule_id']}")["scheduled_at_utc"] == (
        "2099-03-15T08:30:00Z"
    )


def test_releases_are_changed_together(sexton: Sexton, client: Client) -> None:
    done = sexton("content", "edit-releases", "move", "--search", "spring", "--days", "1", "--yes")
    assert (done.code, done.out) == (0, "1 release moved\n")
    assert statuses(client, "/content/releases", "scheduled_at_utc") == [WHEN, "2099-03-15T09:00:00Z"]
    assert sexton("content", "edit-releases", "cancel", "--all", "--yes").out == "2 releases cancelled\n"
    [ref, _] = statuses(client, "/content/releases", "release_id")
    assert sexton("content", "restore", ref).out == "1 release restored\n"
    assert sorted(statuses(client, "/content/releases")) == ["cancelled", "pending"]


def test_a_message_is_restored(sexton: Sexton, client: Client) -> None:
    wish = {"user_id": "test-1", "channel": "email", "template_id": "old-one", "send_at": WHEN}
    ref = client.post("/notifications", wish)["notification_id"]
    assert sexton("notify", "cancel", ref).code == 0
    assert sexton("notify", "restore", ref).out == "1 message restored\n"
    assert client.get(f"/notifications/{ref}")["status"] == "pending"


def test_an_interrupted_move_goes_on_from_where_it_stopped(
    sexton: Sexton, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To repeat it would move the first ones twice."""
    moved = {"ids": ["c_1"], "matched": 1, "done": 1, "cursor": "the-place"}
    request = Client.request

    def failing(self: Client, method: str, path: str, body: Any = None, **more: Any) -> Any:
        if method == "POST" and path.endswith("/actions") and not body.get("dry_run"):
            if body.get("after"):
                raise Unavailable("server_away", "the server is away", hint="start it")
            return moved, {}
        return request(self, method, path, body, **more)

    monkeypatch.setattr(Client, "request", failing)
    for command in (("move", "--type", "banner"), ("edit-releases", "move", "--all")):
        stopped = sexton("content", *command, "--days", "1", "--yes")
        assert stopped.code != 0
        assert "continue with --after the-place" in stopped.err
    monkeypatch.setattr(Client, "request", request)
    for _ in range(2):
        once = sexton("content", "move", "--type", "banner", "--days", "1", "--yes", "--idempotency-key", "k")
        assert (once.code, once.out) == (0, "3 actions moved\n")
    found = {each["scheduled_at_utc"] for each in client.pages("/content/schedules", entity_type="banner")}
    assert found == {"2099-03-15T09:00:00Z"}
