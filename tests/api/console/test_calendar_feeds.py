"""What is planned as iCalendar: by its address alone, bounded, and without a thousand events a day."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import icalendar
import pytest

from sexton import clock
from sexton.api.console import calendar_text
from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED


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
    monkeypatch.setattr(calendar_text, "MOST_EVENTS", 5)
    calendar = await read(api)
    assert sum(event["SUMMARY"] == "daily" for event in calendar.walk("VEVENT")) == 4
    assert "some times are left out" in calendar["X-WR-CALDESC"]
    monkeypatch.setattr(calendar_text, "MOST_BYTES", 1)
    assert "daily" not in titles(await read(api))


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
        assert (await api("GET", made["path"])).code == "feed_not_found"
        # The address of one kind of feed is none of another.
        other = (await api("POST", "/content/feeds", {}, headers=ADMIN)).json()
        assert (await api("GET", f"/calendar/feeds/{other['token']}/calendar.ics")).status == 404
        actions = [entry["action"] for entry in (await api("GET", "/audit", headers=ADMIN)).json()]
        assert actions[1:3] == ["calendar_feed.revoked", "calendar_feed.created"]


async def test_the_calendar_of_a_label(api: Api) -> None:
    await furnish(api)
    today = clock.now().date()
    reach = f"start={today}&end={today + timedelta(days=3)}&timezone=UTC&kinds=jobs"
    every = (await api("GET", f"/calendar?{reach}")).json()
    await api("POST", "/jobs/daily/run")
    some = (await api("GET", f"/calendar?{reach}&label=team%3Dbilling")).json()
    assert {entry["title"] for entry in some["entries"]} == {"daily", "minutely"}
    assert {entry["title"] for entry in every["entries"]} == {"daily", "minutely"}
    assert some["density"]
    none = (await api("GET", f"/calendar?{reach}&label=team%3Dnone")).json()
    assert (none["entries"], none["density"], none["complete"]) == ([], [], True)
    assert (await api("GET", f"/calendar?{reach}&label=")).status == 422
