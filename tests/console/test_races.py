"""What is typed, pressed or found while something else happens."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Route, expect

from sexton.cli.client import Client
from tests.cli.server import Server
from tests.console.conftest import Visit, ask

pytestmark = pytest.mark.servers


def test_run_now_makes_one_run_however_often_it_is_pressed(visit: Visit, server: Server) -> None:
    spec = {"name": "hello", "schedule": "@yearly", "target": {"handler": "sexton.log"}}
    job = ask(server, "POST", "/jobs", spec)["job_id"]
    page = visit.open(f"/jobs/{job}")
    page.get_by_role("button", name="Run now").dblclick()
    expect(page).to_have_url(re.compile("/runs/r_"))
    assert len(ask(server, "GET", f"/runs?job={job}")) == 1


def test_what_is_typed_stays_when_another_saves_a_template(visit: Visit, server: Server) -> None:
    ask(server, "PUT", "/templates/hello", {"email": {"subject": "Hello", "text": "Hello"}})
    page = visit.open("/notifications/templates/hello")
    subject = page.get_by_role("textbox", name="Subject")
    subject.fill("Good morning")
    ask(server, "PUT", "/templates/hello", {"email": {"subject": "Good evening", "text": "Hello"}})
    # As after a pause everything on the page is read again.
    page.get_by_role("button", name=re.compile("^Live")).click()
    page.get_by_role("button", name=re.compile("^Paused")).click()
    expect(page.get_by_text(re.compile("has saved version 2 meanwhile"))).to_be_visible()
    expect(subject).to_have_value("Good morning")
    page.get_by_role("button", name="Drop mine").click()
    expect(subject).to_have_value("Good evening")


def test_enter_waits_for_what_is_found(visit: Visit, server: Server) -> None:
    for name in ("alpha-report", "beta-report"):
        ask(server, "POST", "/jobs", {"name": name, "schedule": "@yearly"})
    page = visit.open("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("alpha")
    expect(page.get_by_role("option", name=re.compile("alpha-report"))).to_be_visible()
    search = page.get_by_role("combobox", name="Search")
    search.fill("beta")
    search.press("Enter")
    expect(page.get_by_role("heading", name="beta-report")).to_be_visible()


def test_a_page_of_a_list_that_fails_is_asked_for_by_a_person(visit: Visit, server: Server) -> None:
    headers = {"Content-Type": "application/x-ndjson"}
    plan = {"entity_type": "post", "action": "publish", "at": "2099-01-01T09:00:00Z"}
    lines = "".join(json.dumps({**plan, "entity_id": str(number)}) + "\n" for number in range(130))
    with Client(server.url) as client:
        client.request("POST", "/content/schedules/bulk", lines.encode(), headers=headers)
    asked: list[str] = []
    refused = True

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        if refused:
            route.fulfill(status=400, content_type="application/json", body='{"detail": "no such place"}')
        else:
            route.continue_()

    visit.page.route(re.compile(r"/content/schedules\?.*cursor="), answer)
    page = visit.open("/content/planned?status=pending")
    expect(page.get_by_text("100 of 130")).to_be_visible()
    page.locator("[data-rows]").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    expect(page.get_by_text("no such place")).to_be_visible()
    refused = False
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("130", exact=True)).to_be_visible()
    expect(page.get_by_text("no such place")).to_have_count(0)
    assert len(asked) == 2


def test_the_schedule_of_the_playground_is_edited_in_the_middle(visit: Visit) -> None:
    page = visit.open("/playground?schedule=0+9+*+*+*&timezone=Europe/Berlin")
    schedule = page.get_by_role("textbox", name="Schedule")
    expect(schedule).to_have_value("0 9 * * *")
    schedule.press("Home")
    page.keyboard.press("Delete")
    page.keyboard.type("15")
    expect(page.get_by_text("At 09:15 every day, Berlin time").first).to_be_visible()
    expect(schedule).to_have_value("15 9 * * *")
    schedule.fill("")
    expect(page).to_have_url(re.compile("schedule=&"))
    expect(schedule).to_have_value("")
