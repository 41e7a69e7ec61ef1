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
    ("-telephone-dark", TELEPHONE, "dark"),
)
# What a picture shows must have come, and stopped moving.
SETTLED_MS = 2500


# Those that show the product are taken in every look, the others on a desk in light.
EVERYWHERE = ("overview", "jobs", "job", "run", "dead-letters", "calendar", "campaign")


def main(url: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    pages = _pages(url)
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
                if suffix and name not in EVERYWHERE:
                    continue
                _take(page, url + path, FOLDER / f"console-{name}{suffix}.png")
            context.close()
        browser.close()


def _pages(url: str) -> dict[str, str]:
    """Each page of the console with something to show, by the name of its picture."""
    job = _first(url, "/jobs?name=export-payments")["job_id"]
    nightly = _first(url, "/jobs?name=nightly-backup")["job_id"]
    waited = _first(url, "/runs?job=resize-product-images&late=true")["run_id"]
    dead = _first(url, "/dead")["run_id"]
    campaign = _first(url, "/campaigns?status=sending")["campaign_id"]
    message = _first(url, "/notifications")["notification_id"]
    template = _first(url, "/templates")["template_id"]
    recipient = _first(url, "/recipients")["user_id"]
    release = _first(url, "/content/releases")["release_id"]
    return {
        "overview": "/",
        "jobs": "/jobs",
        "job": f"/jobs/{job}",
        "job-accounting": f"/jobs/{job}?tab=accounting",
        "job-trends": f"/jobs/{job}?tab=trends",
        "job-changes": f"/jobs/{job}?tab=changes",
        "job-definition": f"/jobs/{nightly}?tab=definition",
        "job-form": "/jobs/new?schedule=30+2+*+*+*&name=nightly&timezone=Europe/Berlin&handler=work",
        "runs": "/runs",
        "run": f"/runs/{waited}",
        "dead-letters": "/dead",
        "dead-letter": f"/dead/{dead}",
        "calendar": "/calendar?view=week",
        "calendar-month": "/calendar?view=month",
        "content": "/content/board",
        "content-calendar": "/content/calendar?view=month",
        "content-releases": "/content/releases",
        "content-release": f"/content/releases/{release}",
        "content-entity": "/content/entities/post/1",
        "campaigns": "/notifications/campaigns",
        "campaign": f"/notifications/campaigns/{campaign}",
        "new-campaign": "/notifications/campaigns/new?who=everyone&local_time=2027-03-14T08:00"
        f"&template={template}",
        "messages": "/notifications/messages",
        "message": f"/notifications/messages/{message}",
        "templates": "/notifications/templates",
        "template": f"/notifications/templates/{template}",
        "recipients": "/notifications/recipients",
        "recipient": f"/notifications/recipients/{recipient}",
        "channels": "/notifications/channels",
        "queues": "/queues",
        "cluster": "/cluster",
        "settings": "/settings",
        "settings-audit": "/settings?tab=audit",
        "playground": "/playground?schedule=30+2+*+*+*&timezone=Europe/Berlin&compare=0+3+*+*+*",
    }


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
