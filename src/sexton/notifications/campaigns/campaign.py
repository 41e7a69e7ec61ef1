"""Commands on campaigns: create, start, pause, resume and cancel them.

A campaign is one job. Its row has its status: every command and every run locks or reads it first. A pause
changes this row; live runs read it before each batch.

The job fires once, when the messages are to be created, and is completed then. What comes sooner (a start at
once, a cancellation) moves that time to now, so that nothing of the campaign stays due; while the campaign is
paused before that time, so is its job.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, time, timedelta
from typing import Any

import asyncpg
import msgspec

from sexton.clock import iso, whole_second
from sexton.errors import Conflict, InvalidField, ScheduleError
from sexton.jobs import edit, state
from sexton.jobs.change import DONE, Verdict, accept, hold
from sexton.jobs.create import create
from sexton.jobs.moment import find_zone
from sexton.jobs.spec import TEN_YEARS, JobSpec
from sexton.model import Backoff, JobStatus, MissedWindow, decode_id, encode_id
from sexton.notifications.campaigns.audience import Member, check_sql, find_list, get_segment, keep_members
from sexton.notifications.campaigns.segment_filter import compile_filter
from sexton.notifications.campaigns.spec import (
    OVER,
    AudienceSpec,
    CampaignSpec,
    CampaignStatus,
    DailyWindow,
    WhenPast,
)
from sexton.notifications.campaigns.timing import first_possible
from sexton.notifications.campaigns.view import CampaignView, view
from sexton.notifications.filter import campaign_number
from sexton.notifications.model import CAMPAIGN, QUEUE
from sexton.notifications.recipients.quiet import read_ranges
from sexton.notifications.spec import QuietRange
from sexton.notifications.templates.template import StoredTemplate, read_template
from sexton.postgres.audit_entry import State
from sexton.postgres.jsonb import json_text
from sexton.postgres.transaction import Context, command
from sexton.refusal import aware, check_text
from sexton.runs.trigger import run_each
from sexton.schedules.once import read_time

NEVER = "9999-01-01T00:00:00Z"
TARGET: dict[str, Any] = {"notification": {}}
# A failed run is retried soon; the tables say where it stopped.
RETRY_SECONDS = 5
TIMEOUT_SECONDS = 3600
KEEP_SECONDS = TEN_YEARS
SOON = timedelta(seconds=2)
NAME = "campaigns"
#: What a change of the status can set as well.
MOVED = (
    "reason", "before_pause", "conductor_run", "looked_at", "armed_at", "started_at", "ended_at",
    "canary_state",
)  # fmt: skip


@command
async def create_campaign(context: Context, spec: CampaignSpec, *, may_query: bool = False) -> CampaignView:
    """Create a campaign. With a time and without `draft`, it sends at that time. `may_query`: whether the
    caller may give an audience in SQL."""
    written = await columns_of(context, spec, may_query=may_query)
    now, send_at, local = written["now"], written["send_at"], written["local_time"]
    armed = not spec.draft and (send_at is not None or local is not None)
    number: int = await context.fetchval("campaigns/take_id")
    job = await create(context, _job(number, spec.name))
    audience_id = None
    if spec.audience.user_ids is not None:
        audience_id = await _inline(context, spec.audience.user_ids)
    await context.execute(
        "campaigns/create",
        **written,
        id=number,
        audience_id=audience_id,
        job_id=decode_id("j", job.job_id),
        status=(CampaignStatus.SCHEDULED if armed else CampaignStatus.DRAFT).value,
        armed_at=now if armed else None,
        created_by=context.actor,
    )
    context.changed(
        "campaign.created",
        encode_id(CAMPAIGN, number),
        spec.name,
        after=msgspec.to_builtins(spec),
        job_id=decode_id("j", job.job_id),
    )
    if armed:
        await _fire_at(context, job.job_id, _preparation(send_at, local, spec.prepare_seconds), now)
    return await view(context, number)


async def columns_of(context: Context, spec: CampaignSpec, *, may_query: bool) -> dict[str, Any]:
    """The columns of a campaign that its spec gives. Raises an error if the spec is not valid."""
    now = await context.time()
    channels = read_channels(spec.channel)
    template, needed = await _template(context, spec, channels)
    zone = spec.timezone or await context.fetchval("campaigns/account_zone")
    zone = find_zone(zone or "UTC").name
    send_at, local = _time(spec, zone, now)
    check_text(spec.name, "name", 200)
    defaults = template.defaults
    return {
        "name": spec.name,
        "description": spec.description,
        "template_id": spec.template_id,
        "template_version": template.version,
        "channels": channels,
        "vars": json_text(spec.template_vars) if spec.template_vars else None,
        "topic": spec.topic or defaults.get("topic"),
        "urgency": spec.urgency or defaults.get("urgency"),
        "expires_seconds": spec.expires_seconds or defaults.get("expires_seconds"),
        "max_retries": spec.max_retries,
        "retry_seconds": spec.retry_seconds,
        "on_doubt": None if spec.on_doubt is None else spec.on_doubt.value,
        "audience": json_text(spec.audience),
        "filter": await _audience(context, spec.audience, may_query=may_query),
        "needed": needed,
        "send_at": send_at,
        "local_time": local,
        "timezone": zone,
        "when_past": spec.when_past.value,
        "rate": spec.rate,
        "send_window": _window(spec.window),
        "prepare_seconds": spec.prepare_seconds,
        "canary": spec.canary,
        "late_seconds": spec.late_seconds,
        "now": now,
    }


@command
async def start(context: Context, ref: str, *, at_once: bool = False) -> CampaignView:
    """Start a draft: it sends at its time, or now if it has no time or with `at_once`. Starting a scheduled
    campaign again changes nothing."""
    row = await lock(context, ref)
    status, now = CampaignStatus(row["status"]), row["now"]
    if status is not CampaignStatus.DRAFT and not (at_once and status in _NOT_BEGUN):
        if status in OVER:
            raise _over(row)
        return await view(context, row["id"])
    send_at, local = row["send_at"], row["local_time"]
    if at_once and status in (CampaignStatus.PREPARED, CampaignStatus.PREPARING):
        raise Conflict(
            "campaign_prepared",
            f"the messages of {ref} already have their times",
            hint="wait for its time, or cancel it and create another campaign",
        )
    if at_once or (send_at is None and local is None):
        send_at, local = whole_second(now), None
        await context.execute("campaigns/set_time", campaign_id=row["id"], send_at=send_at)
    await move(context, row, CampaignStatus.SCHEDULED, "campaign.started", armed_at=now)
    at = _preparation(send_at, local, row["prepare_seconds"])
    await _fire_at(context, encode_id("j", row["job_id"]), at, now)
    return await view(context, row["id"])


@command
async def pause(context: Context, ref: str, *, reason: str | None = None) -> CampaignView:
    """Stop sending. Batches that a provider already has are settled; no other batch begins."""
    row = await lock(context, ref)
    status = CampaignStatus(row["status"])
    if status in OVER or status is CampaignStatus.DRAFT:
        raise _over(row)
    if status is not CampaignStatus.PAUSED:
        if reason is not None:
            check_text(reason, "reason", 1000)
        before = status.value if status is not CampaignStatus.WAITING else row["before_pause"]
        because = reason or context.reason or f"paused by {context.actor}"
        await move(
            context, row, CampaignStatus.PAUSED, "campaign.paused", reason=because, before_pause=before
        )
        job = await hold(context, encode_id("j", row["job_id"]))
        if job.timer is not None:
            await state.pause(context, job.ref, reason=because[:1000])
    return await view(context, row["id"])


@command
async def resume(context: Context, ref: str) -> CampaignView:
    """Continue after a pause, after the canary, or although the campaign is late."""
    row = await lock(context, ref)
    status = CampaignStatus(row["status"])
    if status in OVER or status is CampaignStatus.DRAFT:
        raise _over(row)
    if status in (CampaignStatus.PAUSED, CampaignStatus.WAITING):
        looked_at = row["canary_state"] == "looked_at" and status is CampaignStatus.WAITING
        before = CampaignStatus(row["before_pause"] or "scheduled")
        await move(
            context,
            row,
            before,
            "campaign.resumed",
            looked_at=row["now"],
            canary_state="passed" if looked_at else None,
        )
        if before is not CampaignStatus.SCHEDULED or _is_due(row):
            accept(await _conduct_early(context, row))
        else:
            await state.resume(context, encode_id("j", row["job_id"]))
    return await view(context, row["id"])


@command
async def cancel(context: Context, ref: str, *, reason: str | None = None) -> CampaignView:
    """Cancel all messages that are not sent. A second call does nothing."""
    row = await lock(context, ref)
    status = CampaignStatus(row["status"])
    if status is CampaignStatus.CANCELLED:
        return await view(context, row["id"])
    if status in OVER:
        raise _over(row)
    if reason is not None:
        check_text(reason, "reason", 1000)
    await move(
        context,
        row,
        CampaignStatus.CANCELLED,
        "campaign.cancelled",
        reason=reason or context.reason or f"cancelled by {context.actor}",
        ended_at=row["now"],
    )
    conducted = await _conduct_early(context, row)
    if status in (CampaignStatus.PAUSED, CampaignStatus.WAITING):
        # No other run would cancel its messages. It sends nothing until there is room for one.
        accept(conducted)
    return await view(context, row["id"])


async def lock(context: Context, ref: str) -> asyncpg.Record:
    return await context.require("campaign", ref, "campaigns/lock", campaign_id=campaign_number(ref))


async def conduct_now(context: Context, row: asyncpg.Record) -> Verdict:
    """Start a run that conducts a locked campaign, instead of the run that did so before. Returns its id, or
    why the quota of the namespace refuses it."""
    job = encode_id("j", row["job_id"])
    [made] = await run_each(context, job, [{"campaign": encode_id(CAMPAIGN, row["id"])}])
    if isinstance(made, str):
        run = decode_id("r", made)
        await context.execute("campaigns/set_conductor", campaign_id=row["id"], run_id=run)
    return made


async def move(
    context: Context,
    row: asyncpg.Record,
    status: CampaignStatus,
    action: str | None = None,
    *,
    detail: State | None = None,
    **columns: Any,
) -> None:
    """Set the status of a locked campaign, and some of `MOVED`; with an action, the audit has an entry."""
    given = {**dict.fromkeys(MOVED), **columns}
    await context.execute(
        "campaigns/set_status", campaign_id=row["id"], status=status.value, now=row["now"], **given
    )
    if action is not None:
        context.changed(
            action,
            encode_id(CAMPAIGN, row["id"]),
            row["name"],
            before={"status": row["status"]},
            after={"status": status.value},
            job_id=row["job_id"],
            reason=given["reason"] and given["reason"][:1000],
            detail=detail,
        )


_NOT_BEGUN = (CampaignStatus.SCHEDULED, CampaignStatus.PREPARING, CampaignStatus.PREPARED)


def _is_due(row: asyncpg.Record) -> bool:
    """Whether its job has fired, or will fire within seconds."""
    at = _preparation(row["send_at"], row["local_time"], row["prepare_seconds"])
    return bool(at <= row["now"] + SOON)


def _over(row: asyncpg.Record) -> Conflict:
    ref = encode_id(CAMPAIGN, row["id"])
    hint = f"sexton campaigns start {ref}" if row["status"] == "draft" else "make another one"
    return Conflict("campaign_" + row["status"], f"the campaign {ref} is {row['status']}", hint=hint)


async def _conduct_early(context: Context, row: asyncpg.Record) -> Verdict:
    """Conduct the campaign now: its job fires before its time or, if it has fired, runs again."""
    job = await hold(context, encode_id("j", row["job_id"]))
    if job.timer is None:
        return await conduct_now(context, row)
    await _fire_at(context, job.ref, row["now"], row["now"])
    return DONE


async def _fire_at(context: Context, job_id: str, at: datetime, now: datetime) -> None:
    """The job fires at this time; now, if it is over."""
    at = whole_second(at) if at > now else now.replace(microsecond=0)
    job = await edit.edit(context, job_id, {"schedule": iso(at)})
    if job.status == JobStatus.PAUSED:
        await state.resume(context, job_id)


def _preparation(send_at: datetime | None, local: datetime | None, prepare_seconds: int) -> datetime:
    """When the messages are to be created."""
    return first_possible(send_at, local) - timedelta(seconds=prepare_seconds)


def _job(number: int, name: str) -> JobSpec:
    ref = encode_id(CAMPAIGN, number)
    return JobSpec(
        name=f"{NAME}/{ref}",
        schedule=NEVER,
        target=TARGET,
        payload={"campaign": ref},
        queue=QUEUE,
        max_retries=100,
        retry_backoff=Backoff.FIXED,
        retry_base_seconds=RETRY_SECONDS,
        timeout_seconds=TIMEOUT_SECONDS,
        missed_window=MissedWindow.RUN_ONCE,
        keep_completed_seconds=KEEP_SECONDS,
        description=f"campaign {name}"[:200],
    )


# What was asked for.


async def _template(
    context: Context, spec: CampaignSpec, channels: list[str]
) -> tuple[StoredTemplate, list[str]]:
    """The version of the template that a campaign sends, and its variables without a value for all."""
    template = await read_template(context, spec.template_id, spec.template_version)
    written = {channel for texts in template.parts.values() for channel in texts}
    if missing := [channel for channel in channels if channel not in written]:
        raise InvalidField(
            "no_such_part",
            f"the template {spec.template_id} has no text for {missing[0]}",
            field="channel",
            hint=f"use {', '.join(sorted(written))}, or write that part of the template",
        )
    return template, [
        name
        for name, variable in template.variables.items()
        if name not in spec.template_vars and variable.required and variable.default is None
    ]


def read_channels(given: str | list[str]) -> list[str]:
    channels = [given] if isinstance(given, str) else list(given)
    if not 1 <= len(channels) <= 10 or len(set(channels)) < len(channels) or not all(channels):
        raise InvalidField(
            "bad_value",
            f"channel is {given!r:.200}",
            field="channel",
            hint='name 1 to 10 different channels, such as "email"',
        )
    return channels


async def _audience(context: Context, spec: AudienceSpec, *, may_query: bool) -> str | None:
    """Refuse an invalid audience. Returns the jsonpath of a filter."""
    given = [name for name in spec.__struct_fields__ if getattr(spec, name) not in (None, False)]
    if len(given) != 1:
        raise InvalidField(
            "missing_field" if not given else "bad_value",
            f"the audience has {' and '.join(given) or 'nothing'}",
            field="audience",
            hint=f"give exactly one of {', '.join(spec.__struct_fields__)}",
        )
    if spec.segment is not None:
        await get_segment(context, spec.segment)
    if spec.list is not None:
        await find_list(context, spec.list)
    if spec.sql is not None:
        if not may_query:
            raise Conflict(
                "needs_admin",
                "an audience in SQL needs the role admin in all namespaces",
                hint="ask an admin, or use a segment or a list",
            )
        check_sql(spec.sql)
    return None if spec.filter is None else compile_filter(spec.filter, "audience.filter")


async def _inline(context: Context, user_ids: Sequence[str]) -> int:
    async def members() -> AsyncIterator[list[Member]]:
        yield [(user_id, None) for user_id in user_ids]

    return await keep_members(context, members())


def _time(spec: CampaignSpec, zone: str, now: datetime) -> tuple[datetime | None, datetime | None]:
    """One instant, or a local time without a zone; neither for a campaign that is started by hand."""
    if spec.send_at is not None and spec.local_time is not None:
        raise InvalidField(
            "bad_value", "send_at and local_time are both given", field="local_time", hint="give one of them"
        )
    if spec.local_time is None:
        if spec.when_past is not WhenPast.SEND_NOW:
            raise InvalidField(
                "bad_value",
                "when_past has no effect without local_time",
                field="when_past",
                hint='give "local_time", such as 08:00',
            )
        return None if spec.send_at is None else whole_second(aware(spec.send_at, "send_at")), None
    text = spec.local_time.strip()
    try:
        wall = time.fromisoformat(text) if len(text) <= 8 else None
    except ValueError:
        wall = None
    if wall is not None and wall.tzinfo is None:
        today = now.astimezone(find_zone(zone).info).date()
        return None, datetime.combine(today, wall.replace(microsecond=0))
    try:
        local = read_time(text, "local_time")
    except ScheduleError as error:
        hint = "write for example 08:00, or 2026-12-24 18:00"
        raise InvalidField(error.code, error.message, field="local_time", hint=hint) from None
    if local.tzinfo is not None:
        raise InvalidField(
            "bad_time",
            f"{text} has an offset: it is one instant, not a time in each zone",
            field="local_time",
            hint=f"write it as send_at, or {local:%Y-%m-%d %H:%M} without the offset",
        )
    if not 2000 <= local.year <= 9000:
        raise InvalidField(
            "out_of_range", f"the year is {local.year}", field="local_time", hint="such as 2027"
        )
    return None, local.replace(microsecond=0)


def _window(spec: DailyWindow | None) -> str | None:
    if spec is None:
        return None
    read_ranges(QuietRange(start=spec.start, end=spec.end), "window")
    return json_text({"start": spec.start, "end": spec.end})
