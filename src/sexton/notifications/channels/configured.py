"""The configured providers of a namespace: each has a name, a channel, a kind and the configuration of the
kind.

A configuration has no passwords: it names secrets, as `${secret:name}`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.errors import Conflict, InvalidField
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.channels.table import provider_kinds
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_config_name, config_text, converted, not_found
from sexton.security.placeholder import PLACEHOLDER, secret_names

MOST_PROVIDERS = 200
#: The fields that the audit keeps.
AUDITED = ("channel", "kind", "config", "priority", "rate", "concurrency", "on_doubt", "enabled")


class ProviderView(msgspec.Struct, frozen=True, kw_only=True):
    """A provider that was configured."""

    name: Annotated[str, about("Its name.")]
    channel: Annotated[str, about("The channel that it sends for.")]
    kind: Annotated[str, about("The kind.")]
    config: Annotated[dict[str, Any], about("Its configuration; secrets by their names.")]
    priority: Annotated[int, about("The provider with the smallest number is used first.")]
    rate: Annotated[float | None, about("Messages in a second; null: no limit.")]
    concurrency: Annotated[int | None, about("Requests or connections at a time; null: as the kind has it.")]
    on_doubt: Annotated[str | None, about("What is done with a message that may have been sent.")]
    enabled: Annotated[bool, about("Whether it is used.")]
    revision: Annotated[int, about("Grows with every change.")]
    changed_by: Annotated[str, about("Who changed it last.")]
    changed_at: Annotated[datetime, about("When it was changed last.")]


def read_config(kind: str, config: Any) -> Any:
    """Convert a configuration to the type of its kind, or raise `InvalidField`."""
    known = provider_kinds()
    if kind not in known:
        raise InvalidField(
            "bad_value",
            f"there is no kind of provider {kind}",
            field="kind",
            hint=f"use {', '.join(sorted(known))}, or install the package that brings it",
        )
    return converted(config, known[kind].config, under="config")


def secret_only(text: str, field: str) -> str:
    """Refuse a password that is not the name of a secret, without repeating it."""
    if not PLACEHOLDER.fullmatch(text):
        raise InvalidField(
            "secret_in_clear",
            f"config.{field} is not the name of a secret",
            field=f"config.{field}",
            hint="store the value with sexton secret set NAME, and write ${secret:NAME}",
        )
    secret_names(text, f"config.{field}")
    return text


@command
async def put_provider(context: Context, name: str, spec: ProviderSpec) -> ProviderView:
    """Configure a provider, or change its configuration. The next message uses it."""
    check_name(name, "name")
    check_name(spec.channel, "channel")
    text = config_text(spec.config)
    read_config(spec.kind, spec.config)
    _check_channel(spec)
    before = await _find(context, name)
    if before is None:
        await _check_room(context)
    elif before.channel != spec.channel:
        raise Conflict(
            "other_channel",
            f"{name} sends for {before.channel}",
            hint="choose another name",
        )
    await context.execute(
        "providers/set",
        name=name,
        channel=spec.channel,
        kind=spec.kind,
        config=text,
        priority=spec.priority,
        rate=spec.rate,
        concurrency=spec.concurrency,
        on_doubt=spec.on_doubt,
        enabled=spec.enabled,
    )
    saved = await get_provider(context, name)
    context.changed(
        "provider.set",
        name,
        name,
        before=None if before is None else _audited(before),
        after=_audited(saved),
    )
    return saved


@query
async def get_provider(context: Context, name: str) -> ProviderView:
    found = await _find(context, name)
    if found is None:
        raise not_found("provider", name)
    return found


@query
async def list_providers(context: Context) -> list[ProviderView]:
    """All providers of the namespace, by channel and priority."""
    rows = await context.fetch("providers/list", limit=MOST_PROVIDERS)
    return list(map(_view, rows))


@command
async def delete_provider(context: Context, name: str) -> None:
    """Delete a provider. Messages go to the next provider of its channel. Its later reports are refused."""
    before = await get_provider(context, name)
    await context.execute("providers/delete", name=name)
    await context.execute("providers/delete_health", name=name)
    context.changed("provider.deleted", name, name, before=_audited(before))


def check_name(name: str, field: str) -> None:
    check_config_name(name, field, "a channel" if field == "channel" else "a provider", "mail")


def _check_channel(spec: ProviderSpec) -> None:
    served = provider_kinds()[spec.kind].channels
    if served and spec.channel not in served:
        raise InvalidField(
            "bad_value",
            f"{spec.kind} does not send for the channel {spec.channel}",
            field="channel",
            hint=f"use {' or '.join(sorted(served))}",
        )


async def _check_room(context: Context) -> None:
    if len(await list_providers(context)) >= MOST_PROVIDERS:
        raise Conflict(
            "too_many", f"the namespace has {MOST_PROVIDERS} providers", hint="delete those that are not used"
        )


async def _find(context: Context, name: str) -> ProviderView | None:
    row = await context.fetchrow("providers/get", name=name)
    return None if row is None else _view(row)


def _view(row: asyncpg.Record) -> ProviderView:
    return ProviderView(**{**dict(row), "config": msgspec.json.decode(row["config"])})


def _audited(view: ProviderView) -> dict[str, Any]:
    return {name: getattr(view, name) for name in AUDITED}
