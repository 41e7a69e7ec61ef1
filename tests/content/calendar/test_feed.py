"""Feeds: made with a secret address, read by it, revoked."""

from __future__ import annotations

from typing import Any

import icalendar
import pytest

from sexton.content.calendar.feed import (
    FEEDS,
    FeedView,
    create_feed,
    feed_calendar,
    list_feeds,
    revoke_feed,
)
from sexton.content.schedule import create_schedule
from sexton.content.spec import FeedSpec
from sexton.errors import NotFound
from sexton.postgres.transaction import Context
from sexton.security.keys import read_pepper
from sexton.testing import Engine
from tests.content.planned import spec


async def plan(context: Context, **fields: Any) -> None:
    await create_schedule(context, spec(**fields))


async def opened(context: Context, token: str) -> tuple[FeedView, str] | None:
    return await FEEDS.find(context, token, await read_pepper(context.database, None))


async def read(context: Context, token: str) -> list[str]:
    found = await opened(context, token)
    assert found is not None
    calendar: Any = icalendar.Calendar.from_ical(await feed_calendar(context, *found))
    return [str(each["SUMMARY"]) for each in calendar.walk("VEVENT")]


async def test_a_feed_is_of_an_author_or_a_type(context: Context, engine: Engine) -> None:
    await plan(context)
    await plan(context, entity_type="banner", created_by="ben", recurrence_rule="FREQ=WEEKLY;COUNT=3")
    every = await create_feed(context, FeedSpec())
    of_ben = await create_feed(context, FeedSpec(author="ben"))
    of_posts = await create_feed(context, FeedSpec(entity_type="post"))
    assert await read(context, every.token) == ["publish post/1", *["publish banner/1"] * 3]
    assert await read(context, of_ben.token) == ["publish banner/1"] * 3
    assert await read(context, of_posts.token) == ["publish post/1"]
    assert [each.author for each in (await list_feeds(context)).items] == [None, "ben", None]


async def test_a_revoked_feed_is_not_found(context: Context, engine: Engine) -> None:
    made = await create_feed(context, FeedSpec())
    assert await opened(context, made.token) is not None
    revoked = await revoke_feed(context, made.feed_id)
    assert revoked.revoked_by == "tester"
    assert await revoke_feed(context, made.feed_id) == revoked
    async with context.database.connection() as connection:
        told = await connection.fetch("select action from sexton.audit_entries")
    assert [row["action"] for row in told].count("feed.revoked") == 1
    assert await opened(context, made.token) is None
    with pytest.raises(NotFound):
        await revoke_feed(context, "f_999")


async def test_a_feed_belongs_to_its_namespace_and_its_secret_is_not_kept(
    context: Context, engine: Engine
) -> None:
    await plan(context)
    other = Context(context.database, "other", actor="tester")
    made = await create_feed(other, FeedSpec())
    assert await read(context, made.token) == []
    assert (await list_feeds(context)).items == []
    with pytest.raises(NotFound):
        await revoke_feed(context, made.feed_id)
    changed = ("A" if made.token[0] != "A" else "B") + made.token[1:]
    assert await opened(context, changed) is None
    async with context.database.connection() as connection:
        stored = await connection.fetch("select * from sexton.content_feeds")
    assert made.token not in repr(stored)
