"""The notifications of `sexton demo`: recipients, templates, a campaign that takes an hour, and some messages
with something to explain. Nothing leaves the machine: the providers are of the kind `null`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sexton.notifications.campaigns.audience import put_segment
from sexton.notifications.campaigns.campaign import create_campaign
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec, SegmentSpec, WhenPast
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.message import create_message
from sexton.notifications.recipients.recipient import import_recipients
from sexton.notifications.spec import (
    EmailParts,
    InAppParts,
    NotificationSpec,
    OptOut,
    QuietRange,
    RecipientLine,
    SmsParts,
    TemplateSpec,
    VariableSpec,
)
from sexton.notifications.templates.template import put_template
from sexton.postgres.transaction import Context

READERS = 12_000
# Messages in a second: all of them take about an hour.
RATE = 3.2
LINES = 4000
PLACES = (
    ("Europe/Berlin", "de", "DE"), ("Europe/London", "en", "GB"), ("America/New_York", "en", "US"),
    ("Asia/Tokyo", "ja", "JP"), ("America/Sao_Paulo", "pt-BR", "BR"), ("Europe/Paris", "fr", "FR"),
)  # fmt: skip
NAMES = (
    "Ada",
    "Ben",
    "Chloe",
    "Dan",
    "Eva",
    "Finn",
    "Grace",
    "Hugo",
    "Ida",
    "Jon",
    "Kim",
    "Lena",
    "Max",
    "Nora",
)


async def fill_notifications(context: Context, now: datetime, readers: int) -> None:
    """Make all of it, after the jobs."""
    for channel, rate in (("email", 200.0), ("sms", 20.0)):
        spec = ProviderSpec(channel=channel, kind="null", rate=rate)
        await put_provider(context, f"demo-{channel}", spec)
    await _write_templates(context)
    for first in range(0, readers, LINES):
        lines = [_reader(number) for number in range(first, min(first + LINES, readers))]
        await import_recipients(context, lines)
    german = SegmentSpec(filter={"field": "country", "is": "DE"}, description="Who lives in Germany.")
    await put_segment(context, "readers-in-germany", german)
    await _plan_campaigns(context, now)
    await _send_messages(context, now)


async def _write_templates(context: Context) -> None:
    name = {"name": VariableSpec(type="string", default="dear reader", sample="Ada")}
    await put_template(
        context,
        "autumn-sale",
        TemplateSpec(
            email=EmailParts(
                subject="{{ name }}, the autumn sale is open",
                text="Hello {{ name }},\n\nuntil Sunday everything for the garden costs a fifth less.\n",
                html="<h1>The autumn sale is open</h1><p>Hello {{ name }},</p>"
                "<p>until <strong>Sunday</strong> everything for the garden costs a fifth less.</p>",
            ),
            in_app=InAppParts(title="The autumn sale is open", body="A fifth off, until Sunday."),
            variables=dict(name),
            topic="offers",
        ),
    )
    german = EmailParts(
        subject="{{ name }}, der Herbstverkauf hat begonnen",
        text="Hallo {{ name }},\n\nbis Sonntag kostet alles für den Garten ein Fünftel weniger.\n",
    )
    await put_template(context, "autumn-sale", TemplateSpec(email=german, locale="de"))
    parcel: dict[str, Any] = {
        **name,
        "when": VariableSpec(type="datetime", sample="2027-03-14T09:00:00Z"),
    }
    await put_template(
        context,
        "parcel-arrives",
        TemplateSpec(
            email=EmailParts(
                subject="Your parcel arrives {{ when|date }}",
                text="Hello {{ name }},\n\nyour parcel arrives {{ when|datetime('short') }}.\n",
            ),
            sms=SmsParts(text="Your parcel arrives {{ when|datetime('short') }}."),
            in_app=InAppParts(
                title="Your parcel is on its way", body="It arrives {{ when|datetime('short') }}."
            ),
            variables=parcel,
            topic="orders",
        ),
    )


def _reader(number: int) -> RecipientLine:
    timezone, locale, country = PLACES[number % len(PLACES)]
    name = NAMES[number % len(NAMES)]
    # A few have no address, or have opted out.
    return RecipientLine(
        user_id=f"reader-{number + 1:05}",
        email=None if number % 400 == 7 else f"{name.lower()}.{number + 1}@example.com",
        phone=f"+4915550{number:05}" if number % 3 == 0 else None,
        timezone=timezone,
        locale=locale,
        opt_outs=[OptOut(topic="offers")] if number % 250 == 3 else None,
        quiet_hours=QuietRange(start="00:00", end="23:59") if number == 2 else None,
        fields={"name": name, "country": country},
    )


async def _plan_campaigns(context: Context, now: datetime) -> None:
    """One that is running, one that ends soon, one that waits at its canary, one that follows the zones, one
    that is planned, and a draft."""
    base: dict[str, Any] = {"template_id": "autumn-sale", "channel": ["email", "in_app"]}
    everyone = AudienceSpec(everyone=True)
    few = AudienceSpec(user_ids=[f"reader-{number:05}" for number in range(11, 251)])
    more = AudienceSpec(user_ids=[f"reader-{number:05}" for number in range(251, 851)])
    tomorrow = (now + timedelta(days=1)).date()
    await create_campaign(
        context,
        CampaignSpec(name="autumn-sale", audience=everyone, send_at=now, rate=RATE, prepare_seconds=0,
                     description="To all readers, slowly.", **base),
    )  # fmt: skip
    await create_campaign(
        context,
        CampaignSpec(name="autumn-sale-preview", audience=few, send_at=now, prepare_seconds=0,
                     description="To a few, before the others.", **base),
    )  # fmt: skip
    await create_campaign(
        context,
        CampaignSpec(name="app-launch", audience=more, send_at=now, prepare_seconds=0, canary=0.05,
                     description="A twentieth first; the others when a person has looked.", **base),
    )  # fmt: skip
    await create_campaign(
        context,
        CampaignSpec(name="evening-reading", audience=more, local_time=f"{now.date()} 20:00",
                     when_past=WhenPast.NEXT_DAY, prepare_seconds=86_400,
                     description="At eight in the evening, where each reader is.", **base),
    )  # fmt: skip
    await create_campaign(
        context,
        CampaignSpec(name="autumn-sale-last-call", audience=AudienceSpec(segment="readers-in-germany"),
                     local_time=f"{tomorrow} 08:00", description="On the last morning.", **base),
    )  # fmt: skip
    await create_campaign(
        context,
        CampaignSpec(name="winter-sale", audience=everyone, draft=True, canary=0.01,
                     description="Not approved yet.", **base),
    )  # fmt: skip


async def _send_messages(context: Context, now: datetime) -> None:
    """To single readers: sent, held by quiet hours, opted out, without an address, and planned."""
    values = {"when": (now + timedelta(days=1)).isoformat()}
    sent: tuple[tuple[str, Any], ...] = (
        ("00001", "email"), ("00003", "email"), ("00008", "email"), ("00002", "in_app"), ("00001", "in_app"),
        ("00004", ["sms", "email"]),
    )  # fmt: skip
    for reader, channel in sent:
        await create_message(
            context,
            NotificationSpec(
                template_id="parcel-arrives",
                channel=channel,
                user_id=f"reader-{reader}",
                template_vars=values,
            ),
        )
    await create_message(
        context,
        NotificationSpec(template_id="autumn-sale", channel="email", user_id="reader-00004"),
    )
    await create_message(
        context,
        NotificationSpec(
            template_id="parcel-arrives", channel="email", user_id="reader-00005", template_vars=values,
            send_at=now + timedelta(hours=20),
        ),
    )  # fmt: skip
