"""Windows: publish at one time and unpublish at another, as one thing.

A window that happens once is two actions. Of a series only what opens it is planned; what closes it is
planned when it is opened, in the same transaction, so it never comes first and never comes alone.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import asyncpg

from sexton.clock import iso
from sexton.content.conflict import check_conflicts, hold_entity
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
        created_by=spec.created_by,
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
    opened = await view(context, number)
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
    """Whether one end of a window may be carried out: raises `Left` if not, `NotYet` if what opens it has not
    ended. `seen` are the actions that are carried out with it, before it. With `begun`, a try before may have
    opened it without noting that: True if the window is over, and whether that is so must be asked."""
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
        raise Left("the window is not planned any more")
    if row["window_id"] in seen:
        raise NotYet
    done_at = around["opening_done_at"]
    if done_at is not None and done_at >= around["opened_at"]:
        return False
    if around["opening_cancelled_at"] is not None:
        raise Left("the window was called off")
    if around["opening_live"]:
        raise NotYet
    raise Left("the window was not opened")


@command
async def plan_close(context: Context, row: asyncpg.Record, scheduled_at: datetime) -> None:
    """A window of a series was opened: plan its end."""
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
