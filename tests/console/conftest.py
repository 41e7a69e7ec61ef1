"""A real Chromium at a real server: see `make test-servers`. An error in the console of a page, and a request
to anywhere else, fail every test."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from sexton.api.console import single_page as console
from tests.cli.server import Server
from tests.servers.address import address

# As a machine without a screen, and without Chromium's own errands, needs it.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 60_000
ZONE = "Europe/Berlin"


class Visit:
    """A browser window at a server, which notes what it must not do."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.context = context
        self.faults: list[str] = []
        context.set_default_timeout(PATIENCE_MS)
        context.set_default_navigation_timeout(PATIENCE_MS)
        self.page: Page = context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(f"{self.page.url}: {error}"))
        self.page.on("request", lambda request: self._asked(request.url))

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path, wait_until="domcontentloaded")
        return self.page

    def check(self) -> None:
        assert self.faults == []

    def _heard(self, message: Any) -> None:
        # What the server refuses, and what is lost on purpose, is told by the tests themselves.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(f"{self.page.url}: {message.text}")

    def _asked(self, url: str) -> None:
        if url.startswith("http") and urlsplit(url).netloc != urlsplit(self.url).netloc:
            self.faults.append(f"{self.page.url} asks {url}")


@pytest.fixture
def browser(database_url: str) -> Iterator[Browser]:
    """After the database, whose fixtures run an event loop: Playwright keeps its own in this thread."""
    program = address("SEXTON_TEST_CHROMIUM")
    if console.built() is None:
        pytest.fail("the console is not built: make console")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def server(database_url: str) -> Iterator[Server]:
    with Server(database_url, roles=("scheduler", "worker")) as started:
        yield started


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visit]:
    context = browser.new_context(locale="en-GB", timezone_id=ZONE, viewport={"width": 1280, "height": 900})
    visited = Visit(context, server.url)
    yield visited
    context.close()
    visited.check()


def ask(
    server: Server,
    method: str,
    path: str,
    body: Any = None,
    key: str | None = None,
    namespace: str | None = None,
) -> Any:
    """What a program sees of the same server."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if namespace is not None:
        headers["Sexton-Namespace"] = namespace
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}/api/v1{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
        return json.loads(text) if text else None
