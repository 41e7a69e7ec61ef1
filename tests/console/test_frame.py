"""What is around every page: namespaces, zones, live data and its pause, banners, keys, what is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, expect

from sexton import clock
from sexton.config import Settings
from tests.cli.server import Server
from tests.console.conftest import PATIENCE_MS, ZONE, Visit, ask

pytestmark = pytest.mark.servers

expect.set_options(timeout=PATIENCE_MS)

TARGET = {"handler": "sexton.log"}
TOKYO = "Asia/Tokyo"
# By the key after `g`: the address where it leads, and the name of the file that has the page.
PLACES = {
    "j": ("/jobs", "jobs"),
    "r": ("/runs", "runs"),
    "d": ("/dead", "dead"),
    "c": ("/calendar", "calendar"),
    "e": ("/content/board", "content"),
    "n": ("/notifications/campaigns", "notifications"),
    "q": ("/queues", "queues"),
    "x": ("/cluster", "cluster"),
    "s": ("/settings", "settings"),
    "p": ("/playground", "playground"),
    "o": ("/", "overview"),
}


def make(server: Server, name: str, namespace: str | None = None, **fields: str) -> str:
    spec = {"name": name, "schedule": "@daily", "target": TARGET, **fields}
    return str(ask(server, "POST", "/jobs", spec, namespace=namespace)["job_id"])


def test_another_namespace_has_other_jobs_and_another_address(visit: Visit, server: Server) -> None:
    ask(server, "POST", "/namespaces", {"name": "shop"})
    make(server, "alpha")
    make(server, "beta", "shop")
    page = visit.open("/jobs?status=active")
    expect(page.get_by_role("link", name="alpha", exact=True)).to_be_visible()
    page.get_by_role("button", name="Namespace: default").click()
    page.get_by_role("menuitem", name="shop").click()
    expect(page.get_by_role("link", name="beta", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="alpha", exact=True)).to_have_count(0)
    expect(page).to_have_url(f"{visit.url}/namespaces/shop/jobs")
    expect(page.get_by_role("button", name=re.compile("^Live"))).to_be_visible()
    make(server, "elsewhere")
    make(server, "gamma", "shop")
    expect(page.get_by_role("link", name="gamma", exact=True)).to_be_visible()  # live, and of this one only
    expect(page.get_by_role("link", name="elsewhere", exact=True)).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("alpha")
    expect(page.get_by_text("Nothing is called that.")).to_be_visible()
    page.get_by_role("combobox", name="Search").fill("beta")
    page.get_by_role("option", name=re.compile("beta")).click()
    expect(page.get_by_role("heading", name="beta", exact=True)).to_be_visible()
    assert urlsplit(page.url).path.startswith("/namespaces/shop/jobs/j_")


def test_an_address_shows_the_same_to_all_who_open_it(visit: Visit, server: Server, browser: Browser) -> None:
    ask(server, "POST", "/namespaces", {"name": "shop"})
    make(server, "alpha")
    made = make(server, "beta", "shop")
    page = visit.open(f"/namespaces/shop/jobs/{made}")
    expect(page.get_by_role("heading", name="beta", exact=True)).to_be_visible()
    # Links lead on in the same namespace, in another tab as well.
    link = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs", exact=True)
    assert link.get_attribute("href") == "/namespaces/shop/jobs"
    # An address without a namespace is of the default one, whatever was looked at last; only `/` goes on.
    expect(visit.open("/jobs").get_by_role("link", name="alpha", exact=True)).to_be_visible()
    visit.open("/namespaces/shop/jobs")
    expect(page.get_by_role("link", name="beta", exact=True)).to_be_visible()
    visit.open("/")
    expect(page).to_have_url(f"{visit.url}/namespaces/shop")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def choose_zone(page: Page, name: str) -> None:
    page.get_by_role("button", name=re.compile("Zone of times")).click()
    page.get_by_role("menuitem", name=re.compile(f"^{name}")).click()
    expect(page.get_by_role("menuitem")).to_have_count(0)


def test_times_follow_the_zone_that_is_chosen_and_name_it(visit: Visit, server: Server) -> None:
    job = make(server, "sushi", schedule="0 9 * * *", timezone=TOKYO)
    at = datetime.fromisoformat(ask(server, "GET", f"/jobs/{job}")["next_run_at"])
    tokyo, berlin, utc = (f"{at.astimezone(ZoneInfo(zone)):%H:%M}" for zone in (TOKYO, ZONE, "UTC"))
    page = visit.open("/jobs")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="sushi"))
    expect(
        row.get_by_text(re.compile(rf"{tokyo} (GMT\+9|JST) · .*{berlin} (CES?T|GMT\+[12])$"))
    ).to_be_visible()
    choose_zone(page, "UTC")
    expect(row.get_by_text(re.compile(rf"{tokyo} (GMT\+9|JST) · .*{utc} UTC$"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("UTC Zone of times"))).to_be_visible()
    visit.open(f"/jobs/{job}")  # the choice stays
    run = ask(server, "POST", f"/jobs/{job}/run")["run_id"]
    ran_at = datetime.fromisoformat(ask(server, "GET", f"/runs/{run}")["scheduled_at"])
    ran = page.get_by_role("region", name="Runs of this job").get_by_role("row").last.locator("time")
    planned = page.get_by_role("region", name="Next ten")
    first = planned.get_by_role("listitem").first.get_by_role("button").first
    for choice, zone, clock_time in (
        ("UTC", "UTC", utc),
        ("Each job's zone", TOKYO, tokyo),
        ("My zone", ZONE, berlin),
    ):
        choose_zone(page, choice)
        expect(planned.get_by_text(zone, exact=True)).to_be_visible()
        expect(first.locator("time")).to_have_text(re.compile(rf"\b{clock_time}$"))
        expect(ran).to_have_text(re.compile(rf"\b{ran_at.astimezone(ZoneInfo(zone)):%H:%M}:\d\d$"))
        first.hover()
        tip = page.get_by_role("tooltip")
        expect(tip).to_contain_text(f"({zone})" if zone != "UTC" else f"{utc}:00 UTC")
        page.mouse.move(0, 0)
        expect(tip).to_have_count(0)


def test_one_click_on_a_time_copies_it_as_iso(visit: Visit, server: Server) -> None:
    job = make(server, "hello")
    at = datetime.fromisoformat(ask(server, "GET", f"/jobs/{job}")["next_run_at"])
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open(f"/jobs/{job}")
    time = (
        page.get_by_role("region", name="Next ten").get_by_role("listitem").first.get_by_role("button").first
    )
    time.click()
    first = clipboard(page)
    assert first.endswith("Z")
    assert datetime.fromisoformat(first) == at
    # From the keyboard as well.
    page.evaluate("navigator.clipboard.writeText('')")
    time.press("Enter")
    assert clipboard(page) == first


def clipboard(page: Page) -> str:
    """What is in it, once something is."""
    for _ in range(1000):
        if text := page.evaluate("navigator.clipboard.readText()"):
            return str(text)
    pytest.fail("nothing was copied")


def test_nothing_moves_while_live_data_is_paused(visit: Visit, server: Server) -> None:
    make(server, "hello")
    visit.page.clock.install()
    page = visit.open("/queues")
    cell = page.get_by_role("row").filter(has_text="default").get_by_text("active", exact=True)
    expect(cell).to_be_visible()
    live = page.get_by_role("button", name=re.compile("^Live"))
    expect(live).to_be_visible()
    live.click()
    paused = page.get_by_role("button", name=re.compile("^Paused.*Go on with live data"))
    expect(paused).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    ask(server, "POST", "/queues/default/pause", {})
    # Every timer of the page runs, and the window comes back from behind another one.
    page.clock.run_for(120_000)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))")
    page.clock.run_for(10_000)
    expect(paused).to_contain_text(re.compile(r"2 min"))
    assert asked == []
    expect(cell).to_be_visible()
    page.clock.resume()
    paused.click()
    expect(page.get_by_role("row").filter(has_text="default").get_by_text("paused")).to_be_visible()
    expect(live).to_be_visible()


def banner(page: Page) -> Locator:
    return page.locator("main").get_by_role("status")


def test_the_banner_tells_of_shards_without_a_leader(browser: Browser, database_url: str) -> None:
    with Server(database_url) as alone:  # an api, and no scheduler
        make(alone, "hello")
        visit = Visit(browser.new_context(locale="en-GB", timezone_id=ZONE), alone.url)
        page = visit.open("/jobs")
        expect(banner(page)).to_contain_text("have no leader: their jobs do not fire")
        banner(page).get_by_role("link", name="Cluster").click()
        expect(page.get_by_role("heading", name="Cluster")).to_be_visible()
        visit.context.close()
        visit.check()


def test_the_banner_tells_of_dead_letters_that_grow(visit: Visit, server: Server) -> None:
    target = {"http": {"url": "http://127.0.0.1:9/hook"}}
    job = {"name": "broken", "schedule": "@yearly", "target": target, "max_retries": 0}
    made = ask(server, "POST", "/jobs", job)["job_id"]
    page = visit.open("/jobs")
    expect(page.get_by_role("link", name="broken")).to_be_visible()
    expect(page.get_by_text("in the last ten minutes")).to_have_count(0)
    ask(server, "POST", f"/jobs/{made}/run", {})
    expect(banner(page)).to_contain_text("1 run died in the last ten minutes")
    banner(page).get_by_role("link", name="Dead letters").click()
    expect(page).to_have_url(re.compile("/dead$"))
    expect(page.get_by_text("in the last ten minutes")).to_have_count(0)  # the page says it itself


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch, database_url: str) -> Iterator[Server]:
    """A machine whose clock is two hours ahead of the database's."""
    monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + timedelta(hours=2))
    with Server(database_url, roles=("scheduler", "worker")) as started:
        yield started


def test_the_banner_tells_of_a_node_whose_clock_is_wrong(browser: Browser, fast: Server) -> None:
    visit = Visit(browser.new_context(locale="en-GB", timezone_id=ZONE), fast.url)
    page = visit.open("/jobs")
    expect(banner(page)).to_contain_text(
        re.compile(r"the clock of \S+ is 7[12]\d\d\.\d s off that of the database")
    )
    visit.context.close()
    visit.check()


def test_the_banner_tells_that_the_clock_of_this_browser_is_wrong(visit: Visit) -> None:
    visit.page.clock.install(time=clock.now() + timedelta(hours=3))
    page = visit.open("/jobs")
    expect(banner(page)).to_contain_text(re.compile(r"The clock of this browser is (3 h|2 h 59 min)"))


def scripts_of(visit: Visit) -> list[str]:
    """What is loaded, as it is asked for."""
    scripts: list[str] = []

    def note(request: Request) -> None:
        path = urlsplit(request.url).path
        if path.startswith("/assets/") and path.endswith(".js"):
            scripts.append(path.removeprefix("/assets/"))

    visit.page.on("request", note)
    return scripts


def names_of(scripts: list[str]) -> set[str]:
    """Without the hash: `jobs-B1x2.js` is `jobs`."""
    return {re.sub(r"-[\w-]{8}\.js$", "", each) for each in scripts}


MISSING = {
    "/jobs/j_zzz": "Jobs", "/jobs/j_zzz/edit": "Jobs", "/runs/r_zzz": "Runs", "/dead/r_zzz": "Dead letters",
    "/content/entities/post/none": "Entities", "/content/releases/cr_zzz": "Releases",
    "/content/schedules/c_zzz": "Planned actions", "/notifications/campaigns/k_zzz": "Campaigns",
    "/notifications/messages/n_zzz": "Messages", "/notifications/templates/none": "Templates",
    "/notifications/recipients/none": "Recipients",
}  # fmt: skip


def test_the_page_of_what_is_not_there_says_so_and_leads_back(visit: Visit) -> None:
    for address, name in MISSING.items():
        page = visit.open(address)
        expect(page.get_by_role("heading", level=1, name="Not found")).to_be_visible()
        path = page.get_by_role("navigation", name="Path")
        expect(path.get_by_role("link", name=name)).to_be_visible()


def test_content_and_parts_of_pages_are_found(visit: Visit, server: Server) -> None:
    ask(server, "PUT", "/content/entities/post/7", {"body": {"title": "Spring collection"}})
    page = visit.open("/")
    for text, found, address in (
        ("spring coll", "Spring collection", "/content/entities/post/7"),
        ("webhooks", "Webhooks", "/settings?tab=webhooks"),
    ):
        expect(page.locator("h1")).to_be_visible()
        page.keyboard.press("/")
        page.get_by_role("combobox", name="Search").fill(text)
        expect(page.get_by_role("option", name=found)).to_be_visible()
        page.keyboard.press("Enter")
        expect(page).to_have_url(visit.url + address)


def test_a_command_to_copy_leads_to_what_the_page_shows(visit: Visit, server: Server) -> None:
    ask(server, "POST", "/namespaces", {"name": "shop"})
    page = visit.open("/namespaces/shop/jobs")
    command = f"SEXTON_URL={visit.url} SEXTON_NAMESPACE=shop sexton jobs add hello"
    expect(page.get_by_text(command)).to_be_visible()


def test_a_page_is_loaded_when_it_is_opened_and_every_place_has_its_key(visit: Visit) -> None:
    scripts = scripts_of(visit)
    page = visit.open("/jobs/new")
    expect(page.locator("h1")).to_be_visible()
    scripts.clear()
    for key, (address, name) in PLACES.items():
        assert name not in names_of(scripts)
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page).to_have_url(visit.url + address)
        expect(page.locator("h1").first).to_be_visible()
        assert name in names_of(scripts)


def test_the_playground_loads_no_frame_for_those_who_are_not_signed_in(
    browser: Browser, database_url: str
) -> None:
    with Server(database_url, settings=Settings(api_keys="k" * 40)) as guarded:
        stranger = Visit(browser.new_context(locale="en-GB", timezone_id=ZONE), guarded.url)
        scripts = scripts_of(stranger)
        asked: list[str] = []
        stranger.context.on("response", lambda response: asked.append(f"{response.status} {response.url}"))
        page = stranger.open("/playground")
        expect(page.locator("h1")).to_be_visible()
        expect(page.get_by_role("link", name="Console")).to_be_visible()
        expect(page.get_by_role("navigation", name="Pages")).to_have_count(0)
        assert "Frame" not in names_of(scripts)
        assert [each for each in asked if not each.startswith("2")] == []
        stranger.context.close()
        stranger.check()


def test_keys_do_not_disturb_typing_and_dialogs_give_the_focus_back(visit: Visit) -> None:
    page = visit.open("/jobs")
    field = page.get_by_role("textbox", name="Name, owner, description")
    field.focus()
    page.keyboard.type("g?/c")
    expect(field).to_have_value("g?/c")
    expect(page.get_by_role("dialog")).to_have_count(0)
    menu = page.get_by_role("button", name="You, and how this looks")
    menu.focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(menu).to_be_focused()
    page.keyboard.press("Control+k")
    search = page.get_by_role("combobox", name="Search")
    expect(search).to_be_focused()
    page.keyboard.type("Sett")
    expect(page.get_by_role("option", name=re.compile("Settings"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(search).to_have_count(0)
    expect(menu).to_be_focused()
    page.keyboard.press("c")
    expect(page).to_have_url(re.compile("/jobs/new$"))
