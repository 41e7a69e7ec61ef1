"""The views of the console in a real Chromium: when something is painted, and when what they show is there.

It is driven by Playwright, which is no dependency of Sexton: `pip install playwright`.
"""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sexton import clock
from sexton.cli.bench.console_requests import Serving
from sexton.cli.bench.console_views import ZONE, Examples, views
from sexton.cli.bench.harness import SCHEMA, Ground, Say
from sexton.errors import Unavailable

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

# For a machine without a screen; no requests of Chromium's own.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 60_000
ROUNDS = 3
UPDATES = 10
# Resolves when the heading is shown and no part of the page waits for an answer.
SHOWN = """() => new Promise((resolve) => {
    const look = () => {
        if (document.querySelector('h1') && !document.querySelector('[aria-busy=true]'))
            resolve(performance.now())
        else requestAnimationFrame(look)
    }
    look()
})"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
LOADED = """() => {
    const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    const files = all.filter((each) => !each.name.includes('/api/'))
    return files.reduce((sum, each) => sum + each.encodedBodySize, 0)
}"""
RUN = f"""
insert into {SCHEMA}.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision, trigger)
values ($1, $2, 2, 'infinity', now(), now(), 1, 'manual')
returning id
"""


async def paint(program: Path, server: Serving, examples: Examples, say: Say) -> dict[str, Any]:
    """Each view with its files in the cache, as on a second visit; `/` also on the first visit."""
    shown: list[dict[str, Any]] = []
    async with _browser(program) as browser:
        first = await _first_visit(browser, server.url)
        say(f"first visit: {first}")
        page = await _page(browser)
        for view in views(examples):
            if not view.address:
                continue
            took = [await _visit(page, server.url + view.address) for _ in range(ROUNDS + 1)][1:]
            name = f"{view.page}: {view.name}" if view.name else view.page
            figures = {
                "view": name,
                "paint_ms": round(statistics.median(each[0] for each in took)),
                "shown_ms": round(statistics.median(each[1] for each in took)),
                "shown_max_ms": round(max(each[1] for each in took)),
            }
            shown.append(figures)
            say(f"{figures['shown_ms']:6} ms, painted {figures['paint_ms']}  {name}")
    slowest = max(shown, key=lambda each: each["shown_ms"])
    return {"first_visit": first, "painted": shown, "slowest_painted": slowest}


async def update(program: Path, made: Ground, server: Serving, say: Say) -> dict[str, Any]:
    """The time from the commit of a run to the change of the page that lists runs."""
    took = []
    async with _browser(program) as browser:
        page = await _page(browser)
        await page.goto(f"{server.url}/runs?status=pending")
        await page.evaluate(SHOWN)
        job = await made.watch.fetchval(f"select max(id) from {SCHEMA}.jobs where status = 'active'")
        for number in range(UPDATES):
            # Not always at the same moment of the feed's second.
            await clock.sleep(1.0 + number / UPDATES)
            before = await page.evaluate("document.querySelector('tbody').innerText")
            await made.watch.execute(RUN, job, made.lane)
            began = clock.monotonic()
            await page.wait_for_function(
                "before => document.querySelector('tbody').innerText !== before", arg=before, polling=20
            )
            took.append(clock.monotonic() - began)
    found = {
        "update_median_ms": round(statistics.median(took) * 1000),
        "update_max_ms": round(max(took) * 1000),
    }
    say(f"from a commit to the page: {found}")
    return found


@asynccontextmanager
async def _browser(program: Path) -> AsyncIterator[Browser]:
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        raise Unavailable(
            "no_playwright",
            "--browser needs Playwright, which is not installed",
            hint="pip install playwright",
        ) from None
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


async def _page(browser: Browser) -> Page:
    context = await browser.new_context(
        locale="en-GB", timezone_id=ZONE, viewport={"width": 1280, "height": 900}
    )
    context.set_default_timeout(PATIENCE_MS)
    return await context.new_page()


async def _first_visit(browser: Browser, url: str) -> dict[str, Any]:
    """With an empty cache."""
    page = await _page(browser)
    painted, shown = await _visit(page, url + "/")
    loaded = await page.evaluate(LOADED)
    await page.context.close()
    return {"paint_ms": round(painted), "shown_ms": round(shown), "kilobytes": round(loaded / 1024, 1)}


async def _visit(page: Page, address: str) -> tuple[float, float]:
    """When something was painted, and when everything was shown, in milliseconds since the request."""
    await page.goto(address, wait_until="commit")
    shown: float = await page.evaluate(SHOWN)
    painted: float | None = await page.evaluate(PAINTED)
    return painted if painted is not None else shown, shown
