"""What every list promises: what matches can be saved, and what cannot be undone is told before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

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


def test_a_revoked_key_is_told_to_be_gone_for_good(visit: Visit, server: Server) -> None:
    spec = {"name": "reader", "role": "viewer", "namespace": "default"}
    ask(server, "POST", "/keys", spec)
    page = visit.open("/settings?tab=keys")
    page.get_by_role("button", name=re.compile("^Revoke")).first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("This cannot be undone.")).to_be_visible()
    expect(dialog.get_by_role("button", name="Revoke", exact=True)).to_be_disabled()
