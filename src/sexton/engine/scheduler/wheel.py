"""The timing wheel: what falls due in the next minutes, in memory, for one shard.

Slots of one second hold the entries in packed arrays (32 bytes per entry, without an object). The wheel is a
copy of the timers, and can be dropped and filled again at any time. It may hold an outdated entry, or one
twice: a firing compares every entry with its timer.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

MICROSECONDS = 1_000_000


@dataclass(slots=True)
class Entries:
    """Timers as columns: times in microseconds since 1970; `timing` numbers a timing key."""

    job_ids: array[int] = field(default_factory=lambda: array("q"))
    due: array[int] = field(default_factory=lambda: array("q"))
    scheduled: array[int] = field(default_factory=lambda: array("q"))
    revisions: array[int] = field(default_factory=lambda: array("i"))
    timings: array[int] = field(default_factory=lambda: array("i"))

    def __len__(self) -> int:
        return len(self.job_ids)

    def add(self, job_id: int, due: int, scheduled: int, revision: int, timing: int) -> None:
        self.job_ids.append(job_id)
        self.due.append(due)
        self.scheduled.append(scheduled)
        self.revisions.append(revision)
        self.timings.append(timing)

    def extend(self, other: Entries) -> None:
        self.job_ids.extend(other.job_ids)
        self.due.extend(other.due)
        self.scheduled.extend(other.scheduled)
        self.revisions.extend(other.revisions)
        self.timings.extend(other.timings)

    def slice(self, start: int, end: int) -> Entries:
        return Entries(
            self.job_ids[start:end],
            self.due[start:end],
            self.scheduled[start:end],
            self.revisions[start:end],
            self.timings[start:end],
        )

    def in_order(self) -> Entries:
        """Sorted by job; they nearly always are already."""
        ids = self.job_ids.tolist()
        if ids == sorted(ids):
            return self
        places = sorted(range(len(ids)), key=ids.__getitem__)
        return Entries(
            array("q", [ids[place] for place in places]),
            array("q", [self.due[place] for place in places]),
            array("q", [self.scheduled[place] for place in places]),
            array("i", [self.revisions[place] for place in places]),
            array("i", [self.timings[place] for place in places]),
        )

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        return zip(self.job_ids, self.due, self.scheduled, self.revisions, self.timings, strict=True)


class Wheel:
    """Entries by the second in which they fall due."""

    __slots__ = ("_order", "_slots", "size")

    def __init__(self) -> None:
        self._slots: dict[int, Entries] = {}
        self._order: list[int] = []
        self.size = 0

    def add(self, job_id: int, due: int, scheduled: int, revision: int, timing: int) -> None:
        self._slot(due // MICROSECONDS).add(job_id, due, scheduled, revision, timing)
        self.size += 1

    def add_all(self, entries: Entries) -> None:
        """Add many at once; those of one second are copied as they are."""
        if not entries:
            return
        first, last = min(entries.due) // MICROSECONDS, max(entries.due) // MICROSECONDS
        if first == last:
            self._slot(first).extend(entries)
            self.size += len(entries)
        else:
            for row in entries.rows():
                self.add(*row)

    def next_due(self) -> int | None:
        """When the first entry falls due."""
        return min(self._slots[self._order[0]].due) if self._order else None

    def first_cases(self) -> set[tuple[int, int]]:
        """The distinct (timing, scheduled) of the first slot."""
        if not self._order:
            return set()
        slot = self._slots[self._order[0]]
        return set(zip(slot.timings, slot.scheduled, strict=True))

    def pop_due(self, now: int) -> Entries:
        """Take out all entries that are due by now."""
        due = Entries()
        second = now // MICROSECONDS
        while self._order and self._order[0] <= second:
            slot = self._slots.pop(heapq.heappop(self._order))
            self.size -= len(slot)
            if max(slot.due) <= now:
                due.extend(slot)
                continue
            for row in slot.rows():
                if row[1] <= now:
                    due.add(*row)
                else:
                    self.add(*row)
            break
        return due

    def _slot(self, second: int) -> Entries:
        slot = self._slots.get(second)
        if slot is None:
            slot = self._slots[second] = Entries()
            heapq.heappush(self._order, second)
        return slot
