"""A worker: claims runs in batches, carries them out concurrently, and records the outcomes in batches.

    claim ──► backlog ──► one task per run ──► outcomes ──► one statement per kind for all of them
                 ▲                                 │
                 └──── as slots become free ◄──────┘

Nothing on this way costs a statement, a round trip or a timer per run. The next claim is under way while
outcomes are written. Deadlines are watched for all runs together.

What it can carry out is in `repertoire`, what stops a run in `watcher`, what handlers can say while they run
in `reporter`.

A worker acts under the identity of its node (see `heartbeat`). When its lease is in doubt it takes no more
work; when it was declared dead it drops its runs, and goes on as a new node.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from datetime import datetime
from typing import Any

import asyncpg

from sexton import __version__, clock
from sexton.config import Settings
from sexton.engine.doorbells.base import Doorbell
from sexton.engine.doorbells.choice import choose_broker
from sexton.engine.doorbells.line import Line
from sexton.engine.doorbells.postgres import PostgresDoorbell
from sexton.engine.loop import Loop
from sexton.engine.telemetry import Telemetry
from sexton.engine.worker.claimer import Claimer
from sexton.engine.worker.feedback import WorkerReporter
from sexton.engine.worker.heartbeat import Heartbeat
from sexton.engine.worker.queue import RunQueue
from sexton.engine.worker.receiver import Receiver
from sexton.engine.worker.recorder import Settler
from sexton.engine.worker.steps import Repertoire
from sexton.engine.worker.watcher import STOP_PATIENCE_SECONDS, Watcher
from sexton.errors import Unavailable
from sexton.model import Failure, Outcome, Success, encode_id
from sexton.postgres.database import Database
from sexton.runs.outcomes import OutcomeBatch
from sexton.targets.base import TargetKind
from sexton.targets.handler import Handler, PythonTarget
from sexton.targets.http.outbound import Outbound
from sexton.targets.run import (
    SUCCESS,
    RunContext,
    Step,
    describe,
    execute,
)
from sexton.targets.table import make_kinds, served

log = logging.getLogger("sexton")

NO_HANDLER_SECONDS = 30.0
REUSE_LIMIT = 200
# Handlers that can be in a transaction at the same time; PostgreSQL's connections are few.
TRANSACTIONS = 20


class Worker:
    """Runs what it has handlers for. `loops` are what keeps it going."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        handlers: Mapping[str, Handler],
        *,
        app: str | None = None,
        telemetry: Telemetry | None = None,
        doorbell: Doorbell | None = None,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self.settings = settings
        self.telemetry = telemetry or Telemetry()
        self.concurrency = settings.concurrency
        self.queues = settings.queue_names()
        self.python = PythonTarget(handlers, threads=self.concurrency)
        self.outbound = Outbound(settings)
        self.kinds: dict[str, TargetKind] = {
            "handler": self.python,
            **make_kinds(database, settings, self.outbound),
        }
        self.served = served(settings)
        self.doorbell = doorbell or PostgresDoorbell(database)
        self.now = now
        self.lanes: list[int] = []
        self.limited: list[int] = []
        self.running: dict[int, RunContext] = {}
        self.backlog: deque[tuple[RunContext, Step]] = deque()
        self.batch: OutcomeBatch | None = None
        self.lost = 0
        self.event_loop: asyncio.AbstractEventLoop | None = None
        self.backlog_since = 0.0
        # What to add to the monotonic clock for the seconds since 1970 on the database's.
        self.offset = 0.0
        self._database = database
        self._queue: RunQueue | None = None
        self._old_batches: list[OutcomeBatch] = []
        self._repertoire = Repertoire(self.kinds)
        self._turn = 0
        self._context = copy_context()
        self._idle = asyncio.Event()
        self._idle.set()
        self._joined = asyncio.Event()
        self.reporter = WorkerReporter(self, database)
        self.watcher = Watcher(self)
        self.heartbeat = Heartbeat(
            database,
            lease_seconds=settings.worker_lease_seconds,
            beat_seconds=settings.heartbeat_seconds,
            app=app,
            handlers=sorted(self.python.handlers),
            targets=self.served,
            queues=self.queues or ["*"],
            capacity=self.concurrency,
            version=__version__,
            running=lambda: self.in_hand,
            on_identity=self._become,
            on_lost=self._abandon,
            on_cancel=self.watcher.cancel,
            on_blocked=self._blocked,
            name_of=self._name_of,
        )
        self.claimer = Claimer(self)
        # Not among the loops that must tick: without it, runs are only claimed later.
        make_broker = choose_broker(settings)
        self.receiver = None if make_broker is None else Receiver(self, Line(database, make_broker))
        self.settler = Settler(self)
        self.loops: tuple[Loop, ...] = (self.claimer, self.settler, self.watcher)

    # Its life.

    async def start(self) -> None:
        self.event_loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._queue = await RunQueue.open(self._database, lent=min(self.concurrency, TRANSACTIONS))
        self.heartbeat.start()
        for loop in self.loops:
            loop.start()
        if self.receiver is not None:
            self.receiver.start()

    async def stop(self, grace: float | None = None) -> None:
        """Take no more work, give what runs a while to end, give the rest back, and leave."""
        await self.claimer.stop()
        if self.receiver is not None:
            await self.receiver.stop()
        await self.doorbell.close()
        await self._leave("draining")
        self.watcher.release_backlog()
        if not await self._wait_until_idle(self.settings.grace_seconds if grace is None else grace):
            for run in list(self.running.values()):
                self.watcher.end(run, "shutdown")
            if not await self._wait_until_idle(STOP_PATIENCE_SECONDS):
                for run in list(self.running.values()):
                    self.collect(run, None)
                self.launch()
        await self.watcher.stop()
        await self.settler.stop()
        await self._leave("dead")
        self.heartbeat.leave_node()
        await self.heartbeat.stop()
        for kind in self.kinds.values():
            await kind.close()
        await self.outbound.close()
        await self.queue.close()

    async def joined(self) -> int:
        """Wait until it is a node."""
        await self._joined.wait()
        assert self.node is not None
        return self.node

    async def idle(self) -> None:
        """Wait until nothing runs here."""
        await self._idle.wait()

    @property
    def node(self) -> int | None:
        return self.heartbeat.node

    @property
    def queue(self) -> RunQueue:
        assert self._queue is not None
        return self._queue

    @property
    def in_hand(self) -> int:
        return len(self.running) + len(self.backlog)

    @property
    def unsettled(self) -> int:
        """Outcomes that are not written yet."""
        waiting = sum(map(len, self._old_batches)) + self.settler.kept
        return waiting + len(self.batch) if self.batch is not None else waiting

    # Taking and starting runs.

    async def find_lanes(self) -> None:
        found = await self.queue.lanes(self.queues, sorted(self.python.handlers), self.served)
        if not set(found.limited) <= set(self.limited) and self.node is not None:
            await self.queue.count_in(self.node, list(self._known()))
        self.lanes, self.limited = found

    def take(self, rows: Sequence[asyncpg.Record], node: int, *, alone: bool = False) -> None:
        """Start what was claimed, as far as there are slots."""
        if not rows or node != self.node or self.batch is None:
            # Declared dead while the claim was under way: these are not ours.
            return
        self.telemetry.claimed.inc(len(rows))
        if not self.backlog:
            self.backlog_since = clock.monotonic()
        self._idle.clear()
        append, step_of, policy_of = self.backlog.append, self._repertoire.step, self._repertoire.policy
        for row in rows:
            try:
                step = step_of(row["target"])
                run = RunContext(row, self.reporter, policy_of(row["options"]))
                run.alone = alone
                if run.policy.idempotency_key_template is not None and run.has_new_key:
                    self.reporter.fix_key(node, run)
            except Exception:
                # Such as options of a newer version: another worker may understand them.
                log.exception("%s cannot be read here; it is given back", encode_id("r", row["id"]))
                self.batch.released.append((row["id"], row["claim"], NO_HANDLER_SECONDS, None))
                self.settler.nudge()
                continue
            if step is not None:
                append((run, step))
            elif row["name"] is None:
                now = run.started = clock.monotonic()
                self.keep(run, Failure("its job is gone", permanent=True), now)
            else:
                # The job was given another target before its first attempt, or the handler went away.
                self.batch.released.append((run.id, run.claim, NO_HANDLER_SECONDS, None))
                self.settler.nudge()
        self.launch()

    async def release_unknown(self, node: int) -> None:
        """What the database says is ours and we know nothing of: the answer to a claim was lost."""
        given = await self.queue.release_unknown(node, list(self._known()), now=self.now())
        if given:
            log.warning("%d runs were given back: the answer to their claim was lost", given)

    def _known(self) -> set[int]:
        """Every run in its hands, those whose outcomes are not written yet included."""
        known = {*self.running, *(run.id for run, _ in self.backlog), *self.settler.runs()}
        for batch in (*self._old_batches, *([self.batch] if self.batch is not None else [])):
            known.update(batch.runs())
        return known

    def launch(self) -> None:
        """Start what waits, as far as there are slots."""
        backlog, running, concurrency = self.backlog, self.running, self.concurrency
        while backlog and len(running) < concurrency:
            run, step = backlog.popleft()
            running[run.id] = run
            run.task = asyncio.Task(
                self._attempt(run, step), loop=self.event_loop, context=self._context.copy()
            )
        if not running:
            self._idle.set()
            self.claimer.wake_if_waiting()

    async def _attempt(self, run: RunContext, step: Step) -> None:
        """Carry a run out, and as long as handlers end without ever waiting, the next ones as well.

        A task of its own for a run that never waits would cost as much as all the rest. One that waits, or
        that has left something in the task's context, keeps the task to itself.
        """
        assert self.event_loop is not None
        # Whoever waits lets this happen first.
        self.event_loop.call_soon(self._turn_over)
        turn, context, task = self._turn, self._context, run.task
        backlog, running = self.backlog, self.running
        left = REUSE_LIMIT
        while True:
            run.started = clock.monotonic()
            outcome = await execute(run, step)
            if not run.ended:
                self.collect(run, outcome)
            left -= 1
            if self._turn != turn or not left or copy_context() != context:
                break
            if not backlog or len(running) >= self.concurrency:
                break
            run, step = backlog.popleft()
            running[run.id] = run
            run.task = task
        self.launch()

    def _turn_over(self) -> None:
        self._turn += 1

    # Collecting outcomes.

    def collect(self, run: RunContext, outcome: Outcome | None) -> None:
        """A run has ended; what it ended with counts, unless it was taken over."""
        finished = clock.monotonic()
        run.ended = True
        self.running.pop(run.id, None)
        if self.batch is not None and run.stop != "lost":
            if run.settled:
                self._settled(run, outcome)
            else:
                self.keep(run, outcome, finished)

    def keep(self, run: RunContext, outcome: Outcome | None, finished: float) -> None:
        """Put the outcome with the others."""
        assert self.batch is not None
        started = run.started + self.offset
        self.telemetry.late_seconds.observe(started - run.due_seconds)
        if outcome is SUCCESS:
            self.batch.done.add(run, started, finished + self.offset)
        else:
            try:
                self.batch.add(run, outcome, started, finished + self.offset)
            except Exception as error:
                # Something like Retry(after="soon").
                self.batch.add(run, Failure(describe(error)), started, finished + self.offset)
        self.settler.nudge()

    def _settled(self, run: RunContext, outcome: Outcome | None) -> None:
        """The handler's own transaction has recorded the success."""
        self.telemetry.succeeded.inc()
        if not isinstance(outcome, Success):
            log.warning("%r had committed its success; what came after it is dropped: %s", run, outcome)

    def swap(self) -> list[OutcomeBatch]:
        """The outcomes so far; new ones go into a new batch."""
        batches, self._old_batches = self._old_batches, []
        if self.batch:
            batches.append(self.batch)
            self.batch = OutcomeBatch(self.batch.node)
        return batches

    def count_lost(self, lost: set[int]) -> None:
        if lost:
            self.lost += len(lost)
            self.telemetry.lost.inc(len(lost))
            log.warning("%d outcomes dropped: their runs had been taken over", len(lost))

    # Its identity.

    def _become(self, node: int) -> None:
        self.offset = self.heartbeat.offset
        self.batch = OutcomeBatch(node)
        self.telemetry.identities.inc()
        self._joined.set()
        self.claimer.wake()

    def _abandon(self, node: int) -> None:
        """Declared dead: nothing that runs here is ours any more. Outcomes that are ready may still be
        tried: they name the old identity, and find their runs only if nobody has taken them back yet."""
        self._joined.clear()
        self.backlog.clear()
        if self.batch:
            self._old_batches.append(self.batch)
        self.batch = None
        for run in list(self.running.values()):
            self.watcher.end(run, "lost")
        self.settler.nudge()

    def _blocked(self, seconds: float) -> None:
        self.telemetry.blocked.inc()
        self.telemetry.loop_lag.set(seconds)

    def _name_of(self, task: asyncio.Task[Any] | None) -> str:
        for run in list(self.running.values()):
            if task is not None and run.task is task:
                return f"the handler of {run.job_name} ({run.run_id})"
        return task.get_name() if task is not None else "something"

    async def _leave(self, state: str) -> None:
        node = self.node
        if node is None:
            return
        try:
            async with self.queue.connection() as connection:
                await connection.execute(
                    self._database.statement("worker_leave"), node, state, self.in_hand, self.now()
                )
        except Unavailable as error:
            log.warning("worker: could not say that it leaves: %s; its lease ends by itself", error.message)

    async def _wait_until_idle(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True
