"""Suppressed addresses, which get no messages: hard bounces, complaints, and unsubscribed addresses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec

from sexton.postgres.page import Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about, check_text, not_found

LONGEST_ADDRESS = 500


class SuppressionView(msgspec.Struct, frozen=True, kw_only=True):
    """An address that gets nothing."""

    channel: Annotated[str, about("The channel of the address.")]
    address: Annotated[str, about("The address.")]
    reason: Annotated[str, about("The reason.")]
    since: Annotated[datetime, about("Since when nothing is sent to it.")]


class SuppressionSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Why an address gets nothing."""

    reason: Annotated[str, about("Why, for those who look at it later.")] = "by hand"


def normal_address(channel: str, address: Any) -> str:
    """The normal form of an address: different spellings of one mailbox become equal."""
    text = str(address).strip()
    return text.lower() if channel == "email" else "".join(text.split()) if channel == "sms" else text


@query
async def list_suppressions(
    context: Context, *, channel: str | None = None, cursor: str | None = None, limit: int = 100
) -> Page[SuppressionView]:
    """Suppressions by channel and address."""
    after = ("", "") if cursor is None else decode_cursor(cursor, tuple[str, str])
    rows = await context.fetch(
        "suppressions/list", channel=channel, after_channel=after[0], after_address=after[1], limit=limit + 1
    )
    found = [SuppressionView(**dict(row)) for row in rows]
    return make_page([(encode_cursor(each.channel, each.address), each) for each in found], limit)


@command
async def put_suppression(
    context: Context, channel: str, address: str, spec: SuppressionSpec
) -> SuppressionView:
    """Suppress an address from now on. An existing suppression stays unchanged."""
    check_text(channel, "channel", 63)
    normal = normal_address(channel, check_text(address, "address", LONGEST_ADDRESS))
    await context.execute(
        "providers/suppress",
        channel=channel,
        addresses=[normal],
        reasons=[check_text(spec.reason, "reason", 500)],
    )
    [row] = await context.fetch("suppressions/get", channel=channel, address=normal)
    context.changed("suppression.set", f"{channel}/{normal}", after={"reason": row["reason"]})
    return SuppressionView(**dict(row))


@command
async def delete_suppression(context: Context, channel: str, address: str) -> None:
    """Allow messages to an address again."""
    normal = normal_address(channel, address)
    reason = await context.fetchval("suppressions/delete", channel=channel, address=normal)
    if reason is None:
        raise not_found("suppression", f"of {normal} on {channel}")
    context.changed("suppression.deleted", f"{channel}/{normal}", before={"reason": reason})
