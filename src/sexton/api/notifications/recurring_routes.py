"""The routes of recurring notifications, digests and sequences."""

from __future__ import annotations

from typing import Annotated

from sexton.api.route import Cursor, Limit, PageQuery, Query, Route
from sexton.notifications.recurring.spec import (
    DigestEventSpec,
    DigestSpec,
    MemberSpec,
    RecipientEventSpec,
    RecurringChanges,
    RecurringSpec,
    SequenceSpec,
)
from sexton.refusal import about
from sexton.security.role import Role

TAG = "notifications"


class RecurringQuery(Query, frozen=True, kw_only=True):
    user_id: Annotated[str | None, about("Only those to this recipient.")] = None
    limit: Limit = 100
    cursor: Cursor = None


SCHEDULES = "/notifications/schedules"
CREATE_NOTIFICATION_SCHEDULE = Route(
    "POST", SCHEDULES, TAG, "Make a recurring notification", Role.EDITOR, body=RecurringSpec
)
LIST_NOTIFICATION_SCHEDULES = Route(
    "GET", SCHEDULES, TAG, "List recurring notifications", Role.VIEWER, query=RecurringQuery
)
GET_NOTIFICATION_SCHEDULE = Route(
    "GET", SCHEDULES + "/{notification_schedule}", TAG, "Show a recurring notification", Role.VIEWER
)
CHANGE_NOTIFICATION_SCHEDULE = Route(
    "PATCH", SCHEDULES + "/{notification_schedule}", TAG, "Change a recurring notification", Role.EDITOR,
    body=RecurringChanges,
)  # fmt: skip
PAUSE_NOTIFICATION_SCHEDULE = Route(
    "POST", SCHEDULES + "/{notification_schedule}/pause", TAG, "Pause a recurring notification",
    Role.OPERATOR,
)  # fmt: skip
RESUME_NOTIFICATION_SCHEDULE = Route(
    "POST", SCHEDULES + "/{notification_schedule}/resume", TAG, "Resume a recurring notification",
    Role.OPERATOR,
)  # fmt: skip
DELETE_NOTIFICATION_SCHEDULE = Route(
    "DELETE", SCHEDULES + "/{notification_schedule}", TAG, "Delete a recurring notification", Role.EDITOR
)
PUT_DIGEST = Route("PUT", "/digests/{digest}", TAG, "Save a digest", Role.EDITOR, body=DigestSpec)
LIST_DIGESTS = Route("GET", "/digests", TAG, "List digests", Role.VIEWER, query=PageQuery)
GET_DIGEST = Route("GET", "/digests/{digest}", TAG, "Show a digest", Role.VIEWER)
DELETE_DIGEST = Route("DELETE", "/digests/{digest}", TAG, "Delete a digest", Role.EDITOR)
ADD_DIGEST_EVENT = Route(
    "POST", "/digests/{digest}/events", TAG, "Add an event to a digest", Role.OPERATOR, body=DigestEventSpec
)
PUT_SEQUENCE = Route("PUT", "/sequences/{sequence}", TAG, "Save a sequence", Role.EDITOR, body=SequenceSpec)
LIST_SEQUENCES = Route("GET", "/sequences", TAG, "List sequences", Role.VIEWER, query=PageQuery)
GET_SEQUENCE = Route("GET", "/sequences/{sequence}", TAG, "Show a sequence", Role.VIEWER)
DELETE_SEQUENCE = Route("DELETE", "/sequences/{sequence}", TAG, "Delete a sequence", Role.EDITOR)
ENTER_SEQUENCE = Route(
    "POST", "/sequences/{sequence}/members", TAG, "Enter a recipient into a sequence", Role.OPERATOR,
    body=MemberSpec,
)  # fmt: skip
GET_SEQUENCE_MEMBER = Route(
    "GET", "/sequences/{sequence}/members/{user_id}", TAG, "Show a recipient in a sequence", Role.VIEWER
)
LEAVE_SEQUENCE = Route(
    "DELETE", "/sequences/{sequence}/members/{user_id}", TAG, "Stop a sequence for a recipient", Role.OPERATOR
)
NOTE_RECIPIENT_EVENT = Route(
    "POST", "/notifications/events", TAG, "Report something that a recipient did", Role.OPERATOR,
    body=RecipientEventSpec,
)  # fmt: skip
