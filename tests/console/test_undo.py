"""What is deleted in the console can be taken back, from where it was done."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)


def test_a_deleted_job_is_restored_from_the_message_and_from_its_page(visit: Visit, server: Server) -> None:
    job = ask(server, "POST", "/jobs", {"name": "old", "schedule": "@daily"})
    ask(server, "POST", "/queues/default/pause", {})
    ask(server, "POST", "/jobs/old/run")
    page = visit.open(f"/jobs/{job['job_id']}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("1 waiting run is cancelled, 0 running ones finish")).to_be_visible()
    dialog.get_by_role("textbox", name="Reason").fill("by mistake")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("old is deleted")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was")).to_be_visible()
    expect(page.get_by_role("link", name="old", exact=True)).to_be_visible()
    assert ask(server, "GET", "/jobs/old")["job_id"] == job["job_id"]
    ask(server, "DELETE", "/jobs/old")
    visit.open(f"/jobs/{job['job_id']}")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("old is restored")).to_be_visible()
    assert ask(server, "GET", "/jobs/old")["status"] == "active"


def test_many_deleted_jobs_are_restored_together(visit: Visit, server: Server) -> None:
    for number in range(3):
        ask(server, "POST", "/jobs", {"name": f"bulk-{number}", "schedule": "@daily"})
    page = visit.open("/jobs")
    expect(page.get_by_role("link", name="bulk-2")).to_be_visible()
    page.get_by_role("checkbox", name="Select all rows that are loaded").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name=re.compile("Reason")).fill("by mistake")
    dialog.get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.get_by_text("3 jobs were changed")).to_be_visible()
    assert ask(server, "GET", "/jobs") == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="bulk-2")).to_be_visible()
    assert len(ask(server, "GET", "/jobs?status=active")) == 3
