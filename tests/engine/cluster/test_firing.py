"""When a scheduler that renews its lease is said to be unable to fire, and when it is believed again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sexton import clock
from sexton.engine.cluster.firing import Firing

At = Callable[[float], None]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> At:
    """Sets the monotonic clock."""
    return lambda moment: monkeypatch.setattr(clock, "monotonic", lambda: moment)


def beats(firing: Firing, at: At, *moments: float, works: bool = False, alone: bool = False) -> list[bool]:
    """What each beat makes of it."""
    able = []
    for moment in moments:
        at(moment)
        firing.judge(works=works, alone=alone)
        able.append(firing.able)
    return able


def test_one_whose_answer_does_not_come_is_unable_after_a_second_look(at: At) -> None:
    firing = Firing(4)
    at(100)
    firing.began()
    assert beats(firing, at, 100.9, 101.9, 102.8, 103) == [True, True, True, False]
    assert firing.since == 100


def test_one_whose_rounds_fail_is_unable_though_each_of_them_is_short(at: At) -> None:
    firing = Firing(4)
    for moment in (100, 101, 102, 103):
        at(moment)
        firing.began()
        firing.failed()
        firing.judge(works=False, alone=False)
    assert not firing.able
    assert (firing.since, firing.waits) == (100, False)


def test_answers_that_come_are_no_wait_however_long_the_round(at: At) -> None:
    firing = Firing(4)
    for moment in range(100, 110):
        at(moment)
        firing.began()
        assert beats(firing, at, moment + 0.9) == [True]


def test_a_slow_database_is_no_reason(at: At) -> None:
    firing = Firing(4)
    at(100)
    firing.began()
    assert beats(firing, at, 101, 103, 105, 110, works=True) == [True] * 4


def test_what_is_not_the_database_may_take_long(at: At) -> None:
    firing = Firing(4)
    at(100)
    firing.began()
    firing.rests()
    assert beats(firing, at, 102, 104, 106) == [True] * 3


def test_what_failed_while_the_lease_was_not_renewed_does_not_count(at: At) -> None:
    firing = Firing(4)
    assert beats(firing, at, 100)
    firing.began()
    firing.failed()
    # The database was away. When the lease is renewed again, the scheduler has a moment to try as well.
    assert beats(firing, at, 120, 120.9) == [True, True]
    firing.began()
    firing.proven()
    firing.succeeded()
    assert beats(firing, at, 122, 123) == [True, True]
    assert firing.since is None


def test_beside_others_it_is_believed_again_after_a_whole_lease(at: At) -> None:
    firing = unable(at)
    firing.succeeded()
    assert beats(firing, at, 110, 112, 113.9) == [False] * 3
    assert beats(firing, at, 114) == [True]


def test_a_failure_on_the_way_lets_the_lease_begin_anew(at: At) -> None:
    firing = unable(at)
    firing.succeeded()
    assert beats(firing, at, 110, 112) == [False, False]
    firing.began()
    firing.failed()
    assert beats(firing, at, 112.5) == [False]
    firing.succeeded()
    assert beats(firing, at, 113, 115, 116.9, 117) == [False, False, False, True]


def test_alone_it_is_believed_again_at_once(at: At) -> None:
    firing = unable(at)
    firing.succeeded()
    assert beats(firing, at, 110, alone=True) == [True]


def test_behind_a_pooler_an_answer_may_take_a_lease(at: At) -> None:
    """There the client cannot see whether PostgreSQL works on it."""
    firing = Firing(4, blind=True)
    at(100)
    firing.began()
    assert beats(firing, at, 102, 103.9, 104, 106, 108) == [True, True, True, True, False]


def unable(at: At) -> Firing:
    firing = Firing(4)
    at(100)
    firing.began()
    firing.failed()
    assert beats(firing, at, 101, 102) == [True, False]
    return firing
