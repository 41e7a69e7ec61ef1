"""Stopping runs: those that are over their time, that somebody cancels, that must make way.

One look at all of them, a few times a second, instead of a timer for each.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from sexton import clock
from sexton.engine.loop import Loop
from sexton.model import Cancel
from sexton.targets.run import RunContext, Stop, stopped

if TYPE_CHECKING:
    from sexton.engine.worker.worker import Worker

log = logging.getLogger("sexton")

STALE_SECONDS = 1.0
WATCH_SECONDS = 0.25
STOP_PATIENCE_SECONDS = 10.0


class Watcher(Loop):
    """Looks at what runs, and ends what must not go on."""

    name = "watcher"

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._due: float | None = None

    async def tick(self) -> float:
        now = clock.monotonic()
        if self._due is not None:
            self._worker.telemetry.loop_lag.set(max(0.0, now - self._due))
        self.watch()
        self._due = now + WATCH_SECONDS
        return WATCH_SECONDS

    def watch(self) -> None:
        """Stop what is over its time; give back what waits too long."""
        worker, now = self._worker, clock.monotonic()
        worker.offset = worker.heartbeat.offset
        worker.telemetry.running.set(len(worker.running))
        worker.telemetry.circuits.set(len(worker.outbound.hosts.opened()))
        for run in list(worker.running.values()):
            if run.stop is None:
                if run.started and now - run.started > run.policy.timeout_seconds:
                    self.end(run, "timeout")
            elif now - run.stopped > STOP_PATIENCE_SECONDS:
                log.warning("%r does not end although it was stopped (%s); it is left behind", run, run.stop)
                worker.collect(run, stopped(run))
        worker.launch()
        if worker.backlog and now - worker.backlog_since > STALE_SECONDS:
            worker.claimer.slow_down()
            self.release_backlog()

    def end(self, run: RunContext, why: Stop) -> None:
        """Make a run stop where it is; what it ends with says why."""
        run.stop = why
        run.stopped = clock.monotonic()
        if run.task is not None:
            run.task.cancel()
        if not run.started:
            # A task that is cancelled before its first step never runs: nobody else would collect it.
            run.started = run.stopped
            self._worker.collect(run, stopped(run))
            self._worker.launch()

    def release_backlog(self) -> None:
        """Give back what was claimed and has not started."""
        worker = self._worker
        if worker.batch is not None and worker.backlog:
            worker.batch.released.extend((run.id, run.claim, 0.0, None) for run, _ in worker.backlog)
            worker.settler.nudge()
        worker.backlog.clear()

    def cancel(self, ids: list[int]) -> None:
        """Somebody asked for it; the reason is recorded with the request."""
        worker = self._worker
        waiting = {run.id: run for run, _ in worker.backlog}
        for number in ids:
            run = worker.running.get(number)
            if run is not None and run.stop is None:
                self.end(run, "cancel")
            elif number in waiting and worker.batch is not None:
                worker.backlog = deque(item for item in worker.backlog if item[0].id != number)
                waiting[number].started = clock.monotonic()
                worker.keep(waiting[number], Cancel("cancelled"), clock.monotonic())
