"""Counts the rows of history, minute by minute, for the pages that show them (`sexton.runs.activity`).

Only the leader of the first shard counts. If two schedulers believe that they lead it, they take turns: they
lock the mark, and count nothing twice. The counter uses only a small part of a processor: after a long piece
it rests longer.
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
# The aim for the length of a piece.
GOOD_SECONDS = 0.2
# It rests this many times as long as it has worked.
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
