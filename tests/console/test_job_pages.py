"""The form of a job, its page and its calendar: what is refused is found, and each list does what every list
does."""

from __future__ import annotations

import csv
import json
import re
from datetime import datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from sexton import clock
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, ZONE, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)

TARGET = {"handler": "sexton.log"}


def save(page: Page, form: str) -> str:
    """What the list of the page exports."""
    page.get_by_role("button", name="Export what matches").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=form, exact=True).click()
    return Path(download.value.path()).read_text("utf-8")


def test_what_was_refused_comes_into_sight_with_the_focus(visit: Visit) -> None:
    page = visit.open("/jobs/new?schedule=@daily&name=hello&handler=sexton.log")
    payload = page.get_by_role("textbox", name="Payload", exact=True)
    payload.fill('{"n": ')
    page.get_by_role("button", name="Make the job").click()
    expect(page.get_by_text("This is not JSON")).to_be_visible()
    expect(payload).to_be_focused()
    expect(payload).to_be_in_viewport()
    payload.fill("")
    # The policies, which are folded, open for what was refused in them.
    page = visit.open("/jobs/new?schedule=@daily&name=hello&handler=sexton.log")
    page.get_by_role("button", name="Policies and details").click()
    excluded = page.get_by_role("combobox", name="Excluded days")
    excluded.fill("2027-13-45")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Policies and details").click()
    expect(excluded).to_be_hidden()
    page.get_by_role("button", name="Make the job").click()
    expect(excluded).to_be_focused()
    expect(excluded).to_be_in_viewport()


def test_a_recurrence_is_built_of_weekdays_months_and_an_end(visit: Visit, server: Server) -> None:
    page = visit.open("/jobs/new?name=books&handler=sexton.log&timezone=UTC")
    page.get_by_text("Recurrence", exact=True).click()
    schedule = page.get_by_role("textbox", name="Schedule", exact=True)

    def choose(field: str, option: str) -> None:
        page.get_by_role("combobox", name=field, exact=True).click()
        page.get_by_role("option", name=option, exact=True).click()

    choose("Unit", "months")
    choose("On", "the last")
    choose("Day of the week", "Fri")
    choose("Ends", "on a day")
    page.get_by_label("The last day").fill("2099-12-31")
    expect(schedule).to_have_value(
        "RRULE:FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0;UNTIL=20991231"
    )
    choose("Unit", "years")
    choose("In", "March")
    choose("Ends", "after some times")
    expect(schedule).to_have_value(
        "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0;COUNT=10"
    )
    page.get_by_role("button", name="Make the job").click()
    expect(page.get_by_role("heading", name="books", exact=True)).to_be_visible()
    at = datetime.fromisoformat(ask(server, "GET", "/jobs/books")["next_run_at"])
    assert (at.month, at.weekday(), at.hour) == (3, 4, 9)
    assert (at + timedelta(days=7)).month == 4


def test_the_answer_to_a_test_of_a_target_is_shown(visit: Visit, server: Server) -> None:
    page = visit.open("/jobs/new?schedule=@daily&name=hook")
    page.get_by_role("combobox", name="Target", exact=True).click()
    page.get_by_role("option", name="An HTTP request").click()
    page.get_by_role("textbox", name="URL").fill(f"{server.url}/healthz")
    page.get_by_role("combobox", name="Method").click()
    page.get_by_role("option", name="GET", exact=True).click()
    page.get_by_role("button", name="Send a test").click()
    expect(page.get_by_text("it would succeed")).to_be_visible()
    expect(page.get_by_text(re.compile('"status": 200'))).to_be_visible()


def test_the_runs_of_a_job_are_run_again_and_exported(visit: Visit, server: Server) -> None:
    job = ask(server, "POST", "/jobs", {"name": "hello", "schedule": "@yearly", "target": TARGET})["job_id"]
    for _ in range(2):
        ask(server, "POST", f"/jobs/{job}/run", {})
    page = visit.open(f"/jobs/{job}")
    runs = page.get_by_role("region", name="Runs of this job")
    expect(runs.get_by_text("success", exact=True)).to_have_count(2)
    assert len({row["run_id"] for row in json.loads(save(page, "JSON"))}) == 2
    runs.get_by_role("checkbox", name="Select all rows that are loaded").check()
    runs.get_by_role("button", name="Run again", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Run again · 2 runs").click()
    expect(runs.get_by_text("success", exact=True)).to_have_count(4)


def test_the_account_is_filtered_sorted_and_exported(visit: Visit, server: Server) -> None:
    job = ask(server, "POST", "/jobs", {"name": "hello", "schedule": "* * * * *", "target": TARGET})
    ask(server, "POST", "/jobs/hello/pause", {})
    now = clock.now()
    span = {"start": (now - timedelta(minutes=5)).isoformat(), "end": now.isoformat()}
    made = len(ask(server, "POST", "/jobs/hello/backfill", span)["run_ids"])
    page = visit.open(f"/jobs/{job['job_id']}?tab=accounting")
    account = page.get_by_role("region", name="Accounting")
    rows = account.locator("tbody tr")
    account.get_by_role("combobox", name="Account").click()
    page.get_by_role("option", name="fired", exact=True).click()
    expect(rows).to_have_count(made)
    expect(page).to_have_url(re.compile("disposition=fired"))
    found = list(csv.DictReader(save(page, "CSV").splitlines()))
    times = [each["scheduled_at"] for each in found]
    assert times == sorted(times, reverse=True)
    account.get_by_role("button", name="Occurrence", exact=True).click()
    expect(account.get_by_role("columnheader", name="Occurrence")).to_have_attribute("aria-sort", "ascending")
    assert [each["scheduled_at"] for each in csv.DictReader(save(page, "CSV").splitlines())] == sorted(times)


def test_changes_are_loaded_further_back_and_exported(visit: Visit, server: Server) -> None:
    job = ask(server, "POST", "/jobs", {"name": "hello", "schedule": "@daily", "target": TARGET})["job_id"]
    for number in range(55):
        ask(server, "PATCH", f"/jobs/{job}", {"owner": f"person {number}"})
    page = visit.open(f"/jobs/{job}?tab=changes")
    changes = page.get_by_role("region", name="Who changed it, and why")
    expect(changes.get_by_text("50 changes+")).to_be_visible()
    changes.get_by_role("button", name="Show more").click()
    expect(changes.get_by_text("56 changes", exact=True)).to_be_visible()
    assert len(json.loads(save(page, "JSON"))) == 56


def test_pausing_all_that_match_is_undone_but_for_those_that_were_paused(
    visit: Visit, server: Server
) -> None:
    for number in range(102):
        ask(server, "POST", "/jobs", {"name": f"job-{number:03}", "schedule": "@yearly", "target": TARGET})
    ask(server, "POST", "/jobs/job-007/pause", {"reason": "the texts are reviewed"})
    page = visit.open("/jobs?sort=name")
    expect(page.get_by_text("100 of 102")).to_be_visible()
    page.get_by_role("checkbox", name="Select all rows that are loaded").check()
    page.get_by_role("button", name="Select all 102 that match").click()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Pause · 102 jobs").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is as it was")).to_be_visible()
    assert [each["name"] for each in ask(server, "GET", "/jobs?status=paused")] == ["job-007"]


def test_what_another_has_moved_is_not_moved_away_from_under_them(visit: Visit, server: Server) -> None:
    day = (clock.now().astimezone(ZoneInfo(ZONE)) + timedelta(days=1)).date()
    at = datetime.combine(day, time(10, 30), ZoneInfo(ZONE))
    ask(server, "POST", "/jobs", {"name": "once", "schedule": at.isoformat(), "target": TARGET})
    page = visit.open(f"/calendar?view=month&day={day}")
    page.get_by_role("button", name=re.compile("10:30 once")).focus()
    page.keyboard.press("m")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New time").fill(f"{day}T16:45")
    theirs = at + timedelta(hours=2)
    ask(server, "POST", "/jobs/once/reschedule", {"at": theirs.isoformat()})
    dialog.get_by_role("button", name="Move", exact=True).click()
    expect(dialog.get_by_text("It was changed since the calendar was drawn")).to_be_visible()
    expect(dialog.get_by_role("button", name="Move it all the same")).to_have_count(0)
    dialog.get_by_role("button", name="Keep it as it is").click()
    expect(page.get_by_role("button", name=re.compile("12:30 once"))).to_be_visible()
    assert datetime.fromisoformat(ask(server, "GET", "/jobs/once")["next_run_at"]) == theirs


def test_the_playground_is_a_page_of_the_console_for_those_who_are_signed_in(visit: Visit) -> None:
    page = visit.open("/jobs")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Playground").click()
    expect(page.get_by_role("heading", name="When does it fire?")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
