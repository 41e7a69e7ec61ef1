"""A worker: claims runs in batches, carries them out concurrently, and records the outcomes in batches.

    claim ──► backlog ──► one task per run ──► outcomes ──► one statement per kind for all of them
                 ▲                                 │
                 └──── as slots become free ◄──────┘

Nothing on this way costs a statement, a round trip or a timer per run. The next claim is under way while
outcomes are written. Deadlines are watched for all runs together. How far ahead a worker claims follows
from how fast it has been lately: a few hundredths of a second of work, and none at all while its handlers
are slow; what waits too long here is given back.

A worker acts under the identity of its node (see `heartbeat`). When its lease is in doubt it takes no more
work; when it was declared dead it drops its runs, and goes on as a new node.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec

from sexton import __version__, clock
from sexton.config import Settings
from sexton.errors import Unavailable
from sexton.execution import (
    SUCCESS,
    LeaseLost,
    Policy,
    RunContext,
    Step,
    clean,
    encode_result,
    error_group,
    execute,
    read_policy,
    stopped,
    tries,
    wait_before_retry,
)
from sexton.heartbeat import Heartbeat
from sexton.loop import Loop
from sexton.model import Cancel, Expired, Failure, Outcome, Retry, Snooze, Success, Target
from sexton.postgres.database import LOST, Connection, Database
from sexton.queues.base import Doorbell, Ring
from sexton.queues.postgres import Again, End, PostgresDoorbell, RunQueue
from sexton.targets.base import TargetKind
from sexton.targets.http import HttpTargetKind
from sexton.targets.python import Handler, PythonTarget
from sexton.telemetry import Telemetry

if TYPE_CHECKING:
    from datetime import datetime

log = logging.getLogger("sexton")

GATHER_SECONDS = 0.002
AHEAD_SECONDS = 0.05
STALE_SECONDS = 1.0
WATCH_SECONDS = 0.25
STOP_PATIENCE_SECONDS = 10.0
LANES_SECONDS = 10.0
NO_HANDLER_SECONDS = 30.0
ALONE_PATIENCE_SECONDS = 10.0
CACHE_LIMIT = 10_000

read_target = msgspec.json.Decoder(Target).decode


class Batch:
    """Outcomes that wait to be written, as the columns of their statements, under one identity."""

    __slots__ = ("again", "claims", "ended", "finished", "ids", "node", "released", "results", "started")

    def __init__(self, node: int) -> None:
        self.node = node
        self.ids: list[int] = []
        self.claims: list[int] = []
        self.started: list[float] = []
        self.finished: list[float] = []
        self.results: list[str | None] = []
        self.ended: list[End] = []
        self.again: list[Again] = []
        self.released: list[tuple[int, int, float]] = []

    def __len__(self) -> int:
        return len(self.ids) + len(self.ended) + len(self.again) + len(self.released)


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
        self.queues = (
            None if settings.queues == "*" else [name.strip() for name in settings.queues.split(",")]
        )
        self.python = PythonTarget(handlers, threads=self.concurrency)
        self.kinds: dict[str, TargetKind] = {"handler": self.python, "http": HttpTargetKind(database)}
        self.lanes: list[int] = []
        self.lost = 0
        self._database = database
        self._doorbell = doorbell or PostgresDoorbell(database)
        self._now = now
        self._queue: RunQueue | None = None
        self._running: dict[int, RunContext] = {}
        self._backlog: deque[tuple[RunContext, Step]] = deque()
        self._backlog_since = 0.0
        self._batch: Batch | None = None
        self._old_batches: list[Batch] = []
        self._logs: list[tuple[int, int, int, float, str, str]] = []
        self._progress: dict[int, tuple[int, int, str]] = {}
        self._steps: dict[str, Step | None] = {}
        self._policies: dict[str, Policy] = {}
        self._offset = 0.0
        self._idle = asyncio.Event()
        self._idle.set()
        self._joined = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.heartbeat = Heartbeat(
            database,
            lease_seconds=settings.worker_lease_seconds,
            beat_seconds=settings.heartbeat_seconds,
            app=app,
            handlers=sorted(self.python.handlers),
            queues=self.queues or ["*"],
            capacity=self.concurrency,
            version=__version__,
            running=lambda: len(self._running) + len(self._backlog),
            on_identity=self._become,
            on_lost=self._abandon,
            on_cancel=self._cancel,
            on_blocked=self._blocked,
            name_of=self._name_of,
        )
        self.claimer = Claimer(self)
        self.settler = Settler(self)
        self.watcher = Watcher(self)
        self.loops: tuple[Loop, ...] = (self.claimer, self.settler, self.watcher)

    # Its life.

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue = await RunQueue.open(self._database)
        self.heartbeat.start()
        for loop in self.loops:
            loop.start()

    async def stop(self, grace: float | None = None) -> None:
        """Take no more work, give what runs a while to end, give the rest back, and leave."""
        await self.claimer.stop()
        await self._leave("draining")
        self._release_backlog()
        self.settler.wake()
        if not await self._wait_until_idle(self.settings.grace_seconds if grace is None else grace):
            self._stop_all("shutdown")
            if not await self._wait_until_idle(STOP_PATIENCE_SECONDS):
                for run in list(self._running.values()):
                    self._collect(run, None)
        await self.watcher.stop()
        await self.settler.stop()
        await self._leave("dead")
        self.heartbeat.leave_node()
        await self.heartbeat.stop()
        for kind in self.kinds.values():
            await kind.close()
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
        return len(self._running) + len(self._backlog)

    # Taking and starting runs.

    def take(self, rows: Sequence[asyncpg.Record], node: int, *, alone: bool = False) -> None:
        """Start what was claimed, as far as there are slots."""
        if not rows:
            return
        if node != self.node:
            # Declared dead while the claim was under way: these are not ours.
            return
        self.telemetry.claimed.inc(len(rows))
        if not self._backlog:
            self._backlog_since = clock.monotonic()
        for row in rows:
            step = self._step(row["target"])
            run = RunContext(row, self, self._policy(row["options"]))
            run.alone = alone
            if step is not None:
                self._backlog.append((run, step))
            elif row["name"] is None:
                self._fail_at_once(run, Failure("its job is gone", permanent=True))
            else:
                self._open_batch().released.append((run.id, run.claim, NO_HANDLER_SECONDS))
                self.settler.wake()
        self._launch()

    def _launch(self) -> None:
        backlog, running, concurrency = self._backlog, self._running, self.concurrency
        if backlog and not running:
            self._idle.clear()
        while backlog and len(running) < concurrency:
            run, step = backlog.popleft()
            running[run.id] = run
            run.task = _task(self._attempt(run, step), self._loop)

    async def _attempt(self, run: RunContext, step: Step) -> None:
        run.started = clock.monotonic()
        outcome = await execute(run, step)
        if not run.ended:
            self._collect(run, outcome)

    def _step(self, target: str | None) -> Step | None:
        if target is None:
            return None
        try:
            return self._steps[target]
        except KeyError:
            pass
        try:
            read = read_target(target)
        except msgspec.ValidationError:
            step = None
        else:
            step = self.kinds[read.kind].step(read)
        if len(self._steps) >= CACHE_LIMIT:
            self._steps.clear()
        self._steps[target] = step
        return step

    def _policy(self, options: str | None) -> Policy:
        options = options or "{}"
        try:
            return self._policies[options]
        except KeyError:
            pass
        if len(self._policies) >= CACHE_LIMIT:
            self._policies.clear()
        policy = self._policies[options] = read_policy(options)
        return policy

    # Collecting outcomes.

    def _collect(self, run: RunContext, outcome: Outcome | None) -> None:
        """Put the outcome with the others, and start the next run."""
        finished = clock.monotonic()
        run.ended = True
        self._running.pop(run.id, None)
        batch = self._batch
        if batch is not None and run.stop != "lost":
            if run.settled:
                self._settled(run, outcome)
            elif type(outcome) is Success:
                offset = self._offset
                batch.ids.append(run.id)
                batch.claims.append(run.claim)
                batch.started.append(run.started + offset)
                batch.finished.append(finished + offset)
                batch.results.append(None if outcome is SUCCESS else encode_result(outcome.result))
                self.telemetry.late_seconds.observe(
                    max(0.0, run.started + offset - run._record["due_at"].timestamp())
                )
            else:
                self._sort(batch, run, outcome, finished)
            self.settler.nudge()
        if self._backlog:
            self._launch()
        elif not self._running:
            self._idle.set()
            self.claimer.wake_if_waiting()

    def _sort(self, batch: Batch, run: RunContext, outcome: Outcome | None, finished: float) -> None:
        """An end that is not a success: again, over, or given back."""
        times = (run.id, run.claim, run.started + self._offset, finished + self._offset)
        match outcome:
            case None:
                batch.released.append((run.id, run.claim, 0.0))
            case Snooze(seconds):
                batch.again.append((*times, max(0.0, seconds), "snoozed", None))
                self.telemetry.snoozed.inc()
            case Cancel(reason):
                reason = clean(reason, 1000)
                batch.ended.append((*times, "cancelled", reason, "cancelled", reason, None))
                self.telemetry.cancelled.inc()
            case Retry(after, reason):
                self._sort(batch, run, Failure(clean(reason, 8000), retry_after=after), finished)
            case Failure(error, permanent, retry_after, kind):
                how = "timeout" if kind == "timeout" else "failed"
                if permanent or tries(run) > run.policy.max_retries:
                    why = "permanent" if permanent else "exhausted"
                    batch.ended.append((*times, "dead", why, how, error, error_group(error)))
                    self.telemetry.died.inc()
                else:
                    batch.again.append((*times, wait_before_retry(run, retry_after), how, error))
                    (self.telemetry.timed_out if how == "timeout" else self.telemetry.failed).inc()
            case Expired() | Success():
                raise AssertionError(outcome)

    def _settled(self, run: RunContext, outcome: Outcome | None) -> None:
        """The handler's own transaction has recorded the success."""
        self.telemetry.succeeded.inc()
        if not isinstance(outcome, Success):
            log.warning(
                "%r had committed its success already; what came after it is dropped: %s", run, outcome
            )

    def _fail_at_once(self, run: RunContext, failure: Failure) -> None:
        now = run.started = clock.monotonic()
        self._sort(self._open_batch(), run, failure, now)
        self.settler.wake()

    def _open_batch(self) -> Batch:
        assert self._batch is not None
        return self._batch

    def swap(self) -> list[Batch]:
        """The outcomes so far; new ones go into a new batch."""
        batches, self._old_batches = self._old_batches, []
        if self._batch:
            batches.append(self._batch)
            self._batch = Batch(self._batch.node)
        return batches

    @property
    def unsettled(self) -> int:
        return len(self._batch) if self._batch else 0

    def count_lost(self, lost: set[int]) -> None:
        if lost:
            self.lost += len(lost)
            self.telemetry.lost.inc(len(lost))
            log.warning("%d outcomes dropped: their runs had been taken over", len(lost))

    # What handlers say while they run (sexton.execution.Reporter).

    def progress(self, run: RunContext, fraction: float, text: str | None) -> None:
        told = {"fraction": fraction} if text is None else {"fraction": fraction, "text": clean(text, 1000)}
        if self.node is not None:
            self._progress[run.id] = (self.node, run.claim, msgspec.json.encode(told).decode())
            self._wake_settler()

    def log(self, run: RunContext, level: str, message: str) -> None:
        if self.node is not None:
            at = self.database_seconds(clock.monotonic())
            self._logs.append((self.node, run.id, run.claim, at, clean(level, 20), message))
            self._wake_settler()

    def database_seconds(self, moment: float) -> float:
        return moment + self._offset

    @asynccontextmanager
    async def transaction(self, run: RunContext, result: Any) -> AsyncIterator[Connection]:
        node = self.node
        if node is None:
            raise LeaseLost(run.run_id)
        async with self._database.connection() as connection:
            transaction = connection.transaction()
            await transaction.start()
            try:
                yield connection
            except BaseException:
                await transaction.rollback()
                raise
            # A cancellation must not leave open whether the run was finished.
            committing = asyncio.ensure_future(self._commit(run, node, connection, transaction, result))
            try:
                await asyncio.shield(committing)
            except asyncio.CancelledError:
                await asyncio.wait([committing])
                if committing.exception() is not None:
                    raise
            run.settled = True

    async def _commit(
        self, run: RunContext, node: int, connection: Connection, transaction: Any, result: Any
    ) -> None:
        await self.settler.report()
        finished = clock.monotonic()
        row = await connection.fetchrow(
            self._database.statement("finish"),
            node,
            [run.id],
            [run.claim],
            [self.database_seconds(run.started)],
            [self.database_seconds(finished)],
            [encode_result(result)],
            self._now(),
        )
        if row is None or row["recorded"] != 1:
            await transaction.rollback()
            self.count_lost({run.id})
            raise LeaseLost(run.run_id)
        try:
            await transaction.commit()
        except LOST:
            if run.id not in await self.queue.recorded(node, [run.id], [run.claim], now=self._now()):
                raise

    def take_reports(
        self,
    ) -> tuple[list[tuple[int, int, int, float, str, str]], dict[int, tuple[int, int, str]]]:
        logs, self._logs = self._logs, []
        progress, self._progress = self._progress, {}
        return logs, progress

    def _wake_settler(self) -> None:
        # Handlers in threads come here, too.
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self.settler.nudge)

    # Stopping runs.

    def watch(self) -> None:
        """Stop what is over its time; give back what waits too long."""
        now = clock.monotonic()
        self._offset = self.heartbeat.offset
        self.telemetry.running.set(len(self._running))
        for run in list(self._running.values()):
            if not run.started:
                continue
            if run.stop is None:
                if now - run.started > run.policy.timeout_seconds:
                    self._stop(run, "timeout")
            elif now - run.stopped > STOP_PATIENCE_SECONDS:
                log.warning("%r does not end although it was stopped (%s); it is left behind", run, run.stop)
                self._collect(run, stopped(run))
        if self._backlog and now - self._backlog_since > STALE_SECONDS:
            self.claimer.slow_down()
            self._release_backlog()

    def _stop(self, run: RunContext, why: Any, reason: str | None = None) -> None:
        run.stop = why
        run.reason = reason
        run.stopped = clock.monotonic()
        if run.task is not None:
            run.task.cancel()

    def _stop_all(self, why: Any) -> None:
        for run in list(self._running.values()):
            self._stop(run, why)

    def _release_backlog(self) -> None:
        if self._batch is not None:
            self._batch.released.extend((run.id, run.claim, 0.0) for run, _ in self._backlog)
        self._backlog.clear()
        self.settler.nudge()

    def _cancel(self, ids: list[int]) -> None:
        """Somebody asked for it; the reason is recorded with the request."""
        waiting = {run.id: run for run, _ in self._backlog}
        for number in ids:
            run = self._running.get(number)
            if run is not None and run.stop is None:
                self._stop(run, "cancel")
            elif number in waiting and self._batch is not None:
                self._backlog = deque(item for item in self._backlog if item[0].id != number)
                self._sort(self._batch, waiting[number], Cancel("cancelled"), clock.monotonic())
                self.settler.nudge()

    # Its identity.

    def _become(self, node: int) -> None:
        self._offset = self.heartbeat.offset
        self._batch = Batch(node)
        self.telemetry.identities.inc()
        self._joined.set()
        self.claimer.wake()

    def _abandon(self, node: int) -> None:
        """Declared dead: nothing that runs here is ours any more. Outcomes that are ready may still be
        tried: they name the old identity, and find their runs only if nobody has taken them back yet."""
        self._joined.clear()
        self._backlog.clear()
        self._stop_all("lost")
        if self._batch:
            self._old_batches.append(self._batch)
        self._batch = None
        self.settler.nudge()

    def _blocked(self, seconds: float) -> None:
        self.telemetry.blocked.inc()
        self.telemetry.loop_lag.set(seconds)

    def _name_of(self, task: asyncio.Task[Any] | None) -> str:
        for run in list(self._running.values()):
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
                    self._database.statement("worker_leave"), node, state, self.in_hand, self._now()
                )
        except Unavailable as error:
            log.warning("worker: could not say that it leaves: %s; its lease ends by itself", error.message)

    async def _wait_until_idle(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            return False
        return True


class Claimer(Loop):
    """Claims when there is room: on a ring, when slots became free while there was more, and every so
    often."""

    name = "claimer"

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._more = False
        self._ahead = 0
        self._lanes_at = float("-inf")
        self._suspects_at = float("-inf")
        self._giving_way_until = 0.0
        self._listening = False

    async def setup(self) -> None:
        await self._worker._doorbell.listen(self._rung)
        self._listening = True

    async def teardown(self) -> None:
        await self._worker._doorbell.close()

    async def tick(self) -> float:
        worker, settings = self._worker, self._worker.settings
        node = worker.node
        if node is None or not worker.heartbeat.trusted() or worker._batch is None:
            # Woken by the new identity; a lease that is in doubt is looked at again soon.
            return settings.poll_seconds
        await self._look_around(node)
        if not worker.lanes:
            return settings.poll_seconds
        if clock.monotonic() < self._giving_way_until:
            return settings.poll_seconds
        room = self.room()
        if not self._worth(room):
            # Woken when a slot is free.
            self._more = True
            return settings.poll_seconds
        limit = min(room, settings.claim_size)
        rows = await worker.queue.claim(node, self._rotated(), limit, now=worker._now())
        self._more = len(rows) == limit
        worker.take(rows, node)
        return 0 if self._more and self._worth(self.room()) else settings.poll_seconds

    def room(self) -> int:
        worker = self._worker
        if worker.unsettled > 4 * worker.settings.claim_size:
            return 0
        return worker.concurrency + self._ahead - worker.in_hand

    def _worth(self, room: int) -> bool:
        """A small claim costs a round trip as a big one does: with work in hand, wait for more room."""
        if self._worker._backlog:
            return room >= self._worker.settings.claim_size // 4
        return room > 0

    def wake_if_waiting(self) -> None:
        if self._more:
            self.wake()

    def measured(self, runs: int, seconds: float) -> None:
        """How fast it goes decides how far ahead to claim; only what was claimed to the full tells."""
        if not self._more:
            return
        wanted = runs / max(seconds, 0.001) * AHEAD_SECONDS
        self._ahead = int(min(2 * self._worker.settings.claim_size, (self._ahead + wanted) / 2))

    def slow_down(self) -> None:
        self._ahead = 0

    def _rung(self, ring: Ring) -> None:
        match ring:
            case "runs":
                self.wake()
            case "lanes":
                self._lanes_at = float("-inf")
                self.wake()
            case "cancels":
                self._worker.heartbeat.poke()

    def _rotated(self) -> list[int]:
        """A lane that always has something to do must not keep the others waiting."""
        lanes = self._worker.lanes
        start = random.randrange(len(lanes))
        return lanes[start:] + lanes[:start]

    async def _look_around(self, node: int) -> None:
        """Now and then: which lanes there are, whether the doorbell works, whether a run must run alone."""
        worker, now = self._worker, clock.monotonic()
        if now - self._lanes_at >= LANES_SECONDS:
            worker.lanes = await worker.queue.lanes(worker.queues, sorted(worker.python.handlers))
            worker._steps.clear()
            await worker._doorbell.check()
            self._lanes_at = now
        if now - self._suspects_at >= worker.settings.sweep_seconds and worker.lanes:
            if await worker.queue.suspects(worker.lanes, now=worker._now()):
                await self._run_alone(node)
            self._suspects_at = now

    async def _run_alone(self, node: int) -> None:
        """Let everything here end, then take a run that has crashed two workers, and nothing beside it."""
        worker = self._worker
        if not await worker._wait_until_idle(ALONE_PATIENCE_SECONDS):
            return
        rows = await worker.queue.claim_alone(node, worker.lanes, now=worker._now())
        worker.take(rows, node, alone=True)
        if rows:
            await worker.idle()


class Settler(Loop):
    """Writes outcomes: gathers for a moment, then one statement per kind. What could not be written is
    kept."""

    name = "settler"

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._kept: list[Batch] = []
        self._doubtful = False
        self._nudged = False
        self._last = clock.monotonic()
        self._reporting = asyncio.Lock()

    def nudge(self) -> None:
        """Something is there to be written; more may come in the next moment."""
        if not self._nudged:
            self._nudged = True
            loop = self._worker._loop
            if loop is not None:
                loop.call_later(GATHER_SECONDS, self.wake)

    async def stop(self) -> None:
        await super().stop()
        try:
            await self.tick()
        except Unavailable as error:
            log.warning("settler: outcomes could not be written: %s", error.message)

    async def tick(self) -> float:
        worker = self._worker
        self._nudged = False
        await self.report()
        batches = [*self._kept, *worker.swap()]
        if not batches:
            return worker.settings.poll_seconds
        worker.claimer.wake_if_waiting()
        self._kept = batches
        began, runs = self._last, sum(map(len, batches))
        while self._kept:
            await self._settle(self._kept[0])
            del self._kept[0]
        self._doubtful = False
        self._last = clock.monotonic()
        worker.claimer.measured(runs, self._last - began)
        worker.claimer.wake_if_waiting()
        return 0 if worker.unsettled or worker._old_batches else worker.settings.poll_seconds

    async def report(self) -> None:
        """Log lines and progress: before the outcomes, as they need their runs to be there."""
        async with self._reporting:
            logs, progress = self._worker.take_reports()
            queue, now = self._worker.queue, self._worker._now()
            for node in {line[0] for line in logs}:
                await queue.log(node, [line[1:] for line in logs if line[0] == node], now=now)
            for node in {told[0] for told in progress.values()}:
                await queue.progress(
                    node, [(run, *told[1:]) for run, told in progress.items() if told[0] == node]
                )

    async def _settle(self, batch: Batch) -> None:
        """Each part is emptied once it is written, so that a part that fails does not repeat the others."""
        worker, queue, now = self._worker, self._worker.queue, self._worker._now()
        if self._doubtful:
            await self._forget_recorded(batch)
        try:
            if batch.ids:
                lost = await self._finish(batch, now)
                worker.telemetry.succeeded.inc(len(batch.ids) - len(lost))
                worker.telemetry.run_seconds.observe_many(map(float.__sub__, batch.finished, batch.started))
                batch.ids, batch.claims, batch.started, batch.finished, batch.results = [], [], [], [], []
                worker.count_lost(lost)
            if batch.ended:
                lost = await queue.end(batch.node, batch.ended, now=now)
                batch.ended = []
                worker.count_lost(lost)
            if batch.again:
                lost = await queue.retry(batch.node, batch.again, now=now)
                batch.again = []
                worker.count_lost(lost)
            for delay in {delay for *_, delay in batch.released}:
                rows = [(run, claim) for run, claim, after in batch.released if after == delay]
                await queue.release(batch.node, rows, delay=delay, now=now)
                worker.telemetry.released.inc(len(rows))
            batch.released = []
        except Unavailable:
            # The answer may have been lost after the statement was carried out.
            self._doubtful = True
            raise

    async def _finish(self, batch: Batch, now: datetime | None) -> set[int]:
        queue = self._worker.queue
        try:
            return await queue.finish(
                batch.node,
                batch.ids,
                batch.claims,
                batch.started,
                batch.finished,
                batch.results,
                now=now,
            )
        except asyncpg.DataError as error:
            # One result that PostgreSQL does not take must not keep the others from being recorded.
            log.warning("results could not be kept: %s", error)
        lost: set[int] = set()
        for place in range(len(batch.ids)):
            one = slice(place, place + 1)
            ids, claims = batch.ids[one], batch.claims[one]
            started, finished, results = batch.started[one], batch.finished[one], batch.results[one]
            try:
                lost |= await queue.finish(batch.node, ids, claims, started, finished, results, now=now)
            except asyncpg.DataError as error:
                note = encode_result({"truncated": True, "note": f"the result cannot be kept: {error}"})
                lost |= await queue.finish(batch.node, ids, claims, started, finished, [note], now=now)
        return lost

    async def _forget_recorded(self, batch: Batch) -> None:
        """What an unanswered statement has recorded after all is neither repeated nor counted as lost."""
        ids = [*batch.ids, *(row[0] for row in batch.ended)]
        claims = [*batch.claims, *(row[1] for row in batch.ended)]
        if not ids:
            return
        there = await self._worker.queue.recorded(batch.node, ids, claims, now=self._worker._now())
        if there:
            keep = [place for place, run in enumerate(batch.ids) if run not in there]
            self._worker.telemetry.succeeded.inc(len(batch.ids) - len(keep))
            batch.ids = [batch.ids[place] for place in keep]
            batch.claims = [batch.claims[place] for place in keep]
            batch.started = [batch.started[place] for place in keep]
            batch.finished = [batch.finished[place] for place in keep]
            batch.results = [batch.results[place] for place in keep]
            batch.ended = [row for row in batch.ended if row[0] not in there]


class Watcher(Loop):
    """One look at all running tasks, a few times a second."""

    name = "watcher"

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._due: float | None = None

    async def tick(self) -> float:
        now = clock.monotonic()
        if self._due is not None:
            self._worker.telemetry.loop_lag.set(max(0.0, now - self._due))
        self._worker.watch()
        self._due = now + WATCH_SECONDS
        return WATCH_SECONDS


if sys.version_info >= (3, 12):

    def _task(work: Any, loop: asyncio.AbstractEventLoop | None) -> asyncio.Task[None]:
        """A handler that never waits is done before this returns."""
        return asyncio.Task(work, loop=loop, eager_start=True)

else:

    def _task(work: Any, loop: asyncio.AbstractEventLoop | None) -> asyncio.Task[None]:
        return asyncio.Task(work, loop=loop)
