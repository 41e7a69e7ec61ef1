"""Settings: webhooks are set, tried and turned off; keys, secrets, and namespaces with quotas."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)


class Receiver:
    """An address that takes what it is sent."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        got = self.got

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                got.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def panel(page: Page, name: str) -> Any:
    return page.get_by_role("region", name=name)


def test_dead_letters_are_sent_elsewhere_tried_and_turned_off(
    visit: Visit, server: Server, receiver: Receiver
) -> None:
    page = visit.open("/settings?tab=webhooks")
    letters = panel(page, "Dead letters also go to")
    letters.get_by_role("button", name="Set an address").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Address").fill("ftp://127.0.0.1/hook")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert").first).to_be_visible()
    dialog.get_by_role("textbox", name="Address").fill(receiver.url)
    dialog.get_by_role("button", name="Save").click()
    expect(letters.get_by_text(receiver.url)).to_be_visible()
    assert ask(server, "GET", "/dead/target")["target"]["http"]["url"] == receiver.url
    letters.get_by_role("button", name="Send a test").click()
    expect(letters.get_by_text("it would succeed")).to_be_visible()
    assert b"a test from the console" in receiver.got[0]
    letters.get_by_role("button", name="Turn off").click()
    page.get_by_role("dialog").get_by_role("button", name="Turn off").click()
    expect(letters.get_by_text("Nowhere else")).to_be_visible()
    assert ask(server, "GET", "/dead/target") == {"target": None}
    page.get_by_role("button", name="Undo").click()
    expect(letters.get_by_text(receiver.url)).to_be_visible()
    assert ask(server, "GET", "/dead/target")["target"]["http"]["url"] == receiver.url


def test_authors_are_told_and_what_was_delivered_is_shown(
    visit: Visit, server: Server, receiver: Receiver
) -> None:
    page = visit.open("/settings?tab=webhooks")
    notices = panel(page, "Notices of content go to")
    notices.get_by_role("button", name="Set an address").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Address").fill(receiver.url)
    dialog.get_by_role("checkbox", name="will fail as things are").uncheck()
    dialog.get_by_role("button", name="Save").click()
    expect(notices.get_by_text("carried out, failed, missed its time")).to_be_visible()
    assert ask(server, "GET", "/content/notices")["events"] == ["done", "failed", "missed"]
    expect(notices.get_by_text("No notice was sent yet.")).to_be_visible()
    ask(server, "PUT", "/content/entities/post/1", {"body": {"title": "Spring"}})
    plan = {"entity_type": "post", "entity_id": "1", "action": "publish", "created_by": "kim"}
    made = ask(server, "POST", "/content/schedules", {**plan, "at": "2199-01-01T09:00:00Z"})
    ask(server, "POST", f"/content/schedules/{made['schedule_id']}/run")
    expect(notices.get_by_text("success")).to_be_visible()
    assert b"content.done" in receiver.got[0]


def test_a_key_has_an_end_and_is_shown_once(visit: Visit, server: Server) -> None:
    page = visit.open("/settings?tab=keys")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("deploy")
    dialog.get_by_role("button", name="Make the key").click()
    expect(dialog.get_by_text("sxn_")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("cell", name="deploy", exact=True)).to_be_visible()
    (key,) = ask(server, "GET", "/keys")
    assert (key["role"], key["namespace"]) == ("viewer", "default")
    assert key["expires_at"] is not None
    assert page.get_by_text("sxn_").count() <= 1  # its beginning


def test_namespaces_are_made_and_given_quotas(visit: Visit, server: Server) -> None:
    page = visit.open("/settings?tab=namespaces")
    page.get_by_role("button", name="New namespace").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("Shop!")
    dialog.get_by_role("button", name="Make it").click()
    expect(dialog.get_by_text("cannot be the name of a namespace")).to_be_visible()
    dialog.get_by_role("textbox", name="Name").fill("shop")
    dialog.get_by_role("button", name="Make it").click()
    row = page.get_by_role("row").filter(has_text="shop")
    row.get_by_role("button", name="Quotas").click()
    dialog.get_by_role("textbox", name="Jobs", exact=True).fill("20")
    dialog.get_by_role("textbox", name="Firings per second").fill("0.5")
    dialog.get_by_role("button", name="Save").click()
    expect(row.get_by_text("of 20", exact=True)).to_be_visible()
    assert ask(server, "GET", "/namespaces/shop")["quotas"]["firings_per_second"] == 0.5


def test_a_secret_goes_in_and_never_comes_out(visit: Visit, server: Server) -> None:
    page = visit.open("/settings?tab=secrets")
    for value in ("first-value", "second-value"):
        page.get_by_role("button", name="Store a secret" if value == "first-value" else "Replace").click()
        dialog = page.get_by_role("dialog")
        if value == "first-value":
            dialog.get_by_role("textbox", name="Name").fill("smtp")
            dialog.get_by_role("textbox", name="Goes to").fill("smtp.example.com")
        dialog.get_by_role("textbox", name="Value").fill(value)
        if value == "second-value":
            dialog.get_by_role("textbox", name="Reason").fill("it was in a log")
        dialog.get_by_role("button", name="Store" if value == "first-value" else "Replace").click()
        expect(dialog).to_be_hidden()
    expect(page.get_by_role("cell", name="smtp.example.com")).to_be_visible()
    for value in ("first-value", "second-value"):
        assert value not in page.content()
    (secret,) = ask(server, "GET", "/secrets")
    assert secret["hosts"] == ["smtp.example.com"]
    assert ask(server, "GET", "/audit?action=secret.set")[0]["reason"] == "it was in a log"
