"""Shares out the runs that wait under limits: which to claim now, and when to look again.

    share_out(stretches, limit) -> Share

A pure function between two statements: `claiming/read_limited` reads the waiting runs and the room that the
limits leave, and `claiming/claim_chosen` claims the chosen runs. Both run while the queues are locked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

# If a walk over keys was cut short and has found nothing, it continues after this long.
GO_ON_SECONDS = 0.1
# Under a rate, the runs of this long are claimed together: a claim for each would cost more than the runs.
TOGETHER_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Stretch:
    """The runs of one lane and priority that may be claimed: a row of `claiming/read_limited`, which explains
    them.

    `room` is what the limits leave of the queue. A queue with a rate has `tokens`, which refill at `rate` a
    second up to `burst`.
    """

    queue: int
    room: int
    tokens: float | None
    rate: float | None
    burst: float | None
    now: datetime
    runs: Sequence[int]
    keys: Sequence[str | None] | None
    free: Sequence[int] | None
    cut: str | None
    waiting: int


@dataclass(slots=True)
class QueueShare:
    """What a claim takes from one queue. The next claim continues at `key`."""

    tokens: float | None
    rate: float | None
    burst: float | None
    runs: int = 0
    key: str | None = None
    cut: str | None = None
    remaining: bool = False

    @property
    def seconds(self) -> float | None:
        """In how many seconds to look again; None: when a run has ended."""
        if self.cut is not None and not self.runs:
            return GO_ON_SECONDS
        if not self.remaining or self.tokens is None or self.rate is None or self.burst is None:
            return None
        left = self.tokens - self.runs
        if left >= 1:
            return None
        wanted = min(self.burst, max(1.0, self.rate * TOGETHER_SECONDS))
        return math.ceil((wanted - left) / self.rate * 1e6) / 1e6


@dataclass(slots=True)
class Share:
    """The chosen `runs`, each from the queue at the same place of `run_queues`, and the share of every queue.
    `now` is the time of the first statement, on the database's clock."""

    now: datetime | None = None
    runs: list[int] = field(default_factory=list)
    run_queues: list[int] = field(default_factory=list)
    queues: dict[int, QueueShare] = field(default_factory=dict)

    @property
    def remaining(self) -> bool:
        """Whether only the limits kept runs back."""
        return any(queue.remaining for queue in self.queues.values())

    @property
    def seconds(self) -> float | None:
        return min(
            (queue.seconds for queue in self.queues.values() if queue.seconds is not None), default=None
        )


def share_out(stretches: Sequence[Stretch], limit: int) -> Share:
    """Choose runs in the given order: no more of a key than its share leaves, no more of a queue than its
    room, and no more than `limit`."""
    share, of_keys = Share(stretches[0].now if stretches else None), Counter[tuple[int, str]]()
    for stretch in stretches:
        queue = share.queues.setdefault(
            stretch.queue, QueueShare(stretch.tokens, stretch.rate, stretch.burst)
        )
        taken = 0
        for place, run in enumerate(stretch.runs):
            if len(share.runs) >= limit or queue.runs >= stretch.room:
                break
            key = None if stretch.keys is None else stretch.keys[place]
            if key is not None and stretch.free is not None:
                if of_keys[stretch.queue, key] >= stretch.free[place]:
                    continue
                of_keys[stretch.queue, key] += 1
                queue.key = key
            share.runs.append(run)
            share.run_queues.append(stretch.queue)
            queue.runs += 1
            taken += 1
        queue.cut = queue.cut or stretch.cut
        queue.remaining |= stretch.waiting > taken
    return share
