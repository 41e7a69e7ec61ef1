"""The page of a run: all of a long log, and what is done to it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from sexton import clock
from sexton.model import decode_id
from sexton.runs.view import LOG_LINES
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)

MORE = 5


async def write_log(server: Server, run: int, lines: int) -> None:
    begun = clock.now() - timedelta(hours=1)
    async with server.database.connection() as connection:
        await connection.execute(
            server.database.sql(
                "insert into sexton.run_logs (run_id, attempt, at, message) "
                "select $1, 1, $2::timestamptz + n * interval '1 millisecond', 'line ' || n "
                "from generate_series(1, $3) as n"
            ),
            run, begun, lines,
        )  # fmt: skip


def test_a_long_log_is_read_to_its_end(visit: Visit, server: Server) -> None:
    ask(server, "POST", "/jobs", {"name": "talkative", "schedule": "@yearly", "target": {"handler": "x"}})
    run = ask(server, "POST", "/jobs/talkative/run")["run_id"]
    number = decode_id("r", run)
    assert number is not None
    server.run(write_log(server, number, LOG_LINES + MORE))
    page = visit.open(f"/runs/{run}")
    log = page.get_by_role("log")
    expect(page.get_by_text("lines or more")).to_be_visible()
    log.get_by_role("button", name="Show more").click()
    # Also what came by itself meanwhile is there once.
    expect(log.get_by_text(f"line {LOG_LINES + MORE}", exact=True)).to_have_count(1)
    expect(page.get_by_text(f"{LOG_LINES + MORE:,} lines", exact=True)).to_be_visible()
    expect(log.get_by_role("button", name="Show more")).to_have_count(0)


def test_a_run_that_waits_is_cancelled_and_run_again(visit: Visit, server: Server) -> None:
    # No worker has its handler.
    ask(server, "POST", "/jobs", {"name": "hello", "schedule": "@yearly", "target": {"handler": "x"}})
    run = ask(server, "POST", "/jobs/hello/run")["run_id"]
    page = visit.open(f"/runs/{run}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Reason").fill("not today")
    dialog.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_text("It is cancelled", exact=True)).to_be_visible()
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_text("A new run was made")).to_be_visible()
    expect(page).not_to_have_url(f"{visit.url}/runs/{run}")
    assert len(ask(server, "GET", "/runs?job=hello")) == 2
