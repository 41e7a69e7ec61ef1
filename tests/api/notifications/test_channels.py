"""Channels over HTTP: providers, suppressions, reports, unsubscribing."""

from __future__ import annotations

import base64
import hmac
from hashlib import sha1
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from sexton.clock import now
from sexton.config import Settings
from sexton.model import encode_id
from sexton.notifications.channels.base import Outgoing
from sexton.notifications.recipients.unsubscribe import UnsubscribeLinks
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from sexton.security.keys import read_pepper
from sexton.targets.http.step import signature_headers
from tests.api.conftest import Api, serve
from tests.seeding import Store

SMTP = {
    "channel": "email",
    "kind": "smtp",
    "config": {"url": "smtp://shop:${secret:mail}@127.0.0.1:1", "sender": "Shop <hello@shop.example.com>"},
}
API_KEY = "a-key-of-the-configuration"
KEY = base64.b64encode(b"k" * 32).decode()


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


async def test_a_provider_is_configured_shown_changed_and_removed(api: Api) -> None:
    made = await api("PUT", "/notifications/providers/mail", SMTP)
    assert made.status == 200, made.json()
    assert made.json()["revision"] == 1
    changed = await api("PUT", "/notifications/providers/mail", {**SMTP, "priority": 5, "rate": 10})
    assert (changed.json()["revision"], changed.json()["priority"]) == (2, 5)
    assert [each["name"] for each in (await api("GET", "/notifications/providers")).json()] == ["mail"]
    shown = (await api("GET", "/notifications/providers/mail")).json()
    assert shown["config"]["url"] == "smtp://shop:${secret:mail}@127.0.0.1:1"
    tried = await api("POST", "/notifications/providers/mail/test", {})
    assert (tried.status, tried.json()["success"]) == (200, False)
    assert "there is no secret mail" in tried.json()["detail"]
    assert (await api("DELETE", "/notifications/providers/mail")).status == 204
    assert (await api("GET", "/notifications/providers/mail")).status == 404


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"kind": "pigeon"}, "bad_value", "kind"),
        ({"channel": "sms"}, "bad_value", "channel"),
        ({"config": {"url": "smtp://a:verysecret@b", "sender": "a@b.test"}}, "secret_in_clear", "config.url"),
        ({"config": {"url": "smtp://b"}}, "missing_field", "config.sender"),
        ({"config": {**SMTP["config"], "colour": 1}}, "unknown_field", "config.colour"),  # type: ignore[dict-item]
        ({"rate": 0}, "bad_value", "rate"),
    ],
)
async def test_what_cannot_work_is_refused(api: Api, change: Any, code: str, field: str) -> None:
    answer = await api("PUT", "/notifications/providers/mail", {**SMTP, **change})
    assert answer.status == 422
    assert (answer.json()["code"], answer.json()["field"]) == (code, field)
    assert "verysecret" not in str(answer.json())


async def test_channels_tell_how_they_are_doing(api: Api, store: Store) -> None:
    await api("PUT", "/notifications/providers/mail", SMTP)
    await store.execute(
        "insert into sexton.notification_health (namespace, name, channel, accepted, failed, failure,"
        " failed_at, open_until, open_reason) values ('default', 'mail', 'email', 7, 3, 'down', now(),"
        " now() + interval '1 minute', '10 failures in a row: down')"
    )
    found = {each["channel"]: each for each in (await api("GET", "/channels")).json()}
    assert found["email"]["state"] == "down"
    [mail] = found["email"]["providers"]
    assert (mail["state"], mail["accepted"], mail["reason"]) == ("open", 7, "10 failures in a row: down")
    assert found["in_app"]["state"] == "good"
    assert [each["name"] for each in found["in_app"]["providers"]] == ["in_app"]


async def test_suppressions_are_listed_made_and_taken_back(api: Api) -> None:
    made = await api("PUT", "/suppressions/email/Ann@Example.com", {"reason": "asked by phone"})
    assert made.json()["address"] == "ann@example.com"
    assert [each["address"] for each in (await api("GET", "/suppressions?channel=email")).json()] == [
        "ann@example.com"
    ]
    assert (await api("DELETE", "/suppressions/email/ann@example.com")).status == 204
    assert (await api("DELETE", "/suppressions/email/ann@example.com")).status == 404
    assert (await api("GET", "/suppressions")).json() == []


async def message(store: Store, **more: Any) -> int:
    values = {"status": "sent", "provider": "sms", "user_id": "ann", "channel": "sms", **more}
    return int(
        await store.value(
            "insert into sexton.messages (namespace, user_id, channels, template_id, scheduled_at, status,"
            " provider, created_at, created_by)"
            " values ('default', $1, array[$2], 't', now(), $3, $4, now(), 'x') returning id",
            values["user_id"], values["channel"], values["status"], values["provider"],
        )
    )  # fmt: skip


async def recipient(store: Store) -> None:
    await store.execute(
        "insert into sexton.recipients (namespace, user_id, email, phone, created_at, updated_at)"
        " values ('default', 'ann', 'Ann@Example.com', '+1 555 0100', now(), now())"
    )


async def test_signed_reports_move_messages_and_suppress_addresses(database: Database, store: Store) -> None:
    settings = Settings(secret_key=KEY)
    await secrets.keep(Context(database), settings, "events", "the-secret-of-events")
    async with serve(database, settings) as api:
        config = {"url": "https://sms.example.com/", "events_secret": "${secret:events}"}
        made = await api(
            "PUT", "/notifications/providers/sms", {"channel": "sms", "kind": "http", "config": config}
        )
        assert made.status == 200, made.json()
        await recipient(store)
        delivered, bounced = await message(store), await message(store)
        await store.execute(
            "insert into sexton.message_receipts (namespace, provider, provider_id, message_id)"
            " values ('default', 'sms', 'p-2', $1)", bounced,
        )  # fmt: skip
        events = [
            {"event": "delivered", "key": encode_id("n", delivered), "at": "2027-03-01T09:00:00Z"},
            {"event": "bounced", "provider_id": "p-2", "code": "5.1.1", "reason": "no such number"},
            {"event": "opened", "key": encode_id("n", delivered)},
        ]
        body = msgspec.json.encode({"events": events})

        async def report(secret: bytes, content: bytes = body) -> Any:
            headers = signature_headers("m1", int(now().timestamp()), body, [secret])
            return await api("POST",
                "/notifications/providers/sms/events", data=content,
                headers={**headers, "Content-Type": "application/json"},
            )  # fmt: skip

        forged = await report(b"another")
        assert (forged.status, forged.json()["code"]) == (401, "bad_signature")
        assert (await report(b"the-secret-of-events", body + b" ")).status == 401
        taken = await report(b"the-secret-of-events")
        assert (taken.status, taken.json()) == (200, {"events": 3, "matched": 3, "noted": 3})
        again = await report(b"the-secret-of-events")
        assert again.json() == {"events": 3, "matched": 3, "noted": 0}
        other = await api("POST",
            "/notifications/providers/sms/events?namespace=other", data=body,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        unsigned = await api("POST",
            "/notifications/providers/sms/events", data=body,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        await secrets.delete(Context(database), "events")
        broken = await report(b"the-secret-of-events")
        # None of them tells which providers there are, and which secrets they lack.
        said = [
            (each.status, each.json()["code"], each.json()["detail"]) for each in (other, unsigned, broken)
        ]
        assert said == [(401, "bad_signature", "the report is not signed by a provider of this name")] * 3
    rows = await store.fetch("select id, status, failure_reason from sexton.messages order by id")
    assert [tuple(row) for row in rows] == [
        (delivered, "delivered", None),
        (bounced, "bounced", "no such number"),
    ]
    rows = await store.fetch(
        "select message_id, kind, detail from sexton.message_events order by message_id, kind"
    )
    assert [(row["message_id"], row["kind"]) for row in rows] == [
        (delivered, "delivered"), (delivered, "opened"), (bounced, "bounced"),
    ]  # fmt: skip
    assert msgspec.json.decode(rows[2]["detail"])["class"] == "hard"
    rows = await store.fetch("select channel, address, reason from sexton.suppressions")
    assert [tuple(row) for row in rows] == [("sms", "+15550100", "bounced: no such number")]


async def test_twilio_reports_with_its_own_signature(database: Database, store: Store) -> None:
    settings = Settings(secret_key=KEY, public_url="https://sexton.example.com", api_keys=API_KEY)
    await secrets.keep(Context(database), settings, "twilio", "the-token-of-twilio")
    async with serve(database, settings) as api:
        config = {"account_sid": "AC1", "auth_token": "${secret:twilio}", "sender": "+15550199"}
        await api(
            "PUT",
            "/notifications/providers/sms",
            {"channel": "sms", "kind": "twilio", "config": config},
            headers={"Authorization": f"Bearer {API_KEY}"},
        )
        number = await message(store)
        path = f"/notifications/providers/sms/events?namespace=default&key={encode_id('n', number)}"
        fields = {"MessageSid": "SM1", "MessageStatus": "delivered"}
        text = f"https://sexton.example.com/api/v1{path}" + "".join(
            name + fields[name] for name in sorted(fields)
        )
        signature = base64.b64encode(hmac.digest(b"the-token-of-twilio", text.encode(), sha1)).decode()
        headers = {"X-Twilio-Signature": signature, "Content-Type": "application/x-www-form-urlencoded"}
        taken = await api("POST", path, data=urlencode(fields).encode(), headers=headers)
        assert (taken.status, taken.json()["noted"]) == (200, 1)
    assert await store.value("select status from sexton.messages") == "delivered"


@pytest.mark.parametrize("topic", ["offers", None])
async def test_one_click_unsubscribes(api: Api, database: Database, store: Store, topic: str | None) -> None:
    await recipient(store)
    number = await message(store, channel="email")
    pepper = await read_pepper(database, None)
    outgoing = Outgoing(
        message_id=number, key="k", address="ann@example.com", parts={}, user_id="ann", topic=topic
    )
    headers = UnsubscribeLinks("https://sexton.example.com", pepper).headers("default", "email", outgoing)
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    path = headers["List-Unsubscribe"].strip("<>").removeprefix("https://sexton.example.com/api/v1")
    # A mail program looks at the link: nothing happens.
    page = await api("GET", path)
    assert page.status == 200
    assert await store.value("select opt_outs from sexton.recipients") is None
    for _ in range(2):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        done = await api("POST", path, data=b"List-Unsubscribe=One-Click", headers=form)
        assert done.status == 200
    opt_outs = msgspec.json.decode(await store.value("select opt_outs from sexton.recipients"))
    assert opt_outs == [{"channel": "email", "topic": topic} if topic else {"channel": "email"}]
    assert await store.value("select kind from sexton.message_events") == "unsubscribed"
    changed = path[:-3] + ("aaa" if path[-3:] != "aaa" else "bbb")
    assert (await api("GET", changed)).status == 404


async def test_an_address_without_a_recipient_is_suppressed(
    api: Api, database: Database, store: Store
) -> None:
    outgoing = Outgoing(message_id=1, key="k", address="Bob@Example.com", parts={})
    pepper = await read_pepper(database, None)
    headers = UnsubscribeLinks("https://x.test", pepper).headers("default", "email", outgoing)
    path = headers["List-Unsubscribe"].strip("<>").removeprefix("https://x.test/api/v1")
    assert (await api("POST", path, data=b"")).status == 200
    assert await store.value("select address from sexton.suppressions") == "bob@example.com"
