"""The wheel gives back everything it was given, when it is due and not before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sexton.engine.scheduler.wheel import MICROSECONDS, Entries, Wheel

entries = st.lists(
    st.tuples(
        st.integers(1, 2**62),
        st.integers(0, 20 * MICROSECONDS),
        st.integers(0, 20 * MICROSECONDS),
        st.integers(1, 1000),
        st.integers(0, 5),
    ),
    max_size=60,
)


@given(entries, st.lists(st.integers(0, 22 * MICROSECONDS), max_size=10))
def test_entries_come_out_when_they_are_due(
    rows: list[tuple[int, int, int, int, int]], asked: list[int]
) -> None:
    wheel = Wheel()
    for row in rows:
        wheel.add(*row)
    waiting = sorted(rows)
    for now in [*sorted(asked), 25 * MICROSECONDS]:
        assert wheel.size == len(waiting)
        assert wheel.next_due() == min((row[1] for row in waiting), default=None)
        due = sorted(wheel.pop_due(now).rows())
        assert due == [row for row in waiting if row[1] <= now]
        waiting = [row for row in waiting if row[1] > now]
    assert not waiting
    assert wheel.next_due() is None
    assert wheel.size == 0


@given(entries)
def test_adding_many_is_adding_each(rows: list[tuple[int, int, int, int, int]]) -> None:
    one_by_one, at_once, columns = Wheel(), Wheel(), Entries()
    for row in rows:
        one_by_one.add(*row)
        columns.add(*row)
    at_once.add_all(columns)
    assert at_once.size == one_by_one.size
    end = 30 * MICROSECONDS
    assert sorted(at_once.pop_due(end).rows()) == sorted(one_by_one.pop_due(end).rows())


def test_the_cases_of_the_first_slot() -> None:
    wheel = Wheel()
    assert wheel.first_cases() == set()
    wheel.add(1, 5 * MICROSECONDS, 5 * MICROSECONDS, 1, 7)
    wheel.add(2, 5 * MICROSECONDS, 5 * MICROSECONDS, 1, 7)
    wheel.add(3, 9 * MICROSECONDS, 9 * MICROSECONDS, 1, 8)
    assert wheel.first_cases() == {(7, 5 * MICROSECONDS)}


def test_an_entry_takes_few_bytes() -> None:
    columns = Entries()
    columns.add(1, 2, 3, 4, 5)
    arrays = (columns.job_ids, columns.due, columns.scheduled, columns.revisions, columns.timings)
    assert sum(column.itemsize for column in arrays) == 32
