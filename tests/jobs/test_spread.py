"""How jobs are spread: evenly, whatever their ids and however wide the window is."""

from __future__ import annotations

from collections import Counter

import pytest

from sexton.jobs.spread import jitter_of, shard_of


@pytest.mark.parametrize("jitter_seconds", [1, 3, 10, 60, 300, 900, 3600])
def test_jobs_that_were_made_together_do_not_fire_together(jitter_seconds: int) -> None:
    for first in (1, 1_000, 2**40):
        offsets = [jitter_of(job, jitter_seconds) for job in range(first, first + 48)]
        assert all(0 <= offset < jitter_seconds for offset in offsets)
        # In thirds of the window; 16 each would be even.
        thirds = Counter(int(offset * 3 / jitter_seconds) for offset in offsets)
        assert min(thirds[third] for third in range(3)) >= 7, thirds


def test_no_jitter_is_no_offset() -> None:
    assert jitter_of(7, 0) == 0


def test_shards_get_about_as_many_jobs_each() -> None:
    counts = Counter(shard_of(job, 64) for job in range(1, 64_001))
    assert set(counts) == set(range(64))
    assert max(counts.values()) < 1.2 * min(counts.values())
