"""Campaigns and their audiences over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from sexton.api.lines import CSV, chunks_of, is_csv
from sexton.api.notifications import campaign_routes as routes
from sexton.api.notifications.campaign_routes import CampaignReason, CampaignsQuery, StartRequest
from sexton.api.operation import Answer, Call, operation
from sexton.api.paging import counted
from sexton.api.route import PREFIX, PageQuery
from sexton.api.security.guard import LINES_TYPES
from sexton.errors import InvalidField
from sexton.model import decode_id
from sexton.notifications.campaigns import audience, campaign, unconfirmed
from sexton.notifications.campaigns import check as campaign_check
from sexton.notifications.campaigns import progress as campaign_progress
from sexton.notifications.campaigns import view as campaign_view
from sexton.notifications.campaigns.audience import AudienceView, Member, SegmentView
from sexton.notifications.campaigns.progress import CampaignProgress
from sexton.notifications.campaigns.spec import CampaignSpec, SegmentSpec
from sexton.notifications.campaigns.view import CampaignCheck, CampaignView
from sexton.notifications.model import CAMPAIGN
from sexton.refusal import cells_of, check_text, decoded, not_found, refuse_nul
from sexton.security.role import Role

REQUEST: dict[str, Any] = {
    "name": "spring",
    "template_id": "spring",
    "channel": "email",
    "audience": {"segment": "customers"},
    "local_time": "2027-03-14 08:00",
}
ZONE: dict[str, Any] = {
    "timezone": "Europe/Berlin",
    "send_at_utc": "2027-03-14T07:00:00Z",
    "recipients": 8000,
    "note": None,
}
CHECK: dict[str, Any] = {
    "recipients": 8000,
    "whole": True,
    "zones": [ZONE],
    "unreachable": 12,
    "incomplete": 0,
    "missing_variables": [],
    "unknown": 0,
    "duplicates": 0,
    "skipped": 0,
}
ANSWER: dict[str, Any] = {
    "campaign_id": "k_1",
    "name": "spring",
    "status": "sending",
    "reason": None,
    "counts": {
        "total": 8000, "sent": 5200, "failed": 3, "suppressed": 7, "expired": 0, "unconfirmed": 0,
        "cancelled": 0, "left": 2790,
    },
    "per_second": 950.0,
    "eta": "2027-03-14T07:00:09Z",
    "waits_for": None,
    "next_at": "2027-03-14T07:00:00Z",
    "template_id": "spring",
    "template_version": 3,
    "channels": ["email"],
    "template_vars": {},
    "audience": {"segment": "customers"},
    "send_at": None,
    "local_time": "2027-03-14 08:00:00",
    "when_past": "send_now",
    "timezone": "UTC",
    "rate": None,
    "window": None,
    "prepare_seconds": 600,
    "canary": None,
    "late_seconds": 7200,
    "on_doubt": None,
    "topic": None,
    "urgency": None,
    "expires_seconds": None,
    "description": None,
    "check": CHECK,
    "prepared_at": "2027-03-13T17:50:02Z",
    "started_at": "2027-03-14T07:00:00Z",
    "ended_at": None,
    "created_by": "ann",
    "created_at": "2027-03-01T12:00:00Z",
    "job_id": "j_1",
}  # fmt: skip
PROGRESS: dict[str, Any] = {
    "minutes": [{"at": "2027-03-14T07:00:00Z", "sent": 5200}],
    "since": None,
    "counted": 8000,
    "channels": [{"channel": "email", "sent": 5200, "failed": 3, "left": 2790, "others": 7}],
    "holds": [{"reason": "quiet hours", "messages": 12}],
    "waves": [
        {
            "at": "2027-03-14T07:00:00Z", "canary": False, "messages": 8000, "sent": 5200, "failed": 3,
            "left": 2790, "cancelled": 0, "state": "sending", "next_at": None, "waits_for": None,
        }
    ],
    "events": [
        {
            "at": "2027-03-14T06:55:00Z", "kind": "paused", "reason": "a wrong price", "by": "ann",
            "until": None,
        }
    ],
}  # fmt: skip
SEGMENT: dict[str, Any] = {
    "name": "customers",
    "filter": {"all": [{"field": "country", "in": ["DE", "AT"]}, {"has": "email"}]},
    "description": None,
    "recipients": 8000,
    "changed_by": "ann",
    "changed_at": "2027-03-01T12:00:00Z",
}
LIST: dict[str, Any] = {
    "name": "guests",
    "size": 120,
    "uploaded_by": "ann",
    "uploaded_at": "2027-03-01T12:00:00Z",
}
LINES = 5000


@operation(
    routes.CREATE_CAMPAIGN, status=201, answer=CampaignView, example=REQUEST,
    answer_example={**ANSWER, "status": "scheduled", "check": None, "started_at": None, "prepared_at": None},
)  # fmt: skip
async def create_campaign(call: Call) -> Answer:
    """A template to an audience. With a time and without `draft` it goes out then; otherwise it is a draft
    until it is started. An audience in SQL needs the role admin in all namespaces."""
    spec = _asked(call)
    made = await campaign.create_campaign(call.context, spec, may_query=True)
    return Answer(made, headers={"Location": f"{PREFIX}/campaigns/{made.campaign_id}"})


@operation(routes.LIST_CAMPAIGNS, lists=True, answer=list[CampaignView], answer_example=[ANSWER])
async def list_campaigns(call: Call) -> Answer:
    """The latest first."""
    page = await campaign_view.list_campaigns(call.reading, **call.filters(CampaignsQuery))
    return await counted(call, page, campaign_view.count_campaigns, CampaignsQuery)


@operation(routes.GET_CAMPAIGN, answer=CampaignView, answer_example=ANSWER)
async def get_campaign(call: Call) -> Answer:
    """With its counts, its speed and its expected end."""
    return Answer(await campaign_view.get_campaign(call.context, call.path("campaign")))


@operation(routes.GET_CAMPAIGN_PROGRESS, answer=CampaignProgress, answer_example=PROGRESS)
async def get_campaign_progress(call: Call) -> Answer:
    """What was sent in each minute and on each channel, what is held and why, the waves of its messages, and
    what paused it. For a large campaign only the latest messages are counted."""
    return Answer(await campaign_progress.read_progress(call.reading, call.path("campaign")))


@operation(routes.CHECK_CAMPAIGN, kept=False, heavy=True, answer=CampaignCheck, answer_example=CHECK)
async def check_campaign(call: Call) -> Answer:
    """How many recipients by zone and when, how many cannot be reached, and for how many a variable is
    missing. Until its messages are written, the present audience is checked, up to a million recipients and
    for about 15 seconds; `whole` says whether it was all of it."""
    number = decode_id(CAMPAIGN, call.path("campaign"))
    if number is None:
        raise not_found("campaign", call.path("campaign"))
    return Answer(await campaign_check.check_campaign(call.context, number))


@operation(
    routes.PREVIEW_CAMPAIGN, kept=False, heavy=True, answer=CampaignCheck, example=REQUEST,
    answer_example=CHECK,
)  # fmt: skip
async def preview_campaign(call: Call) -> Answer:
    """What the check would say of a campaign like this that were made and started now. Nothing is made, and
    what it refuses is refused alike."""
    return Answer(await campaign_check.preview_campaign(call.context, _asked(call), may_query=True))


@operation(
    routes.START_CAMPAIGN, answer=CampaignView, example={}, answer_example={**ANSWER, "status": "scheduled"}
)
async def start_campaign(call: Call) -> Answer:
    """A draft goes out at its time, or at once if it has none. A scheduled campaign still goes out at its
    time, unless `now` is true."""
    wish = call.json(StartRequest, optional=True)
    return Answer(await campaign.start(call.context, call.path("campaign"), at_once=wish.now))


@operation(
    routes.PAUSE_CAMPAIGN, answer=CampaignView, example={"reason": "a wrong price"},
    answer_example={**ANSWER, "status": "paused"},
)  # fmt: skip
async def pause_campaign(call: Call) -> Answer:
    """No further batch begins; messages that a provider already has are settled."""
    wish = call.json(CampaignReason, optional=True)
    return Answer(await campaign.pause(call.context, call.path("campaign"), reason=wish.reason))


@operation(routes.RESUME_CAMPAIGN, answer=CampaignView, answer_example=ANSWER)
async def resume_campaign(call: Call) -> Answer:
    """After a pause, after checking the canary, or although it is late."""
    return Answer(await campaign.resume(call.context, call.path("campaign")))


@operation(
    routes.CANCEL_CAMPAIGN, answer=CampaignView, example={"reason": "a wrong price"},
    answer_example={**ANSWER, "status": "cancelled"},
)  # fmt: skip
async def cancel_campaign(call: Call) -> Answer:
    """Nothing more goes out. What was sent stays sent."""
    wish = call.json(CampaignReason, optional=True)
    return Answer(await campaign.cancel(call.context, call.path("campaign"), reason=wish.reason))


@operation(routes.RESEND_CAMPAIGN, answer=CampaignView, answer_example=ANSWER)
async def resend_campaign(call: Call) -> Answer:
    """An operator's decision: messages that are `unconfirmed` may have gone out, and go out again. A campaign
    that is done continues with them."""
    return Answer(await unconfirmed.resend_campaign(call.context, call.path("campaign")))


@operation(routes.CONFIRM_CAMPAIGN, answer=CampaignView, answer_example=ANSWER)
async def confirm_campaign(call: Call) -> Answer:
    """An operator's decision: messages that are `unconfirmed` have gone out, and count as sent."""
    return Answer(await unconfirmed.confirm_campaign(call.context, call.path("campaign")))


@operation(
    routes.PUT_SEGMENT, heavy=True, answer=SegmentView, example={"filter": SEGMENT["filter"]},
    answer_example=SEGMENT,
)  # fmt: skip
async def put_segment(call: Call) -> Answer:
    """A filter on the fields of recipients. A campaign uses the segment as it is when its messages are
    written."""
    return Answer(await audience.put_segment(call.context, call.path("segment"), call.json(SegmentSpec)))


@operation(routes.LIST_SEGMENTS, lists=True, answer=list[SegmentView], answer_example=[SEGMENT])
async def list_segments(call: Call) -> Answer:
    """By name, without counts."""
    return call.paged(await audience.list_segments(call.reading, **call.filters(PageQuery)))


@operation(routes.GET_SEGMENT, heavy=True, answer=SegmentView, answer_example=SEGMENT)
async def get_segment(call: Call) -> Answer:
    """With the number of recipients that match it."""
    return Answer(await audience.get_segment(call.reading, call.path("segment")))


@operation(routes.DELETE_SEGMENT, status=204)
async def delete_segment(call: Call) -> Answer:
    """Campaigns whose messages are written are not affected."""
    await audience.delete_segment(call.context, call.path("segment"))
    return Answer(None)


@operation(
    routes.PUT_AUDIENCE, body_types=(*LINES_TYPES, CSV), streams=True, answer=AudienceView,
    example='{"user_id": "ann", "vars": {"seat": "12A"}}\n{"user_id": "bob"}\n', answer_example=LIST,
)  # fmt: skip
async def put_audience(call: Call) -> Answer:
    """One recipient per line, with its own variables. With `text/csv`, the first line names the columns; all
    but user_id are variables. The previous list is replaced once all lines have arrived."""
    members = _csv_members(call) if is_csv(call) else _members(call)
    return Answer(await audience.upload(call.context, call.path("audience"), members))


@operation(routes.LIST_AUDIENCES, lists=True, answer=list[AudienceView], answer_example=[LIST])
async def list_audiences(call: Call) -> Answer:
    """By name."""
    return call.paged(await audience.list_audiences(call.reading, **call.filters(PageQuery)))


@operation(routes.GET_AUDIENCE, answer=AudienceView, answer_example=LIST)
async def get_audience(call: Call) -> Answer:
    """With the number of recipients."""
    return Answer(await audience.get_audience(call.reading, call.path("audience")))


@operation(routes.DELETE_AUDIENCE, status=204)
async def delete_audience(call: Call) -> Answer:
    """Campaigns whose messages are written are not affected."""
    await audience.delete_audience(call.context, call.path("audience"))
    return Answer(None)


def _asked(call: Call) -> CampaignSpec:
    """A query of the caller's own reads what all namespaces have."""
    spec = call.json(CampaignSpec)
    if spec.audience.sql is not None:
        call.caller.require(Role.ADMIN, call.context.namespace, cluster=True)
    return spec


class _MemberLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user_id: str
    vars: dict[str, Any] | None = None


async def _members(call: Call) -> AsyncIterator[list[Member]]:
    async for chunk in chunks_of(call.request.stream(), LINES):
        members: list[Member] = []
        for number, line in chunk:
            try:
                read = decoded(line, _MemberLine)
            except InvalidField as error:
                raise _bad_line(number, error.message) from None
            refuse_nul(read.vars, f"line {number}")
            members.append((_user(read.user_id, number), read.vars))
        yield members


async def _csv_members(call: Call) -> AsyncIterator[list[Member]]:
    names: list[str] | None = None
    async for chunk in chunks_of(call.request.stream(), LINES):
        members: list[Member] = []
        for number, line in chunk:
            try:
                cells = cells_of(line)
            except InvalidField as error:
                raise _bad_line(number, error.message) from None
            if names is None:
                names = [cell.strip() for cell in cells]
                if "user_id" not in names:
                    raise _bad_line(number, "no column is called user_id")
                continue
            if len(cells) > len(names):
                raise _bad_line(number, f"it has {len(cells)} cells, and the first line {len(names)}")
            row = {name: cell for name, cell in zip(names, cells, strict=False) if cell}
            refuse_nul(row, f"line {number}")
            members.append((_user(row.pop("user_id", ""), number), row or None))
        if members:
            yield members


def _user(user_id: str, number: int) -> str:
    return check_text(user_id, f"line {number}: user_id", 200)


def _bad_line(number: int, why: str) -> InvalidField:
    return InvalidField(
        "bad_line",
        f"line {number}: {why}",
        field=f"line {number}",
        hint='write {"user_id": "ann", "vars": {"seat": "12A"}}',
    )
