"""Windows of content: also those that are open longer than what is shown."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from sexton import clock
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)


def test_windows_are_looked_through_by_weeks_and_by_filters(visit: Visit, server: Server) -> None:
    for entity, opens, closes in (("summer", 10, 200), ("sale", 60, 70)):
        ask(server, "PUT", f"/content/entities/banner/{entity}", {"body": {"title": entity.title()}})
        times = {
            "starts": (clock.now() + timedelta(days=opens)).isoformat(),
            "ends": (clock.now() + timedelta(days=closes)).isoformat(),
        }
        ask(server, "POST", "/content/windows", {"entity_type": "banner", "entity_id": entity, **times})
    page = visit.open("/content/windows")
    windows = page.get_by_role("region", name="Windows")
    expect(windows.get_by_role("listitem")).to_have_count(1)  # that which opens in ten days
    expect(windows.get_by_role("link", name="Summer")).to_be_visible()
    for _ in range(2):
        page.get_by_role("button", name="Later").click()
    # It has opened before these weeks, and closes after them.
    expect(windows.get_by_role("listitem")).to_have_count(2)
    expect(windows.get_by_role("link", name="Summer")).to_be_visible()
    expect(windows.get_by_role("link", name="Sale")).to_be_visible()
    assert "from=" in page.url
    page.get_by_role("textbox", name="Id").fill("sale")
    expect(windows.get_by_role("listitem")).to_have_count(1)
    expect(windows.get_by_role("link", name="Summer")).to_have_count(0)
    page.get_by_role("button", name="Today").click()
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()
