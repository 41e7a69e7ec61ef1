"""Collects the results of messages, and writes them in one statement per kind of result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import asyncpg

from sexton.clock import whole_second
from sexton.notifications.channels.base import Accepted, Deferred, Failed, Rejected, SendResult, Unclear
from sexton.notifications.model import EventKind, MessageStatus
from sexton.notifications.sending.hold import CapKey
from sexton.postgres.database import array_text, by_column
from sexton.postgres.jsonb import json_or_null
from sexton.postgres.transaction import Context

LONGEST_REASON = 2000


@dataclass(slots=True)
class Submission:
    """A message that is being sent."""

    row: asyncpg.Record
    index: int
    address: Any
    timezone: str
    counted: tuple[CapKey, ...]
    provider: str | None = None
    result: SendResult | None = None
    note: str | None = None


class _Change(NamedTuple):
    """The new state of a message. `due_at` None: nothing is left to do."""

    id: int
    status: str
    due_at: datetime | None
    hold_reason: str | None
    failure_reason: str | None
    channel_index: int | None
    retries: int
    provider: str | None
    provider_id: str | None
    sent: bool


#: Its columns as arrays.
CHANGES = (
    "ids", "statuses", "due_ats", "hold_reasons", "failure_reasons", "channel_indexes", "retries",
    "providers", "provider_ids", "sents",
)  # fmt: skip


class Settlement:
    """Changes of messages at one instant."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._sent: dict[str | None, list[int]] = {}
        self._changes: list[_Change] = []
        self._events: list[tuple[int, str, str | None]] = []
        #: When waiting messages are due.
        self.due_at: set[datetime] = set()
        #: The number of messages by new status.
        self.counts: Counter[str] = Counter()
        #: Messages that were not sent, and do not count for caps.
        self.not_sent: set[int] = set()

    def sent(self, number: int, provider: str | None) -> None:
        """A provider has accepted the message, and nothing else is to be recorded."""
        self._sent.setdefault(provider, []).append(number)
        self.counts[MessageStatus.SENT] += 1

    def keep(self, number: int, status: str) -> None:
        """The message keeps its status, and nothing is left to do."""
        self._changes.append(_Change(number, status, None, None, None, None, 0, None, None, False))

    def end(
        self, number: int, status: MessageStatus, reason: str | None, *, provider: str | None = None
    ) -> None:
        self._changes.append(
            _Change(number, status, None, None, _short(reason), None, 0, provider, None, False)
        )
        self.counts[status] += 1
        if status is not MessageStatus.UNCONFIRMED:
            self.not_sent.add(number)

    def accept(
        self, number: int, provider: str | None, provider_id: str | None, due_at: datetime | None
    ) -> None:
        """A provider has accepted the message, with its own id for it, or with a later fall-back."""
        self._changes.append(
            _Change(number, MessageStatus.SENT, due_at, None, None, None, 0, provider, provider_id, True)
        )
        self.counts[MessageStatus.SENT] += 1
        if due_at is not None:
            self.due_at.add(due_at)

    def move(
        self,
        number: int,
        status: MessageStatus,
        due_at: datetime,
        *,
        reason: str | None = None,
        failure: str | None = None,
        index: int | None = None,
        retries: int = 0,
        provider: str | None = None,
    ) -> None:
        """The message waits until `due_at`. `retries` is added to its count; `index` is its new channel."""
        due_at = whole_second(due_at)
        self._changes.append(
            _Change(
                number, status, due_at, _short(reason), _short(failure), index, retries, provider, None, False
            )
        )
        self.due_at.add(due_at)
        self.not_sent.add(number)

    def event(self, number: int, kind: EventKind, detail: Mapping[str, Any] | None = None) -> None:
        text = json_or_null(detail)
        self._events.append((number, kind.value, text))

    async def write(
        self,
        context: Context,
        *,
        run_id: int | None = None,
        submitted_at: datetime | None = None,
        campaign_id: int | None = None,
    ) -> None:
        """Write all changes. With a run, only messages that it marked at that instant change; without one,
        the rows are locked. With a campaign, this transaction has removed the mark of the chunk."""
        chunk = {} if campaign_id is None else {"campaign_id": campaign_id}
        for provider, ids in self._sent.items():
            await context.execute(
                "messages/settle_sent" if campaign_id is None else "campaigns/settle_sent",
                ids=array_text(ids),
                provider=provider,
                run_id=run_id,
                submitted_at=submitted_at,
                now=self.now,
                **chunk,
            )
        if self._changes:
            await context.execute(
                "messages/settle",
                run_id=run_id,
                submitted_at=submitted_at,
                fenced=run_id is not None and campaign_id is None,
                now=self.now,
                **by_column(CHANGES, self._changes),
            )
        if self._events:
            await context.execute(
                "messages/note", now=self.now, **by_column(("ids", "kinds", "details"), self._events)
            )


async def settle_all(
    settlement: Settlement,
    namespace: str,
    going: Sequence[Submission],
    doubt: Callable[[str, str], Awaitable[str]],
) -> None:
    """Add the results of a batch."""
    for each in going:
        row, result = each.row, each.result
        assert result is not None
        if (
            type(result) is Accepted
            and result.provider_id is None
            and each.note is None
            and row["channel_unless"] is None
        ):
            settlement.sent(row["id"], each.provider)  # the usual case
            continue
        channel = row["channels"][each.index]
        if each.note is not None:
            settlement.event(row["id"], EventKind.NOTED, {"note": each.note})
        match result:
            case Accepted(provider_id=provider_id):
                follow_at = _follow_at(row, each.index, settlement.now)
                if provider_id is None and follow_at is None:
                    settlement.sent(row["id"], each.provider)
                else:
                    settlement.accept(row["id"], each.provider, provider_id, follow_at)
            case Deferred(reason=reason, seconds=seconds):
                due_at = settlement.now + timedelta(seconds=max(1.0, seconds))
                settlement.move(row["id"], MessageStatus.HELD, due_at, reason=reason, index=each.index)
                if row["hold_reason"] != _short(reason):
                    detail = {"reason": reason, "until": due_at, "provider": each.provider}
                    settlement.event(row["id"], EventKind.DEFERRED, detail)
            case Rejected(reason=reason):
                _fall_back_or_end(settlement, each, channel, reason, MessageStatus.FAILED)
            case Failed(reason=reason, retry_after=retry_after):
                _try_again(settlement, each, channel, reason, retry_after, MessageStatus.FAILED)
            case Unclear(reason=reason):
                if await doubt(namespace, channel) == "resend":
                    _try_again(settlement, each, channel, reason, None, MessageStatus.UNCONFIRMED)
                else:
                    settlement.end(row["id"], MessageStatus.UNCONFIRMED, reason, provider=each.provider)
                    detail = {"reason": reason, "provider": each.provider, "channel": channel}
                    settlement.event(row["id"], EventKind.UNCONFIRMED, detail)


def _try_again(
    settlement: Settlement,
    each: Submission,
    channel: str,
    reason: str,
    retry_after: float | None,
    ends: MessageStatus,
) -> None:
    row = each.row
    wait = max(row["retry_seconds"], retry_after or 0)
    due_at = settlement.now + timedelta(seconds=wait)
    falls_at = _falls_at(row, each.index, settlement.now)
    if row["retry_count"] >= row["max_retries"]:
        _fall_back_or_end(settlement, each, channel, reason, ends)
    elif falls_at is not None and falls_at <= due_at:
        _fall_back(settlement, each, channel, reason, max(falls_at, settlement.now))
    else:
        settlement.move(
            row["id"], MessageStatus.PENDING, due_at, failure=reason, index=each.index, retries=1,
            provider=each.provider,
        )  # fmt: skip
        detail = {
            "reason": reason,
            "until": whole_second(due_at),
            "try": row["retry_count"] + 1,
            "of": row["max_retries"],
            "channel": channel,
            "provider": each.provider,
        }
        settlement.event(row["id"], EventKind.RETRY, detail)


def _fall_back_or_end(
    settlement: Settlement, each: Submission, channel: str, reason: str, ends: MessageStatus
) -> None:
    row = each.row
    if each.index + 1 < len(row["channels"]):
        _fall_back(settlement, each, channel, reason, settlement.now)
        return
    settlement.end(row["id"], ends, reason, provider=each.provider)
    kind = EventKind.UNCONFIRMED if ends is MessageStatus.UNCONFIRMED else EventKind.FAILED
    detail = {"reason": reason, "channel": channel, "provider": each.provider}
    settlement.event(row["id"], kind, detail)


def _fall_back(settlement: Settlement, each: Submission, channel: str, reason: str, at: datetime) -> None:
    row = each.row
    settlement.move(
        row["id"],
        MessageStatus.PENDING,
        at,
        failure=reason,
        index=each.index + 1,
        retries=-row["retry_count"],
    )
    detail = {
        "from": channel,
        "to": row["channels"][each.index + 1],
        "reason": reason,
        "provider": each.provider,
    }
    settlement.event(row["id"], EventKind.FELL_BACK, detail)


def _falls_at(row: asyncpg.Record, index: int, now: datetime) -> datetime | None:
    """When to use the next channel if this one keeps failing; None: only after all retries."""
    after = row["channel_after_seconds"]
    if after is None or index + 1 >= len(row["channels"]) or not after[index]:
        return None
    same = index == row["channel_index"] and row["channel_at"] is not None
    began: datetime = row["channel_at"] if same else now
    return began + timedelta(seconds=after[index])


def _follow_at(row: asyncpg.Record, index: int, now: datetime) -> datetime | None:
    """When to use the next channel although this one has sent the message; None: never."""
    unless = row["channel_unless"]
    if unless is None or index + 1 >= len(row["channels"]) or unless[index] == "sent":
        return None
    return whole_second(now + timedelta(seconds=row["channel_after_seconds"][index]))


def _short(text: str | None) -> str | None:
    return text and text.replace("\0", "�")[:LONGEST_REASON]
