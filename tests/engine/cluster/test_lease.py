"""When a lease is trusted, and when it has been steady."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sexton import clock
from sexton.engine.cluster.lease import Lease, trusted_until


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the monotonic clock."""
    return lambda moment: monkeypatch.setattr(clock, "monotonic", lambda: moment)


@pytest.mark.parametrize(("seconds", "trusted"), [(1, 0.75), (2, 1.75), (4, 3.6), (15, 13.5), (300, 270)])
def test_it_is_trusted_until_a_margin_before_its_end(seconds: float, trusted: float) -> None:
    assert trusted_until(1000, seconds) == pytest.approx(1000 + trusted)


def test_it_counts_from_before_the_renewal_was_sent(at: Callable[[float], None]) -> None:
    lease = Lease(15)
    at(100)
    assert not lease.trusted()
    at(112)  # the answer took twelve seconds
    lease.renewed(100)
    assert lease.trusted()
    at(113.5)
    assert not lease.trusted()


def test_only_a_lease_without_gaps_is_steady(at: Callable[[float], None]) -> None:
    lease = Lease(15)
    for moment in (100, 105, 110):
        at(moment)
        lease.renewed(moment)
        assert not lease.steady(15)
    at(115)
    assert lease.steady(15)
    at(130)  # it ran out, as in an outage of the database
    assert not lease.steady(0)
    lease.renewed(130)
    assert lease.trusted()
    assert not lease.steady(1)
    at(131)
    assert lease.steady(1)


def test_what_is_lost_is_not_trusted(at: Callable[[float], None]) -> None:
    lease = Lease(15)
    at(100)
    lease.renewed(100)
    lease.lost()
    assert not lease.trusted()
    assert not lease.steady(0)
