"""Where two schedules differ in a range of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sexton.clock import iso

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sexton.schedules import Schedule

# Two schedules of every second can differ 2.6 million times a month: comparing stops after this many
# occurrences and says how far it came.
MOST_COMPARED = 200_000


@dataclass(slots=True)
class Comparison:
    """Where two schedules differ; `compared_to` is before `end` when there was too much to compare."""

    schedules: tuple[Schedule, Schedule]
    start: datetime
    end: datetime
    compared_to: datetime
    common: int
    only: tuple[int, int]
    differences: list[tuple[datetime, int]]

    @property
    def differs(self) -> bool:
        return self.only != (0, 0)

    def local(self, at: datetime, which: int) -> datetime:
        return at.astimezone(ZoneInfo(self.schedules[which].timezone))

    def to_dict(self) -> dict[str, Any]:
        first, second = (
            {
                "schedule": each.text,
                "kind": each.kind,
                "timezone": each.timezone,
                "explanation": each.explain(),
                "only": only,
            }
            for each, only in zip(self.schedules, self.only, strict=True)
        )
        return {
            "from": iso(self.start),
            "to": iso(self.compared_to),
            "complete": self.compared_to == self.end,
            "common": self.common,
            "first": first,
            "second": second,
            "differences": [
                {
                    "at": iso(at),
                    "local": self.local(at, which).isoformat(),
                    "only_in": ("first", "second")[which],
                }
                for at, which in self.differences
            ],
            "more": sum(self.only) - len(self.differences),
        }


def compare(
    first: Schedule, second: Schedule, start: datetime, end: datetime, rows: int, most: int = MOST_COMPARED
) -> Comparison:
    only, common, compared_to = [0, 0], 0, end
    differences: list[tuple[datetime, int]] = []
    for walked, (at, in_first, in_second) in enumerate(
        _merged(first.between(start, end), second.between(start, end))
    ):
        if walked == most:
            compared_to = at - timedelta(seconds=1)
            break
        if in_first and in_second:
            common += 1
            continue
        which = 0 if in_first else 1
        only[which] += 1
        if len(differences) < rows:
            differences.append((at, which))
    return Comparison((first, second), start, end, compared_to, common, (only[0], only[1]), differences)


def _merged(first: Iterator[datetime], second: Iterator[datetime]) -> Iterator[tuple[datetime, bool, bool]]:
    """Every instant of either, in order, with which of the two it is in."""
    left, right = next(first, None), next(second, None)
    while left is not None or right is not None:
        at = min(each for each in (left, right) if each is not None)
        yield at, left == at, right == at
        left, right = (
            next(first, None) if left == at else left,
            next(second, None) if right == at else right,
        )
