"""Due timers that fire together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sexton.engine.scheduler.wheel import Entries


@dataclass(slots=True)
class DueBatch:
    """Entries to fire together, in parts by shard."""

    parts: list[tuple[int, Entries]] = field(default_factory=list)
    size: int = 0

    def add(self, shard: int, entries: Entries) -> None:
        self.parts.append((shard, entries))
        self.size += len(entries)

    @property
    def jobs(self) -> list[int]:
        return [job_id for _, entries in self.parts for job_id in entries.job_ids]

    @property
    def shards(self) -> list[int]:
        return sorted({shard for shard, _ in self.parts})

    def groups(self) -> tuple[list[tuple[int, int, int, int]], list[int]]:
        """The distinct (timing, scheduled, due, revision), and for each job the number of its case, from
        1."""
        found: dict[tuple[int, int, int, int], int] = {}
        numbers: list[int] = []
        for _, entries in self.parts:
            cases = list(zip(entries.timings, entries.scheduled, entries.due, entries.revisions, strict=True))
            for case in set(cases):
                found.setdefault(case, len(found) + 1)
            numbers.extend(map(found.__getitem__, cases))
        return list(found), numbers

    def keep(self, led: Callable[[int], bool]) -> bool:
        """Leave out the shards that this node does not lead any more; returns whether anything remains."""
        self.parts = [(shard, entries) for shard, entries in self.parts if led(shard)]
        self.size = sum(len(entries) for _, entries in self.parts)
        return self.size > 0

    def cut(self, size: int) -> list[DueBatch]:
        """The batch in pieces of at most so many entries."""
        pieces = [DueBatch()] if self.parts else []
        for shard, entries in self.parts:
            start = 0
            while start < len(entries):
                if pieces[-1].size == size:
                    pieces.append(DueBatch())
                end = min(len(entries), start + size - pieces[-1].size)
                pieces[-1].add(shard, entries.slice(start, end))
                start = end
        return pieces

    def split(self, chosen: Callable[[tuple[int, int, int, int, int]], bool]) -> DueBatch:
        """Take the chosen entries out. Entries with the same timing and due time go the same way, so a part
        with only one of each costs one call of `chosen`."""
        taken = DueBatch()
        parts = []
        for shard, entries in self.parts:
            if len(set(zip(entries.timings, entries.due, strict=True))) == 1:
                yes = chosen(next(iter(entries.rows())))
                out, left = (entries, Entries()) if yes else (Entries(), entries)
            else:
                out, left = Entries(), Entries()
                for row in entries.rows():
                    (out if chosen(row) else left).add(*row)
            if out:
                taken.add(shard, out)
            if left:
                parts.append((shard, left))
        self.parts, self.size = parts, sum(len(entries) for _, entries in parts)
        return taken
