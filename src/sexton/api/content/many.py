"""Acting on many planned actions or releases over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sexton.api import items
from sexton.api.content import routes
from sexton.api.content.routes import ContentActionRequest, ReleaseActionRequest
from sexton.api.items import chosen_of
from sexton.api.operation import Answer, Call, operation
from sexton.content import read, schedule
from sexton.content.read import ScheduleSort, ScheduleView, schedule_number
from sexton.content.releases import release
from sexton.content.releases import view as release_view
from sexton.content.releases.view import ReleaseView
from sexton.errors import InvalidField
from sexton.jobs.items import ItemChoice, Work, one_by_one
from sexton.jobs.tally import ItemTally, SampledItem
from sexton.model import decode_id
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context

DAY_MINUTES = 24 * 60


@operation(
    routes.ACT_ON_CONTENT, heavy=True, answer=ItemTally,
    example={"action": "cancel", "filter": {"entity_type": "banner"}},
    answer_example={"matched": 4, "done": 4, "ids": ["c_1", "c_2", "c_5", "c_6"]},
)  # fmt: skip
async def act_on_content(call: Call) -> Answer:
    """Cancels, restores, approves or moves the planned actions that match a filter, each as the call for one
    action would: up to `limit` of them, in one transaction. If there are more, the answer has a `cursor`; the
    same request with it as `after` continues. A refused one does not stop the others: `refused` gives the
    reasons by code. `dry_run` counts. Items of releases are changed with their releases; series are not moved
    together."""
    wish = call.json(ContentActionRequest)
    ids, given = chosen_of(wish.filter, "actions")
    by, order = call.caller.name, _order(wish)
    if ids is not None and wish.action == "move":
        ids = await _in_order(call.context, ids, order)

    async def page(context: Context, cursor: str | None, limit: int) -> Page[ScheduleView]:
        return await read.list_schedules(context, cursor=cursor, limit=limit, sort=order, **given)

    async def get(context: Context, ref: str) -> ScheduleView:
        return await read.view(context, schedule_number(ref))

    def meant(row: ScheduleView) -> bool:
        series = wish.action == "move" and row.recurrence_rule is not None
        return row.release_id is None and not series and _meant(row, wish.action)

    works: dict[str, Work] = {
        "cancel": partial(schedule.cancel, by=by),
        "restore": partial(schedule.restore_schedule, force=wish.force),
        "approve": partial(schedule.approve, by=by),
        "move": partial(schedule.shift, days=wish.days, minutes=wish.minutes, force=wish.force),
    }
    _check_move(wish)
    choice = ItemChoice("action", "actions", page, get, _action, meant, ids)
    return await items.act(call, wish, choice, one_by_one(works[wish.action]))


@operation(
    routes.ACT_ON_RELEASES, heavy=True, answer=ItemTally,
    example={"action": "move", "filter": {"ids": ["cr_1", "cr_2"]}, "days": 1},
    answer_example={"matched": 2, "done": 2, "ids": ["cr_1", "cr_2"]},
)  # fmt: skip
async def act_on_releases(call: Call) -> Answer:
    """Cancels, restores, approves or moves the releases that match a filter, each as the call for one release
    would: up to `limit` of them, in one transaction. If there are more, the answer has a `cursor`; the same
    request with it as `after` continues. A refused one does not stop the others: `refused` gives the reasons
    by code. `dry_run` counts."""
    wish = call.json(ReleaseActionRequest)
    ids, given = chosen_of(wish.filter, "releases")
    by, order = call.caller.name, _order(wish)

    async def page(context: Context, cursor: str | None, limit: int) -> Page[ReleaseView]:
        return await release_view.list_releases(context, cursor=cursor, limit=limit, sort=order, **given)

    works: dict[str, Work] = {
        "cancel": partial(release.cancel_release, by=by),
        "restore": partial(release.restore_release, force=wish.force),
        "approve": partial(release.approve_release, by=by),
        "move": partial(release.shift_release, days=wish.days, minutes=wish.minutes, force=wish.force),
    }
    _check_move(wish)
    choice = ItemChoice(
        "release", "releases", page, release_view.get_release, _release,
        lambda row: _meant(row, wish.action), ids,
    )  # fmt: skip
    return await items.act(call, wish, choice, one_by_one(works[wish.action]))


def _meant(row: ScheduleView | ReleaseView, action: str) -> bool:
    """Whether the action applies to this one."""
    if action == "approve":
        return row.status == "pending" and row.needs_approval and row.approved_by is None
    return row.status == ("cancelled" if action == "restore" else "pending")


def _order(wish: ContentActionRequest | ReleaseActionRequest) -> ScheduleSort:
    """Those that are moved to a later time, the latest first: none is met again in the list, and both ends of
    a window can move."""
    later = wish.days * DAY_MINUTES + wish.minutes > 0
    return "-scheduled_at" if later else "scheduled_at"


async def _in_order(context: Context, ids: Sequence[str], order: ScheduleSort) -> list[str]:
    """These ids by the times of their actions; unknown ones last."""
    numbers = [number for ref in ids if (number := decode_id("c", ref)) is not None]
    rows = await read.views(context, numbers)
    rows.sort(key=lambda row: row.scheduled_at_utc, reverse=order == "-scheduled_at")
    return list(dict.fromkeys([*(row.schedule_id for row in rows), *ids]))


def _check_move(wish: ContentActionRequest | ReleaseActionRequest) -> None:
    moves = wish.action == "move"
    if bool(wish.days or wish.minutes) != moves:
        field = "days" if wish.days or moves else "minutes"
        why = "the move has no distance" if moves else f"{field} goes with move, not with {wish.action}"
        hint = 'write "days": 1 or "minutes": -30' if moves else "leave it out, or write action: move"
        raise InvalidField("missing_field" if moves else "bad_value", why, field=field, hint=hint)


def _action(row: ScheduleView) -> SampledItem:
    name = f"{row.action} {row.title or row.content_id}"
    return SampledItem(id=row.schedule_id, name=name, status=row.status)


def _release(row: ReleaseView) -> SampledItem:
    return SampledItem(id=row.release_id, name=row.note or row.release_id, status=row.status)
