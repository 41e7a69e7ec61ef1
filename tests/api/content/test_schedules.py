"""Content over HTTP: what is planned, the calendar, what was carried out, feeds."""

from __future__ import annotations

import json
from typing import Any

import icalendar
import pytest

from sexton.config import Settings
from sexton.postgres.database import Database
from tests.api.conftest import Api, serve

CONFIGURED = "a-key-of-the-configuration"
ADMIN = {"Authorization": f"Bearer {CONFIGURED}"}
ACTION = {
    "entity_type": "post",
    "entity_id": 42,
    "action": "publish",
    "created_by": "ann",
    "local_time": "2099-03-02 09:00",
    "timezone": "Europe/Berlin",
}
RANGE = "start=2099-03-01&end=2099-04-01&timezone=Europe/Berlin"


async def plan(api: Api, **fields: Any) -> dict[str, Any]:
    made = await api("POST", "/content/schedules", {**ACTION, **fields})
    assert made.status == 201, made.content
    answer: dict[str, Any] = made.json()
    return answer


async def test_an_action_is_answered_with_the_names_that_people_know(api: Api) -> None:
    made = await plan(api, recurrence_rule="FREQ=DAILY")
    assert {
        "schedule_id", "content_id", "scheduled_at_utc", "timezone", "local_time_display", "status",
        "recurrence_rule", "retry_count", "max_retries", "last_error", "created_by", "created_at",
        "executed_at", "next_times",
    } <= made.keys()  # fmt: skip
    assert (made["content_id"], made["scheduled_at_utc"]) == ("post/42", "2099-03-02T08:00:00Z")
    assert len(made["next_times"]) == 5
    assert (made["status"], made["retry_count"], made["max_retries"]) == ("pending", 0, 3)
    assert made.pop("warnings") == ["there is no post/42"]
    shown = (await api("GET", f"/content/schedules/{made['schedule_id']}")).json()
    assert shown == {**made, "warnings": []}


async def test_the_caller_plans_it_unless_another_person_is_named(api: Api) -> None:
    caller = (await api("GET", "/session")).json()["name"]
    fields = {name: value for name, value in ACTION.items() if name != "created_by"}
    wall = {"local_time": fields["local_time"], "timezone": fields["timezone"]}
    item = {"entity_type": "post", "entity_id": "10", "action": "publish"}
    window = {"entity_type": "banner", "entity_id": "7", "timezone": "UTC"}
    window |= {"starts": "2099-03-02 09:00", "ends": "2099-03-03 09:00"}
    made = [
        (await api("POST", "/content/schedules", fields)).json(),
        (await api("POST", "/content/releases", {"items": [item], **wall})).json(),
        (await api("POST", "/content/windows", window)).json()["ends"],
    ]
    line = json.dumps({**fields, "entity_id": "11"}).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    assert (await api("POST", "/content/schedules/bulk", data=line, headers=headers)).status == 201
    made += (await api("GET", "/content/schedules?entity_type=post&entity_id=11")).json()
    assert [each["created_by"] for each in made] == [caller] * 4
    [entry] = (await api("GET", "/audit?action=content.planned&sort=at&limit=1")).json()
    assert (entry["actor"], entry["after"]["created_by"]) == (caller, caller)


async def test_the_list_goes_by_time_and_by_filters(api: Api) -> None:
    late = await plan(api, local_time="2099-03-05 09:00")
    early = await plan(api, entity_id="7", created_by="ben")
    series = await plan(api, entity_id="8", local_time="2099-02-01 09:00", recurrence_rule="FREQ=WEEKLY")
    off = await plan(api, entity_id="9", local_time="2099-03-09 09:00")
    await api("POST", f"/content/schedules/{off['schedule_id']}/cancel")

    async def ids(query: str = "") -> list[str]:
        found = await api("GET", f"/content/schedules?{query}")
        assert found.status == 200, found.content
        return [each["schedule_id"] for each in found.json()]

    first, second, third, fourth = (each["schedule_id"] for each in (series, early, late, off))
    assert await ids("sort=-scheduled_at") == [fourth, third, second, first]
    page = await api("GET", "/content/schedules?sort=-scheduled_at&limit=3")
    cursor = page.headers["link"].split("cursor=")[1].split(">")[0].split("&")[0]
    assert await ids(f"sort=-scheduled_at&cursor={cursor}") == [first]
    assert await ids("sort=-scheduled_at&entity_id=7") == [second]
    assert await ids() == [first, second, third, fourth]
    assert await ids("status=pending") == [first, second, third]
    assert await ids("status=cancelled") == [fourth]
    assert await ids("status=failed") == []
    assert await ids("created_by=ben") == [second]
    assert await ids("entity_type=post&entity_id=42") == [third]
    assert await ids("adapter=builtin&action=archive") == []
    # A series that goes on is in the range.
    assert await ids("start=2099-03-03T00:00:00Z&end=2099-03-08T00:00:00Z") == [first, third]
    page = await api("GET", "/content/schedules?limit=3")
    assert page.next is not None
    rest = await api("GET", page.next)
    assert [each["schedule_id"] for each in rest.json()] == [fourth]
    assert rest.next is None
    assert (page.headers["Sexton-Total"], rest.headers.get("Sexton-Total")) == ("4", None)
    for query, total in (("status=pending", "3"), ("action=publish", "4"), ("created_by=ben", "1")):
        assert (await api("GET", f"/content/schedules?limit=1&{query}")).headers["Sexton-Total"] == total
    assert (await api("GET", "/content/schedules?status=over")).status == 422


async def test_the_calendar_shows_local_days(api: Api) -> None:
    made = await plan(api, local_time="2099-03-31 23:30", recurrence_rule="FREQ=DAILY")
    found = await api("GET", f"/content/calendar?{RANGE}")
    assert found.status == 200, found.content
    [entry] = found.json()
    assert (entry["schedule_id"], entry["status"]) == (made["schedule_id"], "pending")
    assert entry["local_time_display"] == "2099-03-31 23:30 CEST (Europe/Berlin)"
    assert (entry["previous_at"], entry["next_at"]) == (None, "2099-04-01T21:30:00Z")
    page = await api("GET", "/content/calendar?start=2099-03-31&end=2099-04-05&limit=2")
    assert page.next is not None
    assert len(page.json()) == 2
    times = await api("GET", f"/content/schedules/{made['schedule_id']}/occurrences?start=2099-04-01&limit=1")
    assert [each["scheduled_at_utc"] for each in times.json()] == ["2099-04-01T21:30:00Z"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/content/calendar?start=2099-03-01&end=2099-02-01", "end"),
        ("/content/calendar?start=2099-03-01", "end"),
        ("/content/calendar?start=2099-03-01&end=2099-04-01&timezone=Mars/Base", "timezone"),
        ("/content/calendar?start=soon&end=2099-04-01", "start"),
        ("/content/executions?status=over", "status"),
    ],
)
async def test_bad_questions_name_the_field(api: Api, path: str, field: str) -> None:
    refused = await api("GET", path)
    assert (refused.status, refused.json()["field"]) == (422, field), refused.content


async def test_executions_of_an_action_that_has_not_fired(api: Api) -> None:
    made = await plan(api)
    assert (await api("GET", f"/content/schedules/{made['schedule_id']}/executions")).json() == []
    assert (await api("GET", "/content/executions")).json() == []
    assert (await api("GET", "/content/schedules/c_zzzz/executions")).status == 404
    assert (await api("GET", "/content/schedules/c_zzzz/occurrences")).status == 404


async def test_a_feed_is_read_by_its_address_alone(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        planned = await api("POST", "/content/schedules", ACTION, headers=ADMIN)
        assert planned.status == 201, planned.content
        made = await api("POST", "/content/feeds", {"author": "ann", "name": "Ann"}, headers=ADMIN)
        assert made.status == 201, made.content
        path = made.json()["path"]
        read = await api("GET", path)
        assert read.status == 200, read.content
        assert read.headers["Content-Type"] == "text/calendar; charset=utf-8"
        calendar: Any = icalendar.Calendar.from_ical(read.content)
        assert calendar["X-WR-CALNAME"] == "Ann"
        [listed] = (await api("GET", "/content/feeds", headers=ADMIN)).json()
        assert (listed["feed_id"], listed.get("token")) == (made.json()["feed_id"], None)
        gone = await api("POST", f"/content/feeds/{listed['feed_id']}/revoke", headers=ADMIN)
        assert gone.json()["revoked_at"] is not None
        assert (await api("GET", path)).code == "feed_not_found"


async def test_wrong_addresses_of_feeds_are_slowed_down(api: Api) -> None:
    made = (await api("POST", "/content/feeds")).json()
    codes = [(await api("GET", f"/content/feeds/wrong{number}/calendar.ics")).code for number in range(22)]
    assert set(codes[:20]) == {"feed_not_found"}
    assert codes[-1] == "too_many_keys"
    assert (await api("GET", made["path"])).status == 200


def lines(*numbers: int, **fields: Any) -> bytes:
    return b"".join(json.dumps({**ACTION, "entity_id": n, **fields}).encode() + b"\n" for n in numbers)


async def test_many_actions_in_one_request(api: Api) -> None:
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "once"}
    for _ in range(2):
        made = await api(
            "POST", "/content/schedules/bulk?chunk=2&ids=true", data=lines(1, 2, 3), headers=headers
        )
        assert made.status == 201, made.content
        answer = made.json()
        assert (answer["lines"], answer["created"], len(answer["schedule_ids"])) == (3, 3, 3)
    assert len((await api("GET", "/content/schedules")).json()) == 3


async def test_a_chunk_with_a_bad_line_is_refused_and_the_others_are_planned(api: Api) -> None:
    body = lines(1, 2) + b"\n" + lines(3) + lines(4, timezone="Mars/Base") + lines(5)
    headers = {"Content-Type": "application/x-ndjson"}
    refused = await api("POST", "/content/schedules/bulk?chunk=2", data=body, headers=headers)
    assert (refused.status, refused.code) == (422, "lines_refused")
    answer = refused.json()
    assert (answer["created"], [each["line"] for each in answer["errors"]]) == (3, [5])
    assert answer["errors"][0]["field"] == "timezone"


async def test_csv_is_imported(api: Api) -> None:
    body = (
        b"entity_type,entity_id,action,created_by,local_time,timezone,note\r\n"
        b'post,1,publish,ann,2099-03-02 09:00,Europe/Berlin,"spring, at last"\r\n'
        b"post,2,burn,ann,2099-03-02 09:00,Europe/Berlin,\r\n"
    )
    headers = {"Content-Type": "text/csv"}
    refused = await api("POST", "/content/schedules/bulk?chunk=2", data=body, headers=headers)
    assert (refused.json()["created"], [each["line"] for each in refused.json()["errors"]]) == (1, [3])
    [made] = (await api("GET", "/content/schedules")).json()
    assert (made["content_id"], made["note"]) == ("post/1", "spring, at last")
    bad = await api("POST", "/content/schedules/bulk", data=b"entity_type,color\n", headers=headers)
    assert (bad.status, bad.code) == (422, "unknown_field")


async def test_entities_are_listed(api: Api) -> None:
    for path in ("post/2", "post/1", "banner/9"):
        await api("PUT", f"/content/entities/{path}", {"body": {"title": "Spring"}})

    async def found(query: str) -> list[str]:
        reply = await api("GET", f"/content/entities?{query}")
        return [f"{each['entity_type']}/{each['entity_id']}" for each in reply.json()]

    assert await found("") == ["banner/9", "post/1", "post/2"]
    assert await found("entity_type=post&state=draft") == ["post/1", "post/2"]
    assert await found("state=published") == []
    await api("PUT", "/content/entities/page/21", {"body": {}})
    assert await found("sort=-entity") == ["post/2", "post/1", "page/21", "banner/9"]
    assert await found("sort=-entity&search=2") == ["post/2", "page/21"]
    assert await found("sort=-entity&entity_type=post&search=1") == ["post/1"]
    for query in ("sort=-entity&limit=1", "sort=-entity&search=2&limit=1"):
        page = await api("GET", f"/content/entities?{query}")
        assert page.next is not None
        assert [each["entity_id"] for each in (await api("GET", page.next)).json()][:1] == (
            ["21"] if "search" in query else ["1"]
        )
    refused = await api("GET", "/content/entities?sort=-entity&adapter=cms")
    assert (refused.status, refused.json()["field"]) == (422, "sort")
    page = await api("GET", "/content/entities?limit=2")
    assert page.next is not None
    assert [each["entity_id"] for each in (await api("GET", page.next)).json()] == ["1", "2"]
