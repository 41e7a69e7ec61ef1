"""Sharing out runs under limits, without a database."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sexton.engine.worker.share import Share, Stretch, share_out
from tests.seeding import NOW

KEYS = st.one_of(st.none(), st.lists(st.sampled_from("abc"), max_size=6))


@st.composite
def looks(draw: st.DrawFn) -> list[Stretch]:
    """What a look may find: the stretches of a queue have the same room, and a key the same share in all."""
    stretches, run = [], 0
    for queue in range(1, draw(st.integers(1, 3)) + 1):
        room = draw(st.integers(0, 5))
        free = {key: draw(st.integers(-1, 3)) for key in "abc"}
        for _ in range(draw(st.integers(1, 3))):
            keys = draw(KEYS)
            count = draw(st.integers(0, 6)) if keys is None else len(keys)
            runs, run = list(range(run, run + count)), run + count
            left = None if keys is None else [free[key] for key in keys]
            waiting = count + draw(st.integers(0, 2))
            stretches.append(Stretch(queue, room, None, None, None, NOW, runs, keys, left, None, waiting))
    return stretches


def chosen_in(share: Share, stretch: Stretch) -> list[int]:
    return [place for place, run in enumerate(stretch.runs) if run in share.runs]


@given(looks(), st.integers(0, 12))
def test_no_limit_is_exceeded(stretches: list[Stretch], limit: int) -> None:
    share = share_out(stretches, limit)
    assert len(share.runs) == len(share.run_queues) == len(set(share.runs)) <= limit
    of_keys: Counter[tuple[int, str]] = Counter()
    for stretch in stretches:
        assert share.queues[stretch.queue].runs <= stretch.room
        for place in chosen_in(share, stretch):
            if stretch.keys is not None and stretch.free is not None:
                key = (stretch.queue, str(stretch.keys[place]))
                of_keys[key] += 1
                assert of_keys[key] <= stretch.free[place]
    counted = Counter(share.run_queues)
    assert all(queue.runs == counted[number] for number, queue in share.queues.items())


@given(looks(), st.integers(0, 12))
def test_nothing_that_may_go_is_left(stretches: list[Stretch], limit: int) -> None:
    """A run is passed over only for a limit that is reached: in all, of its queue, or of its key."""
    share = share_out(stretches, limit)
    of_keys: Counter[tuple[int, str]] = Counter()
    for stretch in stretches:
        for place in chosen_in(share, stretch):
            if stretch.keys is not None:
                of_keys[stretch.queue, str(stretch.keys[place])] += 1
    for stretch in stretches:
        for place in set(range(len(stretch.runs))) - set(chosen_in(share, stretch)):
            full = len(share.runs) == limit or share.queues[stretch.queue].runs == stretch.room
            if not full:
                assert stretch.keys is not None
                assert stretch.free is not None
                assert of_keys[stretch.queue, str(stretch.keys[place])] >= stretch.free[place]


@given(looks(), st.integers(0, 12))
def test_the_next_claim_goes_on_after_the_last_key(stretches: list[Stretch], limit: int) -> None:
    share = share_out(stretches, limit)
    for number, queue in share.queues.items():
        keys = [
            stretch.keys[place]
            for stretch in stretches
            if stretch.queue == number and stretch.keys is not None
            for place in chosen_in(share, stretch)
        ]
        assert queue.key == (keys[-1] if keys else None)


@given(looks(), st.integers(0, 12))
def test_what_is_left_is_said(stretches: list[Stretch], limit: int) -> None:
    share = share_out(stretches, limit)
    left = any(stretch.waiting > len(chosen_in(share, stretch)) for stretch in stretches)
    assert share.remaining == left


@pytest.mark.parametrize(
    ("tokens", "rate", "burst", "waiting", "seconds"),
    [
        (0.0, 1000.0, 1000.0, 1, 0.02),  # those of 20 ms together
        (0.0, 1000.0, 1.0, 1, 0.001),  # unless the bucket is smaller
        (0.5, 0.1, 1.0, 1, 5.0),
        (0.5, 0.1, 1.0, 0, None),  # nothing waits
        (5.0, 1.0, 5.0, 1, None),  # it is not the rate that it waits for
    ],
)
def test_a_rate_says_when_to_look_again(
    tokens: float, rate: float, burst: float, waiting: int, seconds: float | None
) -> None:
    share = share_out([Stretch(1, 0, tokens, rate, burst, NOW, [], None, None, None, waiting)], 10)
    assert share.seconds == (None if seconds is None else pytest.approx(seconds))


def test_a_walk_that_was_cut_short_goes_on_soon_unless_it_found_something() -> None:
    nothing = Stretch(1, 5, None, None, None, NOW, [], [], [], "k", 1)
    share = share_out([nothing], 10)
    assert (share.seconds, share.queues[1].cut) == (0.1, "k")
    something = Stretch(1, 5, None, None, None, NOW, [7], ["a"], [1], "k", 1)
    share = share_out([something], 10)
    assert (share.seconds, share.queues[1].key) == (None, "a")


def test_without_queues_there_is_nothing() -> None:
    share = share_out([], 10)
    assert (share.runs, share.remaining, share.seconds) == ([], False, None)
