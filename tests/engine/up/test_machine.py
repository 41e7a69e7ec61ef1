"""What the processes of a machine are given; the whole of it is tested with `sexton up`."""

from __future__ import annotations

import contextlib
import os

import asyncpg
import pytest

from sexton.engine.begun import NODE, BegunRuns, make_descriptor
from sexton.engine.up import machine


def test_settings_reach_the_children_as_variables() -> None:
    given = {"database_url": "postgresql://ada:secret@db/x", "port": 7391, "app": None}
    assert machine._environment(given) == {
        "SEXTON_DATABASE_URL": "postgresql://ada:secret@db/x",
        "SEXTON_PORT": "7391",
    }


async def test_the_end_of_a_worker_that_cannot_be_reported_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A database whose disk is full must not end the supervisor, and all children with it."""

    async def full(*_: object) -> None:
        raise asyncpg.DiskFullError("no space left on device")

    monkeypatch.setattr(machine, "report_death", full)
    monkeypatch.setattr(machine, "_database", lambda *_: contextlib.nullcontext())
    descriptor = make_descriptor()
    try:
        BegunRuns(1, descriptor).cells[NODE] = 7
        assert await machine._report_end("postgresql://db/x", "sexton", descriptor, 3)
    finally:
        os.close(descriptor)
    assert "could not report the end of a worker: no space left on device" in caplog.text
