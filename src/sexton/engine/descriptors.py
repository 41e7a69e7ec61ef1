"""Whether the process can still open a file or a connection."""

from __future__ import annotations

import logging
import os

from sexton import clock
from sexton.engine.loop import Loop

log = logging.getLogger("sexton")

LOOK_SECONDS = 5.0
SAY_SECONDS = 60.0


class Descriptors(Loop):
    """Checks every few seconds, and when a caller asks whether the node is ready.

    Without a descriptor a worker cannot start most runs, and no lost connection can be made again. Work that
    needs none goes on, so the process does not stop: it reports that it is not ready.
    """

    name = "descriptors"

    def __init__(self) -> None:
        super().__init__()
        self._say_at = 0.0

    async def tick(self) -> float:
        self._look()
        return LOOK_SECONDS

    def healthy(self, patience: float = 30.0) -> bool:
        return super().healthy(patience) and self._look()

    def _look(self) -> bool:
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            self._say(error)
            return False
        return True

    def _say(self, error: OSError) -> None:
        if (now := clock.monotonic()) >= self._say_at:
            self._say_at = now + SAY_SECONDS
            log.error(
                "the process cannot open a file or a connection (%s), and is not ready: raise its limit of "
                "open files (ulimit -n), or look for handlers that do not close theirs",
                error.strerror,
            )
