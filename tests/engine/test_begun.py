"""Which runs had begun: what a worker writes down, and what its parent reads when it has died."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sexton.engine.begun import LATEST, NODE, SPARE, Begun, BegunRuns, make_descriptor, take_begun


@pytest.fixture
def descriptor() -> Iterator[int]:
    made = make_descriptor()
    yield made
    os.close(made)


def begin(runs: BegunRuns, run: int) -> int:
    cell = runs.cells[LATEST] = runs.cell()
    runs.cells[cell] = run
    return cell


def test_the_parent_reads_what_had_begun_and_not_ended(descriptor: int) -> None:
    runs = BegunRuns(2, descriptor)
    runs.cells[NODE] = 7
    first, _, _ = begin(runs, 30), begin(runs, 20), begin(runs, 10)
    runs.cells[first] = 0
    assert take_begun(descriptor) == Begun(7, [20, 10])
    # Once: the next process writes there as well.
    assert take_begun(descriptor) is None


def test_the_run_that_began_last_is_named_last_unless_it_has_ended(descriptor: int) -> None:
    runs = BegunRuns(2, descriptor)
    runs.cells[NODE] = 7
    begin(runs, 5)
    begin(runs, 9)
    last = begin(runs, 1)
    runs.cells[last] = 0
    assert take_begun(descriptor) == Begun(7, [5, 9])


def test_a_run_that_takes_over_the_cell_of_the_one_before_is_the_latest(descriptor: int) -> None:
    runs = BegunRuns(2, descriptor)
    runs.cells[NODE] = 7
    begin(runs, 9)
    cell = begin(runs, 4)
    runs.cells[cell] = 5
    assert take_begun(descriptor) == Begun(7, [9, 5])


def test_a_process_that_was_no_node_has_left_nothing(descriptor: int) -> None:
    assert take_begun(descriptor) is None
    BegunRuns(2, descriptor)
    assert take_begun(descriptor) is None


def test_a_new_process_starts_afresh(descriptor: int) -> None:
    begin(BegunRuns(2, descriptor), 5)
    runs = BegunRuns(2, descriptor)
    runs.cells[NODE] = 8
    assert take_begun(descriptor) == Begun(8, [])


def test_a_process_that_was_forked_off_writes_elsewhere(descriptor: int) -> None:
    runs = BegunRuns(2, descriptor)
    runs.cells[NODE] = 7
    cell = begin(runs, 5)
    runs.forked()
    runs.cells[cell] = 0
    assert take_begun(descriptor) == Begun(7, [5])


def test_runs_beyond_the_cells_are_not_an_error() -> None:
    runs = BegunRuns(2)
    runs.free.clear()
    assert begin(runs, 5) == SPARE
