"""Windows: publish at one time and unpublish at another, as one thing.

A window that happens once is two actions. Of a series only what opens it is planned; what closes it is
planned when it is opened, in the same transaction, so it never comes first and never comes alone.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import asyncpg

from sexton.content.conflict import check_conflicts, hold_entity
from sexton.content.model import Action, Entity
from sexton.content.moment import Moment, find_zone, later_on_the_wall, local_of, read_moment, rule_of
from sexton.content.plan import PlannedAction, insert
from sexton.content.read import ScheduleView, WindowView, view
from sexton.content.spec import WindowSpec
from sexton.errors import InvalidField
from sexton.postgres.transaction import Context, command


@command
async def create_window(context: Context, spec: WindowSpec) -> WindowView:
    """Plan a window, or a series of them."""
    choices = {"fold": spec.fold, "gap": spec.gap}
    starts = read_moment(spec.starts, None, spec.timezone, field="starts", **choices)
    ends = read_moment(spec.ends, None, spec.timezone, field="ends", **choices)
    if ends.at <= starts.at:
        raise InvalidField(
            "bad_range", "the window ends before it starts", field="ends", hint="give a later time"
        )
    series = spec.recurrence_rule is not None
    entity = Entity(spec.entity_type, str(spec.entity_id))
    opening = PlannedAction(
        entity=entity,
        action=Action.PUBLISH,
        moment=starts,
        rule=None if spec.recurrence_rule is None else rule_of(spec.recurrence_rule),
        adapter=spec.adapter,
        version=spec.version,
        note=spec.note,
        created_by=spec.created_by,
        max_retries=spec.max_retries,
        catch_up_seconds=None,
        needs_approval=spec.needs_approval,
        opens_window=True,
        open_for=ends.local - starts.local if series else None,
    )
    await hold_entity(context, entity)
    if not spec.force:
        await check_conflicts(context, opening)
    number = await insert(context, opening)
    if not series:
        await insert(context, _closing(opening, number, ends, None))
    opened = await view(context, number)
    closed = None if series else await _closing_view(context, number)
    return WindowView.of(opened, closed, opening.open_for)


async def _closing_view(context: Context, number: int) -> ScheduleView | None:
    other = await context.fetchval("content/find_closing", window_id=number)
    return None if other is None else await view(context, other)


def _closing(
    opening: PlannedAction, window_id: int, ends: Moment, opened_at: datetime | None
) -> PlannedAction:
    return PlannedAction(
        entity=opening.entity,
        action=Action.UNPUBLISH,
        moment=ends,
        rule=None,
        adapter=opening.adapter,
        version=None,
        note=opening.note,
        created_by=opening.created_by,
        max_retries=opening.max_retries,
        catch_up_seconds=None,
        needs_approval=False,
        window_id=window_id,
        opened_at=opened_at,
    )


async def check(
    context: Context, row: asyncpg.Record, scheduled_at: datetime
) -> tuple[str | None, float | None]:
    """Whether one end of a window may be carried out: why not, or how long to wait."""
    now = await context.time()
    if row["window_id"] == row["id"]:
        end = await _end_of(context, row, scheduled_at)
        return ("the window was over before it could be opened", None) if end and end <= now else (None, None)
    opened = await context.fetchrow(
        "content/read_opening", window_id=row["window_id"], opened_at=row["opened_at"]
    )
    if opened is None:
        return "the window is not planned any more", None
    if opened["done_at"] is not None and opened["done_at"] >= opened["opened_at"]:
        return None, None
    if opened["cancelled_at"] is not None:
        return "the window was called off", None
    if opened["live"]:
        return None, 1.0
    return "the window was not opened", None


async def _end_of(context: Context, row: asyncpg.Record, scheduled_at: datetime) -> datetime | None:
    """When the window of an occurrence ends."""
    if row["open_for"] is not None:
        return end_of_occurrence(row, scheduled_at).at
    at: datetime | None = await context.fetchval("content/find_closing_time", window_id=row["id"])
    return at


def end_of_occurrence(row: asyncpg.Record, scheduled_at: datetime) -> Moment:
    place = find_zone(row["timezone"])
    opened = Moment(scheduled_at, local_of(scheduled_at, place), place.name)
    end = later_on_the_wall(opened, row["open_for"], place)
    # A clock change must not turn a window around.
    end = max(end, scheduled_at + timedelta(seconds=1))
    return Moment(end, local_of(end, place), place.name)


@command
async def plan_close(context: Context, row: asyncpg.Record, scheduled_at: datetime) -> None:
    """A window of a series was opened: plan its end."""
    opening = PlannedAction(
        entity=Entity(row["entity_type"], row["entity_id"]),
        action=Action.PUBLISH,
        moment=Moment(scheduled_at, scheduled_at, row["timezone"]),
        rule=None,
        adapter=row["adapter"],
        version=None,
        note=row["note"],
        created_by=row["created_by"],
        max_retries=3,
        catch_up_seconds=None,
        needs_approval=False,
    )
    ends = end_of_occurrence(row, scheduled_at)
    await insert(context, _closing(opening, row["id"], ends, scheduled_at), past=True)
