"""What can be asked over HTTP about content, as a table; see `routes`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton.api.route import Cursor, Limit, Query, Route
from sexton.content.spec import EntitySpec, ScheduleMove, ScheduleSpec, WindowSpec
from sexton.refusal import about
from sexton.security.role import Role

TAG = "content"

Actions = Literal["publish", "unpublish", "archive"]
ScheduleStatus = Literal["pending", "processing", "done", "failed", "skipped", "cancelled"]


class SchedulesQuery(Query, frozen=True, kw_only=True):
    entity_type: Annotated[str | None, about("Only of entities of this type.")] = None
    entity_id: Annotated[str | None, about("Only of entities with this id.")] = None
    created_by: Annotated[str | None, about("Only those that this person planned.")] = None
    adapter: Annotated[str | None, about("Only those of this adapter.")] = None
    action: Annotated[Actions | None, about("publish, unpublish or archive.")] = None
    start: Annotated[datetime | None, about("Only those planned for this instant or later.")] = None
    end: Annotated[datetime | None, about("Only those planned for this instant or earlier.")] = None
    limit: Limit = 100
    cursor: Cursor = None


class CancelContentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who calls it off."""

    by: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("Who calls it off. Default: the caller.")
    ] = None


class ApproveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who approves it."""

    by: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("Who approves it. Default: the caller.")
    ] = None


CREATE_SCHEDULE = Route("POST", "/content/schedules", TAG, "Plan an action", Role.EDITOR, body=ScheduleSpec)
LIST_SCHEDULES = Route(
    "GET", "/content/schedules", TAG, "List planned actions", Role.VIEWER, query=SchedulesQuery
)
GET_SCHEDULE = Route("GET", "/content/schedules/{schedule}", TAG, "Show a planned action", Role.VIEWER)
RESCHEDULE_CONTENT = Route(
    "POST", "/content/schedules/{schedule}/reschedule", TAG, "Move an action", Role.EDITOR, body=ScheduleMove
)
CANCEL_CONTENT = Route(
    "POST", "/content/schedules/{schedule}/cancel", TAG, "Call an action off", Role.EDITOR,
    body=CancelContentRequest, body_optional=True,
)  # fmt: skip
SKIP_CONTENT = Route(
    "POST", "/content/schedules/{schedule}/skip", TAG, "Leave the next time of a series out", Role.EDITOR
)
RUN_CONTENT = Route("POST", "/content/schedules/{schedule}/run", TAG, "Carry an action out now", Role.EDITOR)
APPROVE_CONTENT = Route(
    "POST", "/content/schedules/{schedule}/approve", TAG, "Approve an action", Role.EDITOR,
    body=ApproveRequest, body_optional=True,
)  # fmt: skip
CREATE_WINDOW = Route("POST", "/content/windows", TAG, "Plan a window", Role.EDITOR, body=WindowSpec)
PUT_ENTITY = Route(
    "PUT", "/content/entities/{entity_type}/{entity_id}", TAG, "Make the next version of an entity",
    Role.EDITOR, body=EntitySpec,
)  # fmt: skip
GET_ENTITY = Route("GET", "/content/entities/{entity_type}/{entity_id}", TAG, "Show an entity", Role.VIEWER)
