"""Stops runs after their timeout, gives back runs that wait too long, and notices handlers that go on.

It looks at all runs a few times a second, instead of one timer for each.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from sexton import clock
from sexton.engine.loop import Loop
from sexton.engine.worker.pace import Pace
from sexton.engine.worker.runner import Runner
from sexton.engine.worker.state import WorkerState
from sexton.engine.worker.wear import Wear

log = logging.getLogger("sexton")

STALE_SECONDS = 1.0
WATCH_SECONDS = 0.25
STOP_PATIENCE_SECONDS = 10.0


class Watcher(Loop):
    """Watches the runs. `offset` is the last measured offset of the database's clock."""

    name = "watcher"

    def __init__(
        self, state: WorkerState, pace: Pace, runner: Runner, wear: Wear, *, offset: Callable[[], float]
    ) -> None:
        super().__init__()
        self._state = state
        self._pace = pace
        self._runner = runner
        self._wear = wear
        self._offset = offset
        self._due: float | None = None

    async def tick(self) -> float:
        now = clock.monotonic()
        if self._due is not None:
            self._state.telemetry.loop_lag.set(max(0.0, now - self._due))
        self.watch()
        self._due = now + WATCH_SECONDS
        return WATCH_SECONDS

    def watch(self) -> None:
        """Stop runs after their timeout; give back runs that wait too long."""
        state, now = self._state, clock.monotonic()
        state.offset = self._offset()
        state.telemetry.running.set(len(state.running))
        for run in list(state.running.values()):
            if run.stop is None:
                if run.started and now - run.started > run.policy.timeout_seconds:
                    self._runner.stop_run(run, "timeout")
            elif now - run.stopped > STOP_PATIENCE_SECONDS:
                log.warning("%r was stopped (%s) but still runs; it is left behind", run, run.stop)
                self._runner.leave_behind([run])
        self._runner.launch()
        self._wear.look()
        if state.backlog and now - state.backlog_since > STALE_SECONDS:
            self._pace.slow_down()
            self._runner.release_backlog()
