"""The specifications that callers write: recipients, templates, messages and settings, with all defaults."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sexton.jobs.spec import MONTH, TEN_YEARS, SingleFold, SingleGap
from sexton.notifications.model import Urgency
from sexton.refusal import about

# The orders of lists.
RecipientSort = Literal["user_id", "-user_id"]
TemplateSort = Literal["template_id", "-template_id"]

LONGEST_ID = 200
LONGEST_WORD = 64
LONGEST_ADDRESS = 320
MOST_CHANNELS = 10
MOST_DEVICES = 50

UserId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID, description="Who: an id of your own.")]
TemplateId = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID, description="The template's id.")]
Word = Annotated[str, Meta(min_length=1, max_length=LONGEST_WORD)]
Channel = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=LONGEST_WORD,
        description="How it is delivered.",
        examples=["email", "sms", "push", "in_app"],
    ),
]
Topic = Annotated[Word | None, about("What it is about, such as news: recipients opt out of topics.")]
Timezone = Annotated[
    Annotated[str, Meta(max_length=100)] | None, about("An IANA zone, such as Europe/Berlin.")
]
LocaleName = Annotated[Annotated[str, Meta(max_length=35)] | None, about("A language, such as de or pt-BR.")]
Seconds = Annotated[int, Meta(ge=0, le=MONTH)]
MaxRetries = Annotated[int, Meta(ge=0, le=100, description="Tries after the first one.")]
Days = Annotated[
    Annotated[list[str], Meta(max_length=7)] | None,
    Meta(
        description="On which days they begin. Default: every day.",
        examples=[["mon", "tue", "wed", "thu", "fri"]],
    ),
]


# Recipients.


class QuietRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Hours of the recipient's day in which nothing is sent. An end before the start is on the next day."""

    start: Annotated[str, Meta(description="From, on the recipient's wall clock.", examples=["22:00"])]
    end: Annotated[
        str, Meta(description="Until, on the recipient's wall clock; 24:00 is the end.", examples=["08:00"])
    ]
    days: Days = None


class OptOut(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What the recipient does not want: all on a channel, all about a topic, or a topic on a channel."""

    channel: Annotated[Word | None, about("All on this channel, or only the topic on it.")] = None
    topic: Annotated[Word | None, about("All about this topic, or only on the channel.")] = None


class FrequencyCap(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """How many messages the recipient gets in a day or week of their zone, on a channel or about a topic."""

    n: Annotated[int, Meta(ge=1, le=100_000, description="At most so many.")]
    per: Annotated[
        str, Meta(description="day or week (from Monday).", extra_json_schema={"enum": ["day", "week"]})
    ]
    channel: Annotated[Word | None, about("On this channel; neither channel nor topic: of all.")] = None
    topic: Annotated[Word | None, about("About this topic.")] = None


QuietHours = Annotated[
    QuietRange | list[QuietRange] | None,
    about(
        "When nothing is sent, on the recipient's wall clock: one range, or several with days of the week."
    ),
]
OptOuts = Annotated[Annotated[list[OptOut], Meta(max_length=200)] | None, about("What is not wanted.")]
Caps = Annotated[Annotated[list[FrequencyCap], Meta(max_length=50)] | None, about("How many at most.")]


class RecipientSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """A person who gets messages."""

    email: Annotated[Annotated[str, Meta(max_length=LONGEST_ADDRESS)] | None, about("Where e-mail goes.")] = (
        None
    )
    phone: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="Where SMS go, with the country.", examples=["+4915112345678"]),
    ] = None
    devices: Annotated[
        Annotated[list[dict[str, Any]], Meta(max_length=MOST_DEVICES)] | None,
        about("Where push messages go: one object per device."),
    ] = None
    addresses: Annotated[
        Annotated[dict[str, Any], Meta(max_length=50)] | None,
        about("Addresses on other channels, by channel."),
    ] = None
    timezone: Timezone = None
    locale: LocaleName = None
    quiet_hours: QuietHours = None
    opt_outs: OptOuts = None
    caps: Caps = None
    fields: Annotated[
        Annotated[dict[str, Any], Meta(max_length=200)] | None,
        about("Fields of your own, for templates and audiences."),
    ] = None


class RecipientLine(RecipientSpec, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A recipient in an import: what is left out stays as it is."""

    user_id: UserId


class NotificationSettings(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """What holds for all messages of a namespace."""

    timezone: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        about("The zone of recipients without one. Default: UTC."),
    ] = None
    locale: Annotated[
        Annotated[str, Meta(max_length=35)] | None, about("The language of recipients without one.")
    ] = None
    quiet_hours: QuietHours = None
    quiet_passes: Annotated[
        list[Urgency], about("The urgencies that quiet hours do not hold. Default: asap.")
    ] = msgspec.field(default_factory=lambda: [Urgency.ASAP])
    caps: Caps = None


# Templates.


class VariableSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A variable of a template."""

    type: Annotated[
        str,
        Meta(
            description="string, number, integer, boolean, date, datetime, list, object or any.",
            extra_json_schema={
                "enum": [
                    "string", "number", "integer", "boolean", "date", "datetime", "list", "object", "any",
                ]
            },
        ),
    ] = "any"  # fmt: skip
    required: Annotated[bool, about("Whether a message without it is refused.")] = True
    default: Annotated[Any, about("Its value where none is given.")] = None
    sample: Annotated[Any, about("Its value in previews.")] = None


class EmailParts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An e-mail; text or html or both."""

    subject: Annotated[str, about("The subject: one line.")]
    text: Annotated[str | None, about("As plain text.")] = None
    html: Annotated[str | None, about("As HTML; variables are escaped.")] = None
    mjml: Annotated[str | None, about("As MJML, from which the HTML is made.")] = None


class SmsParts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """An SMS."""

    text: Annotated[str, about("The text.")]


class PushParts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A push message."""

    title: Annotated[str, about("The heading.")]
    body: Annotated[str | None, about("The text.")] = None
    link: Annotated[str | None, about("What a click opens.")] = None


class InAppParts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A message in the inbox of an application."""

    title: Annotated[str | None, about("The heading.")] = None
    body: Annotated[str | None, about("The text.")] = None
    text: Annotated[str | None, about("The text, if there is no body.")] = None
    link: Annotated[str | None, about("What a click opens.")] = None


class TemplateSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The texts of a template in one language. Each time a new version; other languages stay as they are."""

    email: Annotated[EmailParts | None, about("As an e-mail.")] = None
    sms: Annotated[SmsParts | None, about("As an SMS.")] = None
    push: Annotated[PushParts | None, about("As a push message.")] = None
    in_app: Annotated[InAppParts | None, about("As a message in an application.")] = None
    others: Annotated[
        Annotated[dict[str, dict[str, str]], Meta(max_length=50)] | None,
        about("On other channels: title, text, … by channel."),
    ] = None
    locale: LocaleName = None
    variables: Annotated[
        dict[str, str | VariableSpec] | UnsetType | None,
        Meta(
            description="The variables, by name, each with a type or an object. Default: those that the "
            "texts use.",
            examples=[{"name": "string", "when": {"type": "datetime", "sample": "2027-03-14T09:00:00Z"}}],
        ),
    ] = UNSET
    urgency: Annotated[Urgency | UnsetType | None, about("The urgency of messages without their own.")] = (
        UNSET
    )
    expires_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=TEN_YEARS)] | UnsetType | None,
        about("How late messages without their own limit may be."),
    ] = UNSET
    topic: Annotated[Word | UnsetType | None, about("The topic of messages without their own.")] = UNSET


class PreviewSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What a template is shown with."""

    channel: Annotated[Word | None, about("Only on this channel. Default: on all it has texts for.")] = None
    version: Annotated[int | None, about("Which version. Default: the latest.")] = None
    locale: LocaleName = None
    timezone: Timezone = None
    user_id: Annotated[
        Annotated[str, Meta(max_length=LONGEST_ID)] | None, about("As this recipient would see it.")
    ] = None
    template_vars: Annotated[
        dict[str, Any], about("Values; where one is missing, the sample of the variable.")
    ] = {}


class PreviewRequest(PreviewSpec, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What to show a template with, and instead of which texts."""

    texts: Annotated[
        TemplateSpec | None,
        about("Texts that are not saved: shown as the next version would be. Needs the role editor."),
    ] = None


class TrialSpec(PreviewSpec, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A test message: sent at once, whatever holds other messages."""

    address: Annotated[Any, about("Where to. Default: that of the recipient.")] = None


# Messages.


class ChannelStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One of several channels, in the order in which they are tried."""

    channel: Channel
    after_seconds: Annotated[
        Seconds,
        about("The next channel is tried so long after this one, if it has not worked by then."),
    ] = 0
    unless: Annotated[
        str,
        Meta(
            description="What counts as having worked: sent (a provider has accepted it), delivered or read.",
            extra_json_schema={"enum": ["sent", "delivered", "read"]},
        ),
    ] = "sent"


class NotificationSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """One message to one recipient."""

    template_id: TemplateId
    channel: Annotated[
        str | list[str | ChannelStep],
        Meta(
            description="How it is delivered: email, sms, push, in_app; or several, in fall-back order.",
            examples=["email", ["push", "sms"]],
        ),
    ]
    user_id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)] | None, about("To this recipient.")
    ] = None
    address: Annotated[Any, about("To this address, instead of the recipient's own.")] = None
    template_vars: Annotated[dict[str, Any], about("The values of the template's variables.")] = {}
    template_version: Annotated[
        Annotated[int, Meta(ge=1, le=2**31 - 1)] | str | None,
        about("Which version; latest: that at the time of sending. Default: the latest now."),
    ] = None
    send_at: Annotated[datetime | None, about("When, as an instant. Default, without local_time: now.")] = (
        None
    )
    local_time: Annotated[
        str | None,
        Meta(description="When, on the recipient's wall clock.", examples=["2027-03-14 09:00"]),
    ] = None
    timezone: Annotated[
        Annotated[str, Meta(max_length=100)] | None,
        about("The zone of local_time. Default: the recipient's, else the namespace's, else UTC."),
    ] = None
    fold: SingleFold = None
    gap: SingleGap = None
    urgency: Annotated[
        Urgency | None,
        about("asap (tried again at once), time_sensitive (expires 30 minutes late), digest (24 hours)."),
    ] = None
    expires_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=TEN_YEARS)] | None, about("How late it may be.")
    ] = None
    max_retries: MaxRetries = 3
    retry_seconds: Annotated[
        Seconds | None, about("The time between two tries. Default: 300; with the urgency asap, none.")
    ] = None
    topic: Topic = None


class NotificationMove(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """When it is to be sent instead."""

    send_at: Annotated[datetime | None, about("When, as an instant.")] = None
    local_time: Annotated[
        str | None,
        Meta(description="When, on the recipient's wall clock.", examples=["2027-03-15 09:00"]),
    ] = None
    timezone: Timezone = None
    fold: SingleFold = None
    gap: SingleGap = None


class NotificationTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Messages that Sexton's notifications have planned. Made by them alone."""
