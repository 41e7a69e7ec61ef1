"""A campaign is planned in the form: counted while it is written, refused at its fields, saved, started."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.cli.server import Server
from tests.console.conftest import Visit, ask

pytestmark = pytest.mark.servers


@pytest.fixture
def crowd(server: Server) -> None:
    """Three in Tokyo and one in New York; one of them cannot be reached."""
    ask(server, "PUT", "/notifications/providers/nowhere", {"channel": "email", "kind": "null"})
    texts = {"email": {"subject": "Sale", "text": "Hello {{ name }}, all is cheaper at {{ shop }}"}}
    ask(server, "PUT", "/templates/spring", texts)
    for name, zone in (("kim", "Asia/Tokyo"), ("ken", "Asia/Tokyo"), ("lee", "America/New_York")):
        person = {"timezone": zone, "fields": {"name": name, "plan": "pro"}}
        ask(server, "PUT", f"/recipients/{name}", {**person, "email": f"{name}@example.com"})
    ask(
        server,
        "PUT",
        "/recipients/max",
        {"timezone": "Asia/Tokyo", "fields": {"name": "Max", "plan": "free"}},
    )
    ask(server, "PUT", "/segments/customers", {"filter": {"field": "plan", "is": "pro"}})


@pytest.mark.usefixtures("crowd")
def test_a_campaign_is_planned_and_started(visit: Visit, server: Server) -> None:
    page = visit.open("/notifications/campaigns")
    page.get_by_role("link", name="New campaign").first.click()
    expect(page.get_by_role("heading", name="New campaign")).to_be_visible()
    page.get_by_role("textbox", name="Name", exact=True).fill("spring sale")
    choose(page, "Template", "spring")
    page.get_by_role("textbox", name="shop").fill("Ace")
    page.get_by_role("radio", name="All recipients").check()
    preview = page.get_by_role("region", name="Who gets it, and when")
    expect(preview.get_by_text("4 recipients")).to_be_visible()
    expect(preview.get_by_text("1 cannot be reached")).to_be_visible()
    expect(
        page.get_by_role("region", name="As a recipient gets it").get_by_text("cheaper at Ace")
    ).to_be_visible()

    page.get_by_role("radio", name="A segment").check()
    choose(page, "Segment", "customers")
    expect(preview.get_by_text("3 recipients")).to_be_visible()
    page.get_by_label("Date and time").fill("2099-03-14T08:00")
    expect(preview.locator("dl")).to_contain_text(re.compile(r"First wave.*Tokyo.*Last wave.*New York.*13 h"))

    page.get_by_role("button", name="Pace, hours and details").click()
    page.get_by_role("textbox", name="Messages per second at most").fill("0.5")
    page.get_by_role("textbox", name="First part, percent").fill("10")
    page.get_by_label("Not before").fill("07:00")
    page.get_by_label("Not after").fill("20:00")
    expect(preview.get_by_text("At this rate it takes 6 s.")).to_be_visible()
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_role("heading", name="spring sale")).to_be_visible()
    [made] = ask(server, "GET", "/campaigns")
    assert made["status"] == "draft"
    assert (made["audience"], made["local_time"]) == ({"segment": "customers"}, "2099-03-14 08:00:00")
    assert (made["rate"], made["canary"]) == (0.5, 0.1)
    assert made["window"] == {"start": "07:00", "end": "20:00"}
    assert (made["template_vars"], made["channels"]) == ({"shop": "Ace"}, ["email"])

    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Start · 3 recipients").click()
    expect(page.locator("h1 ~ * >> text=scheduled").first).to_be_visible()


@pytest.mark.usefixtures("crowd")
def test_what_is_wrong_stands_at_its_field(visit: Visit, server: Server) -> None:
    page = visit.open("/notifications/campaigns/new?template=spring")
    page.get_by_role("textbox", name="Name", exact=True).fill("spring sale")
    save = page.get_by_role("button", name="Save as a draft")
    save.click()
    expect(page.get_by_text("Say to whom.")).to_be_visible()
    page.get_by_role("radio", name="A filter").check()
    field = page.get_by_role("textbox", name="Filter")
    field.fill('{"field": "plan"')
    expect(page.get_by_text("This is not JSON").first).to_be_visible()
    field.fill('{"field": "plan", "resembles": "pro"}')
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text(re.compile("resembles")).first).to_be_visible()
    field.fill('{"field": "plan", "is": "free"}')
    expect(page.get_by_text("1 recipient", exact=True)).to_be_visible()
    expect(field).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Plan it for its time").click()
    expect(page.get_by_text("Say when, or save it as a draft.")).to_be_visible()
    page.get_by_role("radio", name="At one instant").check()
    page.get_by_label("Date and time").fill("2099-07-01T09:30")
    page.get_by_role("button", name="Plan it for its time").click()
    expect(page.get_by_role("heading", name="spring sale")).to_be_visible()
    [made] = ask(server, "GET", "/campaigns")
    # On the clock of the browser, which is in Berlin.
    assert (made["status"], made["send_at"]) == ("scheduled", "2099-07-01T07:30:00Z")


@pytest.mark.usefixtures("crowd")
def test_saving_again_after_a_lost_answer_makes_no_second_campaign(visit: Visit, server: Server) -> None:
    page = visit.open("/notifications/campaigns/new?template=spring&who=everyone")
    page.get_by_role("textbox", name="Name", exact=True).fill("spring sale")

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/v1/campaigns", lose, times=1)
    save = page.get_by_role("button", name="Save as a draft")
    save.click()
    expect(page.get_by_text("The server cannot be reached").first).to_be_visible()
    assert len(ask(server, "GET", "/campaigns")) == 1
    save.click()
    expect(page.get_by_role("heading", name="spring sale")).to_be_visible()
    assert len(ask(server, "GET", "/campaigns")) == 1


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option).click()


@pytest.mark.usefixtures("crowd")
def test_a_query_says_to_whom_and_the_campaign_is_started_before_its_time(
    visit: Visit, server: Server
) -> None:
    page = visit.open("/notifications/campaigns/new?template=spring")
    page.get_by_role("textbox", name="Name", exact=True).fill("spring sale")
    page.get_by_role("textbox", name="shop").fill("Ace")
    page.get_by_role("radio", name="An SQL query").check()
    query = page.get_by_role("textbox", name="Query", exact=True)
    preview = page.get_by_role("region", name="Who gets it, and when")
    query.fill("drop table customers")
    query.blur()
    expect(preview.get_by_text("the query does not begin with SELECT or WITH")).to_be_visible()
    query.fill("select user_id from (values ('kim'), ('max')) as customers (user_id)")
    query.blur()
    expect(preview.get_by_text("2 recipients")).to_be_visible()
    page.get_by_label("Date and time").fill("2099-03-14T08:00")
    page.get_by_role("button", name="Plan it for its time").click()
    expect(page.get_by_role("heading", name="spring sale")).to_be_visible()
    page.get_by_role("button", name="Start now").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("It goes out at once to 2 recipients, 1 cannot be reached")
    expect(dialog).to_contain_text("Its time counts no more: 2099-03-14 08:00")
    dialog.get_by_role("button", name="Start now · 2 recipients").click()
    expect(page.get_by_text("done", exact=True).first).to_be_visible()
    [made] = ask(server, "GET", "/campaigns")
    assert (made["counts"]["sent"], made["counts"]["suppressed"]) == (1, 1)
    assert ask(server, "GET", f"/jobs/{made['job_id']}")["next_run_at"] is None
