"""Which runs had begun when a process died: a small memory that it shares with its parent.

A worker writes the id of a run there when the handler begins. When the handler has ended, it clears the id or
overwrites it with the next one: that takes one or two writes to memory, and no statement. If the process dies
in any way, its parent still has the memory. `docs/design/0009-crashes.md` says why.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from array import array
from dataclasses import dataclass

# The first cells, of 8 bytes each: the node; the number of the cell whose run began last; and one cell for
# all runs beyond the number of cells.
NODE, LATEST, SPARE = range(3)
FIRST_CELL = 3
CELL_BYTES = 8
# Handlers that go on although they were stopped keep their cells.
CELLS_FOR_LEFT_BEHIND = 1000


class BegunRuns:
    """The side of the worker, which writes. Without a descriptor no parent reads it."""

    __slots__ = ("cells", "free")

    def __init__(self, most: int, descriptor: int | None = None) -> None:
        count = FIRST_CELL + most + CELLS_FOR_LEFT_BEHIND
        self.free = list(range(FIRST_CELL, count))
        if descriptor is None:
            self.cells = memoryview(array("q", bytes(count * CELL_BYTES)))
        else:
            os.ftruncate(descriptor, 0)
            os.ftruncate(descriptor, count * CELL_BYTES)
            self.cells = memoryview(mmap.mmap(descriptor, count * CELL_BYTES)).cast("q")

    def cell(self) -> int:
        """A cell for one run after the other; return it to `free` in the end."""
        return self.free.pop() if self.free else SPARE

    def forked(self) -> None:
        """In a copy of the process: write to a memory of its own, which the parent does not read."""
        self.cells = memoryview(array("q", self.cells))


@dataclass(frozen=True, slots=True)
class Begun:
    """What a process that died has left there. `runs` are in order: the run that began last is the last."""

    node: int
    runs: list[int]


def make_descriptor() -> int:
    """The descriptor of a new memory, to pass to the process that writes it."""
    if sys.platform == "linux":
        return os.memfd_create("sexton-begun")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def take_begun(descriptor: int) -> Begun | None:
    """Read and clear the memory of a process that has ended; None if it was no node."""
    cells = array("q")
    size = os.fstat(descriptor).st_size
    cells.frombytes(os.pread(descriptor, size, 0)[: size - size % CELL_BYTES])
    os.ftruncate(descriptor, 0)
    if len(cells) < FIRST_CELL or not cells[NODE]:
        return None
    latest = cells[cells[LATEST]]
    runs = {run for run in cells[FIRST_CELL:] if run}
    return Begun(cells[NODE], [*sorted(runs - {latest}), *({latest} & runs)])
