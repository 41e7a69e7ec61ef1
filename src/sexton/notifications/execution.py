"""Runs of notifications: waves, and chunks of campaigns.

A run sends batches until nothing is due. A large wave starts more runs, so that several workers share it. A
run that is repeated because its worker died first settles the messages that it was submitting.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

from sexton.model import Outcome, Release, Snooze, Success, decode_id
from sexton.notifications.campaigns.chunk import BatchSize, ChunkRun
from sexton.notifications.campaigns.conducting import conduct
from sexton.notifications.channels.dispatch import Dispatcher
from sexton.notifications.model import CAMPAIGN
from sexton.notifications.recipients.inbox import expire_inbox
from sexton.notifications.recurring.following import SCHEDULE
from sexton.notifications.recurring.recurring import fire
from sexton.notifications.sending import wave
from sexton.notifications.sending.doubt import settle_abandoned, settle_own
from sexton.notifications.sending.due import Policy
from sexton.notifications.sending.sending import ACTOR, BATCH, Claim, MessageSender
from sexton.notifications.spec import NotificationTarget
from sexton.postgres.transaction import Context, command
from sexton.targets.base import TargetServices
from sexton.targets.run import RunContext, Step

#: A wave starts one more run for each of this many due messages.
SHARE = 2000
MOST_RUNS = 8
#: The batches of a run at the same time: while one is with its provider, others are claimed.
BATCHES = 3
MOST_ABANDONED = 1000
#: How many chunks of campaigns a worker sends at a time.
CHUNKS = 4
DUE = Claim("messages/claim_due")


class OpenNotifications:
    """Sends messages in a worker."""

    def __init__(self, services: TargetServices) -> None:
        self._services = services
        self._dispatcher = Dispatcher(services)
        self.sender = MessageSender(services.database, self._dispatcher)
        # Limits the chunks in memory, however many a worker claims.
        self._chunks = asyncio.Semaphore(CHUNKS)
        self._batch_size = BatchSize()

    def step(self, spec: NotificationTarget) -> Step | None:
        return self._carry_out

    async def close(self) -> None:
        await self._dispatcher.close()

    async def _carry_out(self, run: RunContext) -> Outcome:
        namespace = await self._services.renderer.namespace(run)
        payload = run.payload if isinstance(run.payload, dict) else {}
        context = Context(self._services.database, namespace, actor=ACTOR)
        if "campaign" in payload:
            return await self._carry_out_campaign(run, payload)
        if "schedule" in payload:
            return await fire(context, run, decode_id(SCHEDULE, str(payload["schedule"])) or 0)
        return await carry_out_wave(context, self.sender, run, payload)

    async def _carry_out_campaign(self, run: RunContext, payload: dict[str, Any]) -> Outcome:
        number = decode_id(CAMPAIGN, str(payload["campaign"])) or 0
        if "chunk" not in payload:
            return await conduct(self._services.database, run, number)
        chunk = ChunkRun(
            self._services.database, self.sender, run, number, int(payload["chunk"]), self._batch_size
        )
        async with self._chunks:
            return await chunk.send()


async def carry_out_wave(
    context: Context, sender: MessageSender, run: RunContext, payload: dict[str, Any]
) -> Outcome:
    """Send everything of the namespace that is due."""
    counts = Counter(await settle_own(context, sender, run.id))
    if payload.get("sweep"):
        counts.update(await settle_abandoned(context, sender, MOST_ABANDONED))
        await expire_inbox(context)
    if not payload.get("shared"):
        await _share(context)
    policy = await sender.policy(context.namespace)
    sent = await asyncio.gather(*(_send(context, sender, run, policy) for _ in range(BATCHES)))
    for each in sent:
        counts.update(each)
    if run.cancelled:
        return Release(0.0, "the worker stops; another one continues")
    [row] = await context.fetch("messages/find_next_due", most=0)
    if row["due_at"] is not None and timedelta() < row["due_at"] - row["now"] <= wave.SOON:
        return Snooze(row["due_at"] - row["now"])
    return Success(dict(counts))


async def _send(context: Context, sender: MessageSender, run: RunContext, policy: Policy) -> Counter[str]:
    counts: Counter[str] = Counter()
    while not run.cancelled:
        batch = await sender.send_batch(
            context.namespace, run.id, DUE, policy, limit=BATCH, lost=lambda: run.stop == "lost"
        )
        if batch is None:
            break
        counts.update(batch.counts)
    return counts


@command
async def _share(context: Context) -> None:
    """Start more runs if there are many messages to send."""
    [row] = await context.fetch("messages/find_next_due", most=SHARE * MOST_RUNS)
    if row["due"] > SHARE:
        await wave.run_soon(context, row["due"] // SHARE, {"shared": True})
