"""The filter of lists, counts and exports of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sexton.model import RunStatus, Trigger

LIVE = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.FAILED, RunStatus.WAITING)
ENDED = (RunStatus.SUCCESS, RunStatus.DEAD, RunStatus.CANCELLED, RunStatus.EXPIRED)
SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A field that is None selects everything. Skipped occurrences are included with `skipped`, or if their
    status is named. `since` and `until` are about when a run ended."""

    job: int | None = None
    statuses: Sequence[str] | None = None
    triggers: Sequence[str] | None = None
    skipped: bool = False
    queue: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    late: bool = False
    error: str | None = None
    worker: str | None = None

    @property
    def live(self) -> list[str]:
        """The statuses of live runs that match; none with `until`, because live runs have not ended."""
        wanted = self.statuses or LIVE
        return [] if self.until is not None else [each for each in LIVE if each in wanted]

    @property
    def ended(self) -> list[str]:
        wanted = self.statuses or (*ENDED, *((SKIPPED,) if self.skipped else ()))
        return [each for each in wanted if each not in LIVE]

    @property
    def unusual(self) -> bool:
        """Whether no success of a schedule matches: all other runs have an index by time."""
        return (
            RunStatus.SUCCESS not in self.ended
            or self.error is not None
            or (self.triggers is not None and Trigger.SCHEDULE not in self.triggers)
        )

    @property
    def plain(self) -> bool:
        """Whether the filter has only statuses, lateness and whole minutes, for which counts exist."""
        more = (self.job, self.triggers, self.queue, self.error, self.worker)
        bounds = [each for each in (self.since, self.until) if each is not None]
        whole = all(not each.second and not each.microsecond for each in bounds)
        return whole and all(each is None for each in more)

    @property
    def searching(self) -> bool:
        """Whether the filter has no index and may match few of very many runs."""
        return self.late or self.queue is not None or self.worker is not None

    def parameters(self) -> dict[str, Any]:
        """The parameters of the statement parts `live_choice` and `ended_choice`, without the namespace."""
        return {
            "triggers": self.triggers,
            "queue": self.queue,
            "late": self.late,
            "error": self.error,
            "worker": self.worker,
        }
