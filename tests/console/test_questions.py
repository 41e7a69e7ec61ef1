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


def test_the_benchmark_asks_what_pages_ask(visit: Visit, server: Server) -> None:
    spec = {"name": "hello", "schedule": "every 1h", "target": {"handler": "sexton.log"}}
    job = ask(server, "POST", "/jobs", spec)["job_id"]
    run = ask(server, "POST", f"/jobs/{job}/run", {})["run_id"]
    examples = Examples(now(), 1, job=job, rare="hello", run=run, live=run, campaign="k_1")
    found: list[str] = []
    requests: list[tuple[str, str, frozenset[str]]] = []

    def note(request: Request) -> None:
        if f"{PREFIX}/" in request.url:
            requests.append(asked(request.method, request.url))

    visit.page.on("request", note)
    # Of things that are not there nothing can be asked.
    shown = [view for view in views(examples) if view.address and not view.address.endswith("/")]
    for view in shown:
        if view.page in ("dead letter", "campaigns", "recipients", "templates") and view.name == "one":
            continue
        wanted = {asked(each.method, PREFIX + each.path) for each in view.questions}
        requests.clear()
        page = visit.open(view.address)
        expect(page.locator("h1").first).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        page.wait_for_load_state("load")
        more = {each for each in requests if each[1] not in EVERYWHERE} - wanted
        found += [f"{view.page} {view.name}: {each}" for each in sorted(more, key=str)]
    assert not found, "\n".join(found)
