"""Every page: no error, no outside request, no serious finding of axe, nothing wider than the window.
In light, in dark, and at 360 pixels."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from sexton import clock
from tests.cli.server import Server
from tests.console.conftest import ZONE, Visit, ask

pytestmark = pytest.mark.servers

AXE = Path(".servers/chromium/node_modules/axe-core/axe.min.js")
LOOKS: list[tuple[int, Any]] = [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")]
# The contents of a page are there when this is.
HEADING = "h1"


@pytest.fixture
def pages(server: Server) -> list[str]:
    """Addresses with something to show at each."""
    target = {"handler": "sexton.log"}
    job = ask(
        server,
        "POST",
        "/jobs",
        {"name": "hello", "schedule": "every 1h", "target": target, "payload": {"n": 1}},
    )
    run = ask(server, "POST", f"/jobs/{job['job_id']}/run", {})["run_id"]
    dead = _dead_letter(server)
    ask(
        server,
        "POST",
        "/jobs",
        {"name": "report", "schedule": "0 9 * * 1", "timezone": ZONE, "target": target},
    )
    ask(server, "PUT", "/content/entities/post/1", {"body": {"title": "Spring"}})
    plan = {"entity_type": "post", "entity_id": "1", "action": "publish", "created_by": "kim"}
    made = ask(server, "POST", "/content/schedules", {**plan, "at": "2199-01-01T09:00:00Z"})
    window = {"entity_type": "post", "entity_id": "1", "created_by": "kim", "timezone": ZONE, "force": True}
    starts, ends = (f"{(clock.now() + timedelta(days=days)).date()} 09:00" for days in (2, 5))
    ask(server, "POST", "/content/windows", {**window, "starts": starts, "ends": ends})
    ask(server, "PUT", "/notifications/providers/nowhere", {"channel": "email", "kind": "null"})
    ask(server, "PUT", "/recipients/ann", {"email": "ann@example.com", "fields": {"name": "Ann"}})
    texts = {"email": {"subject": "Hello", "text": "Hello {{ name }}", "html": "<b>Hello {{ name }}</b>"}}
    ask(server, "PUT", "/templates/spring", texts)
    campaign = {"name": "spring", "template_id": "spring", "audience": {"everyone": True}}
    campaign_id = ask(server, "POST", "/campaigns", campaign)["campaign_id"]
    notice = {"template_id": "spring", "channel": "email", "user_id": "ann"}
    message = ask(server, "POST", "/notifications", notice)["notification_id"]
    return [
        "/", "/jobs", f"/jobs/{job['job_id']}", f"/jobs/{job['job_id']}?tab=accounting",
        f"/jobs/{job['job_id']}?tab=definition", "/jobs/new?schedule=0+9+*+*+1", "/runs", f"/runs/{run}",
        "/dead", "/dead?tab=letters", f"/dead/{dead}", f"/jobs/{job['job_id']}/edit",
        f"/jobs/{job['job_id']}?tab=trends", f"/jobs/{job['job_id']}?tab=changes", "/queues", "/cluster",
        "/calendar", "/calendar?view=day", "/calendar?view=month", "/calendar?view=agenda", "/content/board",
        "/content/calendar", "/content/planned", "/content/windows", "/content/releases", "/content/entities",
        "/content/entities/post/1", f"/content/schedules/{made['schedule_id']}", "/settings",
        "/settings?tab=audit", "/settings?tab=keys", "/settings?tab=namespaces", "/settings?tab=secrets",
        "/settings?tab=webhooks",
        "/playground?schedule=30+2+*+*+*&timezone=Europe/Berlin&compare=0+3+*+*+*",
        "/notifications/campaigns",
        f"/notifications/campaigns/{campaign_id}",
        "/notifications/campaigns/new?template=spring&who=everyone&local_time=2099-03-14T08:00",
        "/notifications/messages",
        f"/notifications/messages/{message}", "/notifications/templates", "/notifications/templates/spring",
        "/notifications/templates/new", "/notifications/recipients", "/notifications/recipients/ann",
        "/notifications/channels",
    ]  # fmt: skip


def _dead_letter(server: Server) -> str:
    """Of a run that no server answers, and that has one try."""
    target = {"http": {"url": "http://127.0.0.1:9/hook"}}
    job = {"name": "broken", "schedule": "@yearly", "target": target, "max_retries": 0}
    made = ask(server, "POST", "/jobs", job)
    return str(ask(server, "POST", f"/jobs/{made['job_id']}/run", {})["run_id"])


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_sound(
    browser: Browser, server: Server, pages: list[str], width: int, scheme: Any
) -> None:
    context = browser.new_context(
        locale="en-GB", timezone_id=ZONE, viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    visit = Visit(context, server.url)
    page = visit.open("/dead")
    expect(page.get_by_role("button", name="Redrive", exact=True)).to_be_visible(timeout=60_000)
    found = []
    for path in pages:
        page = visit.open(path)
        expect(page.locator(HEADING).first).to_be_visible(timeout=60_000)
        expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=60_000)
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wider > 0:
            found.append(f"{path}: {wider} pixels wider than the window")
        page.evaluate(AXE.read_text("utf-8"))
        report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [
            f"{path}: {each['id']} {each['help']} ({each['nodes'][0]['html'][:160]})"
            for each in report["violations"]
            if each["impact"] in ("serious", "critical")
        ]
    context.close()
    visit.check()
    assert not found, "\n".join(found)
