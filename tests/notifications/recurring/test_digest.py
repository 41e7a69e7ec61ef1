"""Digests: an event is in exactly one message, at the digest's time or when there are enough."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio

from sexton.errors import Conflict
from sexton.notifications.recipients.recipient import put_recipient
from sexton.notifications.recurring.digest import (
    add_event,
    delete_digest,
    get_digest,
    list_digests,
    put_digest,
)
from sexton.notifications.recurring.spec import DigestEventSpec, DigestSpec
from sexton.notifications.spec import RecipientSpec
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.crowd import add_template
from tests.notifications.mailbox import Mailbox

START = datetime(2027, 3, 19, 12, tzinfo=UTC)
PARTS = {
    "": {"email": {"subject": "{{ count }} new", "text": "{% for e in events %}{{ e.text }};{% endfor %}"}}
}


@pytest_asyncio.fixture
async def context(context: Context) -> Context:
    await add_template(context.database, "news", parts=PARTS)
    for name, zone in (("ann", "Europe/Berlin"), ("bob", "America/New_York")):
        await put_recipient(context, name, RecipientSpec(email=f"{name}@example.com", timezone=zone))
    await put_digest(context, "daily", spec())
    return context


def spec(**fields: Any) -> DigestSpec:
    given: dict[str, Any] = {"template_id": "news", "channel": "email", "schedule": "0 9 * * *"}
    return DigestSpec(**{**given, **fields})


def event(text: str, user: str = "ann", **fields: Any) -> DigestEventSpec:
    return DigestEventSpec(user_id=user, data={"text": text}, **fields)


async def test_events_become_one_message_at_the_time_of_the_recipient(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    first = await add_event(context, "daily", event("a"))
    again = await add_event(context, "daily", event("b"))
    other = await add_event(context, "daily", event("x", "bob"))
    apart = await add_event(context, "daily", event("k", key="project"))
    assert first.send_at_utc == datetime(2027, 3, 20, 8, tzinfo=UTC)
    assert other.send_at_utc == datetime(2027, 3, 19, 13, tzinfo=UTC)
    assert first.notification_id == again.notification_id
    assert len({first.notification_id, other.notification_id, apart.notification_id}) == 3
    await engine.advance(days=2)
    assert sorted((each.user_id, each.parts["subject"], each.parts["text"]) for each in mailbox.got) == [
        ("ann", "1 new", "k;"), ("ann", "2 new", "a;b;"), ("bob", "1 new", "x;"),
    ]  # fmt: skip
    await add_event(context, "daily", event("c"))
    await engine.advance(days=2)
    assert mailbox.got[-1].parts["text"] == "c;"
    assert len(mailbox.got) == 4


async def test_enough_events_are_sent_at_once(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await put_digest(context, "daily", spec(max_events=3))
    for text in "abcd":
        await add_event(context, "daily", event(text))
    await engine.advance(seconds=5)
    assert [message.parts["text"] for message in mailbox.got] == ["a;b;c;"]
    await engine.advance(days=1)
    assert [message.parts["text"] for message in mailbox.got] == ["a;b;c;", "d;"]


async def test_the_same_event_twice_is_once(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    one = await add_event(context, "daily", event("a", event_id="e1"))
    assert await add_event(context, "daily", event("a", event_id="e1")) == one
    await engine.advance(days=1)
    assert await add_event(context, "daily", event("a", event_id="e1")) != one  # its message is over
    assert [message.parts["text"] for message in mailbox.got] == ["a;"]


async def test_each_event_is_in_one_digest_whatever_comes_at_once(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    """Many at once, in four rounds, with a round of sending between them."""
    await put_digest(context, "daily", spec(max_events=7))
    for round_ in range(4):
        await asyncio.gather(*(add_event(context, "daily", event(f"{round_}.{n}")) for n in range(10)))
        await engine.advance(seconds=2)
    await engine.advance(days=1)
    seen = [text for message in mailbox.got for text in message.parts["text"].split(";") if text]
    assert sorted(seen) == sorted(f"{round_}.{n}" for round_ in range(4) for n in range(10))


async def test_a_digest_that_is_off_or_gone(context: Context) -> None:
    await put_digest(context, "daily", spec(is_active=False))
    with pytest.raises(Conflict, match="takes no events"):
        await add_event(context, "daily", event("a"))
    assert [each.name for each in (await list_digests(context, cursor=None, limit=5)).items] == ["daily"]
    await delete_digest(context, "daily")
    with pytest.raises(Exception, match="there is no digest daily"):
        await get_digest(context, "daily")
