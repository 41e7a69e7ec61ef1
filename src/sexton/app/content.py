"""`app.content`: publish, unpublish and archive entities at a local time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from sexton.app.content_release import ReleaseCommands
from sexton.app.part import read_entity, read_fields
from sexton.config import Settings
from sexton.content import bulk, entity, ledger, read, schedule, window
from sexton.content.calendar import calendar
from sexton.content.calendar.calendar import CalendarEntry, read_range
from sexton.content.entity import EntityView
from sexton.content.ledger import ExecutionView
from sexton.content.model import Entity
from sexton.content.read import ScheduleView, WindowView, schedule_number
from sexton.content.spec import EntitySpec, ScheduleMove, ScheduleSpec, WindowSpec
from sexton.postgres.transaction import Context

Plans = list[ScheduleView]
Entries = list[CalendarEntry]
Executions = list[ExecutionView]
Ids = list[str]
Spec = TypeVar("Spec")
Planned = TypeVar("Planned")


class ContentCommands(ReleaseCommands):
    """Planned actions on content. An entity is named `type/id`, an action by its id, `c_…`. `created_by` and
    `by` default to the actor of the call: see `acting`."""

    async def schedule(
        self,
        /,
        action: str,
        entity: str,
        *,
        local_time: str | None = None,
        at: datetime | None = None,
        timezone: str | None = None,
        recurrence_rule: str | None = None,
        **fields: Any,
    ) -> ScheduleView:
        """Plan an action (`publish`, `unpublish`, `archive`), once or by an RRULE; `fields` are those of
        `POST /content/schedules`: `version`, `note`, `max_retries`, `needs_approval`, `force`, …. A local
        time that happens twice or not at all is refused with its candidates: choose with `fold` or `gap`.

            plan = await app.content.schedule(
                "publish", "post/42", local_time="2099-03-14 09:00", timezone="Europe/Berlin"
            )
            print(plan.schedule_id, plan.local_time_display)
        """
        given = {
            "action": action,
            "local_time": local_time,
            "at": at,
            "timezone": timezone,
            "recurrence_rule": recurrence_rule,
            **fields,
        }
        return await self._planned(schedule.create_schedule, ScheduleSpec, entity, given)

    async def schedule_many(self, items: Iterable[Mapping[str, Any]], *, force: bool = False) -> Ids:
        """Plan many actions, in chunks of a thousand, each all or nothing; their ids. Each item has the
        fields of `POST /content/schedules`. Raises `RefusedLines` with the errors by position."""
        return await self._chunks(partial(bulk.create_many, force=force), items)

    async def window(
        self,
        /,
        entity: str,
        starts: str,
        ends: str,
        *,
        timezone: str | None = None,
        recurrence_rule: str | None = None,
        **fields: Any,
    ) -> WindowView:
        """Publish at `starts` and unpublish at `ends`, as one plan; with a rule, repeatedly, each window as
        long on the wall clock as the first.

            await app.content.window(
                "banner/7", "2099-03-16 09:00", "2099-03-16 17:00", timezone="Europe/Berlin",
                recurrence_rule="FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
            )
        """
        given = {
            "starts": starts,
            "ends": ends,
            "timezone": timezone,
            "recurrence_rule": recurrence_rule,
            **fields,
        }
        return await self._planned(window.create_window, WindowSpec, entity, given)

    async def get(self, schedule_id: str) -> ScheduleView:
        """A planned action as it is now; raises `NotFound`."""
        return await self._app._call(read.view, schedule_number(schedule_id))

    async def list(self, /, *, limit: int = 100, **filters: Any) -> Plans:
        """Planned actions in the order of their time, by `entity_type`, `entity_id`, `created_by`, `adapter`,
        `action`, `status`, and from `start` up to `end`.

            for plan in await app.content.list(created_by="ann", status="pending"):
                print(plan.content_id, plan.local_time_display)
        """
        return await self._pages(read.list_schedules, limit, **filters)

    async def reschedule(
        self,
        /,
        schedule_id: str,
        *,
        local_time: str | None = None,
        at: datetime | None = None,
        timezone: str | None = None,
        **fields: Any,
    ) -> ScheduleView:
        """Move an action. After this returns, it does not go out at the old time; raises `Conflict` if it
        went out already."""
        given = {"local_time": local_time, "at": at, "timezone": timezone, **fields}
        return await self._app._call(schedule.reschedule, schedule_id, read_fields(ScheduleMove, given))

    async def cancel(self, schedule_id: str, *, by: str | None = None) -> ScheduleView:
        """Cancel an action; if it opens a window, the whole window."""
        return await self._app._call(schedule.cancel, schedule_id, by=by)

    async def skip(self, schedule_id: str) -> ScheduleView:
        """Skip the next time of a series."""
        return await self._app._call(schedule.skip_next, schedule_id)

    async def run(self, schedule_id: str) -> ScheduleView:
        """Carry an action out now: a single action instead of at its time, an action of a series
        additionally."""
        return await self._app._call(schedule.run_now, schedule_id)

    async def approve(self, schedule_id: str, *, by: str) -> ScheduleView:
        """Approve an action with `needs_approval`, which does not go out before."""
        return await self._app._call(schedule.approve, schedule_id, by=by)

    async def save(self, entity: str, body: Mapping[str, Any], *, by: str | None = None) -> EntityView:
        """Save the next version of an entity of the adapter `builtin`. The published version stays published
        until this one is.

            await app.content.save("post/42", {"title": "Spring"})
        """
        spec = EntitySpec(body=dict(body), created_by=by)
        return await self._app._call(_put, read_entity(entity), spec)

    async def entity(self, entity: str) -> EntityView:
        """Everything about an entity: its state, what is planned, what was done, by whom, what failed. If it
        does not live in `builtin`, its adapter is asked.

            found = await app.content.entity("post/42")
            print(found.state, [each.schedule_id for each in found.pending])
        """
        return await self._app._call(_show, read_entity(entity), self._app.settings)

    async def calendar(
        self, /, start: str, end: str, *, timezone: str | None = None, limit: int = 1000, **filters: Any
    ) -> Entries:
        """What is planned from `start` up to `end` and what happened, with series expanded. Both are
        instants, or local times or dates in `timezone`. The filters are those of `list`.

            for each in await app.content.calendar("2099-03-01", "2099-04-01", timezone="Europe/Berlin"):
                print(each.local_time_display, each.action, each.content_id, each.status)
        """
        range_ = read_range(start, end, timezone)
        return await self._pages(calendar.list_calendar, limit, *range_, timezone=timezone, **filters)

    async def executions(
        self, /, schedule_id: str | None = None, *, limit: int = 100, **filters: Any
    ) -> Executions:
        """What was carried out, for one action or for all, the latest first: when, on which worker, and the
        result."""
        number = None if schedule_id is None else schedule_number(schedule_id)
        page = await self._app._call(ledger.list_executions, schedule=number, limit=limit, **filters)
        return page.items

    async def _planned(
        self,
        command: Callable[[Context, Spec], Awaitable[Planned]],
        kind: type[Spec],
        entity: str,
        given: dict[str, Any],
    ) -> Planned:
        named = read_entity(entity)

        async def make(context: Context) -> Planned:
            own = {**given, "entity_type": named.type, "entity_id": named.id}
            return await command(context, read_fields(kind, own))

        return await self._app._call(make)


async def _put(context: Context, named: Entity, spec: EntitySpec) -> EntityView:
    return await entity.put_entity(context, named, spec)


async def _show(context: Context, named: Entity, settings: Settings) -> EntityView:
    return await entity.show_entity(context, named, settings)
