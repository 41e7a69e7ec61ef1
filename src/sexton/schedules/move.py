"""An occurrence that was moved to another time, by a reschedule of its job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Move:
    """An occurrence that was moved. Nothing that the rule says after `since` counts, up to the later of
    `origin` and `to`: only `to` does. All three are instants."""

    since: datetime
    origin: datetime
    to: datetime

    @property
    def until(self) -> datetime:
        return max(self.origin, self.to)
