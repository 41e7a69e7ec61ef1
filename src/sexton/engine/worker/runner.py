"""Carries runs out: from the rows of a claim to one task per run, and from its end to an outcome.

The worker runs as many at a time as it has slots; the others wait in the backlog.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from contextvars import copy_context

from sexton import clock
from sexton.engine.begun import LATEST
from sexton.engine.worker.feedback import WorkerFeedback
from sexton.engine.worker.pace import Pace
from sexton.engine.worker.state import WorkerState
from sexton.engine.worker.steps import Steps
from sexton.model import Cancel, Failure, Outcome, Success, encode_id
from sexton.printable import counted
from sexton.runs.outcomes import OutcomeBatch
from sexton.targets.run import (
    SUCCESS,
    RunContext,
    RunRecord,
    Step,
    Stop,
    describe,
    ended_by,
    execute,
    stopped,
)
from sexton.targets.threads import end_fork

log = logging.getLogger("sexton")

NO_HANDLER_SECONDS = 30.0
REUSE_LIMIT = 200


class Runner:
    """Takes runs, starts them, stops them, and collects their outcomes."""

    def __init__(self, state: WorkerState, pace: Pace, steps: Steps, feedback: WorkerFeedback) -> None:
        self._state = state
        self._pace = pace
        self._steps = steps
        self._feedback = feedback
        self._turn = 0
        self._context = copy_context()
        #: Tasks of runs that were stopped and have not ended.
        self.left_behind = 0
        #: Set while nothing runs here.
        self.idle = asyncio.Event()
        self.idle.set()

    def start(self) -> None:
        """Start in the context and the event loop of the caller: runs get both."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._context = copy_context()
        this = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _forked(this()))

    def take(self, rows: Sequence[RunRecord], node: int) -> None:
        """Start the runs that this node has claimed, while there are slots."""
        state, batch = self._state, self._state.batch
        if not rows or batch is None or batch.node != node:
            # The node was declared dead during the claim: these runs belong to others.
            return
        state.telemetry.claimed.inc(len(rows))
        ids = [row["id"] for row in rows]
        if min(ids) <= state.highest_run and (again := state.held().intersection(ids)):
            rows = self._without_recurring(rows, again, batch)
        state.highest_run = max(state.highest_run, *ids)
        if state.suspicious:
            rows = self._without_suspicious(rows, batch)
        if not state.backlog:
            state.backlog_since = clock.monotonic()
        self.idle.clear()
        append, step_of, policy_of = state.backlog.append, self._steps.step, self._steps.policy
        for row in rows:
            try:
                step = step_of(row["target"])
                run = RunContext(row, self._feedback, policy_of(row["options"]))
                if run.policy.idempotency_key_template is not None and run.has_new_key:
                    self._feedback.fix_key(node, run)
            except Exception:
                # Such as options of a newer version: another worker may understand them.
                log.exception("%s cannot be read here; it is given back", encode_id("r", row["id"]))
                batch.released.append((row["id"], row["claim"], NO_HANDLER_SECONDS, None))
                state.on_outcome()
                continue
            if step is not None:
                append((run, step))
            elif row["name"] is None:
                now = run.started = clock.monotonic()
                self._keep(run, Failure("its job is gone", permanent=True), now)
            else:
                # The job was given another target before its first attempt, or the handler went away.
                self._release([run], NO_HANDLER_SECONDS)
        self.launch()

    def _without_recurring(
        self, rows: Sequence[RunRecord], again: set[int], batch: OutcomeBatch
    ) -> list[RunRecord]:
        """Ids of runs in hand were given out again: the database has lost transactions, as in a failover to a
        server that was behind. The outcomes of the old runs must not be recorded for the new ones."""
        state = self._state
        log.error(
            "the database has gone back in time: the ids of %s are given out again; the outcomes "
            "of the old runs are dropped",
            counted(len(again), "run"),
        )
        state.telemetry.ids_recurred.inc(len(again))
        state.backlog = deque(each for each in state.backlog if each[0].id not in again)
        for each in (batch, *state.unwritten):
            each.forget(again)
        for run in [run for number, run in state.running.items() if number in again]:
            self.stop_run(run, "lost")
            state.running.pop(run.id, None)
        # A new claim has another number, which separates old outcomes from new ones.
        batch.released += [(row["id"], row["claim"], 0.0, None) for row in rows if row["id"] in again]
        state.on_outcome()
        return [row for row in rows if row["id"] not in again]

    def _without_suspicious(self, rows: Sequence[RunRecord], batch: OutcomeBatch) -> list[RunRecord]:
        """Leave out runs of jobs that have ended the process of a worker, unless this worker has claimed them
        as such."""
        suspicious, kept = self._state.suspicious, []
        for row in rows:
            if row["job_id"] in suspicious and not row.get("company", 0):
                batch.apart.append((row["id"], row["claim"]))
            else:
                kept.append(row)
        if len(kept) < len(rows):
            self._state.on_outcome()
        return kept

    def launch(self) -> None:
        """Start waiting runs, while there are slots."""
        state = self._state
        backlog, running, concurrency = state.backlog, state.running, state.concurrency
        while backlog and len(running) < concurrency:
            run, step = backlog.popleft()
            running[run.id] = run
            run.task = asyncio.Task(self._attempt(run, step), loop=self._loop, context=self._context.copy())
        if not running:
            self.idle.set()
            self._pace.room_again()

    async def _attempt(self, run: RunContext, step: Step) -> None:
        """Carry a run out; and as long as handlers end without waiting, the next runs as well.

        A new task for a run that never waits would cost as much as everything else. A run that waits, leaves
        something in the task's context or cancels the task keeps the task for itself.
        """
        # If the task waits, this is called first.
        self._loop.call_soon(self._turn_over)
        turn, context, task = self._turn, self._context, run.task
        assert task is not None
        state, left = self._state, REUSE_LIMIT
        backlog, running = state.backlog, state.running
        begun = state.begun
        cell = begun.cells[LATEST] = begun.cell()
        while True:
            run.started = clock.monotonic()
            # As long as no handler waits, this cell stays the latest, and the next run takes it over.
            begun.cells[cell] = run.id
            try:
                outcome = await execute(run, step)
            except GeneratorExit as error:
                # A future that raises it closes every coroutine that waits for it: so the handler has ended
                # with it, unless this task is closed itself, after the end of the loop.
                if not self._loop.is_running():
                    raise
                outcome = ended_by(run, error)
            if not run.ended:
                self._collect(run, outcome)
            left -= 1
            if self._turn != turn or not left or task.cancelling() or copy_context() != context:
                break
            if not backlog or len(running) >= state.concurrency:
                break
            run, step = backlog.popleft()
            running[run.id] = run
            run.task = task
        begun.cells[cell] = 0
        begun.free.append(cell)
        self.launch()

    def _turn_over(self) -> None:
        self._turn += 1

    def forked(self) -> None:
        """In a process that a handler has forked. It may do anything until it returns to this event loop;
        there it ends, before anything else in its copy of the loop runs."""
        self._turn_over()
        self._state.begun.forked()
        self._state.batch = None
        self._state.backlog.clear()
        if threading.get_ident() == self._thread:
            # The queue of asyncio's own loops; the next call comes after it.
            getattr(self._loop, "_ready", self._state.backlog).clear()
            self._loop.call_soon(end_fork)

    # Stopping runs.

    def stop_run(self, run: RunContext, why: Stop) -> None:
        """Stop a run; its outcome says why."""
        run.stop = why
        run.stopped = clock.monotonic()
        if run.task is not None:
            run.task.cancel()
        if not run.started:
            # A task that is cancelled before its first step never runs, and would never collect its run.
            run.started = run.stopped
            self.leave_behind([run])

    def leave_behind(self, runs: Iterable[RunContext]) -> None:
        """Stop waiting for runs that were stopped."""
        for run in runs:
            self._collect(run, stopped(run))
            if run.task is not None and not run.task.done():
                self.left_behind += 1
                run.task.add_done_callback(self._caught_up)
        self.launch()

    def _caught_up(self, task: asyncio.Task[None]) -> None:
        self.left_behind -= 1

    def cancel(self, numbers: Sequence[int]) -> None:
        """Cancel runs, as a caller has asked; the request holds the reason."""
        state = self._state
        waiting = {run.id: (run, step) for run, step in state.backlog}
        for number in numbers:
            run = state.running.get(number)
            if run is not None and run.stop is None:
                self.stop_run(run, "cancel")
            elif number in waiting and state.batch is not None:
                state.backlog.remove(waiting[number])
                run = waiting[number][0]
                run.started = clock.monotonic()
                self._keep(run, Cancel("cancelled"), run.started)

    def release_backlog(self) -> None:
        """Give back the claimed runs that have not started."""
        self._release([run for run, _ in self._state.backlog])
        self._state.backlog.clear()

    # Collecting outcomes.

    def _collect(self, run: RunContext, outcome: Outcome | None) -> None:
        """A run has ended; its outcome counts, unless another worker has taken the run over."""
        finished = clock.monotonic()
        run.ended = True
        self._state.running.pop(run.id, None)
        if self._state.batch is not None and run.stop != "lost":
            if run.committed:
                self._count_committed(run, outcome)
            else:
                self._keep(run, outcome, finished)

    def _keep(self, run: RunContext, outcome: Outcome | None, finished: float) -> None:
        """Put the outcome with the others."""
        state, batch = self._state, self._state.batch
        assert batch is not None
        started = run.started + state.offset
        state.telemetry.late_seconds.observe(started - run.due_seconds)
        if outcome is SUCCESS:
            batch.done.add(run, started, finished + state.offset)
            if state.audience.hears_success:
                batch.heard[run.id] = run
        else:
            try:
                batch.add(run, outcome, started, finished + state.offset)
            except BaseException as error:
                # The value of a handler, such as Retry(after="soon"), may raise anything.
                batch.add(run, Failure(describe(error)), started, finished + state.offset)
            if state.audience.listens:
                batch.heard[run.id] = run
            if state.settings.log_failures:
                _log_failure(run, batch)
        state.on_outcome()

    def _count_committed(self, run: RunContext, outcome: Outcome | None) -> None:
        """The handler's own transaction has recorded the success."""
        self._state.telemetry.succeeded.inc()
        if not isinstance(outcome, Success):
            log.warning("%r had committed its success; its later outcome is dropped: %s", run, outcome)

    def _release(self, runs: Iterable[RunContext], seconds: float = 0.0) -> None:
        batch = self._state.batch
        if batch is not None:
            batch.released.extend((run.id, run.claim, seconds, None) for run in runs)
            self._state.on_outcome()


def _forked(runner: Runner | None) -> None:
    if runner is not None:
        runner.forked()


def _log_failure(run: RunContext, batch: OutcomeBatch) -> None:
    """Log a failed attempt that is repeated as a warning, and a dead run as an error."""
    if batch.ended and batch.ended[-1][0] == run.id:
        status, reason, message = batch.ended[-1][4], batch.ended[-1][5], batch.ended[-1][7]
        if status == "dead":
            log.error("%r failed, and the run is dead (%s): %s", run, reason, message)
    elif batch.again and batch.again[-1][0] == run.id:
        delay, outcome, error = batch.again[-1][4:]
        if outcome != "snoozed":
            log.warning("%r failed; the next one is in %.0f s: %s", run, delay, error)
