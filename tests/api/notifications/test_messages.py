"""Messages, recipients and templates over HTTP: the names that scripts rely on, roles, and refusals."""

from __future__ import annotations

from typing import Any

from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.security.role import Role
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key

RECIPIENT = {
    "email": "ann@example.org",
    "phone": "+4915112345678",
    "timezone": "Europe/Berlin",
    "locale": "de",
    "quiet_hours": {"start": "22:00", "end": "08:00"},
}
TEMPLATE = {
    "email": {"subject": "Hello {{ name }}", "text": "Hello {{ name }}", "html": "<b>{{ name }}</b>"},
    "sms": {"text": "Hi {{ name }}"},
}
MESSAGE = {
    "user_id": "ann",
    "channel": "email",
    "template_id": "hello",
    "template_vars": {"name": "Ann"},
    "local_time": "2099-03-13 09:00",
}


async def prepare(api: Api) -> None:
    assert (await api("PUT", "/recipients/ann", RECIPIENT)).status == 200
    assert (await api("PUT", "/templates/hello", TEMPLATE)).status == 200


async def schedule(api: Api, **fields: Any) -> dict[str, Any]:
    made = await api("POST", "/notifications", {**MESSAGE, **fields})
    assert made.status == 201, made.content
    answer: dict[str, Any] = made.json()
    return answer


async def test_a_message_is_answered_with_the_names_that_people_know(api: Api) -> None:
    await prepare(api)
    made = await schedule(api, urgency="time_sensitive")
    assert {
        "notification_id", "send_at_utc", "status", "sent_at", "failure_reason", "retry_count",
    } <= made.keys()  # fmt: skip
    assert (made["send_at_utc"], made["status"], made["retry_count"]) == (
        "2099-03-13T08:00:00Z",
        "pending",
        0,
    )
    assert made["expires_at"] == "2099-03-13T08:30:00Z"
    path = f"/notifications/{made['notification_id']}"
    assert (await api("GET", path)).json() == made
    why = (await api("GET", f"{path}/why")).json()
    assert [line["kind"] for line in why["lines"]] == ["scheduled"]
    moved = await api("POST", f"{path}/reschedule", {"local_time": "2099-03-14 09:00"})
    assert moved.json()["send_at_utc"] == "2099-03-14T08:00:00Z"
    assert (await api("POST", f"{path}/cancel")).json()["status"] == "cancelled"
    again = await api("POST", f"{path}/cancel")
    assert (again.status, again.json()["code"]) == (409, "already_cancelled")
    listed = (await api("GET", "/notifications?user_id=ann&status=cancelled")).json()
    assert [each["notification_id"] for each in listed] == [made["notification_id"]]


async def test_an_unclear_local_time_is_refused_with_its_candidates(api: Api) -> None:
    await prepare(api)
    answer = await api("POST", "/notifications", {**MESSAGE, "local_time": "2099-03-29 02:30"})
    assert (answer.status, answer.json()["code"]) == (422, "nonexistent_time")
    assert [each["utc"] for each in answer.json()["candidates"]] == [
        "2099-03-29T01:00:00Z",
        "2099-03-29T01:30:00Z",
    ]


async def test_each_put_of_a_template_is_a_version_and_languages_stay(api: Api) -> None:
    await prepare(api)
    second = await api("PUT", "/templates/hello", {**TEMPLATE, "locale": "de"})
    assert (second.json()["version"], sorted(second.json()["locales"])) == (2, ["de", "default"])
    versions = (await api("GET", "/templates/hello/versions")).json()
    assert [each["version"] for each in versions] == [2, 1]
    shown = (await api("POST", "/templates/hello/preview", {"channel": "sms"})).json()
    assert (shown[0]["parts"], shown[0]["sms_segments"]) == ({"text": "Hi [name]"}, 1)
    refused = await api("PUT", "/templates/hello", {"email": {"subject": "x", "text": "{{ a"}})
    assert (refused.status, refused.json()["field"]) == (422, "email.text")
    declared = {**TEMPLATE, "variables": {"name": "string", "when": "datetime"}}
    assert (await api("PUT", "/templates/hello", declared)).json()["version"] == 3
    bad = {**MESSAGE, "template_vars": {"name": "Ann", "when": "tomorrow"}}
    answer = await api("POST", "/notifications", bad)
    assert (answer.status, answer.json()["field"]) == (422, "template_vars.when")
    assert (await api("DELETE", "/templates/hello")).status == 204
    gone = await api("POST", "/notifications", MESSAGE)
    assert (gone.status, gone.json()["code"]) == (422, "template_not_found")


async def test_a_recipient_is_exported_and_erased(api: Api) -> None:
    await prepare(api)
    await schedule(api)
    exported = (await api("GET", "/recipients/ann/export")).json()
    assert (exported["recipient"]["email"], len(exported["notifications"])) == ("ann@example.org", 1)
    erased = await api("DELETE", "/recipients/ann")
    assert erased.json()["rows"] == {"recipients": 1, "messages": 1, "message_timers": 1}
    assert (await api("GET", "/recipients/ann")).status == 404
    assert (await api("GET", "/notifications?user_id=ann")).json() == []


async def test_settings_hold_for_recipients_without_their_own(api: Api) -> None:
    await prepare(api)
    await api("PUT", "/recipients/ben", {"email": "ben@example.org"})
    assert (await api("PUT", "/notifications/settings", {"timezone": "Asia/Tokyo"})).status == 200
    made = await schedule(api, user_id="ben")
    assert (made["send_at_utc"], made["timezone"]) == ("2099-03-13T00:00:00Z", "Asia/Tokyo")


async def test_texts_are_shown_before_they_are_saved(api: Api) -> None:
    await prepare(api)
    texts = {"sms": {"text": "Bye {{ name }}, {{ when|datetime('short') }}"}, "variables": {
        "name": "string", "when": {"type": "datetime", "sample": "2027-03-14T09:00:00Z"},
    }}  # fmt: skip
    wish = {"channel": "sms", "timezone": "Europe/Berlin", "template_vars": {"name": "Ann"}, "texts": texts}
    # The others stay as they are, and use no other variables.
    [shown] = (await api("POST", "/templates/hello/preview", wish)).json()
    assert shown["parts"]["text"].startswith("Bye Ann, ")
    assert "10:00" in shown["parts"]["text"]
    [new] = (await api("POST", "/templates/unknown/preview", wish)).json()
    assert new == shown
    assert (await api("GET", "/templates/unknown")).status == 404
    assert (await api("GET", "/templates/hello")).json()["latest_version"] == 1
    bad = await api("POST", "/templates/hello/preview", {"texts": {"sms": {"text": "{{ name"}}})
    assert (bad.status, bad.json()["field"]) == (422, "sms.text")


async def test_texts_that_are_not_saved_need_the_role_that_saves_them(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        await api("PUT", "/templates/hello", TEMPLATE, headers=ADMIN)
        wish = {"channel": "sms", "texts": {"sms": {"text": "Bye"}}}
        for role, status in ((Role.VIEWER, 403), (Role.OPERATOR, 403), (Role.EDITOR, 200)):
            headers = await make_key(api, role)
            assert (await api("POST", "/templates/hello/preview", wish, headers=headers)).status == status
            saved = {"channel": "sms"}
            assert (await api("POST", "/templates/hello/preview", saved, headers=headers)).status == 200
