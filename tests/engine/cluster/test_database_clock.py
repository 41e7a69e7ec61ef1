"""The database's time, as a node estimates it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton import clock
from sexton.postgres.database import Database
from tests.scheduling import Stage, fetch


async def test_the_clock_is_never_ahead_of_the_database(database: Database) -> None:
    stage = await Stage(database).lead()
    for _ in range(20):
        believed = stage.membership.time.now()
        [[said]] = await fetch(database, "select clock_timestamp()")
        assert believed <= said.timestamp() + timedelta(microseconds=1).total_seconds()


async def test_a_clock_that_is_wrong_is_said_once_and_shown(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stage = await Stage(database).lead()
    assert abs(stage.membership.time.skew_seconds) < 0.5
    right = clock.now
    monkeypatch.setattr(clock, "now", lambda: right() - timedelta(seconds=90))
    for _ in range(3):
        await stage.leadership.tick()
    assert -91 < stage.membership.time.skew_seconds < -89
    assert [message for message in caplog.messages if "behind the database's" in message] == caplog.messages
    assert len(caplog.messages) == 1
    [[shown]] = await fetch(database, "select (detail ->> 'skew_ms')::int from sexton.nodes")
    assert -91_000 < shown < -89_000
    monkeypatch.setattr(clock, "now", right)
    await stage.leadership.tick()
    assert caplog.messages[-1] == "the clock of this machine agrees with the database's again"
