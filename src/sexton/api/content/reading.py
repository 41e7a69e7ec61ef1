"""The calendar of content, the times of a series, and executed actions over HTTP."""

from __future__ import annotations

from typing import Any

from sexton.api.content import routes
from sexton.api.content.routes import (
    CalendarQuery,
    ExecutionsQuery,
    ScheduleExecutionsQuery,
    ScheduleTimesQuery,
)
from sexton.api.operation import Answer, Call, operation
from sexton.content.calendar.calendar import CalendarEntry, list_calendar, list_times, read_range
from sexton.content.ledger import ExecutionView, list_executions
from sexton.content.read import schedule_number, view

ENTRY: dict[str, Any] = {
    "scheduled_at_utc": "2027-03-15T08:00:00Z",
    "timezone": "Europe/Berlin",
    "local_time_display": "2027-03-15 09:00 CET (Europe/Berlin)",
    "schedule_id": "c_1",
    "content_id": "post/42",
    "title": "Spring collection",
    "entity_type": "post",
    "entity_id": "42",
    "action": "publish",
    "status": "pending",
    "last_error": None,
    "execution_id": None,
    "version": None,
    "note": None,
    "adapter": "builtin",
    "created_by": "ann",
    "created_at": "2027-03-01T12:00:00Z",
    "revision": 1,
    "needs_approval": False,
    "approved_by": None,
    "window_id": None,
    "release_id": None,
    "recurrence_rule": "FREQ=WEEKLY;BYDAY=MO",
    "previous_at": "2027-03-08T08:00:00Z",
    "next_at": "2027-03-22T08:00:00Z",
    "occurrences": None,
}
EXECUTION: dict[str, Any] = {
    "execution_id": "r_9hk2",
    "schedule_id": "c_1",
    "content_id": "post/42",
    "action": "publish",
    "status": "success",
    "scheduled_at_utc": "2027-03-14T08:00:00Z",
    "execution_started": "2027-03-14T08:00:00.021Z",
    "execution_finished": "2027-03-14T08:00:00.034Z",
    "worker_id": "web-1:4711:k3",
    "error_message": None,
    "effect": "changed",
    "version": 1,
    "retry_count": 0,
    "attempts": [],
    "trigger": "schedule",
    "occurrences": None,
    "until_at": None,
    "adapter": "builtin",
    "created_by": "ann",
}


@operation(routes.CALENDAR, lists=True, answer=list[CalendarEntry], answer_example=[ENTRY])
async def content_calendar(call: Call) -> Answer:
    """In the order of time. Series are expanded by the code that fires them, including the ends of their
    windows. Cancelled actions are shown only with `status=cancelled`."""
    query = call.query(CalendarQuery)
    start, end = read_range(query.start, query.end, query.timezone)
    page = await list_calendar(call.reading, **{**call.filters(CalendarQuery), "start": start, "end": end})
    return call.paged(page)


@operation(routes.SCHEDULE_OCCURRENCES, lists=True, answer=list[CalendarEntry], answer_example=[ENTRY])
async def schedule_occurrences(call: Call) -> Answer:
    """Each time with its state and with the times before and after it. Default: one year from now."""
    return call.paged(await list_times(call.reading, _number(call), **call.filters(ScheduleTimesQuery)))


@operation(routes.LIST_EXECUTIONS, lists=True, answer=list[ExecutionView], answer_example=[EXECUTION])
async def content_executions(call: Call) -> Answer:
    """Actions in progress first, then those that have ended, the latest first. Skipped times are included."""
    return call.paged(await list_executions(call.reading, **call.filters(ExecutionsQuery)))


@operation(routes.SCHEDULE_EXECUTIONS, lists=True, answer=list[ExecutionView], answer_example=[EXECUTION])
async def schedule_executions(call: Call) -> Answer:
    """Executions in progress first, then those that have ended, the latest first. Skipped times are
    included."""
    number = _number(call)
    await view(call.context, number)
    filters = call.filters(ScheduleExecutionsQuery)
    return call.paged(await list_executions(call.reading, schedule=number, **filters))


def _number(call: Call) -> int:
    return schedule_number(call.path("schedule"))
