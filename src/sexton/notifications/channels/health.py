"""The health of the channels of a namespace: the counts and the circuits of their providers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from sexton.config import Settings
from sexton.notifications.channels.configured import list_providers
from sexton.notifications.channels.opened import unconfigured
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

#: Channels that are always shown.
USUAL = ("email", "sms", "push", "in_app")
MOST_ROWS = 1000


class ProviderHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One provider of a channel. The counts are of all time, to the second."""

    name: Annotated[str, about("Its name.")]
    kind: Annotated[str, about("Its kind.")]
    configured: Annotated[
        bool, about("Whether the namespace has configured it; else it is a provider of the installation.")
    ]
    enabled: Annotated[bool, about("Whether it is used.")]
    state: Annotated[
        Literal["good", "failing", "open", "unused", "off"],
        about("open: the provider is paused; failing: its last message failed."),
    ]
    open_until: Annotated[datetime | None, about("When the pause ends.")] = None
    reason: Annotated[str | None, about("Why it is paused, or what failed last.")] = None
    accepted: Annotated[int, about("Messages that it has accepted.")] = 0
    rejected: Annotated[int, about("Messages that it has refused for good.")] = 0
    failed: Annotated[int, about("Tries that failed.")] = 0
    unclear: Annotated[int, about("Messages that it may have sent.")] = 0
    deferred: Annotated[int, about("Messages that were postponed.")] = 0
    accepted_at: Annotated[datetime | None, about("When it last accepted a message.")] = None
    failed_at: Annotated[datetime | None, about("When a message last failed.")] = None


class ChannelHealth(msgspec.Struct, frozen=True, kw_only=True):
    """A channel, with its providers in the order in which they are asked."""

    channel: Annotated[str, about("The channel.")]
    state: Annotated[
        Literal["good", "failing", "down", "none"],
        about("down: all of its providers are paused; none: it has no provider, and messages fail."),
    ]
    note: Annotated[str | None, about("What is unusual about it.")] = None
    providers: Annotated[list[ProviderHealth], about("Its providers.")]


@query
async def list_channels(context: Context, settings: Settings) -> list[ChannelHealth]:
    """The usual channels, and the configured ones."""
    configured = await list_providers(context)
    rows = await context.fetch("providers/list_health", limit=MOST_ROWS)
    known = {(row["channel"], row["name"]): row for row in rows}

    def health(name: str, channel: str, kind: str, *, enabled: bool, own: bool) -> ProviderHealth:
        row = known.get((channel, name))
        plain: dict[str, Any] = {"name": name, "kind": kind, "enabled": enabled, "configured": own}
        if row is None:
            return ProviderHealth(**plain, state="unused" if enabled else "off")
        failing = row["failed_at"] is not None and (
            row["accepted_at"] is None or row["failed_at"] > row["accepted_at"]
        )
        is_open = bool(row["is_open"])
        state: Literal["good", "failing", "open", "off"] = (
            "off" if not enabled else "open" if is_open else "failing" if failing else "good"
        )
        return from_row(
            ProviderHealth,
            row,
            **plain,
            state=state,
            open_until=row["open_until"] if is_open else None,
            reason=row["open_reason"] if is_open else row["failure"] if failing else None,
        )

    found = []
    for channel in dict.fromkeys((*USUAL, *(each.channel for each in configured))):
        own = [each for each in configured if each.channel == channel]
        providers = [health(each.name, channel, each.kind, enabled=each.enabled, own=True) for each in own]
        note = None
        if not any(each.enabled for each in own):
            for name, kind, _, why in unconfigured(settings, channel):
                providers.append(health(name, channel, kind, enabled=True, own=False))
                note = why
        asked = [each for each in providers if each.enabled]
        state: Literal["good", "failing", "down", "none"] = (
            "none"
            if not asked
            else "down"
            if all(each.state == "open" for each in asked)
            else "failing"
            if any(each.state in ("open", "failing") for each in asked)
            else "good"
        )
        found.append(ChannelHealth(channel=channel, state=state, note=note, providers=providers))
    return found
