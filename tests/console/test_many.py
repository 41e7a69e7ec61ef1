"""Campaigns, recipients, templates and content are changed together after a count; what was cancelled comes
back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)
WHEN = "2099-03-14T09:00:00Z"


def choose(page: Page, action: str) -> Any:
    """Select all rows that are loaded, and begin an action; the question."""
    page.get_by_role("checkbox", name="Select all rows that are loaded").check()
    page.get_by_role("region", name="Selection").get_by_role("button", name=action, exact=True).click()
    return page.get_by_role("dialog")


def plan(server: Server, kind: str, number: int) -> dict[str, Any]:
    wish = {"entity_type": kind, "entity_id": str(number), "action": "publish", "created_by": "ann"}
    made: dict[str, Any] = ask(server, "POST", "/content/schedules", {**wish, "at": WHEN})
    return made


def test_campaigns_are_paused_together_and_go_on_by_undo(visit: Visit, server: Server) -> None:
    ask(server, "PUT", "/templates/hello", {"email": {"subject": "Hello", "text": "Hello"}})
    for name in ("spring one", "spring two", "autumn"):
        wish = {"name": name, "template_id": "hello", "audience": {"everyone": True}, "send_at": WHEN}
        ask(server, "POST", "/campaigns", {**wish, "channel": "email", "draft": name == "autumn"})
    page = visit.open("/notifications/campaigns")
    dialog = choose(page, "Pause")
    expect(dialog.get_by_text("2 campaigns", exact=True)).to_be_visible()
    expect(dialog.get_by_text("Among them: spring two, spring one")).to_be_visible()
    dialog.get_by_role("button", name="Pause · 2 campaigns").click()
    expect(page.get_by_text("2 were changed")).to_be_visible()
    statuses = {each["name"]: each["status"] for each in ask(server, "GET", "/campaigns")}
    assert statuses == {"spring one": "paused", "spring two": "paused", "autumn": "draft"}
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was")).to_be_visible()
    assert [each["status"] for each in ask(server, "GET", "/campaigns?search=spring")] == ["scheduled"] * 2


def test_recipients_are_erased_only_with_a_reason_and_their_number(visit: Visit, server: Server) -> None:
    for number in range(3):
        ask(server, "PUT", f"/recipients/test-{number}", {"email": f"test-{number}@example.org"})
    ask(server, "PUT", "/recipients/ann", {"email": "ann@example.org"})
    page = visit.open("/notifications/recipients?search=test-")
    expect(page.get_by_role("link", name="test-2")).to_be_visible()
    dialog = choose(page, "Erase")
    button = dialog.get_by_role("button", name="Erase · 3 recipients")
    expect(dialog.get_by_text("This cannot be undone.")).to_be_visible()
    # What was typed for a question that was put aside does not stand in the next one.
    dialog.get_by_role("textbox", name="Reason").fill("another reason")
    dialog.get_by_role("textbox", name="Type 3 to go on").fill("3")
    dialog.get_by_role("button", name="Keep it as it is").click()
    expect(dialog).to_be_hidden()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Erase", exact=True).click()
    expect(dialog.get_by_role("textbox", name="Reason")).to_have_value("")
    expect(dialog.get_by_role("textbox", name="Type 3 to go on")).to_have_value("")
    expect(button).to_be_disabled()
    dialog.get_by_role("textbox", name="Reason").fill("the test is over")
    expect(button).to_be_disabled()
    dialog.get_by_role("textbox", name="Type 3 to go on").fill("2")
    expect(button).to_be_disabled()
    dialog.get_by_role("textbox", name="Type 3 to go on").fill("3")
    button.click()
    expect(page.get_by_text("3 recipients were erased")).to_be_visible()
    assert [each["user_id"] for each in ask(server, "GET", "/recipients")] == ["ann"]
    visit.open("/notifications/recipients/ann").get_by_role("button", name="Erase").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Reason").fill("she asked for it")
    dialog.get_by_role("textbox", name="Type ann to go on").fill("ann")
    dialog.get_by_role("button", name="Erase", exact=True).click()
    expect(page.get_by_text("No recipients yet")).to_be_visible()
    assert ask(server, "GET", "/recipients") == []


def test_recipients_are_suppressed_and_get_messages_again_by_undo(visit: Visit, server: Server) -> None:
    for number in range(2):
        ask(server, "PUT", f"/recipients/test-{number}", {"email": f"test-{number}@example.org"})
    page = visit.open("/notifications/recipients?search=test-")
    expect(page.get_by_role("link", name="test-1")).to_be_visible()
    dialog = choose(page, "Suppress")
    dialog.get_by_role("textbox", name="Reason").fill("asked by phone")
    dialog.get_by_role("button", name="Suppress · 2 recipients").click()
    expect(page.get_by_text("2 recipients were suppressed")).to_be_visible()
    expect(page.get_by_role("row").get_by_text("suppressed", exact=True)).to_have_count(2)
    reasons = {each["suppressed_reason"] for each in ask(server, "GET", "/recipients")}
    assert reasons == {"asked by phone"}
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was")).to_be_visible()
    assert {each["suppressed_at"] for each in ask(server, "GET", "/recipients")} == {None}
    page = visit.open("/notifications/recipients/test-0")
    page.get_by_role("button", name="Suppress", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Reason").fill("moved away")
    dialog.get_by_role("button", name="Suppress · 1 recipient").click()
    expect(page.get_by_text("Nothing is sent to this recipient")).to_be_visible()
    expect(page.get_by_text("moved away")).to_be_visible()
    page.get_by_role("button", name="Unsuppress", exact=True).click()
    dialog.get_by_role("button", name="Unsuppress · 1 recipient").click()
    expect(page.get_by_role("button", name="Suppress", exact=True)).to_be_visible()


def test_planned_actions_are_moved_and_cancelled_together(visit: Visit, server: Server) -> None:
    made = [plan(server, "banner", number) for number in range(2)]
    plan(server, "post", 1)
    release = {"items": [{"entity_type": "banner", "entity_id": "9", "action": "publish"}], "at": WHEN}
    ask(server, "POST", "/content/releases", {**release, "created_by": "ann"})
    page = visit.open("/content/planned?status=pending&entity_type=banner")
    expect(page.get_by_role("link", name="banner/1")).to_be_visible()
    dialog = choose(page, "Move")
    expect(dialog.get_by_text("2 actions", exact=True)).to_be_visible()
    dialog.get_by_role("textbox", name="Days later").fill("3")
    dialog.get_by_role("button", name="Move · 2 actions").click()
    # The item of the release was selected, too, and stays where it is.
    expect(page.get_by_text("2 were changed · 1 was refused: c_")).to_be_visible()
    path = f"/content/schedules/{made[0]['schedule_id']}"
    assert ask(server, "GET", path)["scheduled_at_utc"] == "2099-03-17T09:00:00Z"
    visit.open("/content/planned?status=pending&entity_type=banner&sort=-scheduled_at")
    expect(page.get_by_role("link", name="banner/1")).to_be_visible()
    dialog = choose(page, "Cancel")
    dialog.get_by_role("textbox", name="Reason").fill("a wrong price")
    dialog.get_by_role("button", name="Cancel · 2 actions").click()
    expect(page.get_by_text("2 were changed")).to_be_visible()
    assert ask(server, "GET", path)["status"] == "cancelled"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was")).to_be_visible()
    assert ask(server, "GET", path)["status"] == "pending"


def test_one_that_was_cancelled_is_restored_from_its_page(visit: Visit, server: Server) -> None:
    ref = plan(server, "post", 42)["schedule_id"]
    page = visit.open(f"/content/schedules/{ref}")
    page.get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("This cannot be undone.")).to_have_count(0)
    dialog.get_by_role("textbox", name="Reason").fill("a wrong date")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("post/42 is cancelled")).to_be_visible()
    visit.open(f"/content/schedules/{ref}")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("post/42 goes out at its time again")).to_be_visible()
    assert ask(server, "GET", f"/content/schedules/{ref}")["status"] == "pending"


def test_templates_and_messages_come_back_by_undo(visit: Visit, server: Server) -> None:
    for name in ("old-one", "old-two"):
        ask(server, "PUT", f"/templates/{name}", {"email": {"subject": "Hello", "text": "Hello"}})
    wish = {"address": "ann@example.org", "channel": "email", "template_id": "old-one", "send_at": WHEN}
    message = ask(server, "POST", "/notifications", wish)["notification_id"]
    page = visit.open("/notifications/templates")
    expect(page.get_by_role("link", name="old-two")).to_be_visible()
    dialog = choose(page, "Delete")
    dialog.get_by_role("textbox", name="Reason").fill("by mistake")
    dialog.get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.get_by_text("No templates yet")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="old-two")).to_be_visible()
    visit.open("/notifications/messages")
    dialog = choose(page, "Cancel")
    dialog.get_by_role("textbox", name="Reason").fill("by mistake")
    dialog.get_by_role("button", name="Cancel · 1 message").click()
    expect(page.get_by_text("1 message was cancelled")).to_be_visible()
    assert ask(server, "GET", f"/notifications/{message}")["status"] == "cancelled"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was")).to_be_visible()
    assert ask(server, "GET", f"/notifications/{message}")["status"] == "pending"


def test_nodes_and_shards_are_found_and_sorted(visit: Visit, server: Server) -> None:
    page = visit.open("/cluster")
    nodes = page.get_by_role("region", name="Nodes", exact=True)
    expect(nodes.get_by_text("scheduler")).to_be_visible()
    nodes.get_by_role("textbox", name="Name, role or version").fill("worker")
    expect(nodes.get_by_text("scheduler")).to_have_count(0)
    expect(page).to_have_url(re.compile("node=worker"))
    nodes.get_by_role("textbox", name="Name, role or version").fill("none is called so")
    expect(nodes.get_by_text("Nothing matches these filters.")).to_be_visible()
    shards = page.get_by_role("region", name="Shards", exact=True)
    first = shards.locator("tbody tr[data-index], tbody tr").first
    shards.get_by_role("button", name="Shard", exact=True).click()
    shards.get_by_role("button", name="Shard", exact=True).click()
    expect(page).to_have_url(re.compile("shards=-shard"))
    expect(first).not_to_contain_text(re.compile("^0"))
