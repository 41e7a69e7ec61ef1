"""What people do in the console, from the first click to what the API says afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import asyncpg
import pytest
from playwright.sync_api import Browser, Page, expect

from sexton import clock
from sexton.config import Settings
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, ZONE, Visit, ask

pytestmark = pytest.mark.servers
KEY = "k" * 40

expect.set_options(timeout=PATIENCE_MS)


def test_make_a_job_in_the_form_see_it_fire_and_open_the_run(visit: Visit, server: Server) -> None:
    page = visit.open("/jobs/new")
    page.get_by_role("textbox", name="Schedule", exact=True).fill("evry 5s")
    expect(page.locator("[aria-live=polite] .bad").first).to_be_visible()  # the preview says what is wrong
    page.get_by_role("textbox", name="Schedule", exact=True).fill("every 2s")
    expect(page.get_by_text("Every 2 seconds")).to_be_visible()
    page.get_by_role("textbox", name="Name", exact=True).fill("hello")
    page.get_by_role("combobox", name="Handler", exact=True).fill("sexton.log")
    page.get_by_role("textbox", name="Payload", exact=True).fill('{"n": 12345678901234567890}')
    page.get_by_role("button", name="Make the job").click()
    expect(page.get_by_role("heading", name="hello", exact=True)).to_be_visible()
    run = page.locator("table a.mono").first
    expect(run).to_be_visible()  # without reloading
    run.click()
    expect(page.get_by_text("What happened when")).to_be_visible()
    expect(page.get_by_text("12345678901234567890").first).to_be_visible()
    expect(page.locator("h1 ~ * >> text=success").first).to_be_visible()
    assert ask(server, "GET", "/jobs/hello")["target"] == {"handler": "sexton.log"}


def test_a_wrong_field_is_told_at_the_field(visit: Visit) -> None:
    page = visit.open("/jobs/new")
    page.get_by_role("textbox", name="Schedule", exact=True).fill("@daily")
    page.get_by_role("textbox", name="Name", exact=True).fill("hello")
    page.get_by_role("textbox", name="Payload", exact=True).fill('{"n": ')
    page.get_by_role("button", name="Make the job").click()
    expect(page.get_by_text("This is not JSON")).to_be_visible()


def test_an_edit_meets_that_of_another(visit: Visit, server: Server) -> None:
    payload = {"password": "old", "n": 9007199254740993}
    job = ask(
        server, "POST", "/jobs",
        {"name": "hello", "schedule": "@daily", "target": {"handler": "sexton.log"}, "payload": payload},
    )  # fmt: skip
    path = f"/jobs/{job['job_id']}"
    page = visit.open(f"{path}/edit")
    retries = page.get_by_role("textbox", name="Retries", exact=True)
    retries.fill("9")
    ask(server, "PATCH", path, {"max_retries": 7, "owner": "ops"})
    expect(page.get_by_role("textbox", name="Payload", exact=True)).not_to_have_value(re.compile("old"))
    page.get_by_role("textbox", name="Reason").fill("it fails often")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("hello was changed since you opened it")).to_be_visible()
    expect(page.get_by_text("You change this, too:")).to_be_visible()
    expect(retries).to_have_value("9")  # what was typed is still there
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.get_by_role("heading", name="hello", exact=True)).to_be_visible()
    saved = ask(server, "GET", path)
    assert (saved["max_retries"], saved["owner"], saved["payload"]) == (9, "ops", payload)
    assert ask(server, "GET", f"{path}/changes")[0]["reason"] == "it fails often"


def test_enter_takes_the_city_and_does_not_send_the_form(visit: Visit) -> None:
    page = visit.open("/jobs/new?schedule=@daily&name=hello")
    zone = page.get_by_role("combobox", name="Time zone")
    zone.fill("mumbai")
    expect(page.get_by_role("option").first).to_contain_text("Mumbai")
    zone.press("Enter")
    expect(zone).to_have_value("Asia/Kolkata")
    expect(page).to_have_url(re.compile("/jobs/new"))


def test_the_account_goes_back_as_far_as_one_looks(visit: Visit, server: Server) -> None:
    target = {"handler": "sexton.log"}
    job = ask(server, "POST", "/jobs", {"name": "hello", "schedule": "* * * * *", "target": target})
    ask(server, "POST", "/jobs/hello/pause", {})
    now = clock.now()
    start = (now - timedelta(minutes=120)).isoformat()
    answer = ask(server, "POST", "/jobs/hello/backfill", {"start": start, "end": now.isoformat()})
    page = visit.open(f"/jobs/{job['job_id']}?tab=accounting")
    rows = page.get_by_role("region", name="Accounting").locator("tbody tr")
    expect(rows.first).to_be_visible()
    before = rows.count()
    assert before < len(answer["run_ids"])
    page.get_by_role("button", name="Show earlier ones").click()
    expect(rows.nth(before)).to_be_visible()


def test_a_job_breaks_and_its_dead_letter_is_redriven(visit: Visit, server: Server) -> None:
    # No server listens on this port, and one try is all it has.
    target = {"http": {"url": "http://127.0.0.1:9/hook"}}
    at = (clock.now() + timedelta(seconds=1)).isoformat()
    ask(server, "POST", "/jobs", {"name": "broken", "schedule": at, "target": target, "max_retries": 0})
    page = visit.open("/dead")
    expect(page.get_by_role("button", name="Redrive", exact=True)).to_be_visible()
    page.get_by_role("button", name="Redrive", exact=True).click()
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("nothing was done")).to_be_visible()
    page.get_by_role("button", name="Redrive 1").click()
    expect(page.get_by_text("1 run is made again")).to_be_visible()
    page.goto(f"{visit.url}/runs?trigger=redrive")
    expect(page.get_by_role("cell", name="redrive").first).to_be_visible()


def test_what_is_destroyed_is_named_and_needs_a_reason(visit: Visit, server: Server) -> None:
    job = ask(
        server, "POST", "/jobs", {"name": "old", "schedule": "@daily", "target": {"handler": "sexton.log"}}
    )
    page = visit.open(f"/jobs/{job['job_id']}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("old", exact=True)).to_be_visible()
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_role("textbox", name="Reason").fill("replaced by new")
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile(r"/jobs$"))
    [entry] = ask(server, "GET", "/audit?action=job.deleted")
    assert entry["reason"] == "replaced by new"


def test_one_is_found_among_200_000_and_all_that_match_are_paused(
    visit: Visit, server: Server, database_url: str
) -> None:
    ask(server, "POST", "/jobs", {"name": "needle-in-the-hay", "schedule": "@yearly", "owner": "kim"})
    ask(server, "POST", "/jobs", {"name": "hay", "schedule": "0 0 1 1 *"})
    server.run(_multiply(database_url, 200_000))
    page = visit.open("/jobs")
    page.get_by_role("textbox", name="Name, owner, description").fill("needle")
    expect(page.get_by_role("link", name="needle-in-the-hay")).to_be_visible()
    expect(page).to_have_url(re.compile("search=needle"))
    expect(page.get_by_role("link", name="hay-1", exact=True)).to_have_count(0)
    page.get_by_role("checkbox", name="Select all rows that are loaded").check()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("dialog").get_by_text("1 job", exact=True)).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Pause")).click()
    expect(page.get_by_text("1 job was changed")).to_be_visible()
    assert ask(server, "GET", "/jobs/needle-in-the-hay")["status"] == "paused"


async def _multiply(url: str, count: int) -> None:
    """Copies of a job in the table, as an import would have made them."""
    connection = await asyncpg.connect(url)
    try:
        names = await connection.fetchval(
            "select string_agg(quote_ident(column_name), ', ') from information_schema.columns "
            "where table_schema = any(current_schemas(false)) and table_name = 'jobs' "
            "and is_generated = 'NEVER' and column_name not in ('id', 'name')"
        )
        await connection.execute(
            f"insert into jobs (id, name, {names}) select 1000000000 + n, 'hay-' || n, {names} "
            f"from jobs, generate_series(1, {count}) n where name = 'hay'"
        )
        await connection.execute("analyze jobs")
    finally:
        await connection.close()


def test_a_content_item_is_dragged_to_another_day_and_goes_out(visit: Visit, server: Server) -> None:
    ask(server, "PUT", "/content/entities/post/1", {"body": {"title": "Spring"}})
    day = (clock.now().astimezone(ZoneInfo(ZONE)) + timedelta(days=1)).date()
    local = f"{day}T09:00"
    plan = {"entity_type": "post", "entity_id": "1", "action": "publish", "created_by": "kim"}
    made = ask(server, "POST", "/content/schedules", {**plan, "local_time": local, "timezone": ZONE})
    page = visit.open(f"/content/calendar?view=week&day={day}")
    chip = page.get_by_role("button", name=re.compile("09:00 Spring"))
    expect(chip).to_be_visible()
    page.goto(f"{visit.url}/content/calendar?view=month&day={day}")
    target = day + timedelta(days=-1 if (day + timedelta(days=1)).month != day.month else 1)
    if target <= clock.now().date():
        target = day  # the month ends today: only the time is moved, below
    chip.drag_to(page.locator(f'[data-day="{target}"]'))
    if target != day:
        page.get_by_role("dialog").get_by_role("button", name="Move", exact=True).click()
        expect(page.get_by_text("Spring is moved")).to_be_visible()
        moved = ask(server, "GET", f"/content/schedules/{made['schedule_id']}")
        assert moved["local_time_display"].replace(" ", "T").startswith(f"{target}T09:00")
    chip.focus()
    page.keyboard.press("m")
    expect(page.get_by_role("dialog").get_by_label("New time")).to_be_visible()
    page.keyboard.press("Escape")
    chip.click()
    page.get_by_role("button", name="Go out now", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Go out now", exact=True).click()
    expect(page.locator("h1 ~ * >> text=done").first).to_be_visible()
    assert ask(server, "GET", "/content/entities/post/1")["state"] == "published"


def test_what_fires_often_is_a_line_and_a_job_for_one_time_is_moved_by_key(
    visit: Visit, server: Server
) -> None:
    target = {"handler": "sexton.log"}
    day = (clock.now().astimezone(ZoneInfo(ZONE)) + timedelta(days=1)).date()
    at = datetime.combine(day, time(10, 30), ZoneInfo(ZONE))
    ask(server, "POST", "/jobs", {"name": "busy", "schedule": "* * * * *", "target": target})
    made = ask(server, "POST", "/jobs", {"name": "once", "schedule": at.isoformat(), "target": target})
    page = visit.open(f"/calendar?view=week&day={day}")
    often = page.get_by_role("list", name="What fires often")
    expect(often.get_by_role("button", name=re.compile(r"^busy \* \* \* \* \*"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile(r"\d busy"))).to_have_count(0)
    chip = page.get_by_role("button", name=re.compile("10:30 once"))
    chip.focus()
    page.keyboard.press("m")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New time").fill(f"{day}T16:45")
    dialog.get_by_role("button", name="Move", exact=True).click()
    expect(page.get_by_role("button", name=re.compile("16:45 once"))).to_be_visible()
    moved = datetime.fromisoformat(ask(server, "GET", f"/jobs/{made['job_id']}")["next_run_at"])
    assert moved == at + timedelta(hours=6, minutes=15)
    page.get_by_text("Agenda", exact=True).click()
    expect(page.get_by_role("button", name="Move once")).to_be_visible()


def test_the_playground_needs_no_sign_in(browser: Browser, guarded: Server) -> None:
    context = browser.new_context(locale="en-GB", timezone_id=ZONE)
    visit = Visit(context, guarded.url)
    page = visit.open("/playground?schedule=30+2+*+*+*&timezone=Europe/Berlin&compare=0+3+*+*+*")
    expect(page.get_by_text("At 02:30 every day, Berlin time").first).to_be_visible()
    expect(page.get_by_text("02:30 does not exist: moved to 03:00")).to_be_visible()
    expect(page.get_by_text("02:30 happens twice: it fires at the first")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Second")).to_be_visible()
    page.goto(f"{guarded.url}/jobs")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.get_by_role("link", name="Playground").click()
    expect(page.get_by_role("heading", name="When does it fire?")).to_be_visible()
    context.close()
    visit.check()


@pytest.fixture
def guarded(database_url: str) -> Iterator[Server]:
    """Where people must sign in."""
    with Server(database_url, settings=Settings(api_keys=KEY)) as started:
        yield started


def signed_in(browser: Browser, server: Server, key: str) -> tuple[Visit, Page]:
    context = browser.new_context(locale="en-GB", timezone_id=ZONE)
    visit = Visit(context, server.url)
    link = ask(server, "POST", "/links", key=key)["url"]
    visit.page.goto(link)
    expect(visit.page.get_by_role("heading", name="Overview")).to_be_visible()
    return visit, visit.page


def test_sign_in_and_out(browser: Browser, guarded: Server) -> None:
    context = browser.new_context(locale="en-GB")
    stranger = Visit(context, guarded.url)
    expect(stranger.open("/jobs?status=paused").get_by_role("heading", name="Sign in")).to_be_visible()
    assert "next=%2Fjobs%3Fstatus%3Dpaused" in stranger.page.url
    context.close()
    visit, page = signed_in(browser, guarded, KEY)
    page.get_by_role("button", name="You, and how this looks").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    visit.open("/jobs")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    visit.context.close()
    visit.check()


def test_a_link_is_good_on_the_page_that_refused_another(browser: Browser, guarded: Server) -> None:
    context = browser.new_context(locale="en-GB")
    visit = Visit(context, guarded.url)
    page = visit.open("/sign-in#not-a-link")
    expect(page.get_by_role("heading", name="Signing in did not work")).to_be_visible()
    # Only what is behind the # differs: the browser does not load the page anew by itself.
    page.goto(ask(guarded, "POST", "/links", key=KEY)["url"])
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    visit.check()
    context.close()


def test_a_viewer_sees_and_changes_nothing(browser: Browser, guarded: Server) -> None:
    job = {"name": "hello", "schedule": "@daily", "target": {"handler": "sexton.log"}}
    made = ask(guarded, "POST", "/jobs", job, key=KEY)
    spec = {"name": "reader", "role": "viewer", "namespace": "default"}
    key = ask(guarded, "POST", "/keys", spec, key=KEY)["key"]
    visit, page = signed_in(browser, guarded, key)
    page.goto(f"{guarded.url}/jobs")
    expect(page.get_by_role("link", name="hello")).to_be_visible()
    expect(page.get_by_role("link", name="New job")).to_have_count(0)
    page.goto(f"{guarded.url}/jobs/{made['job_id']}")
    expect(page.get_by_role("heading", name="hello")).to_be_visible()
    expect(page.get_by_role("button", name="Run now")).to_have_count(0)
    page.goto(f"{guarded.url}/notifications/campaigns")
    expect(page.get_by_text("No campaigns yet")).to_be_visible()
    expect(page.get_by_role("link", name="New campaign")).to_have_count(0)
    page.goto(f"{guarded.url}/notifications/campaigns/new")
    expect(page.get_by_text("Campaigns are planned by editors")).to_be_visible()
    page.goto(f"{guarded.url}/jobs/{made['job_id']}/edit")
    page.get_by_role("textbox", name="Name", exact=True).fill("mine")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Not allowed")).to_be_visible()
    visit.context.close()
    visit.check()


def test_the_connection_is_lost_and_comes_back(visit: Visit, server: Server) -> None:
    page = visit.open("/jobs")
    expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
    visit.context.set_offline(True)
    expect(page.get_by_text("The connection to the server is lost")).to_be_visible()
    visit.context.set_offline(False)
    expect(page.get_by_text("The connection to the server is lost")).to_have_count(0)
    ask(server, "POST", "/jobs", {"name": "later", "schedule": "@daily", "target": {"handler": "sexton.log"}})
    expect(page.get_by_role("link", name="later")).to_be_visible()  # live again, without reloading


def test_everything_can_be_reached_by_keys(visit: Visit, server: Server) -> None:
    ask(server, "POST", "/jobs", {"name": "billing-report", "schedule": "@daily"})
    page = visit.open("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog").get_by_text("Go to")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile("/runs$"))
    page.keyboard.press("/")
    page.keyboard.type("billing")
    expect(page.get_by_role("option", name=re.compile("billing-report"))).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="billing-report")).to_be_visible()


def test_another_language_can_be_chosen(visit: Visit) -> None:
    page = visit.open("/")
    page.get_by_role("button", name="You, and how this looks").click()
    page.get_by_role("menuitem", name="Deutsch").click()
    expect(page.get_by_role("heading", name="Überblick")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "de"


def test_a_campaign_is_started_paused_and_resumed(visit: Visit, server: Server) -> None:
    """From a draft in the list to its messages, with a word in between that stops it."""
    ask(server, "PUT", "/notifications/providers/nowhere", {"channel": "email", "kind": "null"})
    ask(server, "PUT", "/templates/spring", {"email": {"subject": "Hello", "text": "Hello {{ name }}"}})
    for number in range(16):
        fields = {"fields": {"name": "Ann"}, "email": f"ann{number}@example.com"}
        ask(server, "PUT", f"/recipients/ann-{number}", fields)
    audience = {"everyone": True}
    campaign = {"name": "spring", "template_id": "spring", "audience": audience, "rate": 1, "draft": True}
    made = ask(server, "POST", "/campaigns", campaign)
    path = f"/campaigns/{made['campaign_id']}"
    page = visit.open("/notifications/campaigns")
    page.get_by_role("link", name="spring", exact=True).click()
    confirm(page, "Start now")
    expect(page.locator("h1 ~ * >> text=sending").first).to_be_visible()
    expect(page.get_by_role("button", name="Start now", exact=True)).to_have_count(0)
    confirm(page, "Pause", reason="a wrong price")
    expect(page.locator("h1 ~ * >> text=paused").first).to_be_visible()
    expect(page.get_by_text("a wrong price", exact=True)).to_be_visible()
    stopped = ask(server, "GET", path)
    assert (stopped["status"], stopped["counts"]["left"] > 0) == ("paused", True)
    confirm(page, "Resume")
    expect(page.locator("h1 ~ * >> text=sending").first).to_be_visible()
    [entry] = ask(server, "GET", "/audit?action=campaign.paused")
    assert entry["reason"] == "a wrong price"
    # What is left goes out, and the page follows by itself.
    expect(page.locator("h1 ~ * >> text=done").first).to_be_visible()
    assert ask(server, "GET", path)["counts"]["sent"] == 16
    page.goto(f"{visit.url}/notifications/messages?user_id=ann-7")
    page.locator("table a.mono").first.click()
    expect(page.get_by_role("heading", name="What became of it")).to_be_visible()
    expect(page.locator("h1 ~ * >> text=sent").first).to_be_visible()


def confirm(page: Page, verb: str, reason: str | None = None) -> None:
    """Press a button of the page, and the one of the question that follows."""
    page.get_by_role("button", name=verb, exact=True).click()
    dialog = page.get_by_role("dialog")
    if reason is not None:
        dialog.get_by_role("textbox", name=re.compile("Reason")).fill(reason)
    dialog.get_by_role("button", name=re.compile(f"^{verb}( · .*)?$")).click()


def test_a_template_is_written_seen_saved_and_tried(visit: Visit, server: Server) -> None:
    ask(server, "PUT", "/notifications/providers/nowhere", {"channel": "email", "kind": "null"})
    page = visit.open("/notifications/templates")
    page.get_by_role("link", name="New template").first.click()
    page.get_by_role("textbox", name="Template").fill("welcome")
    page.get_by_role("textbox", name="Subject").fill("Hello {{ name }}")
    page.get_by_role("textbox", name="Plain text").fill("Nice to {{ meet")
    expect(page.get_by_role("alert").first).to_be_visible()  # the server says what is wrong while one types
    page.get_by_role("textbox", name="Plain text").fill("Nice to meet you, {{ name }}.")
    expect(page.get_by_text("Nice to meet you, [name].")).to_be_visible()
    page.get_by_role("button", name="Save as a new version").click()
    expect(page.get_by_role("heading", name="welcome")).to_be_visible()
    assert ask(server, "GET", "/templates/welcome")["version"] == 1
    page.get_by_role("button", name="Send me a test").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="E-mail").fill("ann@example.com")
    dialog.get_by_role("button", name="Send", exact=True).click()
    dialog.get_by_role("link", name=re.compile("^n_")).click()
    expect(page.get_by_role("heading", name="What became of it")).to_be_visible()
    [message] = ask(server, "GET", "/notifications?template_id=welcome")
    assert message["urgency"] == "asap"


def test_a_release_is_planned(visit: Visit, server: Server) -> None:
    for number in (1, 2):
        ask(server, "PUT", f"/content/entities/post/{number}", {"body": {"title": "Spring"}})
    page = visit.open("/content/releases")
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_role("menuitem", name="A release: several together").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Note").fill("The sale begins")
    dialog.get_by_label("When").fill("2099-03-14T09:00")
    for number in (0, 1):
        dialog.get_by_role("combobox", name="Entity").nth(number).fill(str(number + 1))
    dialog.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("link", name="The sale begins")).to_be_visible()
    [release] = ask(server, "GET", "/content/releases")
    assert [item["entity_id"] for item in release["items"]] == ["1", "2"]


def test_a_form_is_sent_once(visit: Visit, server: Server) -> None:
    page = visit.open("/settings?tab=keys")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("deploy")
    dialog.get_by_role("button", name="Make the key").dblclick()
    expect(page.get_by_text("Copy it now: it is shown once")).to_be_visible()
    assert [each["name"] for each in ask(server, "GET", "/keys")] == ["deploy"]


def test_a_page_that_was_never_loaded_comes_when_the_connection_is_back(visit: Visit, server: Server) -> None:
    page = visit.open("/jobs")
    expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
    visit.context.set_offline(True)
    expect(page.get_by_text("The connection to the server is lost")).to_be_visible()
    page.get_by_role("link", name="Queues and workers").click()
    expect(page.get_by_role("heading", name="The server cannot be reached")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()  # the way to other pages stays
    visit.context.set_offline(False)
    expect(page.get_by_role("heading", name="Queues and workers")).to_be_visible()
