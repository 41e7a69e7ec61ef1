"""Counts what history holds, minute by minute, for the pages that show it (`sexton.runs.activity`).

One scheduler of the cluster does it, the leader of the first shard. If two think they are, they take turns:
the mark is locked, and what was counted is not counted again. It may use a small part of a processor: after a
long piece it rests for longer.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from sexton import clock
from sexton.engine.loop import Loop
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.activity import count_recorded

COUNT_SECONDS = 5.0
SHORTEST, LONGEST = timedelta(seconds=5), timedelta(hours=6)
# A piece should take about so long.
GOOD_SECONDS = 0.2
# It rests for so many times as long as it has worked.
REST = 20


class ActivityCounter(Loop):
    name = "activity"

    def __init__(self, database: Database, *, leading: Callable[[], bool]) -> None:
        super().__init__()
        self._database = database
        self._leading = leading
        self._piece = timedelta(minutes=1)

    async def tick(self) -> float:
        if not self._leading():
            return COUNT_SECONDS
        began = clock.monotonic()
        counted, all_ = await count_recorded(Context(self._database), self._piece)
        took = clock.monotonic() - began
        if took > GOOD_SECONDS:
            self._piece = max(SHORTEST, self._piece / 2)
        elif counted == self._piece:
            self._piece = min(LONGEST, self._piece * 2)
        return max(COUNT_SECONDS, took * REST) if all_ else took * REST
