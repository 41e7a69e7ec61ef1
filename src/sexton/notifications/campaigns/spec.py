"""The specifications that callers write: a campaign, a segment, with all defaults."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sexton.jobs.spec import TEN_YEARS
from sexton.notifications.spec import MaxRetries
from sexton.refusal import about

MOST_INLINE = 10_000
CampaignSort = Literal["-created_at", "created_at", "name", "-name", "send_at", "-send_at"]


class WhenPast(StrEnum):
    """What happens in zones where the local time of a campaign has passed when it starts."""

    SEND_NOW = "send_now"
    NEXT_DAY = "next_day"
    SKIP = "skip"


class OnDoubt(StrEnum):
    """What happens to a message that may have been sent."""

    HOLD = "hold"
    RESEND = "resend"


class CampaignStatus(StrEnum):
    DRAFT = "draft"  # it sends when it is started
    SCHEDULED = "scheduled"  # it sends at its time
    PREPARING = "preparing"  # its messages are being created
    PREPARED = "prepared"  # its messages exist; its time has not come
    SENDING = "sending"
    WAITING = "waiting"  # until a person resumes or cancels it
    PAUSED = "paused"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"  # it could not be prepared


#: Final statuses.
OVER = (CampaignStatus.DONE, CampaignStatus.CANCELLED, CampaignStatus.FAILED)

Name = Annotated[str, Meta(min_length=1, max_length=200, description="What people call it.")]
UserIds = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=200)]], Meta(min_length=1, max_length=MOST_INLINE)
]
Filter = Annotated[
    dict[str, Any],
    Meta(
        description="A condition on a field, or all, any, not of conditions.",
        examples=[{"field": "country", "is": "DE"}],
    ),
]


class AudienceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """To whom: exactly one of these."""

    everyone: Annotated[bool, about("All recipients of the namespace.")] = False
    segment: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("The recipients of a saved segment, by its name.")
    ] = None
    filter: Annotated[Filter | None, about("The recipients that match a filter, like that of a segment.")] = (
        None
    )
    list: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("The members of an uploaded list, by its name.")
    ] = None
    user_ids: Annotated[UserIds | None, about(f"These; at most {MOST_INLINE}, upload a list for more.")] = (
        None
    )
    sql: Annotated[
        Annotated[str, Meta(min_length=1, max_length=20_000)] | None,
        about(
            "The recipients that a query finds: a column user_id; other columns become variables. It "
            "needs the role admin in all namespaces."
        ),
    ] = None


class DailyWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The part of each recipient's day in which a campaign sends."""

    start: Annotated[str, Meta(description="From this time on.", examples=["09:00"])]
    end: Annotated[str, Meta(description="Up to this time.", examples=["20:00"])]


class CampaignSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One template to many recipients."""

    name: Name
    template_id: Annotated[str, Meta(min_length=1, max_length=200, description="The template that is sent.")]
    audience: Annotated[AudienceSpec, about("Who gets the messages.")]
    channel: Annotated[
        str | list[str], about("email, sms, push, in_app or another; several in the order they are tried.")
    ] = "email"
    template_version: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        about("The version of the template. Default: the latest when the campaign is made."),
    ] = None
    template_vars: Annotated[
        dict[str, Any], about("Values of the template's variables, for all recipients.")
    ] = {}
    send_at: Annotated[datetime | None, about("The time of sending: one instant for all recipients.")] = None
    local_time: Annotated[
        str | None,
        Meta(
            description="The local time of sending for each recipient: with a date, or the next one.",
            examples=["2027-03-14 08:00", "08:00"],
        ),
    ] = None
    when_past: Annotated[
        WhenPast,
        about(
            "For zones whose `local_time` is over when the campaign is started: send_now, next_day or skip."
        ),
    ] = WhenPast.SEND_NOW
    timezone: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        about("The zone of recipients without one. Default: the namespace's, else UTC."),
    ] = None
    draft: Annotated[bool, about("The campaign is not sent at its time unless it is started.")] = False
    rate: Annotated[
        Annotated[float, Meta(gt=0, le=1_000_000)] | None, about("Messages per second at the most.")
    ] = None
    window: Annotated[DailyWindow | None, about("The part of each recipient's day in which it sends.")] = None
    prepare_seconds: Annotated[
        int,
        Meta(ge=0, le=7 * 86_400, description="How long before its time its ledger is written and checked."),
    ] = 600
    canary: Annotated[
        Annotated[float, Meta(gt=0, le=0.5)] | None,
        about(
            "The share that is sent first; then the campaign waits for an operator. 0.01 is one of a hundred."
        ),
    ] = None
    late_seconds: Annotated[
        int,
        Meta(ge=600, le=TEN_YEARS, description="If it starts later than this, it waits for an operator."),
    ] = 7200
    on_doubt: Annotated[
        OnDoubt | None,
        about(
            "Messages that may have been sent when a worker died: hold or resend. Default: the provider's."
        ),
    ] = None
    topic: Annotated[
        Annotated[str, Meta(max_length=200)] | None, about("For opt-outs and caps. Default: the template's.")
    ] = None
    urgency: Annotated[
        str | None, about("asap, time_sensitive or digest. Default: the template's, else none.")
    ] = None
    expires_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=TEN_YEARS)] | None,
        about("A message is not sent later than this after its time."),
    ] = None
    max_retries: MaxRetries = 3
    retry_seconds: Annotated[
        int, Meta(ge=1, le=86_400, description="How long after a failed try the next one is made.")
    ] = 300
    description: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, about("A description for people.")
    ] = None


class SegmentSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A filter on recipients, under a name."""

    filter: Filter
    description: Annotated[
        Annotated[str, Meta(max_length=2000)] | None, about("A description for people.")
    ] = None
