"""Previews of templates: of a saved version, or of texts that are not saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from sexton.errors import InvalidField
from sexton.notifications.recipients.recipient import RecipientView, get_recipient
from sexton.notifications.settings import get_settings
from sexton.notifications.spec import PreviewRequest
from sexton.notifications.templates.aside import aside
from sexton.notifications.templates.rendering import NotRendered, Place, TextCompiler
from sexton.notifications.templates.sms import measure
from sexton.notifications.templates.template import (
    StoredTemplate,
    find_template,
    get_stored,
    next_version,
    no_texts,
    recipient_values,
    sample_of,
)
from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context, query
from sexton.refusal import about, check_text


class RenderedView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A template as a recipient gets it on a channel."""

    channel: Annotated[str, about("The channel.")]
    locale: Annotated[str, about("The language of the texts; `default`: that of all others.")]
    parts: Annotated[dict[str, str], about("The texts.")]
    sms_length: Annotated[int | None, about("Of an SMS: its length.")] = None
    sms_segments: Annotated[int | None, about("Of an SMS: how many segments it takes.")] = None
    sms_encoding: Annotated[str | None, about("Of an SMS: GSM-7 or UCS-2.")] = None


@query
async def preview(context: Context, template_id: str, spec: PreviewRequest) -> list[RenderedView]:
    """Render a template as a recipient would get it, with samples for missing values. With `texts`, render
    these as if they were saved. Stores nothing."""
    template = await _chosen(context, template_id, spec)
    settings = await get_settings(context)
    recipient = await get_recipient(context, spec.user_id) if spec.user_id else None
    place = Place(
        spec.timezone or (recipient.timezone if recipient else None) or settings.timezone or "UTC",
        spec.locale or (recipient.locale if recipient else None) or settings.locale,
    )
    values = sample_values(template, spec.template_vars, recipient)
    channels = [spec.channel] if spec.channel else sorted({c for t in template.parts.values() for c in t})
    key = context.namespace, template_id, template.version
    return await aside(_rendered, key, template, channels, values, place)


def _rendered(
    key: tuple[str, str, int],
    template: StoredTemplate,
    channels: Sequence[str],
    values: dict[str, Any],
    place: Place,
) -> list[RenderedView]:
    compiler = TextCompiler()
    found = []
    for channel in channels:
        texts = compiler.texts(key, template.parts, place.locale, channel)
        if texts is None:
            raise no_texts(template.template_id, channel)
        try:
            parts = texts.render(values, place)
        except NotRendered as error:
            raise InvalidField(
                "not_rendered", str(error), field="template_vars", hint="give the values that it needs"
            ) from None
        length = measure(parts["text"]) if channel == "sms" else (None, None, None)
        found.append(
            RenderedView(
                channel=channel,
                locale=texts.locale or "default",
                parts=parts,
                sms_length=length[0],
                sms_segments=length[1],
                sms_encoding=length[2],
            )
        )
    return found


def sample_values(
    template: StoredTemplate, given: Mapping[str, Any], recipient: RecipientView | None
) -> dict[str, Any]:
    samples = {
        name: sample_of(name, spec) for name, spec in template.variables.items() if spec.default is None
    }
    fields = recipient.fields if recipient else {}
    person = recipient_values(
        recipient.user_id if recipient else "sample",
        recipient.email if recipient else "sample@example.org",
        recipient.phone if recipient else None,
        fields,
    )
    return {
        **samples,
        **template.values({**fields, **given}),
        "recipient": person,
        "message": {"notification_id": "n_0", "topic": template.defaults.get("topic")},
        "unsubscribe_url": "https://example.org/unsubscribe",
    }


async def _chosen(context: Context, template_id: str, spec: PreviewRequest) -> StoredTemplate:
    if spec.texts is None:
        return await get_stored(context, template_id, spec.version)
    check_text(template_id, "template_id", 200)
    old = await find_template(context, template_id)
    _, parts, variables, defaults = await aside(next_version, spec.texts, old)
    return StoredTemplate(
        {
            "template_id": template_id,
            "version": 0,
            "latest": 0,
            "parts": json_text(parts),
            "variables": json_text(variables),
            "defaults": json_text(defaults),
        }
    )
