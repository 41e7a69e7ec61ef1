"""The specifications that callers write: an action, a window, a release, an entity, with all defaults."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sexton.content.model import Action, NoticeEvent, OnFailure
from sexton.jobs.spec import TEN_YEARS, SingleFold, SingleGap
from sexton.refusal import about

LONGEST_WORD = 64
LONGEST_NAME = 200
LONGEST_NOTE = 2000
MOST_ITEMS = 500

EntityType = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_WORD, description="What it is: post, product, banner, …")
]
EntityId = Annotated[
    Annotated[str, Meta(min_length=1, max_length=LONGEST_WORD)] | int,
    about("Which one of its type: text or a number."),
]
LocalTime = Annotated[
    str | None, Meta(description="When, on the wall clock of `timezone`.", examples=["2027-03-14 09:00"])
]
Instant = Annotated[datetime | None, about("When, as an instant, instead of `local_time`.")]
Timezone = Annotated[
    Annotated[str, Meta(max_length=100)] | None,
    about("The zone of the wall clock, such as Europe/Berlin. Needed with `local_time`."),
]
RecurrenceRule = Annotated[
    Annotated[str, Meta(max_length=2000)] | None,
    Meta(
        description="Again and again: an RRULE, COUNT and UNTIL included.",
        examples=["FREQ=WEEKLY;BYDAY=MO"],
    ),
]
Adapter = Annotated[str, Meta(max_length=LONGEST_NAME, description="Where the entity lives.")]
CreatedBy = Annotated[
    Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | None,
    about("Who plans it. Default: the caller."),
]
Note = Annotated[Annotated[str, Meta(max_length=LONGEST_NOTE)] | None, about("For people.")]
Version = Annotated[
    Annotated[int, Meta(ge=1, le=2**31 - 1)] | None,
    about("Which version goes out. Default: the latest at that time."),
]
MaxRetries = Annotated[int, Meta(ge=0, le=100, description="Tries after the first one.")]
CatchUpSeconds = Annotated[
    int, Meta(ge=0, le=TEN_YEARS, description="If it is missed by more than this, it is not done.")
]
Force = Annotated[bool, about("Plan it though it contradicts another plan.")]
NeedsApproval = Annotated[bool, about("It does not go out unless it was approved.")]


class ScheduleSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An action on an entity, once or again and again."""

    entity_type: EntityType
    entity_id: EntityId
    action: Annotated[Action, about("publish, unpublish or archive.")]
    created_by: CreatedBy = None
    local_time: LocalTime = None
    timezone: Timezone = None
    at: Instant = None
    recurrence_rule: RecurrenceRule = None
    version: Version = None
    note: Note = None
    max_retries: MaxRetries = 3
    catch_up_seconds: CatchUpSeconds = 86_400
    adapter: Adapter = "builtin"
    fold: SingleFold = None
    gap: SingleGap = None
    needs_approval: NeedsApproval = False
    force: Force = False


class WindowSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Publish at one time and unpublish at another, as one thing."""

    entity_type: EntityType
    entity_id: EntityId
    created_by: CreatedBy = None
    starts: Annotated[
        str,
        Meta(description="When it is published: a local time or an instant.", examples=["2027-03-15 09:00"]),
    ]
    ends: Annotated[
        str,
        Meta(
            description="When it is unpublished: a local time or an instant.", examples=["2027-03-15 17:00"]
        ),
    ]
    timezone: Timezone = None
    recurrence_rule: RecurrenceRule = None
    version: Version = None
    note: Note = None
    max_retries: MaxRetries = 3
    adapter: Adapter = "builtin"
    fold: SingleFold = None
    gap: SingleGap = None
    needs_approval: NeedsApproval = False
    force: Force = False


class ScheduleMove(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When it is to be done instead."""

    local_time: LocalTime = None
    timezone: Timezone = None
    at: Instant = None
    recurrence_rule: Annotated[str | UnsetType | None, about("Another rule; null: only once.")] = UNSET
    fold: SingleFold = None
    gap: SingleGap = None
    force: Force = False


class ReleaseItemSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One action of a release."""

    entity_type: EntityType
    entity_id: EntityId
    action: Annotated[Action, about("publish, unpublish or archive.")]
    version: Version = None
    note: Note = None


ReleaseItems = Annotated[
    list[ReleaseItemSpec],
    Meta(min_length=1, max_length=MOST_ITEMS, description="The actions, in the order in which they go out."),
]


class ReleaseSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Actions that go out together."""

    items: ReleaseItems
    created_by: CreatedBy = None
    local_time: LocalTime = None
    timezone: Timezone = None
    at: Instant = None
    on_failure: Annotated[
        OnFailure,
        about(
            "If an item fails for good: undo (what went out is undone), stop, or continue (with the others)."
        ),
    ] = OnFailure.UNDO
    preflight_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=30 * 86_400)] | None,
        about(
            "How long before its time it is checked once more, and its author notified; null: no such check."
        ),
    ] = 3600
    note: Note = None
    max_retries: MaxRetries = 3
    catch_up_seconds: CatchUpSeconds = 86_400
    adapter: Adapter = "builtin"
    fold: SingleFold = None
    gap: SingleGap = None
    needs_approval: NeedsApproval = False
    force: Force = False


class ReleaseMove(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When it is to go out instead."""

    local_time: LocalTime = None
    timezone: Timezone = None
    at: Instant = None
    fold: SingleFold = None
    gap: SingleGap = None
    force: Force = False


class ReleaseAddition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Further actions of a release."""

    items: ReleaseItems
    force: Force = False


class NoticeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where a namespace tells what became of its content."""

    url: Annotated[str, Meta(max_length=2000, description="The address: each notice is a signed POST.")]
    secret: Annotated[
        Annotated[str, Meta(max_length=LONGEST_NAME)] | None,
        about("The name of the secret (`whsec_…`) that signs them. Default: that of the installation."),
    ] = None
    events: Annotated[
        list[NoticeEvent],
        about("The events of which notices are sent. Empty: all of done, failed, missed and will_fail."),
    ] = []


class EntitySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new version of an entity."""

    body: Annotated[dict[str, Any], about("The content itself.")]
    created_by: Annotated[
        Annotated[str, Meta(max_length=LONGEST_NAME)] | None, about("Who wrote it. Default: the caller.")
    ] = None


class FeedSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A calendar for people's own programs."""

    name: Annotated[str, Meta(min_length=1, max_length=200, description="The name of the calendar.")] = (
        "Content"
    )
    entity_type: Annotated[
        Annotated[str, Meta(min_length=1, max_length=64)] | None, about("Only of entities of this type.")
    ] = None
    author: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        about("Only actions that this person planned."),
    ] = None


class ContentTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What Sexton's content scheduling plans. Made by it alone."""

    adapter: Annotated[str, Meta(description="Where the entities live.", max_length=200)] = "builtin"
    kind: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        about("The kind of an adapter that was configured: what the worker must have."),
    ] = None
