"""Campaigns as they are shown: the specification, the findings of the check, and the progress."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.jobs.filter import pattern_of
from sexton.jobs.moment import local_text
from sexton.model import encode_id
from sexton.notifications.campaigns.spec import CampaignSort, CampaignStatus, WhenPast
from sexton.notifications.campaigns.timing import first_possible
from sexton.notifications.filter import campaign_number
from sexton.notifications.model import CAMPAIGN
from sexton.postgres.estimate import Total, total
from sexton.postgres.jsonb import json_value
from sexton.postgres.page import (
    Number,
    Page,
    decode_cursor,
    encode_cursor,
    make_page,
    number_in_cursor,
)
from sexton.postgres.row import from_row
from sexton.postgres.transaction import Context, query
from sexton.refusal import about


class CampaignCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many messages, by what became of them."""

    total: Annotated[int, about("Rows of its ledger.")] = 0
    sent: Annotated[int, about("A provider has accepted them, whatever became of them later.")] = 0
    failed: Annotated[int, about("Given up.")] = 0
    suppressed: Annotated[int, about("Not wanted, or no way to reach the recipient.")] = 0
    expired: Annotated[int, about("Too late.")] = 0
    unconfirmed: Annotated[int, about("May have been sent; they wait until an operator decides.")] = 0
    cancelled: Annotated[int, about("Cancelled.")] = 0
    left: Annotated[int, about("Still to be sent.")] = 0


class CampaignZone(msgspec.Struct, frozen=True, kw_only=True):
    """The recipients of a zone."""

    timezone: Annotated[str, about("The zone.")]
    send_at_utc: Annotated[datetime | None, about("When they are due; null: they are skipped.")]
    recipients: Annotated[int, about("How many recipients it has.")]
    note: Annotated[dict[str, Any] | None, about("What a clock change or `when_past` has done.")] = None


class CampaignCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What the check of the ledger has found. Nothing of it stops the campaign by itself."""

    recipients: Annotated[int, about("How many messages there are.")]
    whole: Annotated[bool, about("Whether the whole audience was read.")]
    zones: Annotated[list[CampaignZone], about("By zone, the earliest first.")]
    unreachable: Annotated[
        int, about("Recipients without an address on any of its channels, opted out, or suppressed.")
    ]
    incomplete: Annotated[int, about("Recipients for whom a variable of the template has no value.")]
    missing_variables: Annotated[
        list[str], about("Variables without a value for all: each recipient must bring their own.")
    ]
    unknown: Annotated[int, about("Members of a list that are no recipients.")]
    duplicates: Annotated[int, about("Members of a list that are named more than once.")]
    skipped: Annotated[int, about("Recipients in zones where the time was over, with `when_past` skip.")]


class CampaignView(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign."""

    campaign_id: Annotated[str, about("Its id, `k_…`.")]
    name: Annotated[str, about("The name of the campaign.")]
    status: Annotated[CampaignStatus, about("The status of the campaign.")]
    reason: Annotated[str | None, about("Why it waits, is paused, was cancelled or has failed.")]
    counts: Annotated[CampaignCounts, about("What became of its messages.")]
    per_second: Annotated[float | None, about("Its speed over the last seconds, while it sends.")]
    eta: Annotated[datetime | None, about("When it ends at this speed; not before its last zone.")]
    waits_for: Annotated[
        str | None, about("What its next messages wait for: quiet hours, its rate, a quota, …")
    ]
    next_at: Annotated[datetime | None, about("When Sexton checks its next messages.")]
    template_id: Annotated[str, about("The template that is sent.")]
    template_version: Annotated[int, about("The version of the template.")]
    channels: Annotated[list[str], about("The channels, in the order in which they are tried.")]
    template_vars: Annotated[dict[str, Any], about("Values for all recipients.")]
    audience: Annotated[dict[str, Any], about("Who gets the messages.")]
    send_at: Annotated[datetime | None, about("The time of sending, if it is one instant.")]
    local_time: Annotated[str | None, about("The time of sending in each recipient's zone.")]
    when_past: Annotated[WhenPast, about("What happens in zones where that was over at the start.")]
    timezone: Annotated[str, about("The zone of recipients without one.")]
    rate: Annotated[float | None, about("Messages per second at the most.")]
    window: Annotated[dict[str, Any] | None, about("The part of each recipient's day in which it sends.")]
    prepare_seconds: Annotated[int, about("How long before its time its ledger is written.")]
    canary: Annotated[float | None, about("The share that is sent first.")]
    late_seconds: Annotated[int, about("If it starts later than this, it waits for an operator.")]
    on_doubt: Annotated[str | None, about("What happens to messages that may have been sent.")]
    topic: Annotated[str | None, about("What it is about.")]
    urgency: Annotated[str | None, about("How a late message is treated.")]
    expires_seconds: Annotated[int | None, about("A message is not sent later than this after its time.")]
    description: Annotated[str | None, about("A description for people.")]
    check: Annotated[CampaignCheck | None, about("What the check of its ledger has found.")]
    prepared_at: Annotated[datetime | None, about("When its ledger was complete.")]
    started_at: Annotated[datetime | None, about("When its first message went out.")]
    ended_at: Annotated[datetime | None, about("When it was over.")]
    created_by: Annotated[str, about("Who made it.")]
    created_at: Annotated[datetime, about("When it was made.")]
    job_id: Annotated[str, about("Its job; its chunks are runs of it.")]


@query
async def get_campaign(context: Context, ref: str) -> CampaignView:
    return await view(context, campaign_number(ref))


@query
async def list_campaigns(
    context: Context,
    *,
    status: CampaignStatus | None = None,
    search: str | None = None,
    sort: CampaignSort = "-created_at",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[CampaignView]:
    """Campaigns, the latest first, or by name, or by their time, and the reverse of each; `search` is a part
    of their names."""
    filters = {
        "status": None if status is None else status.value,
        "pattern": f"%{pattern_of(search)}" if search else None,
        "limit": limit + 1,
    }
    if sort == "-created_at":
        before = None if cursor is None else number_in_cursor(cursor, CAMPAIGN)
        rows = await context.fetch("campaigns/list", before=before, **filters)
        places = [encode_id(CAMPAIGN, row["id"]) for row in rows]
    else:
        place, number = (None, None) if cursor is None else decode_cursor(cursor, tuple[str, Number])
        rows = await context.fetch(
            "campaigns/list_sorted_last" if sort.startswith("-") else "campaigns/list_sorted",
            key=sort.removeprefix("-"),
            place=place,
            place_id=number,
            **filters,
        )
        places = [encode_cursor(row["key"], row["id"]) for row in rows]
    progress = await _progress(context, [row["id"] for row in rows])
    found = [(place, _show(row, progress[row["id"]])) for place, row in zip(places, rows, strict=True)]
    return make_page(found, limit)


@query
async def count_campaigns(
    context: Context, *, status: CampaignStatus | None = None, search: str | None = None
) -> Total:
    """How many are in this status and have this in their names."""
    return await total(
        context,
        "campaigns/list",
        bound="limit",
        namespace=context.namespace,
        before=None,
        status=None if status is None else status.value,
        pattern=f"%{pattern_of(search)}" if search else None,
        now=context.now,
    )


@query
async def view(context: Context, number: int) -> CampaignView:
    row = await context.require("campaign", encode_id(CAMPAIGN, number), "campaigns/get", campaign_id=number)
    return _show(row, (await _progress(context, [number]))[number])


async def _progress(context: Context, numbers: Sequence[int]) -> dict[int, asyncpg.Record]:
    rows = await context.fetch("campaigns/read_progress", campaign_ids=numbers)
    return {row["campaign_id"]: row for row in rows}


def settled(progress: asyncpg.Record) -> int:
    """The number of messages with a final status."""
    names = ("sent", "failed", "suppressed", "expired", "unconfirmed", "cancelled")
    return sum(progress[name] for name in names)


def _show(row: asyncpg.Record, progress: asyncpg.Record) -> CampaignView:
    left = max(0, progress["size"] - settled(progress))
    speed = _speed(row, progress)
    local = row["local_time"]
    return from_row(
        CampaignView,
        row,
        campaign_id=encode_id(CAMPAIGN, row["id"]),
        status=CampaignStatus(row["status"]),
        counts=CampaignCounts(
            total=row["total"],
            sent=progress["sent"],
            failed=progress["failed"],
            suppressed=progress["suppressed"] + row["skipped"],
            expired=progress["expired"],
            unconfirmed=progress["unconfirmed"],
            cancelled=progress["cancelled"],
            left=left,
        ),
        per_second=speed,
        eta=_eta(row, left, speed),
        waits_for=progress["wait_reason"],
        next_at=progress["next_at"] if left else None,
        template_vars=msgspec.json.decode(row["vars"] or "{}"),
        audience={
            name: value
            for name, value in msgspec.json.decode(row["audience"]).items()
            if value not in (None, False)
        },
        local_time=None if local is None else local_text(local),
        when_past=WhenPast(row["when_past"]),
        window=json_value(row["send_window"]),
        check=_check(row),
        prepared_at=row["expanded_at"],
        job_id=encode_id("j", row["job_id"]),
    )


def _check(row: asyncpg.Record) -> CampaignCheck | None:
    if not row["expanded_to"] and row["expanded_at"] is None:
        return None
    return check_of(row, msgspec.json.decode(row["zones"]), whole=row["expanded_at"] is not None)


def check_of(row: Any, zones: dict[str, Any], *, whole: bool) -> CampaignCheck:
    """`zones` has for each zone: the instant (null: skipped), the number of recipients, and a note."""
    found = [
        CampaignZone(
            timezone=name,
            send_at_utc=None if at is None else datetime.fromisoformat(at),
            recipients=count,
            note=note,
        )
        for name, (at, count, note) in zones.items()
        if count
    ]
    last = datetime.max.replace(tzinfo=None)
    found.sort(
        key=lambda each: (
            last if each.send_at_utc is None else each.send_at_utc.replace(tzinfo=None),
            each.timezone,
        )
    )
    return CampaignCheck(
        recipients=row["total"],
        whole=whole,
        zones=found,
        unreachable=row["unreachable"],
        incomplete=row["incomplete"],
        missing_variables=list(row["needed"]),
        unknown=row["unknown"],
        duplicates=row["duplicates"],
        skipped=row["skipped"],
    )


def _speed(row: asyncpg.Record, progress: asyncpg.Record) -> float | None:
    if row["status"] != CampaignStatus.SENDING or row["started_at"] is None:
        return None
    at, count = row["sampled_before_at"], row["sampled_before"]
    if at is None:
        at, count = row["started_at"], 0
    seconds = (row["now"] - at).total_seconds()
    return round((settled(progress) - count) / seconds, 1) if seconds > 0 else None


def _eta(row: asyncpg.Record, left: int, speed: float | None) -> datetime | None:
    if not left or row["status"] not in ("scheduled", "preparing", "prepared", "sending"):
        return None
    last = _last_zone(row)
    if row["status"] != CampaignStatus.SENDING:
        speed = row["rate"]
        begins = max(row["now"], first_possible(row["send_at"], row["local_time"]))
        if row["send_at"] is None and row["local_time"] is None:
            return None
        return _later(last, begins + timedelta(seconds=left / speed if speed else 0))
    if not speed:
        return last if last is not None and last > row["now"] else None
    if row["rate"]:
        speed = min(speed, row["rate"])
    return _later(last, row["now"] + timedelta(seconds=round(left / speed)))


def _later(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else max(one, other)


def _last_zone(row: asyncpg.Record) -> datetime | None:
    times = [at for at, count, _ in msgspec.json.decode(row["zones"]).values() if at is not None and count]
    return max((datetime.fromisoformat(at) for at in times), default=None)
