"""What can be asked over HTTP about releases and notices of content, as a table; see `routes`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from sexton.api.content_routes import TAG, ApproveRequest, CancelContentRequest
from sexton.api.route import Cursor, Limit, Query, Route
from sexton.content.spec import NoticeSpec, ReleaseAddition, ReleaseMove, ReleaseSpec
from sexton.refusal import about
from sexton.security.role import Role


class ReleasesQuery(Query, frozen=True, kw_only=True):
    created_by: Annotated[str | None, about("Only those that this person planned.")] = None
    start: Annotated[datetime | None, about("Only those planned for this instant or later.")] = None
    end: Annotated[datetime | None, about("Only those planned for this instant or earlier.")] = None
    limit: Limit = 100
    cursor: Cursor = None


CREATE_RELEASE = Route("POST", "/content/releases", TAG, "Plan a release", Role.EDITOR, body=ReleaseSpec)
LIST_RELEASES = Route("GET", "/content/releases", TAG, "List releases", Role.VIEWER, query=ReleasesQuery)
GET_RELEASE = Route("GET", "/content/releases/{release}", TAG, "Show a release", Role.VIEWER)
RESCHEDULE_RELEASE = Route(
    "POST", "/content/releases/{release}/reschedule", TAG, "Move a release", Role.EDITOR, body=ReleaseMove
)
CANCEL_RELEASE = Route(
    "POST", "/content/releases/{release}/cancel", TAG, "Call a release off", Role.EDITOR,
    body=CancelContentRequest, body_optional=True,
)  # fmt: skip
RUN_RELEASE = Route(
    "POST", "/content/releases/{release}/run", TAG, "Let a release go out now", Role.EDITOR
)  # fmt: skip
APPROVE_RELEASE = Route(
    "POST", "/content/releases/{release}/approve", TAG, "Approve a release", Role.EDITOR,
    body=ApproveRequest, body_optional=True,
)  # fmt: skip
CHECK_RELEASE = Route("POST", "/content/releases/{release}/check", TAG, "Check a release", Role.EDITOR)
ADD_RELEASE_ITEMS = Route(
    "POST", "/content/releases/{release}/items", TAG, "Add actions to a release", Role.EDITOR,
    body=ReleaseAddition,
)  # fmt: skip
REMOVE_RELEASE_ITEM = Route(
    "DELETE", "/content/releases/{release}/items/{schedule}", TAG, "Take an action out of a release",
    Role.EDITOR,
)  # fmt: skip
GET_NOTICES = Route("GET", "/content/notices", TAG, "Show where notices go", Role.VIEWER)
SET_NOTICES = Route(
    "PUT", "/content/notices", TAG, "Say where notices go", Role.ADMIN, body=NoticeSpec
)  # fmt: skip
REMOVE_NOTICES = Route("DELETE", "/content/notices", TAG, "Send no notices any more", Role.ADMIN)
