"""An occurrence that was moved to another time, by a reschedule of its job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Move:
    """An occurrence that was moved. Nothing that the rule says after `since` counts, up to the later of
    `origin` and `to`: only `to` does. All three are instants. `skip`: `to` is the occurrence after `origin`,
    which is left out."""

    since: datetime
    origin: datetime
    to: datetime
    skip: bool = False

    @property
    def until(self) -> datetime:
        return max(self.origin, self.to)
