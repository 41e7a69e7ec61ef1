"""Notices that a worker is worn out: too many of its handlers go on although they were stopped.

A thread cannot be ended from outside, nor can a coroutine that ignores its cancellation. The worker leaves
each behind and starts another in its place. Before the process has no room for more, the worker takes no more
runs, is not ready, and finishes what it has. Only a new process helps: the owner of this one watches
`WorkerState.worn_out`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sexton import clock
from sexton.engine.worker.runner import Runner
from sexton.engine.worker.state import WorkerState
from sexton.targets.threads import Threads

log = logging.getLogger("sexton")

# The most handlers that may be left behind: per slot of the worker, and in all.
LEFT_PER_RUN = 10
MOST_LEFT = 1000
SAY_SECONDS = 60.0


class Wear:
    """Counts the handlers that are left behind: threads of these pools, and tasks of the runner."""

    def __init__(self, state: WorkerState, runner: Runner, pools: Sequence[Threads]) -> None:
        self._state = state
        self._runner = runner
        self._pools = pools
        self._say_at = 0.0
        self.most = min(MOST_LEFT, LEFT_PER_RUN * state.concurrency)

    @property
    def left_behind(self) -> int:
        return self._runner.left_behind + sum(pool.left_behind for pool in self._pools)

    def look(self) -> None:
        """Check whether the worker is worn out now, or no longer is."""
        worn_out, left = self._state.worn_out, self.left_behind
        refused = next((pool.refused for pool in self._pools if pool.refused), None)
        if worn_out.is_set() and left <= self.most // 2 and refused is None:
            log.warning("%d handlers go on although they were stopped: the worker takes runs again", left)
            worn_out.clear()
        elif left >= self.most or refused is not None or worn_out.is_set():
            if not worn_out.is_set():
                worn_out.set()
                self._say_at = 0.0
                self._runner.release_backlog()
            self._say(left, refused)

    def _say(self, left: int, refused: str | None) -> None:
        if (now := clock.monotonic()) >= self._say_at:
            self._say_at = now + SAY_SECONDS
            log.error(
                "the worker takes no more runs: %d handlers go on although they were stopped%s. Only a new "
                "process gets rid of them",
                left,
                "" if refused is None else f", and no thread can be started ({refused})",
            )
