"""Sends a batch: claims messages, decides about them, marks them, renders them, gives them to their channels,
settles them.

Single messages and chunks of campaigns share this code; they differ in the statement that claims the rows. A
batch has two transactions, however many messages it has:

1. claim the due rows, decide about each (`hold`), mark those to send as being submitted, and put the others
aside with the reason. A single message is marked in its row and its timer, a batch of a campaign in the row
of its chunk; 2. record the results of the channels.

Between the two, the providers have the messages. If the worker dies there, they stay marked with the run, and
the repeated run finds them (`doubt`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import asyncpg
import msgspec

from sexton import clock
from sexton.engine import crash
from sexton.model import encode_id
from sexton.notifications.channels.base import Outgoing, Rejected, SendResult
from sexton.notifications.model import MESSAGE, EventKind, MessageStatus
from sexton.notifications.recipients.quiet import Ranges
from sexton.notifications.recipients.unsubscribe import UnsubscribeLinks
from sexton.notifications.sending import wave
from sexton.notifications.sending.backlog import note_settled
from sexton.notifications.sending.due import (
    Policy,
    add_counts,
    done_before_fallback,
    due_message,
    find_suppressed,
    lock_counts,
)
from sexton.notifications.sending.hold import (
    Circumstances,
    Decision,
    DueMessage,
    FellBack,
    Held,
    Sent,
    Suppressed,
    TooLate,
    decide,
)
from sexton.notifications.sending.settlement import Settlement, Submission, settle_all
from sexton.notifications.templates.rendering import LINK, NotRendered, Place, TextCompiler
from sexton.notifications.templates.template import StoredTemplate, recipient_values
from sexton.postgres.database import Database, array_text, patiently
from sexton.postgres.transaction import Context, command

log = logging.getLogger("sexton")

ACTOR = "sexton"
BATCH = 500
MOST_TRANSACTIONS = 4
MOST_TEMPLATES = 1000
NO_VALUES: Mapping[str, Any] = {}


class ChannelAnswer(Protocol):
    """The result of a message; `note` is a remark for `why`."""

    @property
    def provider(self) -> str | None: ...

    @property
    def result(self) -> SendResult: ...

    @property
    def note(self) -> str | None: ...


class Channels(Protocol):
    """Gives messages to the providers of a channel: `channels.dispatch`."""

    async def dispatch(
        self, namespace: str, channel: str, batch: Sequence[Outgoing]
    ) -> Sequence[ChannelAnswer]: ...

    async def links(self) -> UnsubscribeLinks | None:
        """The maker of unsubscribe links; None if the public address of the API is not known."""
        ...

    async def doubt(self, namespace: str, channel: str) -> str:
        """What to do with messages that may have been sent: `resend` or `hold`."""
        ...


class BatchMark(Protocol):
    """Marks a batch of a campaign as being submitted: in its chunk, and not row by row."""

    @property
    def campaign_id(self) -> int: ...

    async def hold(self, context: Context) -> bool:
        """Lock the chunk, and so its messages. Returns whether this run still has the chunk."""
        ...

    async def set(self, context: Context, last_id: int, at: datetime) -> None:
        """Mark all claimed messages up to this one that were not put aside."""
        ...

    async def take(self, context: Context, at: datetime, counts: Mapping[str, int]) -> bool:
        """Remove the mark, and count the statuses. Returns whether this run still had the mark."""
        ...


@dataclass(frozen=True, slots=True)
class Claim:
    """The messages to send: a statement that locks some due rows, with the columns of
    `parts/claimed_message.sql`. It has the parameters `namespace` and `limit`, and its own."""

    statement: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: For a campaign, whose messages have no timers.
    mark: BatchMark | None = None
    #: The variables of messages without their own.
    vars: Mapping[str, Any] = field(default_factory=dict)
    #: The hours of the recipient's day in which to send; empty: all.
    window: Ranges = ()
    #: Called with the counts of messages that were put aside, in that transaction.
    counted: Callable[[Context, Counter[str]], Awaitable[None]] | None = None


@dataclass(slots=True)
class SentBatch:
    """The result of a batch: counts by status, and when the first waiting message is due."""

    counts: Counter[str] = field(default_factory=Counter)
    next_at: datetime | None = None
    #: The last message that was claimed.
    last_id: int = 0

    def waits(self, due_at: datetime | None) -> None:
        if due_at is not None and (self.next_at is None or due_at < self.next_at):
            self.next_at = due_at


class MessageSender:
    """Sends batches; a process has one."""

    def __init__(self, database: Database, channels: Channels) -> None:
        self._database = database
        self.channels = channels
        self._compiler = TextCompiler()
        # Many runs send at the same time in a process; they must not use all connections of its pool.
        self._turn = asyncio.Semaphore(MOST_TRANSACTIONS)
        self._templates: dict[tuple[str, str, int], StoredTemplate] = {}

    async def policy(self, namespace: str) -> Policy:
        row = await self._database.fetchrow("notifications/get_settings", namespace=namespace)
        if row is None:
            return Policy()
        return Policy(
            row["timezone"] or "UTC",
            row["locale"],
            row["quiet_hours"],
            frozenset(row["quiet_passes"]),
            row["caps"],
        )

    async def send_batch(
        self,
        namespace: str,
        run_id: int,
        claim: Claim,
        policy: Policy,
        *,
        limit: int = BATCH,
        lost: Callable[[], bool] = lambda: False,
    ) -> SentBatch | None:
        """Send a batch of due messages; None if none is due. `lost`: whether another worker has the run."""
        context, began = Context(self._database, namespace, actor=ACTOR), clock.monotonic()
        async with self._turn:
            claimed = await _claimed(context, self, claim, policy, run_id, limit)
        if claimed is None:
            return None
        now, going, batch = claimed
        if going and not lost():
            crash.point("step.begun")
            await self._submit(namespace, going, claim, policy)
            crash.point("step.acted")
            # Results of providers must not be lost because the database is not reachable for a moment.
            async with self._turn:
                settled = await patiently(lambda: _settled(context, self, claim, going, run_id, now))
            batch.counts.update(settled.counts)
            batch.waits(settled.next_at)
            crash.point("step.noted")
        await note_settled(context, batch.counts, run_id, clock.monotonic() - began)
        return batch

    # Deciding.

    async def _decide(
        self,
        context: Context,
        rows: Sequence[asyncpg.Record],
        claim: Claim,
        policy: Policy,
        now: datetime,
        run_id: int,
        batch: SentBatch,
    ) -> list[Submission]:
        done = await done_before_fallback(context, rows)
        due = [due_message(row) for row in rows]
        circumstances = Circumstances(
            now=now,
            timezone=policy.timezone,
            quiet_hours=policy.quiet_hours,
            quiet_passes=policy.quiet_passes,
            caps=policy.caps,
            window=claim.window,
            suppressed=await find_suppressed(context, due),
            counts=await lock_counts(context, due, policy, now),
        )
        going: list[Submission] = []
        aside = Settlement(now)
        unchanged: list[int] = []
        changed: list[tuple[int, int]] = []
        for row, message in zip(rows, due, strict=True):
            if row["id"] in done:
                aside.keep(row["id"], row["status"])
                continue
            decision = decide(message, circumstances)
            if isinstance(decision, Sent):
                address = message.addresses[message.channels[decision.channel_index]]
                going.append(
                    Submission(row, decision.channel_index, address, decision.timezone, decision.counted)
                )
                if decision.channel_index == row["channel_index"]:
                    unchanged.append(row["id"])
                    if not decision.passed:
                        continue  # the ordinary way
                else:
                    changed.append((row["id"], decision.channel_index))
            passed = _passed(row, decision, message)
            _put_aside(aside, row, decision, passed)
        counts = Counter(dict.fromkeys(circumstances.counts, 0))
        for each in going:
            counts.update(each.counted)
        await self._mark(context, unchanged, changed, claim, run_id, now, batch.last_id)
        taken = {key: n for key, n in counts.items() if n}
        if taken:
            await add_counts(context, taken)
        await aside.write(context)
        if claim.counted is not None and aside.counts:
            await claim.counted(context, aside.counts)
        await self._announce(context, aside, claim, now, batch)
        return going

    async def _mark(
        self,
        context: Context,
        unchanged: Sequence[int],
        changed: Sequence[tuple[int, int]],
        claim: Claim,
        run_id: int,
        now: datetime,
        last_id: int,
    ) -> None:
        moved: dict[str, Any] = {
            "ids": [each for each, _ in changed],
            "indexes": [index for _, index in changed],
        }
        if claim.mark is not None:
            if changed:
                await context.execute("messages/change_channel", **moved)
            if unchanged or changed:
                await claim.mark.set(context, last_id, now)
            return
        if unchanged:
            await context.execute("messages/mark", ids=array_text(unchanged), run_id=run_id, now=now)
        if changed:
            await context.execute("messages/mark_changed", run_id=run_id, now=now, **moved)

    async def _announce(
        self, context: Context, settlement: Settlement, claim: Claim, now: datetime, batch: SentBatch
    ) -> None:
        """Schedule waves for waiting messages, and count the others."""
        batch.counts.update(settlement.counts)
        for due_at in settlement.due_at:
            batch.waits(due_at)
        if claim.mark is None:
            # This run finds messages that are due sooner before it ends.
            later = sorted(at for at in settlement.due_at if at > now + wave.SOON)
            if later:
                await wave.make_waves(context, later)

    # Sending.

    async def _find_templates(self, context: Context, going: Sequence[Submission]) -> None:
        """Read the versions that are not cached."""
        namespace = context.namespace
        wanted = {
            (each.row["template_id"], each.row["template_version"])
            for each in going
            if each.row["template_version"] is None
            or (namespace, each.row["template_id"], each.row["template_version"]) not in self._templates
        }
        if not wanted:
            return
        pairs = sorted(wanted, key=str)
        rows = await context.fetch(
            "templates/find_many",
            namespace=namespace,
            template_ids=[template for template, _ in pairs],
            versions=[version for _, version in pairs],
        )
        if len(self._templates) > MOST_TEMPLATES:
            self._templates.clear()
        for row in rows:
            stored = StoredTemplate(row)
            self._templates[namespace, stored.template_id, stored.version] = stored
            if row["version"] == row["latest"]:
                self._templates[namespace, stored.template_id, -1] = stored

    async def _submit(
        self, namespace: str, going: Sequence[Submission], claim: Claim, policy: Policy
    ) -> None:
        by_channel: dict[str, list[tuple[Submission, Outgoing]]] = {}
        links = await self.channels.links()
        for each in going:
            channel = each.row["channels"][each.index]
            try:
                made = self._render(namespace, each, channel, claim, policy, links)
            except NotRendered as error:
                each.result = Rejected(f"the template cannot be rendered: {error}", "not_rendered")
                continue
            by_channel.setdefault(channel, []).append((each, made))
        await asyncio.gather(
            *(self._give(namespace, channel, batch) for channel, batch in by_channel.items())
        )

    async def _give(self, namespace: str, channel: str, batch: Sequence[tuple[Submission, Outgoing]]) -> None:
        said = await self.channels.dispatch(namespace, channel, [outgoing for _, outgoing in batch])
        for (each, _), answer in zip(batch, said, strict=True):
            each.provider, each.result, each.note = answer.provider, answer.result, answer.note

    def _render(
        self,
        namespace: str,
        each: Submission,
        channel: str,
        claim: Claim,
        policy: Policy,
        links: UnsubscribeLinks | None,
    ) -> Outgoing:
        row = each.row
        version = row["template_version"]
        template = self._templates.get((namespace, row["template_id"], -1 if version is None else version))
        if template is None:
            raise NotRendered(f"there is no template {row['template_id']}")
        locale = row["locale"] or policy.locale
        texts = self._compiler.texts(
            (namespace, template.template_id, template.version), template.parts, locale, channel
        )
        if texts is None:
            raise NotRendered(f"the template {template.template_id} has no texts for {channel}")
        fields = msgspec.json.decode(row["fields"]) if row["fields"] else NO_VALUES
        own = msgspec.json.decode(row["vars"]) if row["vars"] is not None else claim.vars
        name = encode_id(MESSAGE, row["id"])
        given = {**fields, **own} if own else fields
        parts = texts.fill(given)
        if parts is None:
            values = template.values(given)
            values["recipient"] = recipient_values(row["user_id"], row["email"], row["phone"], fields)
            values["message"] = {"notification_id": name, "topic": row["topic"]}
            if texts.linked:
                if links is None:
                    raise NotRendered(
                        f"{LINK} has no value: set SEXTON_PUBLIC_URL to the public address of the API"
                    )
                values[LINK] = links.url(
                    namespace, channel, row["id"], row["user_id"], each.address, row["topic"]
                )
            parts = texts.render(values, Place(each.timezone, locale))
        return Outgoing(
            message_id=row["id"],
            key=row["key"] or name,
            address=each.address,
            parts=parts,
            user_id=row["user_id"],
            topic=row["topic"],
            locale=locale,
        )


@command
async def _claimed(
    context: Context, sender: MessageSender, claim: Claim, policy: Policy, run_id: int, limit: int
) -> tuple[datetime, list[Submission], SentBatch] | None:
    """The first transaction of a batch, which marks the messages to send."""
    if claim.mark is not None and not await claim.mark.hold(context):
        return None
    rows = await context.fetch(claim.statement, limit=limit, **claim.parameters)
    if not rows:
        return None
    now: datetime = rows[0]["now"]
    batch = SentBatch(last_id=rows[-1]["id"])
    going = await sender._decide(context, rows, claim, policy, now, run_id, batch)
    await sender._find_templates(context, going)
    return now, going, batch


@command
async def _settled(
    context: Context,
    sender: MessageSender,
    claim: Claim,
    going: Sequence[Submission],
    run_id: int,
    submitted_at: datetime,
) -> SentBatch:
    """The second transaction of a batch, which records the results."""
    batch, settlement = SentBatch(), Settlement(await context.time())
    await settle_all(settlement, context.namespace, going, sender.channels.doubt)
    mark = claim.mark
    if mark is not None and not await mark.take(context, submitted_at, settlement.counts):
        # Another run took the chunk in the meantime, and settled the messages.
        return batch
    await settlement.write(
        context,
        run_id=run_id,
        submitted_at=submitted_at,
        campaign_id=None if mark is None else mark.campaign_id,
    )
    back = Counter(key for each in going if each.row["id"] in settlement.not_sent for key in each.counted)
    if back:
        await add_counts(context, {key: -n for key, n in back.items()})
    await sender._announce(context, settlement, claim, settlement.now, batch)
    return batch


def _passed(row: asyncpg.Record, decision: Decision, message: DueMessage) -> tuple[FellBack, ...]:
    """The channels that were skipped, with reasons."""
    passed = () if isinstance(decision, TooLate) else decision.passed
    if message.channel_index > row["channel_index"]:
        before = row["channels"][row["channel_index"]]
        reached = row["channel_unless"][row["channel_index"]]
        passed = (FellBack(before, f"it was not {reached} in time"), *passed)
    return passed


def _put_aside(
    aside: Settlement, row: asyncpg.Record, decision: Decision, passed: Sequence[FellBack]
) -> None:
    channels = row["channels"]
    index = row["channel_index"]
    for each in passed:
        index += 1
        to = channels[index] if index < len(channels) else None
        if to is not None:
            detail = {"from": each.channel, "to": to, "reason": each.reason}
            aside.event(row["id"], EventKind.FELL_BACK, detail)
    number = row["id"]
    match decision:
        case Held():
            aside.move(
                number,
                MessageStatus.HELD,
                decision.until,
                reason=decision.reason,
                index=decision.channel_index,
            )
            detail = {"until": decision.until, "reason": decision.reason, "timezone": decision.timezone}
            aside.event(number, EventKind.HELD, detail)
        case Suppressed():
            if row["status"] in (MessageStatus.SENT, MessageStatus.DELIVERED):
                # No further channel is possible; the message was sent on the first one.
                aside.keep(number, row["status"])
            else:
                aside.end(number, MessageStatus.SUPPRESSED, decision.reason)
            aside.event(number, EventKind.SUPPRESSED, {"reason": decision.reason})
        case TooLate():
            late = round(decision.late.total_seconds())
            reason = f"it was {late} s late"
            aside.end(number, MessageStatus.EXPIRED, reason)
            aside.event(number, EventKind.EXPIRED, {"late_seconds": late, "expires_at": row["expires_at"]})
        case Sent():
            pass
