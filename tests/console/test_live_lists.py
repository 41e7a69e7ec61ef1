"""What an open page shows follows what happens, and is not asked for again."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.cli.server import Server
from tests.console.conftest import Visit, ask

pytestmark = pytest.mark.servers

LISTS = {"/api/v1/runs", "/api/v1/runs/counts"}


def test_an_open_list_is_sent_what_changes_and_asks_nothing_again(visit: Visit, server: Server) -> None:
    """With its filter; another filter is followed from then on."""
    asked: list[str] = []

    def note(url: str) -> None:
        if urlsplit(url).path in LISTS:
            asked.append(urlsplit(url).path)

    def followed(url: str, filtered: bool) -> bool:
        """Whether a stream of events follows both lists."""
        addresses = parse_qs(urlsplit(url).query).get("follow", [""])[0].split(",")
        paths = {urlsplit(each).path for each in addresses}
        return paths == LISTS and any("status=" in each for each in addresses) == filtered

    visit.page.on("request", lambda request: note(request.url))
    with visit.page.expect_request(lambda request: followed(request.url, filtered=False)):
        page = visit.open("/runs")
    spec = {"name": "hello", "schedule": "@yearly", "target": {"handler": "sexton.log"}}
    job = ask(server, "POST", "/jobs", spec)["job_id"]
    run = ask(server, "POST", f"/jobs/{job}/run", {})["run_id"]
    row = page.locator("tr", has_text=run)
    expect(row.get_by_text("success")).to_be_visible()
    expect(page.get_by_role("button", name="success 1")).to_be_visible()
    assert sorted(asked) == sorted(LISTS)
    with visit.page.expect_request(lambda request: followed(request.url, filtered=True)):
        page.get_by_role("button", name="cancelled 0").click()
    expect(row).to_have_count(0)
    asked.clear()
    ask(server, "POST", f"/jobs/{job}/run", {})
    expect(page.get_by_role("button", name="success 2")).to_be_visible()
    expect(page.locator("tr", has_text="hello")).to_have_count(0)
    assert asked == []
