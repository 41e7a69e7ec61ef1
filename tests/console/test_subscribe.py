"""The calendar in people's own calendars: an address is made, read and revoked."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)


def test_what_the_calendar_shows_can_be_subscribed_to(visit: Visit, server: Server) -> None:
    job = {"schedule": "0 9 * * *"}
    ask(server, "POST", "/jobs", {**job, "name": "invoices", "labels": {"team": "billing"}})
    ask(server, "POST", "/jobs", {**job, "name": "other"})
    page = visit.open("/calendar?kinds=jobs")
    expect(page.get_by_text("other").first).to_be_visible()
    page.get_by_role("textbox", name="Label of jobs").fill("team=billing")
    expect(page).to_have_url(re.compile("label=team"))
    expect(page.get_by_text("other")).to_have_count(0)
    page.get_by_role("button", name="Subscribe").click()
    page.get_by_role("button", name="Make an address").click()
    address = page.get_by_text(re.compile(r"/api/v1/calendar/feeds/.+\.ics")).inner_text()
    with urllib.request.urlopen(address, timeout=60) as answer:
        text = answer.read().decode()
    assert "SUMMARY:invoices" in text
    assert "SUMMARY:other" not in text
    page.get_by_role("button", name="Revoke", exact=True).click()
    question = page.get_by_role("dialog").filter(has_text="Revoke an address")
    question.get_by_role("textbox", name=re.compile("Reason")).fill("sent to the wrong people")
    question.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("Addresses in use")).to_have_count(0)
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(address, timeout=60)
    [entry] = ask(server, "GET", "/audit?action=calendar_feed.revoked")
    assert entry["reason"] == "sent to the wrong people"
