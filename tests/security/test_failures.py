"""Failures are counted by the minute, for each address and altogether."""

from __future__ import annotations

import pytest

from sexton import clock as sexton_clock
from sexton.security import failures
from sexton.security.failures import Failures


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock says: change it by its first item."""
    now = [1000.0]
    monkeypatch.setattr(sexton_clock, "monotonic", lambda: now[0])
    return now


def test_an_address_may_fail_so_often_in_a_minute(clock: list[float]) -> None:
    counted = Failures(2)
    assert [counted.note("a") for _ in range(3)] == [1, 2, 3]
    assert (counted.too_many("a"), counted.too_many("b")) == (True, False)
    clock[0] += 59
    assert counted.too_many("a")
    clock[0] += 1
    assert not counted.too_many("a")
    assert counted.note("a") == 1


def test_all_addresses_together_may_fail_so_often(clock: list[float]) -> None:
    counted = Failures(2, altogether=5)
    for number in range(6):
        assert not counted.too_many("another")
        counted.note(str(number))
    assert counted.too_many("another")
    clock[0] += 60
    assert not counted.too_many("another")


def test_the_address_that_was_silent_longest_is_forgotten(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "MOST_ADDRESSES", 2)
    counted = Failures(0)
    for address in ("a", "b", "a", "c"):
        counted.note(address)
    assert [counted.too_many(each) for each in "abc"] == [True, False, True]
