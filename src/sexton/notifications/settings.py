"""The settings of a namespace for all its messages: zone, language, quiet hours and caps of recipients
without their own."""

from __future__ import annotations

import asyncpg
import msgspec

from sexton.jobs.moment import find_zone
from sexton.notifications.model import Urgency
from sexton.notifications.recipients.quiet import read_ranges
from sexton.notifications.recipients.recipient import check_cap
from sexton.notifications.spec import FrequencyCap, NotificationSettings, QuietRange
from sexton.notifications.templates.rendering import known_locale
from sexton.postgres.jsonb import json_or_null
from sexton.postgres.transaction import Context, command, query


@query
async def get_settings(context: Context) -> NotificationSettings:
    row = await context.fetchrow("notifications/get_settings")
    return NotificationSettings() if row is None else _view(row)


@command
async def set_settings(context: Context, spec: NotificationSettings) -> NotificationSettings:
    if spec.timezone is not None:
        find_zone(spec.timezone)
    read_ranges(spec.quiet_hours)
    for place, cap in enumerate(spec.caps or ()):
        check_cap(cap.per, f"caps[{place}].per")
    before = await get_settings(context)
    await context.execute(
        "notifications/set_settings",
        timezone=spec.timezone,
        locale=spec.locale and known_locale(spec.locale),
        quiet_hours=json_or_null(spec.quiet_hours),
        quiet_passes=[each.value for each in spec.quiet_passes],
        caps=json_or_null(spec.caps),
    )
    after = await get_settings(context)
    context.changed(
        "notifications.settings_set",
        context.namespace,
        before=msgspec.to_builtins(before),
        after=msgspec.to_builtins(after),
    )
    return after


def _view(row: asyncpg.Record) -> NotificationSettings:
    quiet, caps = row["quiet_hours"], row["caps"]
    return NotificationSettings(
        timezone=row["timezone"],
        locale=row["locale"],
        quiet_hours=quiet and msgspec.json.decode(quiet, type=QuietRange | list[QuietRange]),
        quiet_passes=[Urgency(each) for each in row["quiet_passes"]],
        caps=caps and msgspec.json.decode(caps, type=list[FrequencyCap]),
    )
