"""What every list promises: what matches can be saved, and what cannot be undone is told before."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from sexton.cli.client import Client
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)


def test_a_list_that_the_server_does_not_export_is_saved_as_csv(visit: Visit, server: Server) -> None:
    for name in ("ann", "bob"):
        ask(server, "PUT", f"/recipients/{name}", {"email": f"{name}@example.com"})
    page = visit.open("/notifications/recipients")
    expect(page.get_by_text("bob").first).to_be_visible()
    page.get_by_role("button", name="Export what matches").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="CSV").click()
    head, *lines = Path(download.value.path()).read_text("utf-8").splitlines()
    assert "user_id" in head.split(",")
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("format_", "read"), [("CSV", str.splitlines), ("JSON", json.loads), ("JSON lines", str.splitlines)]
)
def test_a_list_that_the_server_exports_is_saved_in_every_form(
    visit: Visit, server: Server, format_: str, read: Callable[[str], list[Any]]
) -> None:
    for name in ("one", "two"):
        ask(server, "POST", "/jobs", {"name": name, "schedule": "every 1h", "target": {"handler": "work"}})
    page = visit.open("/jobs?sort=name")
    expect(page.get_by_text("two").first).to_be_visible()
    page.get_by_role("button", name="Export what matches").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=format_, exact=True).click()
    found = read(Path(download.value.path()).read_text("utf-8"))
    assert len(found) == (3 if format_ == "CSV" else 2)


def test_the_audit_is_read_from_either_end_and_counted(visit: Visit, server: Server) -> None:
    for name in ("one", "two"):
        ask(server, "POST", "/jobs", {"name": name, "schedule": "every 1h", "target": {"handler": "work"}})
    page = visit.open("/settings?tab=audit")
    rows = page.get_by_role("group", name="Audit").get_by_role("row")
    expect(rows.nth(1)).to_contain_text("two")
    page.get_by_role("button", name="When").click()
    expect(page).to_have_url(re.compile(r"[?&]sort=at\b"))
    expect(rows.nth(1)).not_to_contain_text("two")


def test_planned_actions_say_how_many_there_are(visit: Visit, server: Server) -> None:
    headers = {"Content-Type": "application/x-ndjson"}
    plan = {"entity_type": "post", "action": "publish", "at": "2099-01-01T09:00:00Z"}
    lines = "".join(json.dumps({**plan, "entity_id": str(number)}) + "\n" for number in range(130))
    with Client(server.url) as client:
        client.request("POST", "/content/schedules/bulk", lines.encode(), headers=headers)
    page = visit.open("/content/planned?status=pending")
    expect(page.get_by_text("100 of 130")).to_be_visible()


def test_a_revoked_key_is_told_to_be_gone_for_good(visit: Visit, server: Server) -> None:
    spec = {"name": "reader", "role": "viewer", "namespace": "default"}
    ask(server, "POST", "/keys", spec)
    page = visit.open("/settings?tab=keys")
    page.get_by_role("button", name=re.compile("^Revoke")).first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("This cannot be undone.")).to_be_visible()
    expect(dialog.get_by_role("button", name="Revoke", exact=True)).to_be_disabled()


def schedule(server: Server, *names: str) -> list[str]:
    """A message to each, far from now."""
    ask(server, "PUT", "/templates/hello", {"email": {"subject": "Hello", "text": "Hello"}})
    made = []
    for name in names:
        ask(server, "PUT", f"/recipients/{name}", {"email": f"{name}@example.com"})
        wish = {
            "user_id": name,
            "channel": "email",
            "template_id": "hello",
            "send_at": "2099-01-01T00:00:00Z",
        }
        made.append(ask(server, "POST", "/notifications", wish)["notification_id"])
    return made


def test_messages_are_sorted_and_cancelled_after_a_count(visit: Visit, server: Server) -> None:
    ann, bob, eve = schedule(server, "ann", "bob", "eve")
    page = visit.open("/notifications/messages")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(page.get_by_text("3", exact=True)).to_be_visible()
    expect(rows.first).to_contain_text(eve)
    page.get_by_role("button", name="Message", exact=True).click()
    expect(rows.first).to_contain_text(ann)
    assert "sort=created_at" in page.url
    expect(page.get_by_role("columnheader", name="Message")).to_have_attribute("aria-sort", "ascending")
    for number in (0, 1):
        page.get_by_label("Select this row").nth(number).check()
    expect(page.get_by_role("region", name="Selection")).to_contain_text("2 selected")
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("2 messages", exact=True)).to_be_visible()
    expect(dialog.get_by_text("hello → ann, hello → bob")).to_be_visible()
    done = dialog.get_by_role("button", name="Cancel · 2 messages")
    expect(done).to_be_disabled()
    dialog.get_by_role("textbox", name="Reason").fill("a wrong date")
    done.click()
    expect(page.get_by_text("2 messages were cancelled")).to_be_visible()
    expect(rows.get_by_text("cancelled", exact=True)).to_have_count(2)
    found = {each["notification_id"]: each["status"] for each in ask(server, "GET", "/notifications")}
    assert found == {ann: "cancelled", bob: "cancelled", eve: "pending"}


def test_what_matches_a_filter_is_cancelled_though_it_is_not_loaded(visit: Visit, server: Server) -> None:
    messages = [
        {
            "address": "ann@example.com",
            "channel": "email",
            "template_id": "hello" if number % 3 else "other",
            "send_at": "2099-01-01T00:00:00Z",
        }
        for number in range(330)
    ]
    for name in ("hello", "other"):
        ask(server, "PUT", f"/templates/{name}", {"email": {"subject": "Hello", "text": "Hello"}})
    with Client(server.url) as client:
        client.request("POST", "/notifications/bulk", "\n".join(map(json.dumps, messages)).encode())
    page = visit.open("/notifications/messages?template_id=hello")
    expect(page.get_by_text("100 of 220")).to_be_visible()
    page.get_by_label("Select all rows that are loaded").check()
    page.get_by_role("button", name="Select all 220 that match").click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Reason").fill("a wrong date")
    dialog.get_by_role("button", name="Cancel · 220 messages").click()
    expect(page.get_by_text("220 messages were cancelled")).to_be_visible()
    left = ask(server, "GET", "/notifications?status=pending&limit=500")
    assert {each["template_id"] for each in left} == {"other"}
    assert len(left) == 110


def test_a_list_that_arrives_whole_is_filtered_sorted_and_acted_on(visit: Visit, server: Server) -> None:
    for name in ("mail", "maps", "reports"):
        ask(server, "PUT", f"/queues/{name}", {})
    page = visit.open("/queues?queue=ma&sort=-name")
    queues = page.get_by_role("region", name="Queues").locator("tbody tr")
    expect(queues).to_have_count(2)
    expect(queues.first).to_contain_text("maps")
    expect(page.get_by_text("2 of ")).to_be_visible()
    page.get_by_role("button", name="Queue", exact=True).click()
    expect(queues.first).to_contain_text("mail")
    page.get_by_role("region", name="Queues").get_by_label("Select all rows that are loaded").check()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("2 queues: mail, maps")).to_be_visible()
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("2 queues are paused")).to_be_visible()
    expect(queues.get_by_text("paused", exact=True)).to_have_count(2)
    page.get_by_role("button", name="Undo").click()
    expect(queues.get_by_text("active", exact=True)).to_have_count(2)
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(queues).not_to_have_count(2)


def test_where_columns_have_no_room_a_row_is_unfolded(visit: Visit, server: Server) -> None:
    page = visit.open("/queues")
    workers = page.get_by_role("region", name="Workers")
    expect(workers.get_by_role("columnheader", name="Handlers")).to_be_visible()
    expect(workers.get_by_role("button", name="More")).to_have_count(0)
    page.set_viewport_size({"width": 360, "height": 740})
    expect(workers.get_by_role("columnheader", name="Handlers")).to_have_count(0)
    workers.get_by_role("button", name="More").click()
    expect(workers.get_by_text("sexton.log")).to_be_visible()
    expect(workers.get_by_role("term").filter(has_text="Version")).to_be_visible()
    workers.get_by_role("button", name="Less").click()
    expect(workers.get_by_text("sexton.log")).to_have_count(0)
