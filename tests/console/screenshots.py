"""Pictures of the console for the documentation: `make screenshots`.

They are taken of `sexton demo` at a given address, in light and in dark, on a desk and on a telephone:

    sexton demo --port 7399
    make screenshots URL=http://127.0.0.1:7399
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.console.conftest import FLAGS, ZONE

FOLDER = Path(__file__).parents[2] / "docs" / "images"
PROGRAM = "/usr/bin/chromium"
DESK: ViewportSize = {"width": 1280, "height": 860}
TELEPHONE: ViewportSize = {"width": 360, "height": 740}
LOOKS: tuple[tuple[str, ViewportSize, Literal["light", "dark"]], ...] = (
    ("", DESK, "light"),
    ("-dark", DESK, "dark"),
    ("-telephone", TELEPHONE, "light"),
)
# What a picture shows must have come, and stopped moving.
SETTLED_MS = 2500


def main(url: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    job, run = _first(url, "/jobs?search=report")["job_id"], _first(url, "/runs?status=success")["run_id"]
    pages = {
        "overview": "/",
        "jobs": "/jobs",
        "job": f"/jobs/{job}",
        "job-form": "/jobs/new?schedule=30+2+*+*+*&name=nightly&timezone=Europe/Berlin",
        "runs": "/runs",
        "run": f"/runs/{run}",
        "dead-letters": "/dead",
        "calendar": "/calendar?view=week",
        "content": "/content/board",
        "content-calendar": "/content/calendar?view=month",
        "queues": "/queues",
        "cluster": "/cluster",
        "settings": "/settings",
        "playground": "/playground?schedule=30+2+*+*+*&timezone=Europe/Berlin&compare=0+3+*+*+*",
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        for suffix, viewport, scheme in LOOKS:
            context = browser.new_context(
                viewport=viewport,
                color_scheme=scheme,
                locale="en-GB",
                timezone_id=ZONE,
            )
            page = context.new_page()
            for name, path in pages.items():
                if suffix and name not in ("overview", "jobs", "run", "calendar"):
                    continue
                _take(page, url + path, FOLDER / f"console-{name}{suffix}.png")
            context.close()
        browser.close()


def _take(page: Page, url: str, file: Path) -> None:
    page.goto(url, wait_until="domcontentloaded")
    page.locator("h1").first.wait_for()
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=str(file))
    print(f"wrote {file.name}")


def _first(url: str, path: str) -> dict[str, str]:
    """The first row of a list, or of the same list without its filter."""
    for each in (path, path.partition("?")[0]):
        with urllib.request.urlopen(f"{url}/api/v1{each}", timeout=60) as answer:
            rows: list[dict[str, str]] = json.load(answer)
        if rows:
            return rows[0]
    sys.exit(f"{url} has nothing at {path}: start `sexton demo`")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7390")
