"""Entities of the adapter `builtin`, and views of entities of all adapters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from sexton.config import Settings
from sexton.content.adapters.configured import content_target
from sexton.content.elsewhere import EntityStanding, ask_standings
from sexton.content.ledger import ExecutionView, list_executions
from sexton.content.model import RELEASE, Entity
from sexton.content.read import MOST_LOOKED_AT, ScheduleView, views
from sexton.content.spec import EntitySpec
from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.postgres.estimate import MOST_EXACT, Total, total
from sexton.postgres.page import LAST_CHARACTER, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, not_found, refuse_nul

EntitySort = Literal["entity", "-entity"]
# All entities, and those that a search means.
LISTS: dict[EntitySort, tuple[str, str]] = {
    "entity": ("content/list_entities", "content/search_entities"),
    "-entity": ("content/list_entities_last", "content/search_entities_last"),
}
BUILTIN = "builtin"
LARGEST_BODY = 256 * 1024
MOST_VERSIONS = 100
MOST_CHANGES = 100
MOST_PENDING = 100
MOST_EXECUTIONS = 100
# The adapters that are asked about one entity, and the entities that an adapter is asked about for a page.
MOST_ADAPTERS = 3
MOST_ASKED = 50


class EntityVersion(msgspec.Struct, frozen=True, kw_only=True):
    version: Annotated[int, about("Its number.")]
    created_by: Annotated[str, about("Who wrote it.")]
    created_at: Annotated[datetime, about("When it was written.")]


class EntityChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of an entity."""

    at: Annotated[datetime, about("When the change was made.")]
    action: Annotated[str, about("publish, unpublish or archive.")]
    state_before: Annotated[str | None, about("The state before.")]
    state_after: Annotated[str | None, about("The state after.")]
    version: Annotated[int | None, about("The version that was out afterwards.")]
    by: Annotated[str, about("Who planned it.")]
    schedule_id: Annotated[str | None, about("The action.")]
    release_id: Annotated[str | None, about("The release that it went out with.")]
    run_id: Annotated[str | None, about("The run that did it.")]


class EntityView(msgspec.Struct, frozen=True, kw_only=True):
    """An entity: its state, its plans, and its history."""

    entity_type: Annotated[str, about("The type of the entity.")]
    entity_id: Annotated[str, about("The id of the entity within its type.")]
    state: Annotated[
        str | None,
        about("draft, published, unpublished or archived; null: it is not known, see `elsewhere`."),
    ]
    published_version: Annotated[int | None, about("The version that is out.")] = None
    adapter: Annotated[
        str | None,
        about("Where it lives: `builtin` if it is kept there, else the adapter of its latest plan."),
    ] = None
    elsewhere: Annotated[
        list[EntityStanding],
        about("Its state in each other adapter that its latest plans name, asked now."),
    ] = []
    versions: Annotated[list[EntityVersion], about("The latest versions, newest first.")] = []
    body: Annotated[Any, about("The latest version itself.")] = None
    pending: Annotated[list[ScheduleView], about("What is planned, in the order of its time.")] = []
    history: Annotated[list[EntityChange], about("What was done, the latest first.")] = []
    executions: Annotated[
        list[ExecutionView], about("How actions were carried out, failed or were skipped, the latest first.")
    ] = []


class EntitySummary(msgspec.Struct, frozen=True, kw_only=True):
    """An entity in a list."""

    entity_type: Annotated[str, about("The type of the entity.")]
    entity_id: Annotated[str, about("The id of the entity within its type.")]
    title: Annotated[str | None, about("The `title` or `name` of its latest version.")] = None
    state: Annotated[
        str | None, about("draft, published, unpublished or archived; null: it is not known, see `error`.")
    ]
    published_version: Annotated[int | None, about("The version that is out.")] = None
    latest_version: Annotated[int | None, about("The latest version.")] = None
    updated_at: Annotated[datetime | None, about("When it was changed last, if it is one of `builtin`.")] = (
        None
    )
    adapter: Annotated[str, about("Where it lives.")] = BUILTIN
    error: Annotated[str | None, about("Why its state is not known.")] = None


@command
async def put_entity(context: Context, entity: Entity, spec: EntitySpec) -> EntityView:
    """Create the next version of an entity. The published version stays until the new one is published."""
    check_text(entity.type, "entity_type", 64)
    check_text(entity.id, "entity_id", 64)
    body = msgspec.json.encode(spec.body)
    if len(body) > LARGEST_BODY:
        raise InvalidField(
            "too_long", f"the body has {len(body)} bytes", field="body", hint=f"at most {LARGEST_BODY}"
        )
    await context.execute(
        "content/put_version",
        entity_type=entity.type,
        entity_id=entity.id,
        body=body.decode(),
        created_by=spec.created_by or context.actor,
    )
    saved = await get_entity(context, entity)
    detail = {"version": saved.versions[0].version, "created_by": saved.versions[0].created_by}
    context.changed("content.saved", str(entity), str(entity), detail=detail)
    return saved


async def get_entity(context: Context, entity: Entity) -> EntityView:
    """One entity with its plans and history, from the database."""
    return (await _get_entity(context, entity))[0]


async def show_entity(context: Context, entity: Entity, settings: Settings) -> EntityView:
    """The same, with its state in other systems: asks at most three adapters, for at most ten seconds."""
    view, adapters = await _get_entity(context, entity)
    outside = [name for name in adapters if name != BUILTIN][:MOST_ADAPTERS]
    elsewhere = await ask_standings(context, settings, [(name, entity) for name in outside])
    if view.adapter is not None or not elsewhere:
        return msgspec.structs.replace(view, elsewhere=elsewhere)
    first = elsewhere[0]
    return msgspec.structs.replace(
        view,
        state=first.state,
        published_version=first.published_version,
        adapter=first.adapter,
        elsewhere=elsewhere,
    )


@query
async def _get_entity(context: Context, entity: Entity) -> tuple[EntityView, list[str]]:
    """An entity from the database, and the adapters that its plans name."""
    named = {"entity_type": entity.type, "entity_id": entity.id}
    row = await context.fetchrow("content/get_entity", **named)
    planned = await context.fetch("content/list_pending", limit=MOST_PENDING, **named)
    changes = await context.fetch("content/list_changes", limit=MOST_CHANGES, **named)
    versions = await context.fetch("content/list_versions", limit=MOST_VERSIONS, **named)
    executed = await list_executions(
        context, entity_type=entity.type, entity_id=entity.id, limit=MOST_EXECUTIONS
    )
    if row is None and not planned and not changes and not executed.items:
        raise not_found("entity", entity)
    places = await context.fetch(
        "content/list_adapters_of", look=MOST_LOOKED_AT, limit=MOST_ADAPTERS + 1, **named
    )
    view = EntityView(
        entity_type=entity.type,
        entity_id=entity.id,
        state=None if row is None else row["state"],
        published_version=None if row is None else row["published_version"],
        adapter=None if row is None else BUILTIN,
        versions=[EntityVersion(**each) for each in versions],
        body=None if row is None or row["body"] is None else msgspec.json.decode(row["body"]),
        pending=await views(context, [each["id"] for each in planned]),
        history=[
            from_row(
                EntityChange,
                each,
                by=each["actor"],
                schedule_id=each["schedule_id"] and encode_id("c", each["schedule_id"]),
                release_id=each["release_id"] and encode_id(RELEASE, each["release_id"]),
                run_id=each["run_id"] and encode_id("r", each["run_id"]),
            )
            for each in changes
        ],
        executions=executed.items,
    )
    return view, [each["adapter"] for each in places]


async def list_entities(
    context: Context,
    settings: Settings,
    *,
    adapter: str = BUILTIN,
    entity_type: str | None = None,
    state: str | None = None,
    search: str = "",
    sort: EntitySort = "entity",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[EntitySummary]:
    """The entities of `builtin`, or those that plans for another adapter name, by type and id; those of
    `builtin` also in the reverse order. Asks that adapter for their states, for at most ten seconds. The
    number of entities that are read for a page is limited, so a page may not be full. `search` is a prefix of
    the ids, for `builtin` only."""
    start = ("", "") if sort == "entity" else (LAST_CHARACTER, LAST_CHARACTER)
    after = start if cursor is None else decode_cursor(cursor, tuple[str, str])
    refuse_nul("".join(after), "cursor")
    if adapter == BUILTIN:
        return await _list_kept(context, after, entity_type, state, search, sort, limit)
    if sort != "entity":
        hint = "use entity, or leave adapter out"
        message = f"the entities of {adapter} have no other order"
        raise InvalidField("bad_value", message, field="sort", hint=hint)
    if search:
        hint = "leave search out, or leave adapter out"
        message = f"search does not work for the adapter {adapter}"
        raise InvalidField("bad_value", message, field="search", hint=hint)
    page = await _list_planned(context, after, adapter, entity_type, min(limit, MOST_ASKED))
    standings = await ask_standings(context, settings, [(adapter, entity) for entity in page.items])
    found = [
        EntitySummary(
            entity_type=entity.type,
            entity_id=entity.id,
            state=standing.state,
            published_version=standing.published_version,
            latest_version=standing.latest_version,
            adapter=adapter,
            error=standing.error,
        )
        for entity, standing in zip(page.items, standings, strict=True)
        if state is None or standing.state == state
    ]
    return Page(found, page.cursor)


@query
async def _list_kept(
    context: Context,
    after: tuple[str, str],
    entity_type: str | None,
    state: str | None,
    search: str,
    sort: EntitySort,
    limit: int,
) -> Page[EntitySummary]:
    listed, searched = LISTS[sort]
    beginning = {"first": search, "last": search + LAST_CHARACTER} if search else {}
    # Without a filter that no index serves, those that are looked at are those that are listed.
    look = limit + 1 if state is None else MOST_LOOKED_AT
    async with context.planned_anew():
        rows = await context.fetch(
            searched if search else listed,
            entity_type=entity_type,
            after_type=after[0],
            after_id=after[1],
            look=look,
            **beginning,
        )
    chosen = [row for row in rows if state is None or row["state"] == state][: limit + 1]
    titles = {
        (row["entity_type"], row["entity_id"]): row["title"]
        for row in await context.fetch(
            "content/list_titles",
            types=[row["entity_type"] for row in chosen],
            ids=[row["entity_id"] for row in chosen],
        )
    }
    found = []
    for row in chosen:
        place = row["entity_type"], row["entity_id"]
        found.append((encode_cursor(*place), EntitySummary(title=titles.get(place), **row)))
    page = make_page(found, limit)
    if page.cursor is None and len(rows) == look:
        return Page(page.items, encode_cursor(rows[-1]["entity_type"], rows[-1]["entity_id"]))
    return page


@query
async def count_entities(
    context: Context,
    *,
    adapter: str = BUILTIN,
    entity_type: str | None = None,
    state: str | None = None,
    search: str = "",
) -> Total | None:
    """How many entities of `builtin` a list with these filters shows, if 10,000 are enough to tell. Beyond
    that, the estimate of PostgreSQL's planner; None with a state. None for other adapters."""
    if adapter != BUILTIN:
        return None
    listed, searched = LISTS["entity"]
    statement = searched if search else listed
    asked: dict[str, Any] = {
        "namespace": context.namespace,
        "entity_type": entity_type,
        "after_type": "",
        "after_id": "",
    }
    if search:
        asked |= {"first": search, "last": search + LAST_CHARACTER}
    if state is None:
        return await total(context, statement, bound="look", **asked)
    async with context.planned_anew():
        text, arguments = context.prepared(statement, look=MOST_EXACT + 1, **asked)
        row = await context.open.fetchrow(
            f"select count(*) as looked, count(*) filter (where state = ${len(arguments) + 1}) as found "
            f"from ({text}) as counted",
            *arguments,
            state,
        )
    assert row is not None
    return Total(row["found"]) if row["looked"] <= MOST_EXACT else None


@query
async def _list_planned(
    context: Context, after: tuple[str, str], adapter: str, entity_type: str | None, limit: int
) -> Page[Entity]:
    await content_target(context, adapter)
    async with context.planned_anew():
        rows = await context.fetch(
            "content/list_planned_entities",
            adapter=adapter,
            entity_type=entity_type,
            after_type=after[0],
            after_id=after[1],
            look=MOST_LOOKED_AT,
            limit=limit + 1,
        )
    entities = [Entity.of(row) for row in rows if row["found"]]
    page = make_page([(encode_cursor(*entity), entity) for entity in entities], limit)
    if page.cursor is None and rows and not rows[-1]["found"]:
        return Page(page.items, encode_cursor(rows[-1]["entity_type"], rows[-1]["entity_id"]))
    return page
