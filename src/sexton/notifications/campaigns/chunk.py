"""A chunk of a campaign: one run sends it, batch by batch, in one pass over its messages.

Before each batch it reads the campaign, so a pause, a cancellation and the late guard apply from the next
batch on. A batch takes about a second. A repeated run continues where the one before stopped, because the
messages have their states. After the pass, one transaction closes the chunk with its counts and opens the
next chunks. If messages of the chunk wait for quiet hours, a cap or a retry, the chunk is ready again at the
earliest of these times.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import asyncpg
import msgspec

from sexton import clock
from sexton.model import Outcome, Snooze, Success
from sexton.notifications.campaigns.campaign import conduct_now
from sexton.notifications.campaigns.conducting import cancel_some, is_through, open_chunks
from sexton.notifications.campaigns.spec import CampaignStatus
from sexton.notifications.recipients.quiet import ranges_of
from sexton.notifications.sending.doubt import settle_doubtful
from sexton.notifications.sending.sending import Claim, MessageSender, SentBatch
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context, command
from sexton.targets.run import RunContext

ACTOR = "sexton"
DAY = timedelta(days=1)
# After a batch that takes longer than this, the next one is smaller, so that a pause takes effect soon.
LONGEST_BATCH, SHORT_BATCH = 1.0, 0.4
FIRST_BATCH, SMALLEST_BATCH, LARGEST_BATCH = 200, 10, 1000
# How long a batch may take to end when its run is stopped.
PATIENCE_SECONDS = 2.0
#: Statuses that are counted in the chunk.
COUNTED = ("sent", "failed", "suppressed", "expired", "unconfirmed")


@dataclass(frozen=True, slots=True)
class ChunkMark:
    """The mark of a batch in the row of its chunk. The batch begins after the message `after`."""

    campaign_id: int
    number: int
    run_id: int
    after: int

    async def hold(self, context: Context) -> bool:
        found = await context.fetchval(
            "campaigns/lock_chunk", campaign_id=self.campaign_id, number=self.number, run_id=self.run_id
        )
        return found is not None

    async def set(self, context: Context, last_id: int, at: datetime) -> None:
        await context.execute(
            "campaigns/mark_batch",
            campaign_id=self.campaign_id,
            number=self.number,
            run_id=self.run_id,
            after=self.after,
            to=last_id,
            marked_at=at,
        )

    async def take(self, context: Context, at: datetime, counts: Mapping[str, int]) -> bool:
        found = await context.fetchval(
            "campaigns/unmark_batch",
            campaign_id=self.campaign_id,
            number=self.number,
            run_id=self.run_id,
            marked_at=at,
            **{name: counts.get(name, 0) for name in COUNTED},
        )
        return found is not None


class BatchSize:
    """The number of messages in a batch, so that it takes about half a second. All chunks of a process share
    it, because they use the same providers."""

    def __init__(self) -> None:
        self.limit = FIRST_BATCH

    def adapt(self, seconds: float, granted: int) -> None:
        if seconds > LONGEST_BATCH:
            self.limit = max(SMALLEST_BATCH, granted // 2)
        elif seconds < SHORT_BATCH and granted >= self.limit:
            self.limit = min(LARGEST_BATCH, self.limit * 2)


class ChunkRun:
    """One attempt of a run to send its chunk."""

    def __init__(
        self,
        database: Database,
        sender: MessageSender,
        run: RunContext,
        campaign_id: int,
        number: int,
        size: BatchSize,
    ) -> None:
        self._database = database
        self._sender = sender
        self._run = run
        self._named: dict[str, Any] = {"campaign_id": campaign_id, "number": number}
        self._size = size
        self._sent: Counter[str] = Counter()

    async def send(self) -> Outcome:
        after, settled = 0, False
        while True:
            row = await self._read()
            if row is None:
                return Success({"status": "another run has the chunk"})
            if row["status"] != CampaignStatus.SENDING or _is_late(row) or self._run.cancelled:
                return await self._close(row, wait_reason=None)
            if row["marked_at"] is not None and not settled:
                await _settle_doubtful(self._context(row), self._sender, row, self._run.id)
            settled = True
            granted, free_at = await self._granted(row)
            if not granted:
                if free_at is not None:
                    return Snooze(max(0.05, (free_at - row["now"]).total_seconds()))
                reason = f"the quota of {row['quota']:,} campaign sends a day is used up"
                return await self._close(row, wait_reason=reason, not_before=_tomorrow(row["now"]))
            began = clock.monotonic()
            batch = await self._send_batch(row, after, granted)
            await self._give_back(row, granted, 0 if batch is None else batch.counts["sent"])
            if batch is None:
                return await self._close(row, wait_reason=None)
            self._sent.update(batch.counts)
            after = batch.last_id
            self._size.adapt(clock.monotonic() - began, granted)

    async def _send_batch(self, row: asyncpg.Record, after: int, limit: int) -> SentBatch | None:
        """Send a batch. A worker that stops waits for the batch that providers already have."""
        task = asyncio.ensure_future(
            self._sender.send_batch(
                row["namespace"],
                self._run.id,
                self._claim(row, after),
                await self._sender.policy(row["namespace"]),
                limit=limit,
                lost=lambda: self._run.stop == "lost",
            )
        )
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
            raise

    async def _read(self) -> asyncpg.Record | None:
        return await self._database.fetchrow(
            "campaigns/read_for_batch", job_id=self._run.job, run_id=self._run.id, now=None, **self._named
        )

    def _context(self, row: asyncpg.Record) -> Context:
        return Context(self._database, row["namespace"], actor=ACTOR)

    def _claim(self, row: asyncpg.Record, after: int) -> Claim:
        return Claim(
            "campaigns/claim_chunk",
            {
                "campaign_id": row["id"],
                "first_id": row["first_id"],
                "last_id": row["last_id"],
                "after": after,
            },
            mark=ChunkMark(row["id"], row["number"], self._run.id, max(after, row["first_id"] - 1)),
            vars=msgspec.json.decode(row["vars"]) if row["vars"] else {},
            window=ranges_of(row["send_window"]) if row["send_window"] else (),
            counted=self._count,
        )

    async def _count(self, context: Context, counts: Counter[str]) -> None:
        """Count messages that were not submitted, in the transaction that has written them."""
        if any(counts[name] for name in COUNTED):
            await context.execute(
                "campaigns/note_batch", **{name: counts[name] for name in COUNTED}, **self._named
            )

    # The rate and the quota.

    async def _granted(self, row: asyncpg.Record) -> tuple[int, datetime | None]:
        """How many messages may be sent now; if none because of the rate, when the next may."""
        wanted = self._size.limit
        if row["rate"] is not None:
            # A quarter of a second's messages at once: what is not used is given back within the same second.
            wanted = max(1, min(wanted, int(row["rate"] / 4)))
            taken = await self._database.fetchrow(
                "campaigns/take_rate",
                campaign_id=row["id"],
                namespace=row["namespace"],
                wanted=wanted,
                now=row["now"],
            )
            assert taken is not None
            if not taken["granted"]:
                return 0, taken["free_at"]
        if row["quota"] is not None:
            room = await _take_quota(self._context(row), row["quota"], wanted, _day(row["now"]))
            if row["rate"] is not None and room < wanted:
                await self._give_rate_back(row, wanted - room)
            wanted = room
        return wanted, None

    async def _give_back(self, row: asyncpg.Record, granted: int, sent: int) -> None:
        unused = granted - sent
        if unused and row["quota"] is not None:
            await self._database.execute(
                "campaigns/charge_quota", namespace=row["namespace"], day=_day(row["now"]), count=-unused
            )
        if unused and row["rate"] is not None:
            await self._give_rate_back(row, unused)

    async def _give_rate_back(self, row: asyncpg.Record, unused: int) -> None:
        await self._database.execute(
            "campaigns/give_rate_back",
            campaign_id=row["id"],
            namespace=row["namespace"],
            unused=unused,
            now=row["now"],
        )

    # The end.

    async def _close(
        self, row: asyncpg.Record, *, wait_reason: str | None, not_before: datetime | None = None
    ) -> Outcome:
        context = self._context(row)
        closed = await _close(context, self._run, self._named, wait_reason, not_before)
        if closed is None:
            return Success({"status": "another run has the chunk"})
        return Success({name: closed[name] for name in (*COUNTED, "left")})


@command
async def _close(
    context: Context,
    run: RunContext,
    named: dict[str, Any],
    wait_reason: str | None,
    not_before: datetime | None,
) -> asyncpg.Record | None:
    """Close the chunk. Locks the campaign first, then the chunk, like all code that locks both."""
    row = await context.fetchrow("campaigns/lock_of_run", campaign_id=named["campaign_id"], job_id=run.job)
    if row is None:
        return None
    context = replace(context, namespace=row["namespace"])
    closed = await context.fetchrow(
        "campaigns/close_chunk",
        run_id=run.id,
        wait_reason=wait_reason,
        not_before=not_before,
        now=row["now"],
        **named,
    )
    if closed is not None and wait_reason is not None:
        await context.execute(
            "campaigns/note_quota",
            campaign_id=row["id"],
            reason=wait_reason,
            actor=ACTOR,
            until=not_before,
            now=row["now"],
        )
    if closed is not None and row["status"] == CampaignStatus.CANCELLED:
        await cancel_some(context, row)
    elif closed is not None:
        await open_chunks(context, row)
        conducted = await context.fetchval("campaigns/is_conducted", run_id=row["conductor_run"])
        if not conducted or await is_through(context, row):
            # It was the last chunk, or the conductor is dead, for example after too many crashes of its
            # workers.
            await conduct_now(context, row)
    return closed


@command
async def _settle_doubtful(context: Context, sender: MessageSender, row: asyncpg.Record, run_id: int) -> None:
    """Settle messages that an earlier run began to submit and did not settle."""
    rows = await context.fetch(
        "campaigns/lock_submitted", campaign_id=row["id"], number=row["number"], run_id=run_id
    )
    if not rows:
        return
    mark = ChunkMark(row["id"], row["number"], rows[0]["marked_run"], 0)
    there = [each for each in rows if each["id"] is not None]
    told = await settle_doubtful(context, sender, there, doubt=row["on_doubt"], campaign_id=row["id"])
    await mark.take(context, rows[0]["marked_at"], told)


@command
async def _take_quota(context: Context, quota: int, wanted: int, day: date) -> int:
    """Take messages from today's quota of the namespace; returns how many."""
    granted: int = await context.fetchval("campaigns/take_quota", day=day, quota=quota, wanted=wanted)
    if granted:
        await context.execute("campaigns/charge_quota", day=day, count=granted)
    return granted


def _is_late(row: asyncpg.Record) -> bool:
    """Whether no run has conducted the campaign for hours. Then its conductor decides."""
    seen = row["looked_at"]
    return seen is not None and row["now"] - seen > timedelta(seconds=row["late_seconds"])


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()


def _tomorrow(now: datetime) -> datetime:
    return datetime.combine(_day(now) + DAY, time(), UTC)
