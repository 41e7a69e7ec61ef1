"""Which runs had begun when a process died: a small memory that its parent shares.

A worker writes the id of a run there when the handler begins. It wipes it when the handler has ended, or
writes that of the next one over it: a write to memory or two, no statement. Should the process die, however
that was, its parent still has the memory. `docs/design/0009-crashes.md` tells why.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
from array import array
from dataclasses import dataclass

# The cells of 8 bytes at the beginning: the node, and the number of the cell whose run began last; and one
# for runs beyond those that there is a cell for.
NODE, LATEST, SPARE = range(3)
FIRST_CELL = 3
CELL_BYTES = 8
# Handlers that go on although they were stopped keep their cells.
CELLS_FOR_LEFT_BEHIND = 1000


class BegunRuns:
    """Written by the worker that runs them. Without a descriptor, nothing else reads it."""

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
        """For one run after the other; give it back to `free`."""
        return self.free.pop() if self.free else SPARE

    def forked(self) -> None:
        """In a copy of the process: what it does is none of the parent's business."""
        self.cells = memoryview(array("q", self.cells))


@dataclass(frozen=True, slots=True)
class Begun:
    """What was left there by a process that has died. `runs`: the one that began last is the last of them."""

    node: int
    runs: list[int]


def make_descriptor() -> int:
    """The memory: to be passed to the process that writes it."""
    if sys.platform == "linux":
        return os.memfd_create("sexton-begun")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def take_begun(descriptor: int) -> Begun | None:
    """Read what a process has left, once; None if it was no node when it ended."""
    cells = array("q")
    size = os.fstat(descriptor).st_size
    cells.frombytes(os.pread(descriptor, size, 0)[: size - size % CELL_BYTES])
    os.ftruncate(descriptor, 0)
    if len(cells) < FIRST_CELL or not cells[NODE]:
        return None
    latest = cells[cells[LATEST]]
    runs = {run for run in cells[FIRST_CELL:] if run}
    return Begun(cells[NODE], [*sorted(runs - {latest}), *({latest} & runs)])
