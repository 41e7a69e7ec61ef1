"""What is planned as iCalendar: by its address alone, bounded, and without a thousand events a day."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

import icalendar
import pytest

from sexton import clock
from sexton.api.console import calendar_text
from sexton.config import Settings
from sexton.content.calendar.text import CalendarText
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.agenda import Agenda, AgendaEntry, read_agenda
from sexton.runs.feed import CalendarFeedView
from sexton.security.role import Role
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key


async def read(api: Api, **spec: Any) -> Any:
    made = await api("POST", "/calendar/feeds", spec)
    assert made.status == 201, made.content
    answer = await api("GET", made.json()["path"])
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/calendar; charset=utf-8")
    return icalendar.Calendar.from_ical(answer.content)


def titles(calendar: Any) -> set[str]:
    return {str(event["SUMMARY"]) for event in calendar.walk("VEVENT")}


async def furnish(api: Api) -> None:
    labels = {"labels": {"team": "billing"}}
    await api(
        "POST", "/jobs", {"name": "daily", "schedule": "0 9 * * *", "timezone": "Europe/Berlin", **labels}
    )
    await api("POST", "/jobs", {"name": "minutely", "schedule": "* * * * *", **labels})
    await api("POST", "/jobs", {"name": "paused", "schedule": "@daily"})
    await api("POST", "/jobs/paused/pause")
    await api("PUT", "/content/entities/post/1", {"body": {"title": "Spring"}})
    plan = {"entity_type": "post", "entity_id": "1", "action": "publish", "created_by": "ann"}
    at = (clock.now() + timedelta(days=90)).strftime("%Y-%m-%dT09:00")
    reply = await api("POST", "/content/schedules", {**plan, "local_time": at, "timezone": "Europe/Berlin"})
    assert reply.status == 201, reply.content


async def test_jobs_content_and_what_fires_often(api: Api) -> None:
    await furnish(api)
    calendar = await read(api, name="Everything", timezone="Europe/Berlin")
    assert calendar["X-WR-CALNAME"] == "Everything"
    events = calendar.walk("VEVENT")
    daily = [event for event in events if event["SUMMARY"] == "daily"]
    assert 29 <= len(daily) <= 31
    assert daily[0].start.tzinfo is not None
    often = [event for event in events if str(event["SUMMARY"]).startswith("minutely")]
    assert 30 <= len(often) <= 31
    assert all(type(event.start) is date for event in often)
    assert any(str(event["SUMMARY"]) == "minutely 1,440×" for event in often)
    assert "publish post/1" in titles(calendar)
    assert "paused" not in titles(calendar)
    assert len({str(event["UID"]) for event in events}) == len(events)
    assert "left out" not in calendar["X-WR-CALDESC"]


async def test_a_feed_of_some_kinds_and_a_label(api: Api) -> None:
    await furnish(api)
    assert titles(await read(api, kinds=["content"])) == {"publish post/1"}
    await api("POST", "/jobs", {"name": "other", "schedule": "@daily"})
    found = titles(await read(api, kinds=["jobs"], label="team=billing"))
    assert ("daily" in found, "other" in found) == (True, False)
    assert await _refused(api, kinds=["content"], label="team") == "bad_value"
    assert await _refused(api, timezone="Mars/Phobos") == "unknown_timezone"
    assert await _refused(api, kinds=["holidays"]) == "bad_value"
    assert await _refused(api, label="") == "empty"


async def _refused(api: Api, **spec: Any) -> str:
    reply = await api("POST", "/calendar/feeds", spec)
    assert reply.status == 422
    return reply.code


async def test_it_is_bounded_and_says_so(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await furnish(api)
    monkeypatch.setattr(calendar_text, "MOST_EVENTS", 40)
    calendar = await read(api)
    assert len(calendar.walk("VEVENT")) == 40
    # The next ones are there, whatever they are.
    assert ("daily" in titles(calendar), "publish post/1" in titles(calendar)) == (True, False)
    assert "some times are left out" in calendar["X-WR-CALDESC"]
    monkeypatch.setattr(calendar_text, "MOST_BYTES", 1)
    for kinds in (["jobs"], ["content"], ["jobs", "content", "campaigns"]):
        assert len((await read(api, kinds=kinds)).walk("VEVENT")) == 1


async def test_it_tells_names_and_times_and_nothing_else(api: Api) -> None:
    await furnish(api)
    calendar = await read(api, kinds=["content"])
    [event] = calendar.walk("VEVENT")
    assert event["SUMMARY"] == "publish post/1"
    assert re.fullmatch(r"[0-9-]{10} 0[78]:00 UTC \(UTC\)", event["DESCRIPTION"])
    assert b"ann" not in calendar.to_ical()


async def test_what_is_planned_is_what_is_planned_now(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are read as of the instant at which their range begins: none of it is over."""
    seen: list[bool] = []

    async def spy(context: Context, start: datetime, *rest: Any, **options: Any) -> Agenda:
        seen.append(await context.time() == start)
        return await read_agenda(context, start, *rest, **options)

    monkeypatch.setattr(calendar_text, "read_agenda", spy)
    await read(api, kinds=["jobs"])
    assert seen == [True]


async def test_a_feed_is_of_its_namespace(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await api("POST", "/namespaces", {"name": "billing"}, headers=ADMIN)
        editor = await make_key(api, Role.EDITOR, "billing")
        await api("POST", "/jobs", {"name": "ours", "schedule": "@daily"}, headers=editor)
        await api("POST", "/jobs", {"name": "theirs", "schedule": "@daily"}, headers=ADMIN)
        made = (await api("POST", "/calendar/feeds", {}, headers=editor)).json()
        answer = await api("GET", made["path"])
        assert titles(icalendar.Calendar.from_ical(answer.content)) == {"ours"}
        # Of another namespace it is not there.
        gone = await api("POST", f"/calendar/feeds/{made['feed_id']}/revoke", headers=ADMIN)
        assert (gone.status, gone.code) == (404, "feed_not_found")
        assert (await api("GET", "/calendar/feeds", headers=ADMIN)).json() == []


def test_no_name_can_write_lines_of_its_own() -> None:
    feed = CalendarFeedView(
        feed_id="cf_1",
        name="Mine\r\nX-EVIL:1",
        kinds=["jobs"],
        label=None,
        timezone="UTC",
        created_by="ann",
        created_at=clock.now(),
        revoked_by=None,
        revoked_at=None,
    )
    name = "daily\r\nEND:VEVENT\rX-EVIL:1\nX-EVIL:2"
    entry = AgendaEntry(
        kind="job", at=clock.now(), local="", timezone="UTC", title=name, id="j_1", status="upcoming"
    )
    text = CalendarText(feed.name)
    text.event(calendar_text._event(feed, entry))
    text.event(calendar_text._day(feed, clock.now().date(), {name: 50}))
    encoded = text.encoded()
    assert not [line for line in encoded.split(b"\r\n") if line.startswith(b"X-EVIL")]
    assert b"\n" not in encoded.replace(b"\r\n", b"")
    calendar: Any = icalendar.Calendar.from_ical(encoded)
    assert len(calendar.walk("VEVENT")) == 2


async def test_more_jobs_than_are_named_are_counted_by_the_day(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await furnish(api)
    monkeypatch.setattr("sexton.runs.agenda.MOST_ENTRIES", 1)
    calendar = await read(api, kinds=["jobs"])
    assert titles(calendar) == {f"other jobs {count:,}×" for count in _counts(calendar)}
    assert max(_counts(calendar)) >= 1440


def _counts(calendar: Any) -> set[int]:
    said = [str(event["SUMMARY"]) for event in calendar.walk("VEVENT")]
    return {int(text.removeprefix("other jobs ").rstrip("×").replace(",", "")) for text in said}


async def test_it_is_made_listed_and_revoked(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        made = (await api("POST", "/calendar/feeds", {"name": "Mine"}, headers=ADMIN)).json()
        assert (await api("GET", made["path"])).status == 200
        [listed] = (await api("GET", "/calendar/feeds", headers=ADMIN)).json()
        assert (listed["feed_id"], listed["kinds"], listed.get("token")) == (
            made["feed_id"],
            ["jobs", "content", "campaigns"],
            None,
        )
        gone = await api("POST", f"/calendar/feeds/{made['feed_id']}/revoke", headers=ADMIN)
        assert gone.json()["revoked_at"] is not None
        # Twice is once, in the audit too.
        again = await api("POST", f"/calendar/feeds/{made['feed_id']}/revoke", headers=ADMIN)
        assert again.json() == gone.json()
        wrong = await api("GET", made["path"])
        assert (wrong.code, wrong.json()["hint"]) == ("feed_not_found", "see: sexton calendar feeds")
        # The address of one kind of feed is none of another.
        other = (await api("POST", "/content/feeds", {}, headers=ADMIN)).json()
        assert (await api("GET", f"/calendar/feeds/{other['token']}/calendar.ics")).status == 404
        actions = [entry["action"] for entry in (await api("GET", "/audit", headers=ADMIN)).json()]
        assert actions[1:3] == ["calendar_feed.revoked", "calendar_feed.created"]


async def test_the_calendar_of_a_label(api: Api) -> None:
    await furnish(api)
    today = clock.now().date()
    reach = f"start={today}&end={today + timedelta(days=3)}&timezone=UTC&kinds=jobs"
    await api("POST", "/jobs", {"name": "other", "schedule": "@daily", "labels": {"team": "sales"}})
    every = (await api("GET", f"/calendar?{reach}")).json()
    await api("POST", "/jobs/daily/run")
    some = (await api("GET", f"/calendar?{reach}&label=team%3Dbilling")).json()
    assert {entry["title"] for entry in some["entries"]} == {"daily", "minutely"}
    assert {entry["title"] for entry in every["entries"]} == {"daily", "minutely", "other"}
    assert some["density"]
    none = (await api("GET", f"/calendar?{reach}&label=team%3Dnone")).json()
    assert (none["entries"], none["density"], none["complete"]) == ([], [], True)
    assert (await api("GET", f"/calendar?{reach}&label=")).status == 422
