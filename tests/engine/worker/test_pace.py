"""How far ahead a worker claims."""

from __future__ import annotations

from sexton.engine.worker.pace import Pace


def test_a_fast_worker_claims_ahead_and_a_slow_one_does_not() -> None:
    pace = Pace(most=200)
    pace.more = True
    pace.measured(1000, 0.1)
    assert 0 < pace.ahead < 200 * 2
    for _ in range(20):
        pace.measured(100_000, 0.1)
    assert pace.ahead == 200
    for _ in range(20):
        pace.measured(1, 10)
    assert pace.ahead == 0
    pace.measured(1000, 0.1)
    pace.slow_down()
    assert pace.ahead == 0


def test_a_worker_that_could_have_had_no_more_tells_nothing_of_its_pace() -> None:
    pace = Pace(most=200)
    pace.measured(1000, 0.1)
    assert pace.ahead == 0


def test_room_matters_only_if_there_was_more() -> None:
    pace, calls = Pace(most=200), []
    pace.on_room = lambda: calls.append("room")
    pace.room_again()
    assert calls == []
    pace.more = True
    pace.room_again()
    assert calls == ["room"]
