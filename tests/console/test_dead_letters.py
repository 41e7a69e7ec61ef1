"""Dead letters in the console: what a group means is what its number says."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sexton.model import decode_id
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask
from tests.runs.rows import MINUTE, NOON
from tests.runs.test_dead_letters import bury

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)


def test_a_group_is_discarded_without_those_that_died_otherwise(visit: Visit, server: Server) -> None:
    made = ask(server, "POST", "/jobs", {"name": "hourly", "schedule": "0 * * * *"})
    job = decode_id("j", made["job_id"])
    assert job is not None
    for run, reason in enumerate(("exhausted", "exhausted", "poison"), start=1_000_000):
        server.run(bury(server.database, job, run, reason=reason, died_at=NOON))
    page = visit.open("/dead")
    groups = page.get_by_role("article")
    expect(groups).to_have_count(2)
    groups.filter(has_text="poison").get_by_role("button", name="Discard").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Reason").fill("looked at")
    dialog.get_by_role("button", name="Discard 1").click()
    expect(page.get_by_text("1 was discarded")).to_be_visible()
    expect(groups).to_have_count(1)
    assert [letter["reason"] for letter in ask(server, "GET", "/dead")] == ["exhausted", "exhausted"]
    groups.get_by_role("button", name="Redrive").click()
    dialog.get_by_role("button", name="Dry run").click()
    expect(dialog.get_by_text("2 dead letters match now; nothing was done.")).to_be_visible()
    dialog.get_by_role("button", name="Redrive 2").click()
    expect(page.get_by_text("2 runs are made again")).to_be_visible()


def test_letters_are_listed_from_either_end(visit: Visit, server: Server) -> None:
    made = ask(server, "POST", "/jobs", {"name": "hourly", "schedule": "0 * * * *"})
    job = decode_id("j", made["job_id"])
    assert job is not None
    for run in range(2):
        server.run(bury(server.database, job, 1_000_000 + run, died_at=NOON + run * MINUTE))
    latest, oldest = (letter["run_id"] for letter in ask(server, "GET", "/dead"))
    page = visit.open("/dead?tab=letters")
    rows = page.locator("tbody tr[data-row]")
    expect(rows.first).to_contain_text(latest)
    page.get_by_role("button", name="Died").click()
    expect(rows.first).to_contain_text(oldest)
    assert "sort=died_at" in page.url
