"""The ground of measurements keeps itself apart, and says why something cannot be measured."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from sexton.cli.bench.harness import (
    SCHEMA,
    SharedSchedule,
    ground,
    second_after,
)
from sexton.errors import Unavailable
from sexton.schedules import parse

DUE = datetime(2030, 1, 1, tzinfo=UTC)


async def test_two_measurements_do_not_share_a_database(server_url: str) -> None:
    async with ground(server_url):
        with pytest.raises(Unavailable, match="another measurement"):
            async with ground(server_url):
                pass


async def test_jobs_and_timers_belong_together(server_url: str) -> None:
    rules = [SharedSchedule(parse("0 0 1 1 *"), DUE), SharedSchedule(parse("5 0 1 1 *"), DUE)]
    async with ground(server_url) as made:
        await made.fill(range(1, 5), rules, jitter=lambda job: job / 1000)
        rows = await made.watch.fetch(
            f"""select j.schedule, j.timing_key = t.timing_key as same, t.due_at - t.scheduled_at as jitter
            from {SCHEMA}.jobs j join {SCHEMA}.timers t on t.job_id = j.id order by j.id"""
        )
        assert [(row["schedule"], row["same"], row["jitter"].microseconds) for row in rows] == [
            ("5 0 1 1 *", True, 1000),
            ("0 0 1 1 *", True, 2000),
            ("5 0 1 1 *", True, 3000),
            ("0 0 1 1 *", True, 4000),
        ]
        usage = made.usage()
        assert usage.database is not None
        assert usage.database > 0


async def test_a_process_that_ends_is_reported_with_its_last_words(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXTON_CONCURRENCY", "nonsense")
    async with ground(server_url) as made:
        await made.start("worker")
        with pytest.raises(Unavailable, match=re.compile("worker ended with 2.*concurrency", re.DOTALL)):
            await made.wait_for("select false", every=0.05, patience=60)


def test_a_whole_second_ahead() -> None:
    moment = datetime(2026, 1, 1, 12, 0, 0, 1, tzinfo=UTC)
    assert second_after(moment, 2) == datetime(2026, 1, 1, 12, 0, 3, tzinfo=UTC)
