"""The routes of messages, recipients and templates."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sexton.api.route import Cursor, Ids, ItemsRequest, Limit, PageQuery, Query, Route
from sexton.notifications.filter import MessageSort
from sexton.notifications.spec import (
    NotificationMove,
    NotificationSettings,
    NotificationSpec,
    PreviewRequest,
    RecipientLine,
    RecipientSort,
    RecipientSpec,
    TemplateSort,
    TemplateSpec,
    TrialSpec,
)
from sexton.refusal import about
from sexton.security.role import Role

TAG = "notifications"
Status = Literal[
    "pending", "held", "processing", "sent", "delivered", "failed", "bounced", "cancelled", "expired",
    "suppressed", "unconfirmed",
]  # fmt: skip


class NotificationChoice(Query, frozen=True, kw_only=True):
    """Which messages."""

    user_id: Annotated[str | None, about("Only to this recipient.")] = None
    status: Annotated[Status | None, about("Only in this status.")] = None
    template_id: Annotated[str | None, about("Only with this template.")] = None
    campaign_id: Annotated[str | None, about("Only of this campaign, `k_…`.")] = None


class NotificationsQuery(NotificationChoice, frozen=True, kw_only=True):
    sort: Annotated[
        MessageSort | None,
        about("The order: -created_at or created_at; of a campaign user_id or -user_id."),
    ] = None
    limit: Limit = 100
    cursor: Cursor = None


class NotificationsBulkQuery(Query, frozen=True, kw_only=True):
    chunk: Annotated[
        int, Meta(ge=1, le=5000, description="How many lines are scheduled together, all or nothing.")
    ] = 1000
    ids: Annotated[bool, about("Answer with the ids of the messages, in order.")] = False


class IdChoice(Query, frozen=True, kw_only=True):
    """Those whose ids begin so."""

    search: Annotated[str, Meta(max_length=200, description="Only ids that begin with this.")] = ""


class RecipientsQuery(IdChoice, frozen=True, kw_only=True):
    sort: Annotated[RecipientSort, about("The order: by their ids, or the reverse.")] = "user_id"
    limit: Limit = 100
    cursor: Cursor = None


class RecipientsBulkQuery(Query, frozen=True, kw_only=True):
    chunk: Annotated[
        int, Meta(ge=1, le=20_000, description="How many lines are taken together, all or nothing.")
    ] = 5000


class TemplatesQuery(IdChoice, frozen=True, kw_only=True):
    sort: Annotated[TemplateSort, about("The order: by their ids, or the reverse.")] = "template_id"
    limit: Limit = 100
    cursor: Cursor = None


class TemplateQuery(Query, frozen=True, kw_only=True):
    version: Annotated[int | None, Meta(description="Which version. Default: the latest.")] = None


# Many messages


class NotificationActionFilter(NotificationChoice, frozen=True, kw_only=True):
    """Which messages. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, about("Select every message.")] = False
    ids: Ids = None


class NotificationActionRequest(ItemsRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which messages."""

    action: Annotated[
        Literal["cancel", "restore"],
        about("Cancel those that were not submitted, or restore cancelled ones before their time."),
    ]
    filter: Annotated[NotificationActionFilter, about("To which messages.")]


class RecipientActionFilter(IdChoice, frozen=True, kw_only=True):
    """Which recipients. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, about("Select every recipient.")] = False
    ids: Ids = None


class RecipientActionRequest(ItemsRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which recipients."""

    action: Annotated[
        Literal["suppress", "unsuppress", "erase"],
        about("Send nothing to them any more, send to them again, or erase all their data."),
    ]
    filter: Annotated[RecipientActionFilter, about("To which recipients.")]


class TemplateActionFilter(IdChoice, frozen=True, kw_only=True):
    """Which templates. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, about("Select every template.")] = False
    ids: Ids = None


class TemplateActionRequest(ItemsRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which templates."""

    action: Annotated[
        Literal["delete", "restore"], about("Delete them, or restore deleted ones by their ids.")
    ]
    filter: Annotated[TemplateActionFilter, about("To which templates.")]


ACT_ON_RECIPIENTS = Route(
    "POST",
    "/recipients/actions",
    TAG,
    "Suppress or erase many recipients",
    Role.OPERATOR,
    body=RecipientActionRequest,
)
ACT_ON_TEMPLATES = Route(
    "POST", "/templates/actions", TAG, "Delete many templates, or restore them", Role.EDITOR,
    body=TemplateActionRequest,
)  # fmt: skip
ACT_ON_NOTIFICATIONS = Route(
    "POST", "/notifications/actions", TAG, "Cancel or restore many messages", Role.OPERATOR,
    body=NotificationActionRequest,
)  # fmt: skip
CREATE_NOTIFICATION = Route(
    "POST", "/notifications", TAG, "Schedule a message", Role.EDITOR, body=NotificationSpec
)
CREATE_NOTIFICATIONS = Route(
    "POST", "/notifications/bulk", TAG, "Schedule many messages", Role.EDITOR, query=NotificationsBulkQuery,
    body=NotificationSpec,
)  # fmt: skip
LIST_NOTIFICATIONS = Route(
    "GET", "/notifications", TAG, "List messages, the latest first", Role.VIEWER, query=NotificationsQuery
)
GET_NOTIFICATION = Route("GET", "/notifications/{notification}", TAG, "Show a message", Role.VIEWER)
WHY_NOTIFICATION = Route(
    "GET", "/notifications/{notification}/why", TAG, "Explain when a message was sent", Role.VIEWER
)
CANCEL_NOTIFICATION = Route(
    "POST", "/notifications/{notification}/cancel", TAG, "Cancel a message", Role.OPERATOR
)
RESCHEDULE_NOTIFICATION = Route(
    "POST", "/notifications/{notification}/reschedule", TAG, "Send a message at another time", Role.OPERATOR,
    body=NotificationMove,
)  # fmt: skip
RESEND_NOTIFICATION = Route(
    "POST", "/notifications/{notification}/resend", TAG, "Resend a message that may have gone out",
    Role.OPERATOR,
)  # fmt: skip
CONFIRM_NOTIFICATION = Route(
    "POST", "/notifications/{notification}/confirm", TAG, "Count a message that may have gone out as sent",
    Role.OPERATOR,
)  # fmt: skip
GET_NOTIFICATION_SETTINGS = Route(
    "GET", "/notifications/settings", TAG, "Show the settings of all messages", Role.VIEWER
)
SET_NOTIFICATION_SETTINGS = Route(
    "PUT", "/notifications/settings", TAG, "Change the settings of all messages", Role.OPERATOR,
    body=NotificationSettings,
)  # fmt: skip

PUT_RECIPIENT = Route(
    "PUT", "/recipients/{user_id}", TAG, "Make or replace a recipient", Role.EDITOR, body=RecipientSpec
)
CHANGE_RECIPIENT = Route(
    "PATCH", "/recipients/{user_id}", TAG, "Change some fields of a recipient", Role.EDITOR,
    body=RecipientSpec,
)  # fmt: skip
GET_RECIPIENT = Route("GET", "/recipients/{user_id}", TAG, "Show a recipient", Role.VIEWER)
LIST_RECIPIENTS = Route("GET", "/recipients", TAG, "List recipients", Role.VIEWER, query=RecipientsQuery)
IMPORT_RECIPIENTS = Route(
    "POST", "/recipients/bulk", TAG, "Make or change many recipients", Role.EDITOR, query=RecipientsBulkQuery,
    body=RecipientLine,
)  # fmt: skip
EXPORT_RECIPIENT = Route(
    "GET", "/recipients/{user_id}/export", TAG, "Export everything about a recipient", Role.OPERATOR
)
ERASE_RECIPIENT = Route("DELETE", "/recipients/{user_id}", TAG, "Erase a recipient", Role.OPERATOR)

PUT_TEMPLATE = Route(
    "PUT", "/templates/{template_id}", TAG, "Make the next version of a template", Role.EDITOR,
    body=TemplateSpec,
)  # fmt: skip
GET_TEMPLATE = Route(
    "GET", "/templates/{template_id}", TAG, "Show a template", Role.VIEWER, query=TemplateQuery
)
LIST_TEMPLATES = Route("GET", "/templates", TAG, "List templates", Role.VIEWER, query=TemplatesQuery)
LIST_TEMPLATE_VERSIONS = Route(
    "GET", "/templates/{template_id}/versions", TAG, "List the versions of a template", Role.VIEWER,
    query=PageQuery,
)  # fmt: skip
DELETE_TEMPLATE = Route("DELETE", "/templates/{template_id}", TAG, "Delete a template", Role.EDITOR)
PREVIEW_TEMPLATE = Route(
    "POST", "/templates/{template_id}/preview", TAG, "Show a template with values", Role.VIEWER,
    body=PreviewRequest, body_optional=True,
)  # fmt: skip
TRY_TEMPLATE = Route(
    "POST", "/templates/{template_id}/test", TAG, "Send a test message", Role.EDITOR, body=TrialSpec
)
