"""Claims only runs that may end the process of their worker: in an isolated process.

`company` says how many may be together: the more a run is suspected, the fewer. If the process dies, the runs
that had begun are divided, until the guilty run is alone.
"""

from __future__ import annotations

import asyncio
from typing import Any

from sexton import clock
from sexton.engine.worker.claimer import Claimer

# The process leaves after so long without suspects.
IDLE_SECONDS = 10.0


class SuspectClaimer(Claimer):
    """Sets `idle` when there was nothing to claim for a while."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self.idle = asyncio.Event()
        self._busy_at = clock.monotonic()

    async def claim(self, node: int) -> float:
        """Claim only after all outcomes are recorded: they would be lost with the process, and the runs
        repeated."""
        state, now = self._state, clock.monotonic()
        self._pace.more = True
        if state.in_hand or state.unwritten_outcomes:
            self._busy_at = now
        elif now - self._busy_at >= IDLE_SECONDS:
            self.idle.set()
        company = min((run.company for run in self._in_hand()), default=None)
        room = state.concurrency if company is None else min(company, state.concurrency) - state.in_hand
        if state.unwritten_outcomes or room <= 0 or self.idle.is_set():
            return state.settings.poll_seconds
        claimed = 0
        if state.lanes:
            claim = self._queue.claim_suspects(node, state.lanes, room, company=company, now=state.now())
            claimed = await self._take(claim, node)
        if not claimed and state.limited:
            claimed = len((await self._claim_limited(node, 1, company=company or 1)).rows)
        return 0 if claimed else state.settings.poll_seconds

    async def look_for_suspects(self) -> None:
        """Nothing to do: this claimer claims suspects anyway."""
