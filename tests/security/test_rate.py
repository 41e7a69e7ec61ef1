"""A token bucket for each caller: bursts, a steady rate, and what the header fields say of it."""

from __future__ import annotations

import pytest

from sexton import clock as sexton_clock
from sexton.security import rate
from sexton.security.rate import Allowance, Buckets


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock says: change it by its first item."""
    now = [1000.0]
    monkeypatch.setattr(sexton_clock, "monotonic", lambda: now[0])
    return now


def taken(buckets: Buckets, caller: str = "a", own: float | None = None) -> Allowance:
    found = buckets.take(caller, own)
    assert found is not None
    return found


def test_a_caller_may_send_a_burst_and_then_so_many_a_second(clock: list[float]) -> None:
    buckets = Buckets("caller", 2)
    assert [taken(buckets).allowed for _ in range(12)] == [True] * 10 + [False] * 2
    assert taken(buckets, "b").allowed
    clock[0] += 1
    assert [taken(buckets).allowed for _ in range(3)] == [True, True, False]
    clock[0] += 3600
    assert taken(buckets).left == 9


def test_the_header_fields_say_what_is_left_and_when_more_comes(clock: list[float]) -> None:
    buckets = Buckets("caller", 0.5)
    assert taken(buckets).headers() == {
        "RateLimit-Policy": '"caller";q=2;w=4', "RateLimit": '"caller";r=1;t=2',
    }  # fmt: skip
    taken(buckets)
    refused = taken(buckets)
    assert not refused.allowed
    assert refused.headers() == {
        "RateLimit-Policy": '"caller";q=2;w=4', "RateLimit": '"caller";r=0;t=4', "Retry-After": "2",
    }  # fmt: skip
    clock[0] += refused.next_seconds
    assert taken(buckets).allowed


def test_a_rate_of_its_own_counts_and_zero_is_none(clock: list[float]) -> None:
    buckets = Buckets("caller", 2)
    assert taken(buckets, own=100).quota == 500
    assert buckets.take("a", 0) is None
    assert Buckets("caller", 0).take("a") is None
    assert Buckets("caller", 0).take("a", 1) is not None


def test_only_so_many_callers_are_remembered(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "MOST_CALLERS", 2)
    buckets = Buckets("caller", 0.2)
    assert [taken(buckets, each).allowed for each in "abcbca"] == [True, True, True, False, False, True]
