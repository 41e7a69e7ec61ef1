"""Entities of the adapter `builtin`, and everything about one entity, wherever it lives."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec

from sexton.content.ledger import ExecutionView, list_executions
from sexton.content.model import RELEASE, Entity
from sexton.content.read import MOST_LOOKED_AT, ScheduleView, views
from sexton.content.spec import EntitySpec
from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.postgres.page import Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, not_found, refuse_nul

LARGEST_BODY = 256 * 1024
MOST_VERSIONS = 100
MOST_CHANGES = 100
MOST_PENDING = 100
MOST_EXECUTIONS = 100


class EntityVersion(msgspec.Struct, frozen=True, kw_only=True):
    version: Annotated[int, about("Its number.")]
    created_by: Annotated[str, about("Who wrote it.")]
    created_at: Annotated[datetime, about("When it was written.")]


class EntityChange(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to an entity."""

    at: Annotated[datetime, about("When.")]
    action: Annotated[str, about("publish, unpublish or archive.")]
    state_before: Annotated[str | None, about("The state before.")]
    state_after: Annotated[str | None, about("The state after.")]
    version: Annotated[int | None, about("The version that was out afterwards.")]
    by: Annotated[str, about("Who had planned it.")]
    schedule_id: Annotated[str | None, about("The action.")]
    release_id: Annotated[str | None, about("The release that it went out with.")]
    run_id: Annotated[str | None, about("The run that did it.")]


class EntityView(msgspec.Struct, frozen=True, kw_only=True):
    """An entity: how it is, what is planned for it, and what happened to it."""

    entity_type: Annotated[str, about("What it is.")]
    entity_id: Annotated[str, about("Which one of its type.")]
    state: Annotated[
        str | None, about("draft, published, unpublished or archived; null: not one of `builtin`.")
    ]
    published_version: Annotated[int | None, about("The version that is out.")] = None
    versions: Annotated[list[EntityVersion], about("The latest versions, newest first.")] = []
    body: Annotated[Any, about("The latest version itself.")] = None
    pending: Annotated[list[ScheduleView], about("What is planned, in the order of its time.")] = []
    history: Annotated[list[EntityChange], about("What was done, the latest first.")] = []
    executions: Annotated[
        list[ExecutionView], about("How actions were carried out, failed or were skipped, the latest first.")
    ] = []


class EntitySummary(msgspec.Struct, frozen=True, kw_only=True):
    """An entity in a list."""

    entity_type: Annotated[str, about("What it is.")]
    entity_id: Annotated[str, about("Which one of its type.")]
    state: Annotated[str, about("draft, published, unpublished or archived.")]
    published_version: Annotated[int | None, about("The version that is out.")]
    latest_version: Annotated[int, about("The latest version.")]
    updated_at: Annotated[datetime, about("When it was changed last.")]


@command
async def put_entity(context: Context, entity: Entity, spec: EntitySpec) -> EntityView:
    """Make the next version of an entity. What is out stays out until the version is published."""
    check_text(entity.type, "entity_type", 64)
    check_text(entity.id, "entity_id", 64)
    body = msgspec.json.encode(spec.body)
    if len(body) > LARGEST_BODY:
        raise InvalidField(
            "too_long", f"the body has {len(body)} bytes", field="body", hint=f"at most {LARGEST_BODY}"
        )
    await context.execute(
        "content/put_version",
        namespace=context.namespace,
        entity_type=entity.type,
        entity_id=entity.id,
        body=body.decode(),
        created_by=spec.created_by or context.actor,
        now=context.now,
    )
    saved = await get_entity(context, entity)
    detail = {"version": saved.versions[0].version, "created_by": saved.versions[0].created_by}
    context.changed("content.saved", str(entity), str(entity), detail=detail)
    return saved


@query
async def get_entity(context: Context, entity: Entity) -> EntityView:
    """Everything about one entity."""
    named = {"namespace": context.namespace, "entity_type": entity.type, "entity_id": entity.id}
    row = await context.fetchrow("content/get_entity", **named)
    planned = await context.fetch("content/list_pending", limit=MOST_PENDING, **named)
    changes = await context.fetch("content/list_changes", limit=MOST_CHANGES, **named)
    versions = await context.fetch("content/list_versions", limit=MOST_VERSIONS, **named)
    executed = await list_executions(
        context, entity_type=entity.type, entity_id=entity.id, limit=MOST_EXECUTIONS
    )
    if row is None and not planned and not changes and not executed.items:
        raise not_found("entity", entity)
    return EntityView(
        entity_type=entity.type,
        entity_id=entity.id,
        state=None if row is None else row["state"],
        published_version=None if row is None else row["published_version"],
        versions=[EntityVersion(**each) for each in versions],
        body=None if row is None or row["body"] is None else msgspec.json.decode(row["body"]),
        pending=await views(context, [each["id"] for each in planned]),
        history=[
            EntityChange(
                at=each["at"],
                action=each["action"],
                state_before=each["state_before"],
                state_after=each["state_after"],
                version=each["version"],
                by=each["actor"],
                schedule_id=each["schedule_id"] and encode_id("c", each["schedule_id"]),
                release_id=each["release_id"] and encode_id(RELEASE, each["release_id"]),
                run_id=each["run_id"] and encode_id("r", each["run_id"]),
            )
            for each in changes
        ],
        executions=executed.items,
    )


@query
async def list_entities(
    context: Context,
    *,
    entity_type: str | None = None,
    state: str | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Page[EntitySummary]:
    """The entities of `builtin`, by type and id. A page may have fewer than it could: where filters leave out
    most, only so many are looked at for each page."""
    after = ("", "") if cursor is None else decode_cursor(cursor, tuple[str, str])
    refuse_nul("".join(after), "cursor")
    async with context.open.transaction():
        await context.open.execute("set local plan_cache_mode = force_custom_plan")
        rows = await context.fetch(
            "content/list_entities",
            namespace=context.namespace,
            entity_type=entity_type,
            after_type=after[0],
            after_id=after[1],
            look=MOST_LOOKED_AT,
        )
    found = [
        (encode_cursor(row["entity_type"], row["entity_id"]), EntitySummary(**row))
        for row in rows
        if state is None or row["state"] == state
    ][: limit + 1]
    page = make_page(found, limit)
    if page.cursor is None and len(rows) == MOST_LOOKED_AT:
        return Page(page.items, encode_cursor(rows[-1]["entity_type"], rows[-1]["entity_id"]))
    return page
