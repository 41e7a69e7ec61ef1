"""The routes of campaigns and their audiences."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton.api.route import Cursor, Ids, ItemsRequest, Limit, PageQuery, Query, Route
from sexton.notifications.campaigns.spec import CampaignSort, CampaignSpec, CampaignStatus, SegmentSpec
from sexton.refusal import about
from sexton.security.role import Role

TAG = "campaigns"


class CampaignChoice(Query, frozen=True, kw_only=True):
    """Which campaigns."""

    status: Annotated[CampaignStatus | None, about("Only those in this status.")] = None
    search: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("Only those with this in their names.")
    ] = None


class CampaignsQuery(CampaignChoice, frozen=True, kw_only=True):
    sort: Annotated[
        CampaignSort,
        about("The order: when they were made, their names, when they go out; - is the reverse."),
    ] = "-created_at"
    limit: Limit = 100
    cursor: Cursor = None


class StartRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a campaign is started."""

    now: Annotated[bool, about("At once, instead of at its time.")] = False


class CampaignReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a campaign is paused or cancelled."""

    reason: Annotated[Annotated[str, Meta(max_length=1000)] | None, about("Why; shown with it.")] = None


class CampaignActionFilter(CampaignChoice, frozen=True, kw_only=True):
    """Which campaigns. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, about("Select every campaign.")] = False
    ids: Ids = None


class CampaignActionRequest(ItemsRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which campaigns."""

    action: Annotated[
        Literal["start", "pause", "resume", "cancel"],
        about("Start drafts, pause running ones, resume paused or waiting ones, or cancel those not ended."),
    ]
    filter: Annotated[CampaignActionFilter, about("To which campaigns.")]


ACT_ON_CAMPAIGNS = Route(
    "POST", "/campaigns/actions", TAG, "Act on many campaigns", Role.OPERATOR, body=CampaignActionRequest
)
CREATE_CAMPAIGN = Route("POST", "/campaigns", TAG, "Make a campaign", Role.EDITOR, body=CampaignSpec)
LIST_CAMPAIGNS = Route("GET", "/campaigns", TAG, "List campaigns", Role.VIEWER, query=CampaignsQuery)
GET_CAMPAIGN = Route("GET", "/campaigns/{campaign}", TAG, "Show a campaign", Role.VIEWER)
GET_CAMPAIGN_PROGRESS = Route(
    "GET", "/campaigns/{campaign}/progress", TAG, "Show the progress of a campaign", Role.VIEWER
)
CHECK_CAMPAIGN = Route("POST", "/campaigns/{campaign}/check", TAG, "Check a campaign", Role.VIEWER)
PREVIEW_CAMPAIGN = Route(
    "POST", "/campaigns/preview", TAG, "Preview a campaign", Role.EDITOR, body=CampaignSpec
)
START_CAMPAIGN = Route(
    "POST", "/campaigns/{campaign}/start", TAG, "Start a campaign", Role.OPERATOR, body=StartRequest,
    body_optional=True,
)  # fmt: skip
PAUSE_CAMPAIGN = Route(
    "POST", "/campaigns/{campaign}/pause", TAG, "Pause a campaign", Role.OPERATOR, body=CampaignReason,
    body_optional=True,
)  # fmt: skip
RESUME_CAMPAIGN = Route("POST", "/campaigns/{campaign}/resume", TAG, "Resume a campaign", Role.OPERATOR)
CANCEL_CAMPAIGN = Route(
    "POST", "/campaigns/{campaign}/cancel", TAG, "Cancel a campaign", Role.OPERATOR, body=CampaignReason,
    body_optional=True,
)  # fmt: skip
RESEND_CAMPAIGN = Route(
    "POST", "/campaigns/{campaign}/resend", TAG, "Resend messages that may have been sent", Role.OPERATOR
)
CONFIRM_CAMPAIGN = Route(
    "POST",
    "/campaigns/{campaign}/confirm",
    TAG,
    "Count messages that may have been sent as sent",
    Role.OPERATOR,
)
PUT_SEGMENT = Route("PUT", "/segments/{segment}", TAG, "Save a segment", Role.EDITOR, body=SegmentSpec)
LIST_SEGMENTS = Route("GET", "/segments", TAG, "List segments", Role.VIEWER, query=PageQuery)
GET_SEGMENT = Route("GET", "/segments/{segment}", TAG, "Show a segment", Role.VIEWER)
DELETE_SEGMENT = Route("DELETE", "/segments/{segment}", TAG, "Delete a segment", Role.EDITOR)
PUT_AUDIENCE = Route(
    "PUT", "/audiences/{audience}", TAG, "Upload a list of recipients", Role.EDITOR, body=str
)
LIST_AUDIENCES = Route("GET", "/audiences", TAG, "List uploaded lists", Role.VIEWER, query=PageQuery)
GET_AUDIENCE = Route("GET", "/audiences/{audience}", TAG, "Show an uploaded list", Role.VIEWER)
DELETE_AUDIENCE = Route("DELETE", "/audiences/{audience}", TAG, "Delete an uploaded list", Role.EDITOR)
