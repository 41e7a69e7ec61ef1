"""The specifications that callers write: recurring notifications, digests, sequences, with all defaults."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sexton.jobs.spec import TEN_YEARS
from sexton.notifications.spec import MaxRetries
from sexton.refusal import about

LONGEST_NAME = 200
MOST_STEPS = 50
MOST_EVENTS = 1000

Template = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="What is sent.")]
Channels = Annotated[
    str | list[str], about("email, sms, push, in_app or another; several in fall-back order.")
]
Vars = Annotated[dict[str, Any], about("The values of the template's variables.")]
User = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="To this recipient.")]
Rule = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=2000,
        description="An RRULE, or five fields of cron, on the recipient's wall clock.",
        examples=["FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0", "0 9 * * mon"],
    ),
]
Zone = Annotated[
    Annotated[str, Meta(max_length=100)] | None,
    about("The zone of the wall clock. Default: the recipient's, and it follows when that changes."),
]
Expires = Annotated[Annotated[int, Meta(ge=1, le=TEN_YEARS)] | None, about("How late a message may be.")]
UrgencyName = Annotated[str | None, about("asap, time_sensitive or digest. Default: the template's.")]
TopicName = Annotated[
    Annotated[str, Meta(max_length=64)] | None, about("What it is about, for opt-outs and caps.")
]


class RecurringSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A notification that recurs: each time is a message of its own."""

    recurrence_rule: Rule
    template_id: Template
    channel: Channels
    user_id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | None, about("The recipient.")
    ] = None
    address: Annotated[Any, about("The address, instead of the recipient's own.")] = None
    template_vars: Vars = {}
    timezone: Zone = None
    local_time: Annotated[
        str | None,
        Meta(
            description="Where the rule begins, on the wall clock: a date and a time, or a time of day.",
            examples=["2027-03-15 09:00", "09:00"],
        ),
    ] = None
    recurrence_end: Annotated[datetime | None, about("Nothing is sent after this instant.")] = None
    is_active: Annotated[bool, about("Whether it is sent; false: it is paused.")] = True
    topic: TopicName = None
    urgency: UrgencyName = None
    expires_seconds: Expires = None
    max_retries: MaxRetries = 3
    name: Annotated[Annotated[str, Meta(max_length=LONGEST_NAME)] | None, about("A name for people.")] = None


class RecurringChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is to be different; what is left out stays."""

    recurrence_rule: Annotated[
        Annotated[str, Meta(min_length=1, max_length=2000)] | UnsetType, about("An RRULE, or cron fields.")
    ] = UNSET
    recurrence_end: Annotated[datetime | UnsetType | None, about("Nothing after this instant.")] = UNSET
    timezone: Annotated[
        Annotated[str, Meta(max_length=100)] | UnsetType | None, about("The zone; null: the recipient's.")
    ] = UNSET
    local_time: Annotated[str | UnsetType | None, about("Where the rule begins, on the wall clock.")] = UNSET
    is_active: Annotated[bool | UnsetType, about("Whether it is sent.")] = UNSET
    template_id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | UnsetType,
        about("The template that is sent."),
    ] = UNSET
    template_vars: Annotated[dict[str, Any] | UnsetType, about("Values of variables.")] = UNSET
    channel: Annotated[str | list[str] | UnsetType, about("The channel.")] = UNSET


class DigestSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Events of a recipient, gathered and sent as one message: `events` and `count` are variables of its
    template."""

    template_id: Template
    channel: Channels
    schedule: Rule
    max_events: Annotated[
        int, Meta(ge=1, le=MOST_EVENTS, description="With so many events it is sent at once.")
    ] = 100
    topic: TopicName = None
    urgency: UrgencyName = None
    expires_seconds: Expires = None
    is_active: Annotated[bool, about("Whether it takes events.")] = True


class DigestEventSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that happened, for the next digest of a recipient."""

    user_id: User
    data: Annotated[dict[str, Any], about("What the template shows of it.")]
    key: Annotated[
        str,
        Meta(max_length=LONGEST_NAME, description="Events of one key are one digest, such as a project's."),
    ] = ""
    event_id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)] | None,
        about("Your own id of it: the same one is taken once. Default: a new one."),
    ] = None


class SequenceStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A message of a sequence: on a day after it was entered, at a local time, or so long after."""

    template_id: Template
    channel: Channels
    day: Annotated[
        Annotated[int, Meta(ge=0, le=3650)] | None, about("Days after it was entered; 0 is that day.")
    ] = None
    at: Annotated[
        str | None,
        Meta(description="The time of that day, on the recipient's wall clock.", examples=["09:00"]),
    ] = None
    after_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=TEN_YEARS)] | None,
        about("So long after it was entered, instead of day."),
    ] = None
    template_vars: Vars = {}
    urgency: UrgencyName = None
    expires_seconds: Expires = None


class SequenceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Steps with waits between them."""

    steps: Annotated[
        list[SequenceStep],
        Meta(min_length=1, max_length=MOST_STEPS, description="In the order of their times."),
    ]
    stop_on: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]],
        Meta(max_length=50, description="Events that end it for a recipient."),
    ] = []
    topic: TopicName = None


class MemberSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who enters a sequence."""

    user_id: User
    template_vars: Annotated[dict[str, Any], about("Variables of all steps, beside their own.")] = {}


class RecipientEventSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Something that a recipient did: sequences that stop on it end for that recipient."""

    user_id: User
    event: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="The event: purchased, …")]
