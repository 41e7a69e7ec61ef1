"""The check of a release before its time: finds problems that would make it fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.content.adapters.base import Adapter, NotPossible
from sexton.content.conflict import ContradictingPlans, check_conflicts
from sexton.content.model import Action, ContentChange, Entity, NoticeEvent
from sexton.content.notice import release_notice, tell
from sexton.content.plan import PlannedAction
from sexton.jobs.moment import read_moment
from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context
from sexton.refusal import about


class ReleaseFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A problem of a release."""

    code: Annotated[
        str,
        about("What it is: no_entity, no_version, archived, content_conflict, not_approved, …"),
    ]
    message: Annotated[str, about("The finding in words.")]
    content_id: Annotated[
        str | None, about("The entity, `type/id`; null: it concerns the whole release.")
    ] = None
    warning: Annotated[
        bool,
        about(
            "True if the release would still go out, but perhaps not as intended; or if that is not known."
        ),
    ] = False


async def ask_adapter(
    context: Context,
    adapter: Adapter,
    row: asyncpg.Record,
    items: Sequence[asyncpg.Record],
    mask: Callable[[str], str],
) -> list[ReleaseFinding]:
    """The problems that the adapter finds. It may use the network, so no database connection is held."""
    changes = [ContentChange.of(item, "", row["scheduled_at"]) for item in items]
    try:
        found = await adapter.check(context, changes) if changes else []
    except NotPossible as why:
        return [ReleaseFinding(code="not_possible", message=mask(str(why)))]
    return [
        ReleaseFinding(
            code=each.code,
            message=mask(each.message),
            content_id=str(each.entity),
            warning=each.warning,
        )
        for each in found
    ]


async def find_faults(
    context: Context, row: asyncpg.Record, items: Sequence[asyncpg.Record]
) -> list[ReleaseFinding]:
    """Contradictions to other plans, and a missing approval."""
    found: list[ReleaseFinding] = []
    for item in items:
        try:
            await check_conflicts(context, plan_of_item(row, item), release=row["id"])
        except ContradictingPlans as why:
            entity = str(Entity.of(item))
            found.append(ReleaseFinding(code=why.code, message=why.message, content_id=entity))
    if row["needs_approval"] and row["approved_at"] is None:
        found.append(ReleaseFinding(code="not_approved", message="it is not approved yet"))
    return found


async def keep_findings(
    context: Context, row: asyncpg.Record, findings: Sequence[ReleaseFinding], *, told: bool
) -> None:
    """Store the findings with the release, and notify its author if it would fail."""
    listed: list[dict[str, Any]] = msgspec.to_builtins(findings)
    await context.execute("content/set_findings", release_id=row["id"], findings=json_text(listed))
    if told and any(not each.warning for each in findings):
        await tell(context, [release_notice(NoticeEvent.WILL_FAIL, row, findings=listed)])


def plan_of_item(row: asyncpg.Record, item: asyncpg.Record) -> PlannedAction:
    """An item of a release as a planned action, to compare it with other plans."""
    return PlannedAction(
        entity=Entity.of(item),
        action=Action(item["action"]),
        moment=read_moment(None, row["scheduled_at"], row["timezone"]),
        adapter=row["adapter"],
        created_by=row["created_by"],
        version=item["version"],
        max_retries=row["max_retries"],
        catch_up_seconds=row["catch_up_seconds"],
        needs_approval=row["needs_approval"],
    )
