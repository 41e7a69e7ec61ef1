"""Audiences: saved segments, uploaded lists, and results of queries by an admin.

Each upload is a list of its own, and the name of a list means the last complete upload. A campaign that has
begun keeps the list with which it began. The result of a query becomes a list before the first message is
created.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.errors import InvalidField
from sexton.notifications.campaigns.segment_filter import compile_filter
from sexton.notifications.campaigns.spec import SegmentSpec
from sexton.postgres.jsonb import json_text
from sexton.postgres.page import Page, make_page
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text

LONGEST_NAME = 200
MOST_COUNTED = 1_000_000
CHUNK = 5000
#: How long the query of an audience may take, in seconds.
QUERY_SECONDS = 30
MOST_FOUND = 20_000_000
MOST_COLUMNS = 50
# A role without login that may read tables, but no files of the server.
READER = "pg_read_all_data"

Member = tuple[str, dict[str, Any] | None]


class SegmentView(msgspec.Struct, frozen=True, kw_only=True):
    """A filter on recipients, under a name."""

    name: Annotated[str, about("Its name.")]
    filter: Annotated[dict[str, Any], about("The filter: recipients that match it belong to the segment.")]
    description: Annotated[str | None, about("A description for people.")]
    recipients: Annotated[
        int | None, about(f"How many meet it now, counted among the first {MOST_COUNTED:,} recipients.")
    ] = None
    changed_by: Annotated[str, about("Who wrote it.")]
    changed_at: Annotated[datetime, about("When it was changed last.")]


class AudienceView(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded list."""

    name: Annotated[str, about("Its name.")]
    size: Annotated[int, about("How many members it has.")]
    uploaded_by: Annotated[str, about("Who uploaded it.")]
    uploaded_at: Annotated[datetime, about("When it was uploaded.")]


# Segments.


@command
async def put_segment(context: Context, name: str, spec: SegmentSpec) -> SegmentView:
    """Create or change a segment. Campaigns that have begun keep the old filter."""
    check_text(name, "segment", LONGEST_NAME)
    path = compile_filter(spec.filter)
    before = await context.fetchrow("campaigns/get_segment", name=name)
    await context.execute(
        "campaigns/put_segment",
        name=name,
        filter=json_text(spec.filter),
        path=path,
        description=spec.description,
    )
    context.changed(
        "segment.set",
        name,
        name,
        before=None if before is None else {"filter": msgspec.json.decode(before["filter"])},
        after={"filter": spec.filter},
    )
    return await get_segment(context, name)


@query
async def get_segment(context: Context, name: str) -> SegmentView:
    """A segment, with the number of recipients that match it."""
    row = await context.require("segment", name, "campaigns/get_segment", name=name)
    [counted] = await context.fetch("campaigns/count_filter", filter=row["path"], most=MOST_COUNTED)
    return _segment(row, counted["recipients"])


@query
async def list_segments(context: Context, *, cursor: str | None, limit: int) -> Page[SegmentView]:
    rows = await context.fetch("campaigns/list_segments", after=cursor or "", limit=limit + 1)
    return make_page([(row["name"], _segment(row)) for row in rows], limit)


@command
async def delete_segment(context: Context, name: str) -> None:
    row = await context.require("segment", name, "campaigns/get_segment", name=name)
    await context.execute("campaigns/delete_segment", name=name)
    context.changed("segment.deleted", name, name, before={"filter": msgspec.json.decode(row["filter"])})


def _segment(row: asyncpg.Record, recipients: int | None = None) -> SegmentView:
    return from_row(SegmentView, row, filter=msgspec.json.decode(row["filter"]), recipients=recipients)


# Lists.


async def upload(context: Context, name: str, members: AsyncIterator[Sequence[Member]]) -> AudienceView:
    """Upload a list. Its name means the earlier list until the upload is complete; a failed upload changes
    nothing."""
    check_text(name, "list", LONGEST_NAME)
    audience_id = await _make(context, name)
    try:
        size = await add_members(context, audience_id, members)
        return await _finish(context, name, audience_id, size)
    except BaseException:
        await remove_audience(context, audience_id)
        raise


async def keep_members(context: Context, members: AsyncIterator[Sequence[Member]]) -> int:
    """Create a list without a name, for one campaign; returns its number."""
    audience_id = await _make(context, None)
    size = await add_members(context, audience_id, members)
    await context.execute("campaigns/size_audience", audience_id=audience_id, size=size)
    return audience_id


async def _make(context: Context, name: str | None) -> int:
    audience_id: int = await context.fetchval("campaigns/take_id")
    await context.execute("campaigns/make_audience", audience_id=audience_id, name=name)
    return audience_id


@command
async def _finish(context: Context, name: str, audience_id: int, size: int) -> AudienceView:
    before = await context.fetchrow("campaigns/find_audience", name=name)
    await context.execute("campaigns/finish_audience", name=name, audience_id=audience_id, size=size)
    context.changed(
        "audience.uploaded",
        name,
        name,
        before=None if before is None else {"size": before["size"]},
        after={"size": size},
        detail={"size": size},
    )
    return await get_audience(context, name)


async def add_members(context: Context, audience_id: int, members: AsyncIterator[Sequence[Member]]) -> int:
    """Insert members as they arrive; returns their number."""
    size = 0
    async for chunk in members:
        await context.execute(
            "campaigns/add_members",
            audience_id=audience_id,
            first=size + 1,
            user_ids=[user_id for user_id, _ in chunk],
            vars=[None if not own else json_text(own) for _, own in chunk],
        )
        size += len(chunk)
        if size > MOST_FOUND:
            raise InvalidField(
                "too_many",
                f"the audience has more than {MOST_FOUND:,} members",
                field="audience",
                hint="make several campaigns",
            )
    return size


@query
async def get_audience(context: Context, name: str) -> AudienceView:
    return _list(await find_list(context, name))


async def find_list(context: Context, name: str) -> asyncpg.Record:
    return await context.require("list", name, "campaigns/find_audience", name=name)


@query
async def list_audiences(context: Context, *, cursor: str | None, limit: int) -> Page[AudienceView]:
    rows = await context.fetch("campaigns/list_audiences", after=cursor or "", limit=limit + 1)
    return make_page([(row["name"], _list(row)) for row in rows], limit)


async def delete_audience(context: Context, name: str) -> None:
    """Delete a list. A campaign that has begun keeps its messages; one that has not begun will fail."""
    row = await find_list(context, name)
    await _forget(context, name, row["size"], row["id"])
    await remove_audience(context, row["id"])


@command
async def _forget(context: Context, name: str, size: int, audience_id: int) -> None:
    await context.execute("campaigns/delete_audience", audience_id=audience_id)
    context.changed("audience.deleted", name, name, before={"size": size})


async def remove_audience(context: Context, audience_id: int) -> None:
    """Delete a list: its members first, some thousands per transaction."""
    while await context.fetchval("campaigns/delete_members", audience_id=audience_id, limit=CHUNK * 10):
        pass
    await context.execute("campaigns/delete_audience", audience_id=audience_id)


def _list(row: asyncpg.Record) -> AudienceView:
    return from_row(AudienceView, row)


# Queries.


def check_sql(text: str) -> None:
    """Refuse a query that does not begin with a reading statement. The transaction is read-only in any
    case."""
    if not re.match(r"\s*(?:select|with|values|table)\b", text, re.IGNORECASE):
        raise InvalidField(
            "bad_query",
            "the query does not begin with SELECT or WITH",
            field="audience.sql",
            hint="such as select user_id, plan from customers where country = 'DE'",
        )


async def found_by(context: Context, text: str, *, most: int | None = None) -> AsyncIterator[list[Member]]:
    """The members that a query finds. It runs read-only, at most `QUERY_SECONDS`, as a role that can only
    read tables. Raises `InvalidField` with the error of PostgreSQL."""
    check_sql(text)
    try:
        connection = await context.database.connect(
            "sexton audience",
            timeout=10,
            command_timeout=QUERY_SECONDS + 10,
            statement_timeout=f"{QUERY_SECONDS}s",
            idle_in_transaction_session_timeout="300s",
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise _query_failed(str(error)) from error
    try:
        async with connection.transaction(readonly=True):
            if await connection.fetchval("select rolsuper from pg_roles where rolname = current_user"):
                await connection.execute(f"set local role {READER}")
            chunk: list[Member] = []
            async for row in connection.cursor(text, prefetch=CHUNK):
                chunk.append(_member(row))
                if len(chunk) == CHUNK:
                    yield chunk
                    chunk = []
                    if most is not None and (most := most - CHUNK) <= 0:
                        return
            if chunk:
                yield chunk
    except asyncpg.PostgresError as error:
        raise _query_failed(str(error).partition("\n")[0]) from error
    except (asyncpg.InterfaceError, TimeoutError) as error:
        raise _query_failed(str(error) or f"it took longer than {QUERY_SECONDS} seconds") from error
    finally:
        await connection.close(timeout=10)


def _member(row: asyncpg.Record) -> Member:
    names = list(row.keys())
    if "user_id" not in names or len(names) > MOST_COLUMNS:
        raise _query_failed(f"it has the columns {', '.join(names[:MOST_COLUMNS])}, and none is user_id")
    if row["user_id"] is None:
        raise _query_failed("a user_id is null")
    own = {name: row[name] for name in names if name != "user_id"}
    return str(row["user_id"]), msgspec.to_builtins(own, enc_hook=str) if own else None


def _query_failed(why: str) -> InvalidField:
    return InvalidField(
        "bad_query",
        f"the query of the audience failed: {why}",
        field="audience.sql",
        hint=f"a SELECT with a column user_id that ends within {QUERY_SECONDS} seconds",
    )
