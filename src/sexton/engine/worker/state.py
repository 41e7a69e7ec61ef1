"""What the parts of a worker share: its identity, its runs, and the outcomes that are not written yet.

Each part gets this, and not the worker. Everything here belongs to the worker's event loop. Other threads
only read: `node`, `offset` and the runs in hand.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable
from datetime import datetime

from sexton.config import Settings
from sexton.engine.begun import NODE, BegunRuns
from sexton.engine.telemetry import Telemetry
from sexton.engine.worker.audience import Audience
from sexton.printable import counted
from sexton.runs.outcomes import OutcomeBatch
from sexton.targets.providers import Providers, Resources
from sexton.targets.run import RunContext, Step

log = logging.getLogger("sexton")


class WorkerState:
    """A run is in `backlog`, then in `running`; then its outcome is in `batch`, then in one of `unwritten`.
    It is always in exactly one of them, until its outcome is in the database."""

    def __init__(
        self,
        settings: Settings,
        telemetry: Telemetry,
        now: Callable[[], datetime | None] = lambda: None,
        begun: int | None = None,
    ) -> None:
        self.settings = settings
        self.telemetry = telemetry
        #: The time to pass to statements; None for the database's own clock.
        self.now = now
        self.concurrency = settings.concurrency
        #: The lanes to claim from: freely, and under the limits of their queues.
        self.lanes: list[int] = []
        self.limited: list[int] = []
        #: Of each lane, the kind of target and what its runs need.
        self.needs: dict[int, tuple[str, str]] = {}
        #: Jobs whose runs may end the process.
        self.suspicious: frozenset[int] = frozenset()
        #: Which runs have begun, for the parent of this process.
        self.begun = BegunRuns(settings.concurrency, begun)
        self.backlog: deque[tuple[RunContext, Step]] = deque()
        self.backlog_since = 0.0
        self.running: dict[int, RunContext] = {}
        #: Outcomes under the current identity; None without one.
        self.batch: OutcomeBatch | None = None
        #: Closed batches, which get no more outcomes.
        self.unwritten: list[OutcomeBatch] = []
        #: The highest id of a run that it has claimed.
        self.highest_run = 0
        #: What to add to the monotonic clock for the seconds since 1970 on the database's.
        self.offset = 0.0
        self.joined = asyncio.Event()
        #: The listeners, which get recorded outcomes.
        self.audience = Audience({}, Resources(Providers()))
        #: Set while too many handlers go on although they were stopped: then the worker takes no more runs.
        self.worn_out = asyncio.Event()
        #: Called when there is something to write. The outcome writer sets it.
        self.on_outcome: Callable[[], None] = lambda: None

    @property
    def node(self) -> int | None:
        """The identity under which it claims and writes."""
        batch = self.batch
        return None if batch is None else batch.node

    @property
    def in_hand(self) -> int:
        """Runs that have not ended."""
        return len(self.running) + len(self.backlog)

    def lanes_in_hand(self) -> dict[int, int]:
        """How many of them each lane has. Any thread may call this: `list()` of either copies it in one
        step."""
        in_hand = [*list(self.running.values()), *(run for run, _ in list(self.backlog))]
        return Counter(run.lane for run in in_hand if run.lane is not None)

    @property
    def unwritten_outcomes(self) -> int:
        closed = sum(map(len, self.unwritten))
        return closed if self.batch is None else closed + len(self.batch)

    def held(self) -> set[int]:
        """Every run that the worker holds, also those whose outcomes are not written yet."""
        held = {*self.running, *(run.id for run, _ in self.backlog)}
        for batch in (*self.unwritten, *([self.batch] if self.batch is not None else [])):
            held.update(batch.runs())
        return held

    def become(self, node: int, offset: float) -> None:
        """Work as this node from now on."""
        self.batch = OutcomeBatch(node)
        self.begun.cells[NODE] = node
        self.offset = offset
        self.telemetry.identities.inc()
        self.joined.set()

    def leave(self) -> None:
        """The identity is gone. The worker may still try to write ready outcomes: they name the identity, and
        reach their runs only if no other worker has claimed them yet. The backlog belongs to others now."""
        self.joined.clear()
        self.begun.cells[NODE] = 0
        self.backlog.clear()
        if self.batch:
            self.unwritten.append(self.batch)
        self.batch = None
        self.on_outcome()

    def close_batch(self) -> None:
        """Close the batch for writing; new outcomes go into a new batch."""
        if self.batch:
            self.unwritten.append(self.batch)
            self.batch = OutcomeBatch(self.batch.node)

    def count_lost(self, lost: set[int]) -> None:
        if lost:
            self.telemetry.lost.inc(len(lost))
            log.warning("%s dropped: taken over by other workers", counted(len(lost), "outcome"))

    def database_seconds(self, moment: float) -> float:
        """A moment of the monotonic clock as seconds since 1970 on the database's clock."""
        return moment + self.offset
