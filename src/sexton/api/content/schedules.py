"""Content scheduling over HTTP."""

from __future__ import annotations

from typing import Any

from sexton.api.content import routes
from sexton.api.content.routes import ApproveRequest, CancelContentRequest, EntitiesQuery, SchedulesQuery
from sexton.api.operation import Answer, Call, operation
from sexton.api.paging import counted
from sexton.api.route import PREFIX
from sexton.content import entity, read, schedule, window
from sexton.content.entity import EntitySummary, EntityView
from sexton.content.model import Entity
from sexton.content.read import ScheduleView, WindowView
from sexton.content.spec import EntitySpec, ScheduleMove, ScheduleSpec, WindowSpec

SCHEDULE_REQUEST: dict[str, Any] = {
    "entity_type": "post",
    "entity_id": "42",
    "action": "publish",
    "local_time": "2027-03-14 09:00",
    "timezone": "Europe/Berlin",
    "created_by": "ann",
}
# What planned actions and releases have in common.
PLANNED: dict[str, Any] = {
    "adapter": "builtin",
    "retry_count": 0,
    "max_retries": 3,
    "catch_up_seconds": 86400,
    "last_error": None,
    "note": None,
    "created_by": "ann",
    "created_at": "2027-03-01T12:00:00Z",
    "executed_at": None,
    "needs_approval": False,
    "approved_by": None,
    "approved_at": None,
    "cancelled_by": None,
    "cancelled_at": None,
}
SCHEDULE: dict[str, Any] = {
    "schedule_id": "c_1",
    "content_id": "post/42",
    "title": "Spring collection",
    "entity_type": "post",
    "entity_id": "42",
    "action": "publish",
    "status": "pending",
    "scheduled_at_utc": "2027-03-14T08:00:00Z",
    "timezone": "Europe/Berlin",
    "local_time_display": "2027-03-14 09:00 CET (Europe/Berlin)",
    "recurrence_rule": None,
    "next_times": ["2027-03-14T08:00:00Z"],
    "skipped_times": [],
    "version": None,
    **PLANNED,
    "window_id": None,
    "release_id": None,
    "job_id": "j_1",
    "revision": 1,
    "warnings": [],
}
WINDOW: dict[str, Any] = {
    "window_id": "c_1",
    "starts": {**SCHEDULE, "window_id": "c_1"},
    "ends": {**SCHEDULE, "schedule_id": "c_2", "action": "unpublish", "window_id": "c_1", "job_id": "j_2"},
    "open_seconds": None,
}
ENTITY: dict[str, Any] = {
    "entity_type": "post",
    "entity_id": "42",
    "state": "draft",
    "published_version": None,
    "adapter": "builtin",
    "elsewhere": [],
    "versions": [{"version": 1, "created_by": "ann", "created_at": "2027-03-01T12:00:00Z"}],
    "body": {"title": "Spring"},
    "pending": [SCHEDULE],
    "history": [],
    "executions": [],
}


@operation(
    routes.CREATE_SCHEDULE, status=201, answer=ScheduleView, example=SCHEDULE_REQUEST, answer_example=SCHEDULE
)
async def create_schedule(call: Call) -> Answer:
    """Publish, unpublish or archive an entity at a local time, once or by a rule. A local time that happens
    twice or not at all is refused with its candidates. A plan that contradicts another plan is refused unless
    `force` is true. `warnings` say why it would fail as things are, for instance because there is no such
    entity yet; of `builtin` only, because other adapters are asked over the network."""
    made = await schedule.create_schedule(call.context, call.json(ScheduleSpec))
    return Answer(made, headers={"Location": f"{PREFIX}/content/schedules/{made.schedule_id}"})


@operation(routes.LIST_SCHEDULES, lists=True, answer=list[ScheduleView], answer_example=[SCHEDULE])
async def list_schedules(call: Call) -> Answer:
    """In the order of their time; for a series, its first time. A series is in a range if it begins before
    the end and continues after the start. The first page says how many there are in all. With
    `action` or `adapter` it does so if 10,000 actions are enough to tell, with `status` 3,000; of more
    pending ones it gives an estimate."""
    page = await read.list_schedules(call.reading, **call.filters(SchedulesQuery))
    return await counted(call, page, read.count_schedules, SchedulesQuery)


@operation(routes.GET_SCHEDULE, answer=ScheduleView, answer_example=SCHEDULE)
async def get_schedule(call: Call) -> Answer:
    """With its state, its next times and the result of the latest one."""
    return Answer(await read.view(call.context, read.schedule_number(call.path("schedule"))))


@operation(
    routes.RESCHEDULE_CONTENT, answer=ScheduleView, example={"local_time": "2027-03-15 09:00"},
    answer_example=SCHEDULE,
)  # fmt: skip
async def reschedule_content(call: Call) -> Answer:
    """After this answer, it does not go out at the old time. Refused if it went out already, or is being
    carried out."""
    return Answer(await schedule.reschedule(call.context, call.path("schedule"), call.json(ScheduleMove)))


@operation(
    routes.CANCEL_CONTENT, answer=ScheduleView, example={"by": "ann"},
    answer_example={**SCHEDULE, "status": "cancelled", "cancelled_by": "ann"},
)  # fmt: skip
async def cancel_content(call: Call) -> Answer:
    """After this answer, it does not go out. Cancelling the action that opens a window cancels the whole
    window. A window of a series that is open now is closed at its time."""
    wish = call.json(CancelContentRequest, optional=True)
    return Answer(await schedule.cancel(call.context, call.path("schedule"), by=wish.by))


@operation(routes.SKIP_CONTENT, answer=ScheduleView, answer_example=SCHEDULE)
async def skip_content(call: Call) -> Answer:
    """The series continues after the skipped time."""
    return Answer(await schedule.skip_next(call.context, call.path("schedule")))


@operation(routes.RUN_CONTENT, answer=ScheduleView, answer_example=SCHEDULE)
async def run_content(call: Call) -> Answer:
    """A single action is carried out now instead of at its time. An action of a series is carried out now and
    at its times."""
    return Answer(await schedule.run_now(call.context, call.path("schedule")))


@operation(
    routes.APPROVE_CONTENT, answer=ScheduleView, example={"by": "eve"},
    answer_example={**SCHEDULE, "needs_approval": True, "approved_by": "eve"},
)  # fmt: skip
async def approve_content(call: Call) -> Answer:
    """An action with `needs_approval` does not go out before it is approved."""
    wish = call.json(ApproveRequest, optional=True)
    by = wish.by or call.caller.name
    return Answer(await schedule.approve(call.context, call.path("schedule"), by=by))


@operation(
    routes.CREATE_WINDOW, status=201, answer=WindowView,
    example={
        "entity_type": "banner", "entity_id": "7", "starts": "2027-03-15 09:00", "ends": "2027-03-15 17:00",
        "timezone": "Europe/Berlin", "recurrence_rule": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
        "created_by": "ann",
    },
    answer_example=WINDOW,
)  # fmt: skip
async def create_window(call: Call) -> Answer:
    """Published at `starts` and unpublished at `ends`. With a rule, every window is as long on the wall clock
    as the first."""
    made = await window.create_window(call.context, call.json(WindowSpec))
    return Answer(made, headers={"Location": f"{PREFIX}/content/schedules/{made.window_id}"})


@operation(routes.PUT_ENTITY, answer=EntityView, example={"body": {"title": "Spring"}}, answer_example=ENTITY)
async def put_entity(call: Call) -> Answer:
    """Only for the adapter `builtin`. The published version stays published until the new version is
    published."""
    return Answer(await entity.put_entity(call.context, _entity(call), call.json(EntitySpec)))


@operation(routes.GET_ENTITY, answer=EntityView, answer_example=ENTITY)
async def get_entity(call: Call) -> Answer:
    """Its state, what is planned for it, what was done to it, by whom, on which worker, and what failed. If
    it does not live in `builtin`, the adapters of its latest plans are asked: at most three, for at most ten
    seconds."""
    return Answer(await entity.show_entity(call.context, _entity(call), call.services.settings))


@operation(
    routes.LIST_ENTITIES, lists=True, answer=list[EntitySummary],
    answer_example=[
        {"entity_type": "post", "entity_id": "42", "state": "draft", "published_version": None,
         "latest_version": 1, "updated_at": "2027-03-01T12:00:00Z", "adapter": "builtin", "error": None}
    ],
)  # fmt: skip
async def list_entities(call: Call) -> Answer:
    """Entities of the adapter `builtin`, by type and id. With another `adapter`: the entities that its plans
    name, at most 50 a page. The adapter is asked for their state for at most ten seconds; `error` says where
    it is not known. The first page says how many entities of `builtin` there are in all; with `state` only if
    10,000 are enough to tell."""
    query = call.query(EntitiesQuery)
    context = call.reading if query.adapter == entity.BUILTIN else call.context
    page = await entity.list_entities(context, call.services.settings, **call.filters(EntitiesQuery))
    return await counted(call, page, entity.count_entities, EntitiesQuery)


def _entity(call: Call) -> Entity:
    return Entity(call.path("entity_type"), call.path("entity_id"))
