"""The console without a mouse: menus, dialogs, the calendar, and a focus that can be seen."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, expect

from sexton import clock
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, ZONE, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)

TARGET = {"handler": "sexton.log"}


def test_a_menu_and_the_question_that_it_opens(visit: Visit, server: Server) -> None:
    job = ask(server, "POST", "/jobs", {"name": "hello", "schedule": "@daily", "target": TARGET})
    page = visit.open(f"/jobs/{job['job_id']}")
    more = page.get_by_role("button", name="More")
    more.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menu").locator(":focus")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem")).to_have_count(0)
    expect(more).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menu").locator(":focus")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("menuitem", name="Delete")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox", name="Reason")).to_be_focused()
    # The focus stays within the question.
    for _ in range(8):
        page.keyboard.press("Tab")
        assert dialog.evaluate("dialog => dialog.contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(more).to_be_focused()


def test_the_keys_lead_from_row_to_row(visit: Visit, server: Server) -> None:
    for name in ("a", "b", "c"):
        ask(server, "POST", "/jobs", {"name": name, "schedule": "@daily", "target": TARGET})
    page = visit.open("/jobs?sort=name")
    rows = page.locator("tr[data-row]")
    expect(rows).to_have_count(3)
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_role("region", name="Selection")).to_contain_text("1 selected")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="b", exact=True)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("j")  # after g it leads to a page
    expect(page).to_have_url(re.compile("/jobs$"))


def test_a_dialog_gives_the_focus_back_to_what_opened_it(visit: Visit, server: Server) -> None:
    ask(server, "POST", "/jobs", {"name": "hello", "schedule": "@daily", "target": TARGET})
    page = visit.open("/queues")
    limits = page.get_by_role("button", name=re.compile("^Limits of default"))
    limits.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(limits).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_role("textbox", name="At a time", exact=True).fill("7")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("^Limits of default: 7 at a time"))).to_be_focused()
    assert ask(server, "GET", "/queues/default")["concurrency"] == 7


def test_something_planned_is_moved_in_the_calendar(visit: Visit, server: Server) -> None:
    day = (clock.now().astimezone(ZoneInfo(ZONE)) + timedelta(days=1)).date()
    at = datetime.combine(day, time(10, 30), ZoneInfo(ZONE))
    ask(server, "POST", "/jobs", {"name": "once", "schedule": at.isoformat(), "target": TARGET})
    page = visit.open(f"/calendar?view=month&day={day}")
    chip = page.get_by_role("button", name=re.compile("10:30 once"))
    chip.focus()
    page.keyboard.press("m")
    field = page.get_by_role("dialog").get_by_label("New time")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(chip).to_be_focused()
    page.keyboard.press("m")
    field.fill(f"{day}T16:45")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("16:45 once"))).to_be_visible()
    expect(page.locator("body")).not_to_be_focused()
    # From day to day, and over the end of the month.
    cell = page.locator(f'[data-day="{day}"]')
    cell.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(f'[data-day="{day + timedelta(days=7)}"]')).to_be_focused()
    for week in range(2, 8):
        page.keyboard.press("ArrowDown")
        expect(page.locator(f'[data-day="{day + timedelta(days=7 * week)}"]')).to_be_focused()


def test_the_focus_can_be_seen_in_light_and_dark(browser: Browser, server: Server) -> None:
    ask(server, "POST", "/jobs", {"name": "hello", "schedule": "@daily", "target": TARGET})
    for scheme in ("light", "dark"):
        context = browser.new_context(locale="en-GB", timezone_id=ZONE, color_scheme=scheme)
        visit = Visit(context, server.url)
        page = visit.open("/jobs")
        expect(page.get_by_role("link", name="hello")).to_be_visible()
        hidden = []
        seen = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            found = page.evaluate(SEEN)
            if found is None or found["name"] in seen:
                continue
            seen.add(found["name"])
            if not found["visible"]:
                hidden.append(f"{scheme}: {found['name']}")
        assert len(seen) > 25
        assert not hidden, "\n".join(hidden)
        context.close()
        visit.check()


# What has the focus, and whether a ring or an edge of at least 3:1 to what is behind it shows that.
SEEN = """() => {
  const element = document.activeElement
  if (!element || element === document.body) return null
  const numbers = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number)
  const part = (value) => {
    const share = value / 255
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }
  const luminance = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
  const ground = (found) => {
    const color = found ? numbers(getComputedStyle(found).backgroundColor) : [255, 255, 255]
    return color[3] === 0 ? ground(found.parentElement) : color
  }
  const behind = luminance(ground(element.parentElement))
  const shows = (target) => {
    const style = getComputedStyle(target)
    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0
    const edge = target.matches('input, select, textarea')
    return [ring && style.outlineColor, edge && style.borderColor].filter(Boolean).some((color) => {
      const [first, second] = [luminance(numbers(color)), behind].sort((a, b) => b - a)
      return (first + 0.05) / (second + 0.05) >= 3
    })
  }
  const targets = [element, element.nextElementSibling, element.closest('[class*=field]')]
  const text = element.getAttribute('aria-label') ?? element.textContent.slice(0, 40)
  const name = `${element.tagName} ${text} ${String(element.className).slice(0, 60)}`
  return { name, visible: targets.filter(Boolean).some(shows) }
}"""
