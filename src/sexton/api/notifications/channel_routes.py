"""The routes of channels, suppressions and inboxes."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.api.route import Cursor, Limit, Query, Route
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.recipients.inbox import InboxTokenSpec, MarkSpec
from sexton.notifications.recipients.suppression import SuppressionSpec
from sexton.refusal import about
from sexton.security.role import Role

TAG = "channels"
INBOX = "inbox"


class ProviderTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to test a provider."""

    address: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        about("Where a test message goes; null: only connect, and send nothing."),
    ] = None


class ReportQuery(Query, frozen=True, kw_only=True):
    namespace: Annotated[str, Meta(description="The namespace of the provider.")] = "default"
    key: Annotated[str | None, Meta(description="The key of the message, if the report does not say it.")] = (
        None
    )


class OutboxQuery(Query, frozen=True, kw_only=True):
    limit: Limit = 100


class SuppressionsQuery(Query, frozen=True, kw_only=True):
    channel: Annotated[str | None, Meta(description="Only of this channel.")] = None
    limit: Limit = 100
    cursor: Cursor = None


class InboxQuery(Query, frozen=True, kw_only=True):
    unread: Annotated[bool, Meta(description="Only what is not read.")] = False
    archived: Annotated[bool, Meta(description="What is archived, instead of what is not.")] = False
    limit: Limit = 100
    cursor: Cursor = None


LIST_CHANNELS = Route("GET", "/channels", TAG, "Show the health of channels", Role.VIEWER)
LIST_OUTBOX = Route(
    "GET", "/channels/outbox", TAG, "List messages that were written instead of being sent", Role.VIEWER,
    query=OutboxQuery,
)  # fmt: skip
PUT_PROVIDER = Route(
    "PUT", "/notifications/providers/{provider}", TAG, "Configure a provider", Role.ADMIN, body=ProviderSpec
)
LIST_PROVIDERS = Route("GET", "/notifications/providers", TAG, "List providers", Role.VIEWER)
GET_PROVIDER = Route("GET", "/notifications/providers/{provider}", TAG, "Show a provider", Role.VIEWER)
DELETE_PROVIDER = Route("DELETE", "/notifications/providers/{provider}", TAG, "Delete a provider", Role.ADMIN)
TEST_PROVIDER = Route(
    "POST", "/notifications/providers/{provider}/test", TAG, "Test a provider", Role.ADMIN,
    body=ProviderTest, body_optional=True,
)  # fmt: skip
TAKE_REPORT = Route(
    "POST", "/notifications/providers/{provider}/events", TAG, "Report messages", None,
    query=ReportQuery,
)  # fmt: skip
READ_UNSUBSCRIBE = Route(
    "GET", "/notifications/unsubscribe/{token}", TAG, "Show what a link unsubscribes from", None
)
UNSUBSCRIBE = Route("POST", "/notifications/unsubscribe/{token}", TAG, "Unsubscribe", None)
LIST_SUPPRESSIONS = Route(
    "GET", "/suppressions", TAG, "List suppressed addresses", Role.VIEWER, query=SuppressionsQuery
)
PUT_SUPPRESSION = Route(
    "PUT", "/suppressions/{channel}/{address}", TAG, "Suppress an address", Role.EDITOR,
    body=SuppressionSpec, body_optional=True,
)  # fmt: skip
DELETE_SUPPRESSION = Route(
    "DELETE", "/suppressions/{channel}/{address}", TAG, "Remove a suppression", Role.EDITOR
)
CREATE_INBOX_TOKEN = Route(
    "POST", "/recipients/{user_id}/inbox-token", INBOX, "Make a token for an inbox", Role.OPERATOR,
    body=InboxTokenSpec, body_optional=True,
)  # fmt: skip
LIST_INBOX = Route("GET", "/inbox/{token}", INBOX, "List an inbox", None, query=InboxQuery)
COUNT_INBOX = Route("GET", "/inbox/{token}/unread", INBOX, "Count unread messages", None)
MARK_INBOX = Route("POST", "/inbox/{token}/mark", INBOX, "Mark as read or archived", None, body=MarkSpec)
STREAM_INBOX = Route("GET", "/inbox/{token}/stream", INBOX, "Watch an inbox", None)
