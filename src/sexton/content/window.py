"""Windows: publish at one time and unpublish at another, as one unit.

A single window is two actions. In a series only the opening action is planned. The transaction that opens a
window also plans its closing action, so a closing action never exists without an opened window.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import asyncpg

from sexton.clock import iso
from sexton.content.conflict import check_conflicts, hold_entity
from sexton.content.foresight import warned
from sexton.content.model import Action, Entity, Left, NotYet
from sexton.content.plan import PlannedAction, insert
from sexton.content.read import ScheduleView, WindowView, view
from sexton.content.spec import WindowSpec
from sexton.errors import InvalidField
from sexton.jobs.moment import Moment, end_of_window, read_moment, rule_of
from sexton.postgres.transaction import Context, command

OVER = "the window was over before it could be opened"


@command
async def create_window(context: Context, spec: WindowSpec) -> WindowView:
    """Plan a window, or a series of them."""
    zone, fold, gap = spec.timezone, spec.fold, spec.gap
    starts = read_moment(spec.starts, None, zone, field="starts", fold=fold, gap=gap)
    ends = read_moment(spec.ends, None, zone, field="ends", fold=fold, gap=gap)
    if ends.at <= starts.at:
        raise InvalidField(
            "bad_range",
            f"the window ends at {iso(ends.at)}, not after its start, {iso(starts.at)}",
            field="ends",
            hint="give a later time",
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
        created_by=spec.created_by or context.actor,
        max_retries=spec.max_retries,
        needs_approval=spec.needs_approval,
        opens_window=True,
        open_for=ends.local - starts.local if series else None,
    )
    await hold_entity(context, entity)
    if not spec.force:
        also = [] if series else [(ends.at, Action.UNPUBLISH)]
        await check_conflicts(context, opening, also=also)
    number = await insert(context, opening)
    if not series:
        await insert(context, _closing(opening, number, ends))
    opened = await warned(context, opening, await view(context, number))
    closed = None if series else await _closing_view(context, number)
    return WindowView.of(opened, closed, opening.open_for)


async def _closing_view(context: Context, number: int) -> ScheduleView | None:
    other = await context.fetchval("content/find_closing", window_id=number)
    return None if other is None else await view(context, other)


def _closing(opening: PlannedAction, window_id: int, ends: Moment) -> PlannedAction:
    return PlannedAction(
        entity=opening.entity,
        action=Action.UNPUBLISH,
        moment=ends,
        adapter=opening.adapter,
        created_by=opening.created_by,
        note=opening.note,
        max_retries=opening.max_retries,
        window_id=window_id,
    )


def check(
    row: asyncpg.Record,
    around: asyncpg.Record,
    scheduled_at: datetime,
    seen: Collection[int],
    *,
    begun: bool = False,
) -> bool:
    """Check one end of a window: raises `Left` if it must not be carried out, `NotYet` if the opening action
    has not ended. `seen` are actions of the same batch before it. With `begun`, an earlier attempt may have
    opened the window without recording it: then True says that the window has ended, and that the adapter
    must be asked."""
    if row["window_id"] is None:
        return False
    if row["window_id"] == row["id"]:
        series = row["open_for"] is not None
        end = (
            end_of_window(scheduled_at, row["open_for"], row["timezone"]).at
            if series
            else around["closing_at"]
        )
        over = end is not None and end <= around["now"]
        if over and not begun:
            raise Left(OVER)
        return bool(over)
    if not around["opening_found"]:
        raise Left("the window is no longer planned")
    if row["window_id"] in seen:
        raise NotYet
    done_at = around["opening_done_at"]
    if done_at is not None and done_at >= around["opened_at"]:
        return False
    if around["opening_cancelled_at"] is not None:
        raise Left("the window was cancelled")
    if around["opening_live"]:
        raise NotYet
    raise Left("the window was not opened")


@command
async def plan_close(context: Context, row: asyncpg.Record, scheduled_at: datetime) -> None:
    """Plan the end of a window of a series that was opened."""
    closing = PlannedAction(
        entity=Entity.of(row),
        action=Action.UNPUBLISH,
        moment=end_of_window(scheduled_at, row["open_for"], row["timezone"]),
        adapter=row["adapter"],
        created_by=row["created_by"],
        note=row["note"],
        window_id=row["id"],
        opened_at=scheduled_at,
    )
    await insert(context, closing, past=True)
