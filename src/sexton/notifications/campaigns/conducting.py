"""Conducts a campaign: a run of its job creates its messages, opens chunks, and ends it.

One run conducts at a time: the one that a command names, else the first one. While it is live, any other run
ends at once, also the one that it replaces. It locks the row of the campaign and decides only by this row, so
it may die at any moment: the engine runs it again. Another run sends each chunk (`chunk`) and opens the next
chunks when it closes. The conductor opens the first chunks, those whose time comes later, and those whose run
was lost.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

import asyncpg
import msgspec

from sexton.errors import InvalidField, NotFound, SextonError
from sexton.model import Cancel, Outcome, Snooze, Success, decode_id, encode_id
from sexton.notifications.campaigns.campaign import move
from sexton.notifications.campaigns.expansion import ZoneTimes, earliest, expand, find_audience
from sexton.notifications.campaigns.spec import CampaignStatus
from sexton.notifications.campaigns.timing import first_possible
from sexton.notifications.campaigns.view import settled
from sexton.notifications.model import CAMPAIGN
from sexton.notifications.sending.doubt import DOUBT
from sexton.postgres.database import Database
from sexton.postgres.transaction import ITSELF, Context
from sexton.runs.trigger import run_each
from sexton.targets.run import RunContext

ACTOR = "sexton"
# The conductor looks again after LOOK_SECONDS while the campaign sends, and after at most LONGEST_WAIT while
# it waits for a later zone.
LOOK_SECONDS = 5.0
LONGEST_WAIT = 60.0
CHUNKS_PER_WORKER, MOST_CHUNKS = 3, 256
# A campaign with a rate below this is sent by one chunk at a time.
SLOW = 1000.0
CANCEL_AT_ONCE = 20
DAY_OF_ZONES = timedelta(hours=26)

GOING = (CampaignStatus.PREPARING, CampaignStatus.PREPARED, CampaignStatus.SENDING)


class _Ended(Exception):
    """The campaign needs no conductor."""


async def conduct(database: Database, run: RunContext, number: int) -> Outcome:
    """Conduct a campaign until there is nothing to do for a while."""
    times: ZoneTimes | None = None
    while True:
        try:
            async with _locked(database, run, number) as (context, row):
                status = CampaignStatus(row["status"])
                if status is CampaignStatus.CANCELLED:
                    if await cancel_some(context, row):
                        continue
                    return Success({"status": status.value})
                if status not in (CampaignStatus.SCHEDULED, *GOING):
                    return Success({"status": status.value})
                if await _is_late(context, row):
                    return Success({"status": CampaignStatus.WAITING.value})
                if status is CampaignStatus.SCHEDULED:
                    await _begin(context, row, run)
                    times = None
                    continue
                if row["expanded_at"] is None:
                    if times is None:
                        times = ZoneTimes(row)
                    whole = await expand(context, row, times)
                    if whole and row["canary"] is not None:
                        await _mark_canary(context, row)
                    if whole or row["canary"] is None:
                        await open_chunks(context, await _again(context, row))
                    continue
                return await _look(context, row)
        except _Ended as why:
            return Cancel(str(why))
        except _Superseded:
            return Success({"status": "conducted by another run"})
        except (InvalidField, NotFound) as error:
            await _fail(database, run, number, error)
            return Success({"status": CampaignStatus.FAILED.value, "reason": error.message})


class _Superseded(Exception):
    """Another run conducts the campaign."""


@asynccontextmanager
async def _locked(
    database: Database, run: RunContext, number: int
) -> AsyncIterator[tuple[Context, asyncpg.Record]]:
    """A transaction that has locked the campaign and made this run its conductor. It writes the audit at its
    end."""
    async with database.transaction() as connection:
        context = Context(database, actor=ACTOR, connection=connection, entries=[], source=ITSELF)
        row = await _lock(context, run, number)
        context = replace(context, namespace=row["namespace"])
        if row["conductor_run"] != run.id:
            # Not by their numbers: those of a later run may be lower, as each connection reserves its own.
            if await context.fetchval("campaigns/is_conducted", run_id=row["conductor_run"]):
                raise _Superseded
            await context.execute("campaigns/set_conductor", campaign_id=number, run_id=run.id)
        yield context, row
        await context.write_entries()


async def _lock(context: Context, run: RunContext, number: int) -> asyncpg.Record:
    row = await context.fetchrow("campaigns/lock_of_run", campaign_id=number, job_id=run.job)
    if row is None:
        raise _Ended("the campaign is no longer planned")
    return row


async def _again(context: Context, row: asyncpg.Record) -> asyncpg.Record:
    """The row as the open transaction has left it."""
    [found] = await context.fetch("campaigns/lock", campaign_id=row["id"])
    return found


async def _begin(context: Context, row: asyncpg.Record, run: RunContext) -> None:
    await find_audience(context, row)
    await move(context, row, CampaignStatus.PREPARING, looked_at=row["now"], conductor_run=run.id)


async def _is_late(context: Context, row: asyncpg.Record) -> bool:
    """The late guard: a campaign that is conducted hours after its time, or after hours without a conductor,
    waits until a person resumes it."""
    known = earliest(msgspec.json.decode(row["zones"]))
    planned = known or first_possible(row["send_at"], row["local_time"])
    seen = max(filter(None, (planned, row["armed_at"], row["looked_at"])))
    late = row["now"] - seen
    if late <= timedelta(seconds=row["late_seconds"]):
        return False
    if known is None and row["local_time"] is not None and late <= DAY_OF_ZONES:
        # Its zones are not known yet, and the last zone of the earth is a day behind the first.
        return False
    ref = encode_id(CAMPAIGN, row["id"])
    await move(
        context,
        row,
        CampaignStatus.WAITING,
        "campaign.found_late",
        detail={"late_seconds": round(late.total_seconds())},
        before_pause=row["status"],
        reason=f"found {_hours(late)} late: resume {ref} to send it, or cancel it",
    )
    return True


async def _mark_canary(context: Context, row: asyncpg.Record) -> None:
    row = await _again(context, row)
    share = ceil((row["total"] - row["skipped"]) * row["canary"])
    marked = await context.fetch(
        "campaigns/mark_canary",
        campaign_id=row["id"],
        share=share,
        number=row["chunks"],
        now=row["now"],
    )
    added = marked[0]["added"] if marked else 0
    await context.execute("campaigns/begin_canary", campaign_id=row["id"], chunks=added)


async def _look(context: Context, row: asyncpg.Record) -> Outcome:
    """All messages exist: open the chunks that are due, and say when to look again."""
    await context.fetch("campaigns/mend_chunks", now=row["now"], campaign_id=row["id"])
    await open_chunks(context, row)
    canary = _canary_only(row)
    standing = await _standing(context, row, canary)
    [progress] = await context.fetch("campaigns/read_progress", campaign_ids=[row["id"]])
    if row["started_at"] is not None and _sample_due(row):
        await context.execute(
            "campaigns/sample", now=row["now"], count=settled(progress), campaign_id=row["id"]
        )
    else:
        await context.execute("campaigns/note_look", now=row["now"], campaign_id=row["id"])
    if not standing["left"]:
        counts = {name: progress[name] for name in ("sent", "failed", "suppressed", "expired", "unconfirmed")}
        times = dict.fromkeys(("started_at", "ended_at", "looked_at"), row["now"])
        await move(context, row, CampaignStatus.DONE, "campaign.done", detail=counts, **times)
        return Success({"status": "done", "sent": counts["sent"], "failed": counts["failed"]})
    waiting = standing["next_at"]
    if canary and not standing["open"] and (waiting is None or waiting > row["now"]) and row["started_at"]:
        return await _show_canary(context, row, progress)
    if row["status"] == CampaignStatus.PREPARING:
        await move(context, row, CampaignStatus.PREPARED, looked_at=row["now"])
    return Snooze(_pause(row["now"], waiting, busy=bool(standing["open"])))


async def _show_canary(context: Context, row: asyncpg.Record, progress: asyncpg.Record) -> Outcome:
    ref = encode_id(CAMPAIGN, row["id"])
    went = f"{progress['sent']:,} of {progress['size']:,} were sent, {progress['failed']:,} failed"
    await move(
        context,
        row,
        CampaignStatus.WAITING,
        "campaign.canary_out",
        before_pause=CampaignStatus.SENDING.value,
        canary_state="looked_at",
        reason=f"the canary is out: {went}; resume or cancel {ref}",
    )
    return Success({"status": "waiting"})


async def open_chunks(context: Context, row: asyncpg.Record) -> int:
    """Start runs for the next chunks of a locked campaign, as many as its workers can use. The first one sets
    the status to sending."""
    if CampaignStatus(row["status"]) not in GOING or (row["canary"] and row["expanded_at"] is None):
        return 0
    canary = _canary_only(row)
    standing = await _standing(context, row, canary)
    numbers = [
        each["number"]
        for each in await context.fetch(
            "campaigns/pick_chunks",
            now=row["now"],
            canary_only=canary,
            limit=max(0, most_open(standing["workers"], row["rate"]) - standing["open"]),
            campaign_id=row["id"],
        )
    ]
    if not numbers:
        return 0
    ref = encode_id(CAMPAIGN, row["id"])
    verdicts = await run_each(
        context, encode_id("j", row["job_id"]), [{"campaign": ref, "chunk": number} for number in numbers]
    )
    opened = [
        (number, decode_id("r", verdict))
        for number, verdict in zip(numbers, verdicts, strict=True)
        if isinstance(verdict, str)
    ]
    await context.execute(
        "campaigns/open_chunks",
        numbers=[number for number, _ in opened],
        runs=[run for _, run in opened],
        now=row["now"],
        campaign_id=row["id"],
    )
    if opened and row["status"] != CampaignStatus.SENDING:
        await move(context, row, CampaignStatus.SENDING, started_at=row["now"], looked_at=row["now"])
    return len(opened)


async def is_through(context: Context, row: asyncpg.Record) -> bool:
    """Whether a sending campaign has no chunk left."""
    going = row["status"] == CampaignStatus.SENDING and row["expanded_at"] is not None
    return going and not (await _standing(context, row, False))["left"]


def most_open(workers: int, rate: float | None) -> int:
    """How many chunks to keep open at a time."""
    if rate is not None and rate <= SLOW:
        return 1
    return min(MOST_CHUNKS, max(1, workers) * CHUNKS_PER_WORKER)


async def _standing(context: Context, row: asyncpg.Record, canary: bool) -> asyncpg.Record:
    [standing] = await context.fetch("campaigns/count_open", campaign_id=row["id"], canary_only=canary)
    return standing


def _canary_only(row: asyncpg.Record) -> bool:
    return row["canary"] is not None and row["canary_state"] != "passed"


def _sample_due(row: asyncpg.Record) -> bool:
    at: datetime | None = row["sampled_at"]
    return at is None or row["now"] - at >= timedelta(seconds=LOOK_SECONDS)


def _pause(now: datetime, next_at: datetime | None, *, busy: bool) -> float:
    if busy or next_at is None:
        return LOOK_SECONDS
    return min(LONGEST_WAIT, max(0.1, (next_at - now).total_seconds()))


async def cancel_some(context: Context, row: asyncpg.Record) -> bool:
    """Cancel the messages of some chunks. Returns whether there may be more. Open chunks must close first."""
    await context.fetch("campaigns/mend_chunks", now=row["now"], campaign_id=row["id"])
    gone = await context.fetch(
        "campaigns/cancel_chunk",
        reason=row["reason"],
        doubt_reason=DOUBT,
        now=row["now"],
        limit=CANCEL_AT_ONCE,
        campaign_id=row["id"],
    )
    return bool(gone)


async def _fail(database: Database, run: RunContext, number: int, error: SextonError) -> None:
    """Mark the campaign as failed, for example because its segment was deleted or its query was refused."""
    async with _locked(database, run, number) as (context, row):
        failed = {"reason": error.message, "ended_at": row["now"]}
        await move(context, row, CampaignStatus.FAILED, "campaign.failed", **failed)


def _hours(late: timedelta) -> str:
    hours, minutes = divmod(round(late.total_seconds() / 60), 60)
    return f"{hours} h {minutes} min"
