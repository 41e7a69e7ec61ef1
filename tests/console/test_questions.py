"""What each view of the console asks the API is what `sexton bench console` asks."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Request, expect

from sexton.cli.bench.console_views import Examples, views
from sexton.clock import now
from tests.cli.server import Server
from tests.console.conftest import Visit, ask

pytestmark = pytest.mark.servers

PREFIX = "/api/v1"
# What the frame asks, and what is asked when the page comes into sight again.
EVERYWHERE = {"/session", "/events"}


def asked(method: str, path: str) -> tuple[str, str, frozenset[str]]:
    """The names of its parameters: their values are times, and where a page goes on."""
    parts = urlsplit(path)
    names = frozenset(name for name, _ in parse_qsl(parts.query)) - {"cursor"}
    return method, parts.path.removeprefix(PREFIX), names


def examples_of(server: Server) -> Examples:
    """One of everything that a page shows."""
    spec = {"name": "hello", "schedule": "every 1h", "target": {"handler": "sexton.log"}}
    job = ask(server, "POST", "/jobs", spec)["job_id"]
    run = ask(server, "POST", f"/jobs/{job}/run", {})["run_id"]
    # No server listens there, and one try is all it has.
    broken = {"name": "broken", "schedule": "@yearly", "target": {"http": {"url": "http://127.0.0.1:9/hook"}}}
    made = ask(server, "POST", "/jobs", {**broken, "max_retries": 0})["job_id"]
    dead = ask(server, "POST", f"/jobs/{made}/run", {})["run_id"]
    ask(server, "PUT", "/content/entities/post/1", {"body": {"title": "Spring"}})
    plan = {"entity_type": "post", "entity_id": "1", "action": "publish", "created_by": "kim"}
    schedule = ask(server, "POST", "/content/schedules", {**plan, "at": "2199-01-01T09:00:00Z"})
    ask(server, "PUT", "/notifications/providers/nowhere", {"channel": "email", "kind": "null"})
    ask(server, "PUT", "/recipients/u7", {"email": "ann@example.com", "fields": {"name": "Ann"}})
    ask(server, "PUT", "/templates/hello", {"email": {"subject": "Hello", "text": "Hello {{ name }}"}})
    campaign = {"name": "spring", "template_id": "hello", "audience": {"everyone": True}, "draft": True}
    message = {"template_id": "hello", "channel": "email", "user_id": "u7"}
    return Examples(
        now(),
        1,
        job=job,
        rare="hello",
        run=run,
        live=run,
        dead=dead,
        schedule=schedule["schedule_id"],
        entity="1",
        campaign=ask(server, "POST", "/campaigns", campaign)["campaign_id"],
        message=ask(server, "POST", "/notifications", message)["notification_id"],
    )


def test_the_benchmark_asks_what_pages_ask(visit: Visit, server: Server) -> None:
    examples = examples_of(server)
    expect(visit.open("/dead").get_by_role("button", name="Redrive", exact=True)).to_be_visible()
    found: list[str] = []
    requests: list[tuple[str, str, frozenset[str]]] = []

    def note(request: Request) -> None:
        if f"{PREFIX}/" in request.url:
            requests.append(asked(request.method, request.url))

    visit.page.on("request", note)
    for view in views(examples):
        if not view.address:
            continue  # it is opened by typing
        wanted = {asked(each.method, PREFIX + each.path) for each in view.questions}
        requests.clear()
        page = visit.open(view.address)
        expect(page.locator("h1").first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        page.wait_for_load_state("load")
        more = {each for each in requests if each[1] not in EVERYWHERE} - wanted
        found += [f"{view.page} {view.name}: {each}" for each in sorted(more, key=str)]
    assert not found, "\n".join(found)
