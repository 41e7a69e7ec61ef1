"""The routes of content, its releases and its adapters."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton.api.route import Cursor, Ids, ItemsRequest, Limit, PageQuery, Query, Route
from sexton.content.adapters.adapter_spec import AdapterSpec
from sexton.content.entity import EntitySort
from sexton.content.model import ExecutionStatus
from sexton.content.read import ScheduleSort
from sexton.content.releases.view import ReleaseSort
from sexton.content.spec import (
    EntitySpec,
    FeedSpec,
    NoticeSpec,
    ReleaseAddition,
    ReleaseMove,
    ReleaseSpec,
    ScheduleMove,
    ScheduleSpec,
    WindowSpec,
)
from sexton.refusal import about
from sexton.security.role import Role

TAG = "content"

Actions = Literal["publish", "unpublish", "archive"]
ScheduleStatus = Literal["pending", "processing", "done", "failed", "skipped", "cancelled"]
EntityStates = Literal["draft", "published", "unpublished", "archived"]

EntityType = Annotated[str | None, about("Only of entities of this type.")]
EntityId = Annotated[str | None, about("Only of entities with this id.")]
CreatedBy = Annotated[str | None, about("Only what this person planned.")]
OfAdapter = Annotated[str | None, about("Only of this adapter.")]
OfAction = Annotated[Actions | None, about("publish, unpublish or archive.")]
OfStatus = Annotated[ScheduleStatus | None, about("pending, processing, done, failed, skipped or cancelled.")]


class ScheduleChoice(Query, frozen=True, kw_only=True):
    """Which planned actions."""

    entity_type: EntityType = None
    entity_id: EntityId = None
    created_by: CreatedBy = None
    adapter: OfAdapter = None
    action: OfAction = None
    status: OfStatus = None
    start: Annotated[datetime | None, about("Only those planned for this instant or later.")] = None
    end: Annotated[datetime | None, about("Only those planned for before this instant.")] = None


class SchedulesQuery(ScheduleChoice, frozen=True, kw_only=True):
    sort: Annotated[ScheduleSort, about("The order: by their time, or the reverse.")] = "scheduled_at"
    limit: Limit = 100
    cursor: Cursor = None


class ActionOptions(ItemsRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many planned actions or releases are changed."""

    days: Annotated[
        Annotated[int, Meta(ge=-3650, le=3650)], about("With `move`: by how many days on the wall clock.")
    ] = 0
    minutes: Annotated[
        Annotated[int, Meta(ge=-525_600, le=525_600)], about("With `move`: by how many minutes.")
    ] = 0
    force: Annotated[bool, about("Move or restore them even if they contradict other plans.")] = False


class ContentActionFilter(ScheduleChoice, frozen=True, kw_only=True):
    """Which planned actions. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, about("Select every action.")] = False
    ids: Ids = None


PlanAction = Annotated[
    Literal["cancel", "restore", "approve", "move"],
    about(
        "Cancel pending ones; restore cancelled ones before their time; approve those that need it; or move "
        "them by `days` and `minutes`."
    ),
]


class ContentActionRequest(ActionOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which planned actions."""

    action: PlanAction
    filter: Annotated[ContentActionFilter, about("To which planned actions.")]


class CalendarQuery(Query, frozen=True, kw_only=True):
    start: Annotated[str, about("From here on: an instant; or, in `timezone`, a local time or a date.")]
    end: Annotated[str, about("Up to here: an instant; or, in `timezone`, a local time or a date.")]
    timezone: Annotated[
        str | None, about("The zone of local times and dates. Default: each as it was planned; dates: UTC.")
    ] = None
    entity_type: EntityType = None
    entity_id: EntityId = None
    created_by: CreatedBy = None
    adapter: OfAdapter = None
    action: OfAction = None
    status: OfStatus = None
    limit: Limit = 100
    cursor: Cursor = None


class ScheduleTimesQuery(Query, frozen=True, kw_only=True):
    start: Annotated[str | None, about("From here on: an instant, a local time or a date. Default: now.")] = (
        None
    )
    end: Annotated[
        str | None, about("Up to here: an instant, a local time or a date. Default: a year later.")
    ] = None
    limit: Limit = 100
    cursor: Cursor = None


class ExecutionsQuery(Query, frozen=True, kw_only=True):
    entity_type: EntityType = None
    entity_id: EntityId = None
    created_by: CreatedBy = None
    adapter: OfAdapter = None
    status: Annotated[ExecutionStatus | None, about("running, success, failure or skipped.")] = None
    start: Annotated[datetime | None, about("Only what ended after this instant.")] = None
    end: Annotated[datetime | None, about("Only what ended by this instant.")] = None
    limit: Limit = 100
    cursor: Cursor = None


class ScheduleExecutionsQuery(Query, frozen=True, kw_only=True):
    status: Annotated[ExecutionStatus | None, about("running, success, failure or skipped.")] = None
    limit: Limit = 100
    cursor: Cursor = None


class ImportQuery(Query, frozen=True, kw_only=True):
    chunk: Annotated[
        int, Meta(ge=1, le=2000, description="How many lines are planned together, all or nothing.")
    ] = 1000
    force: Annotated[bool, about("Plan them even if they contradict other plans.")] = False
    ids: Annotated[bool, about("Answer with the ids of what was planned.")] = False


class EntitiesQuery(Query, frozen=True, kw_only=True):
    entity_type: EntityType = None
    adapter: Annotated[str, about("Where they live.")] = "builtin"
    state: Annotated[EntityStates | None, about("draft, published, unpublished or archived.")] = None
    search: Annotated[
        str, Meta(max_length=200, description="Only ids that begin with this; of `builtin` only.")
    ] = ""
    sort: Annotated[EntitySort, about("The order: by type and id; of `builtin` also the reverse.")] = "entity"
    limit: Limit = 100
    cursor: Cursor = None


class CancelContentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who cancels it."""

    by: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("Who cancels it. Default: the caller.")
    ] = None


class ApproveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who approves it."""

    by: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("Who approves it. Default: the caller.")
    ] = None


ACT_ON_CONTENT = Route(
    "POST", "/content/schedules/actions", TAG, "Act on many planned actions", Role.EDITOR,
    body=ContentActionRequest,
)  # fmt: skip
CREATE_SCHEDULE = Route("POST", "/content/schedules", TAG, "Plan an action", Role.EDITOR, body=ScheduleSpec)
LIST_SCHEDULES = Route(
    "GET", "/content/schedules", TAG, "List planned actions", Role.VIEWER, query=SchedulesQuery
)
GET_SCHEDULE = Route("GET", "/content/schedules/{schedule}", TAG, "Show a planned action", Role.VIEWER)
RESCHEDULE_CONTENT = Route(
    "POST", "/content/schedules/{schedule}/reschedule", TAG, "Move an action", Role.EDITOR, body=ScheduleMove
)
CANCEL_CONTENT = Route(
    "POST", "/content/schedules/{schedule}/cancel", TAG, "Cancel an action", Role.EDITOR,
    body=CancelContentRequest, body_optional=True,
)  # fmt: skip
SKIP_CONTENT = Route(
    "POST", "/content/schedules/{schedule}/skip", TAG, "Skip the next time of a series", Role.EDITOR
)
RUN_CONTENT = Route("POST", "/content/schedules/{schedule}/run", TAG, "Run an action now", Role.EDITOR)
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
CALENDAR = Route(
    "GET", "/content/calendar", TAG, "Show the calendar", Role.VIEWER,
    query=CalendarQuery,
)  # fmt: skip
LIST_EXECUTIONS = Route(
    "GET", "/content/executions", TAG, "List executions", Role.VIEWER, query=ExecutionsQuery
)
SCHEDULE_EXECUTIONS = Route(
    "GET", "/content/schedules/{schedule}/executions", TAG, "List the executions of an action", Role.VIEWER,
    query=ScheduleExecutionsQuery,
)  # fmt: skip
SCHEDULE_OCCURRENCES = Route(
    "GET", "/content/schedules/{schedule}/occurrences", TAG, "List the times of an action", Role.VIEWER,
    query=ScheduleTimesQuery,
)  # fmt: skip
CREATE_FEED = Route(
    "POST", "/content/feeds", TAG, "Make a calendar feed", Role.EDITOR, body=FeedSpec, body_optional=True
)
LIST_FEEDS = Route("GET", "/content/feeds", TAG, "List calendar feeds", Role.VIEWER, query=PageQuery)
REVOKE_FEED = Route("POST", "/content/feeds/{feed}/revoke", TAG, "Revoke a calendar feed", Role.EDITOR)
READ_FEED = Route("GET", "/content/feeds/{token}/calendar.ics", TAG, "Read a calendar feed", None)
IMPORT_SCHEDULES = Route(
    "POST", "/content/schedules/bulk", TAG, "Plan many actions", Role.EDITOR, query=ImportQuery,
    body=ScheduleSpec,
)  # fmt: skip
LIST_ENTITIES = Route("GET", "/content/entities", TAG, "List entities", Role.VIEWER, query=EntitiesQuery)


# Releases


class ReleaseChoice(Query, frozen=True, kw_only=True):
    """Which releases."""

    created_by: Annotated[str | None, about("Only those that this person planned.")] = None
    start: Annotated[datetime | None, about("Only those planned for this instant or later.")] = None
    end: Annotated[datetime | None, about("Only those planned for this instant or earlier.")] = None
    search: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("Only those with this in their notes.")
    ] = None


class ReleasesQuery(ReleaseChoice, frozen=True, kw_only=True):
    sort: Annotated[ReleaseSort, about("The order: by their time, or the reverse.")] = "scheduled_at"
    limit: Limit = 100
    cursor: Cursor = None


class ReleaseActionFilter(ReleaseChoice, frozen=True, kw_only=True):
    """Which releases. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, about("Select every release.")] = False
    ids: Ids = None


class ReleaseActionRequest(ActionOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which releases."""

    action: PlanAction
    filter: Annotated[ReleaseActionFilter, about("To which releases.")]


ACT_ON_RELEASES = Route(
    "POST", "/content/releases/actions", TAG, "Act on many releases", Role.EDITOR, body=ReleaseActionRequest
)
CREATE_RELEASE = Route("POST", "/content/releases", TAG, "Plan a release", Role.EDITOR, body=ReleaseSpec)
LIST_RELEASES = Route("GET", "/content/releases", TAG, "List releases", Role.VIEWER, query=ReleasesQuery)
GET_RELEASE = Route("GET", "/content/releases/{release}", TAG, "Show a release", Role.VIEWER)
RESCHEDULE_RELEASE = Route(
    "POST", "/content/releases/{release}/reschedule", TAG, "Move a release", Role.EDITOR, body=ReleaseMove
)
CANCEL_RELEASE = Route(
    "POST", "/content/releases/{release}/cancel", TAG, "Cancel a release", Role.EDITOR,
    body=CancelContentRequest, body_optional=True,
)  # fmt: skip
RUN_RELEASE = Route("POST", "/content/releases/{release}/run", TAG, "Run a release now", Role.EDITOR)
APPROVE_RELEASE = Route(
    "POST", "/content/releases/{release}/approve", TAG, "Approve a release", Role.EDITOR, body=ApproveRequest,
    body_optional=True,
)  # fmt: skip
CHECK_RELEASE = Route("POST", "/content/releases/{release}/check", TAG, "Check a release", Role.EDITOR)
ADD_RELEASE_ITEMS = Route(
    "POST", "/content/releases/{release}/items", TAG, "Add actions to a release", Role.EDITOR,
    body=ReleaseAddition,
)  # fmt: skip
REMOVE_RELEASE_ITEM = Route(
    "DELETE", "/content/releases/{release}/items/{schedule}", TAG, "Remove an action from a release",
    Role.EDITOR,
)  # fmt: skip
GET_NOTICES = Route("GET", "/content/notices", TAG, "Show where notices go", Role.VIEWER)
SET_NOTICES = Route("PUT", "/content/notices", TAG, "Set where notices go", Role.ADMIN, body=NoticeSpec)
REMOVE_NOTICES = Route("DELETE", "/content/notices", TAG, "Stop sending notices", Role.ADMIN)


# Adapters


PUT_ADAPTER = Route(
    "PUT", "/content/adapters/{adapter}", TAG, "Configure an adapter", Role.ADMIN, body=AdapterSpec
)
LIST_ADAPTERS = Route("GET", "/content/adapters", TAG, "List adapters", Role.VIEWER)
GET_ADAPTER = Route("GET", "/content/adapters/{adapter}", TAG, "Show an adapter", Role.VIEWER)
DELETE_ADAPTER = Route("DELETE", "/content/adapters/{adapter}", TAG, "Delete an adapter", Role.ADMIN)
