"""Inboxes over HTTP: a token opens one inbox; new messages come by server-sent events."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from sexton import clock
from sexton.api.notifications import inbox as inbox_routes
from sexton.errors import SextonError
from sexton.notifications.channels.base import Accepted
from sexton.notifications.channels.in_app import InAppConfig, InAppProvider
from sexton.notifications.recipients import inbox_feed
from sexton.notifications.recipients.inbox import expire_inbox
from sexton.notifications.recipients.inbox_feed import MOST_OF_ONE, InboxFeed
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.api.conftest import Api
from tests.notifications.channels.lending import lending, outgoing
from tests.seeding import Store
from tests.waiting import PATIENCE


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


async def send(database: Database, user_id: str, *numbers: int, days: int = 90) -> None:
    async with lending(channel="in_app", database=database) as services:
        provider = InAppProvider(InAppConfig(retention_days=days), services)
        batch = [
            outgoing(number, user_id, user_id=user_id, parts={"title": f"Hello {number}"})
            for number in numbers
        ]
        for _ in range(2):  # twice is once
            assert {type(each) for each in await provider.send(batch)} == {Accepted}


async def token(api: Api, user_id: str, seconds: int = 3600) -> str:
    made = await api("POST", f"/recipients/{user_id}/inbox-token", {"seconds": seconds})
    assert made.status == 201, made.content
    return str(made.json()["token"])


def titles(found: list[dict[str, Any]]) -> list[str]:
    return [each["parts"]["title"] for each in found]


async def test_a_recipient_lists_reads_and_archives(api: Api, database: Database, store: Store) -> None:
    await send(database, "ann", 1, 2, 3)
    await send(database, "bob", 4)
    inbox = f"/inbox/{await token(api, 'ann')}"
    page = await api("GET", f"{inbox}?limit=2")
    assert titles(page.json()) == ["Hello 3", "Hello 2"]
    assert page.next is not None
    assert titles((await api("GET", page.next)).json()) == ["Hello 1"]
    assert (await api("GET", f"{inbox}/unread")).json() == {"unread": 3}
    first = page.json()[0]["item_id"]
    marked = await api("POST", f"{inbox}/mark", {"item_ids": [first], "read": True})
    assert marked.json()[0]["read_at"] is not None
    assert (await api("GET", f"{inbox}/unread")).json() == {"unread": 2}
    assert titles((await api("GET", f"{inbox}?unread=true")).json()) == ["Hello 2", "Hello 1"]
    await api("POST", f"{inbox}/mark", {"item_ids": [first], "archived": True})
    assert titles((await api("GET", inbox)).json()) == ["Hello 2", "Hello 1"]
    assert titles((await api("GET", f"{inbox}?archived=true")).json()) == ["Hello 3"]
    await api("POST", f"{inbox}/mark", {"read": True})
    assert (await api("GET", f"{inbox}/unread")).json() == {"unread": 0}
    # Reading is in the ledger of events, once.
    await api("POST", f"{inbox}/mark", {"read": True})
    rows = await store.fetch("select message_id from sexton.message_events where kind = 'read' order by 1")
    assert [row["message_id"] for row in rows] == [1, 2, 3]


async def test_a_token_opens_one_inbox_only(api: Api, database: Database) -> None:
    await send(database, "ann", 1)
    await send(database, "bob", 2)
    ann, bob = await token(api, "ann"), await token(api, "bob")
    [theirs] = (await api("GET", f"/inbox/{bob}")).json()
    answer = await api("POST", f"/inbox/{ann}/mark", {"item_ids": [theirs["item_id"]], "read": True})
    assert answer.json() == []
    assert (await api("GET", f"/inbox/{bob}/unread")).json() == {"unread": 1}
    for wrong in (ann[:-4] + "AAAA", "x", bob + "A"):
        assert (await api("GET", f"/inbox/{wrong}")).status == 404


async def test_new_messages_come_live(api: Api, database: Database) -> None:
    await send(database, "ann", 1)
    path = f"{api.base}/api/v1/inbox/{await token(api, 'ann')}/stream"
    async with asyncio.timeout(PATIENCE), api.session.get(path) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        events = _events(stream.content)
        assert await anext(events) == ("unread", {"unread": 1})
        await send(database, "ann", 2)
        await send(database, "bob", 3)
        name, item = await anext(events)
        assert (name, item["parts"]["title"]) == ("message", "Hello 2")
        assert await anext(events) == ("unread", {"unread": 2})
        seen = item["item_id"]
    await send(database, "ann", 4)
    async with asyncio.timeout(PATIENCE), api.session.get(path, headers={"Last-Event-ID": seen}) as stream:
        name, item = await anext(_events(stream.content))
        assert (name, item["parts"]["title"]) == ("message", "Hello 4")


async def test_streams_of_one_inbox_do_not_take_all_connections(api: Api, database: Database) -> None:
    path = f"{api.base}/api/v1/inbox/{await token(api, 'ann')}/stream"
    async with asyncio.timeout(PATIENCE), AsyncExitStack() as stack:
        answers = [await stack.enter_async_context(api.session.get(path)) for _ in range(MOST_OF_ONE + 1)]
        assert [each.status for each in answers] == [200] * MOST_OF_ONE + [429]
        bob = f"{api.base}/api/v1/inbox/{await token(api, 'bob')}/stream"
        assert (await stack.enter_async_context(api.session.get(bob))).status == 200


async def test_the_inboxes_of_one_namespace_do_not_take_all_streams(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_feed, "MOST_WATCHERS", 4)
    feed = InboxFeed(database)
    async with AsyncExitStack() as stack:
        first, *_ = [await stack.enter_async_context(feed.watch("shop", f"u{n}")) for n in range(4)]
        await stack.enter_async_context(feed.watch("billing", "ann"))
        async with asyncio.timeout(PATIENCE):
            while await first.get() is not None:
                pass
        with pytest.raises(SextonError, match="4 in all"):
            await stack.enter_async_context(feed.watch("shop", "u5"))
    await feed.close()


async def test_a_stream_ends_with_its_token(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with the next heartbeat after that."""
    path = f"{api.base}/api/v1/inbox/{await token(api, 'ann', 60)}/stream"
    started = clock.now()
    late = started + timedelta(seconds=59.5)
    monkeypatch.setattr(inbox_routes, "clock", SimpleNamespace(now=lambda: late + (clock.now() - started)))
    monkeypatch.setattr(inbox_routes, "HEARTBEAT_SECONDS", 2 * PATIENCE)
    async with asyncio.timeout(PATIENCE), api.session.get(path) as stream:
        assert (await stream.content.read()).startswith(b": watching")


async def _events(content: Any) -> Any:
    import json

    name = ""
    async for line in content:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))


async def test_what_is_too_old_leaves_the_inbox(api: Api, database: Database, store: Store) -> None:
    await send(database, "ann", 1, days=1)
    await send(database, "ann", 2, days=10)
    await store.execute("update sexton.inbox set expires_at = expires_at - interval '2 days'")
    inbox = f"/inbox/{await token(api, 'ann')}"
    assert titles((await api("GET", inbox)).json()) == ["Hello 2"]
    assert (await api("GET", f"{inbox}/unread")).json() == {"unread": 1}
    assert await expire_inbox(Context(database, "other")) == 0
    assert await expire_inbox(Context(database)) == 1
    assert await store.value("select count(*) from sexton.inbox") == 1


async def test_a_token_ends(api: Api, database: Database) -> None:
    from datetime import timedelta

    from sexton import clock
    from sexton.notifications.recipients.inbox import read_inbox_token
    from sexton.security.keys import read_pepper

    pepper = await read_pepper(database, None)
    given = await token(api, "ann", 60)
    later = Context(database, now=clock.now() + timedelta(seconds=61))
    assert read_inbox_token(later, given, pepper) is None
    assert read_inbox_token(Context(database), given, pepper) is not None
    assert (await api("POST", "/recipients/ann/inbox-token", {"seconds": 1})).status == 422
