"""The backlog, counted in messages: for people, and for autoscalers of workers.

A chunk of a campaign is one run, and a wave may have a hundred thousand messages, so the number of runs says
little. Messages that fall due soon are counted too, so that workers are started before 08:00 and not after
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Annotated

import msgspec

from sexton.notifications.model import QUEUE
from sexton.postgres.transaction import Context, query
from sexton.refusal import about

MOST_COUNTED = 1_000_000
# The latest messages from which the rate of arrival is computed.
SAMPLE = 20_000
#: The messages per second of a worker, before anything was measured.
ASSUMED_PER_SECOND = 1000.0
#: The rows over which the writers of a minute are spread.
PARTS = 16
SETTLED = ("sent", "failed", "suppressed", "expired", "unconfirmed")
#: The batches of a worker at the same time that increase its speed.
BATCHES_AT_ONCE = 2


class MessageBacklog(msgspec.Struct, frozen=True, kw_only=True):
    """The messages behind the runs of a queue."""

    depth: Annotated[int, about("Messages that are due and not submitted.")]
    waiting: Annotated[
        int, about(f"All that are to be sent, later ones too; single ones up to {MOST_COUNTED:,}.")
    ]
    oldest_age_seconds: Annotated[float, about("How long the oldest of these messages has been due.")]
    arrival_per_second: Annotated[float, about("Messages that were made, in the last minute.")]
    drain_per_second: Annotated[float, about("Messages that came to an end, in the last minute or two.")]
    due_in_5_minutes: Annotated[int, about("Messages that fall due in the next 5 minutes.")]
    due_in_10_minutes: Annotated[int, about("Messages that fall due in the next 10 minutes.")]
    due_in_60_minutes: Annotated[int, about("Messages that fall due in the next 60 minutes.")]
    workers: Annotated[int, about("Live workers.")]
    per_worker_per_second: Annotated[
        float,
        about(f"What one can send, from what was measured in the last day; {ASSUMED_PER_SECOND:g} before."),
    ]
    drain_seconds: Annotated[int, about("The time in which the backlog is to be sent.")]
    workers_needed: Annotated[
        int, about("Workers that would send the backlog in that time, with messages that fall due meanwhile.")
    ]


@query
async def read_backlog(context: Context, *, drain_seconds: int) -> MessageBacklog:
    [row] = await context.fetch(
        "campaigns/read_backlog", most=MOST_COUNTED, sample=SAMPLE, drain_seconds=drain_seconds
    )
    depth = row["single_due"] + row["campaign_due"]
    oldest = row["oldest_due_at"]
    age = 0.0 if oldest is None or not depth else max(0.0, (row["now"] - oldest).total_seconds())
    speed = row["per_batch_second"] * BATCHES_AT_ONCE or ASSUMED_PER_SECOND
    return MessageBacklog(
        depth=depth,
        waiting=row["single_waiting"] + row["campaign_waiting"],
        oldest_age_seconds=round(age, 3),
        arrival_per_second=round(row["arrived"] / row["arrived_seconds"], 2),
        drain_per_second=round(row["settled"] / max(1.0, row["settled_seconds"]), 2),
        due_in_5_minutes=row["due_5"],
        due_in_10_minutes=row["due_10"],
        due_in_60_minutes=row["due_60"],
        workers=row["workers"],
        per_worker_per_second=round(speed, 1),
        drain_seconds=drain_seconds,
        workers_needed=workers_needed(depth + row["due_meanwhile"], speed, drain_seconds),
    )


async def note_settled(context: Context, counts: Mapping[str, int], run_id: int, seconds: float) -> None:
    """Count a settled batch, for the speed. Not in its transaction, because others would wait for the row."""
    settled = sum(counts.get(status, 0) for status in SETTLED)
    if settled:
        await context.execute(
            "campaigns/note_settled", part=run_id % PARTS, settled=settled, busy_seconds=seconds
        )


def workers_needed(messages: int, per_second: float, seconds: int) -> int:
    """The number of workers that send these messages in this time."""
    return ceil(messages / (per_second * max(1, seconds)))


def counts_messages(queue: str) -> bool:
    """Whether the runs of a queue stand for messages."""
    return queue == QUEUE
