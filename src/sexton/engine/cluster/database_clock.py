"""The time of the database, whose clock counts, estimated on a machine whose clock may be wrong."""

from __future__ import annotations

import logging
from collections import deque
from datetime import datetime

from sexton import clock

log = logging.getLogger("sexton")

# A wall clock that is further off than this is worth a warning.
SKEW_SECONDS = 0.5


class DatabaseClock:
    """The database's time, estimated from the monotonic clock and recent samples. It is never ahead of it."""

    def __init__(self) -> None:
        self._offsets: deque[float] = deque(maxlen=30)
        self._skewed = False
        self.skew_seconds = 0.0
        # What to add to the monotonic clock for seconds since 1970 on the database's clock.
        self.offset = 0.0

    def sample(self, said: datetime, before: float, after: float) -> None:
        """The time that the database returned, and the monotonic clock before and after. The answer took a
        while, so the quickest sample is the most exact: it has the largest offset. The wall clock is compared
        with the middle between the two, less half of the time in between."""
        self._offsets.append(said.timestamp() - after)
        self.offset = max(self._offsets)
        doubt = (after - before) / 2
        ahead = clock.now().timestamp() - doubt - said.timestamp()
        self.skew_seconds = max(0.0, abs(ahead) - doubt) * (1 if ahead > 0 else -1)

    def watch(self) -> None:
        """Log if the wall clock is wrong, and when it is right again."""
        skewed = abs(self.skew_seconds) > SKEW_SECONDS
        if skewed and not self._skewed:
            log.warning(
                "the clock of this machine is %d ms %s the database's, which decides: set it right",
                abs(self.skew_seconds * 1000),
                "ahead of" if self.skew_seconds > 0 else "behind",
            )
        elif self._skewed and not skewed:
            log.warning("the clock of this machine agrees with the database's again")
        self._skewed = skewed

    @property
    def known(self) -> bool:
        return bool(self._offsets)

    def now(self) -> float:
        """Seconds since 1970."""
        return clock.monotonic() + self.offset
