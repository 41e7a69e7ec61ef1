"""A loop says whether it goes on."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from sexton.engine.loop import Loop
from sexton.errors import Unavailable


class Round(Loop):
    """Does what a test says, and tells when it was asked."""

    name = "round"

    def __init__(self) -> None:
        super().__init__()
        self.error: BaseException | None = None
        self.ticked = asyncio.Event()

    async def tick(self) -> float:
        self.ticked.set()
        if self.error is not None:
            raise self.error
        return 1000

    async def once_more(self) -> None:
        self.ticked.clear()
        self.wake()
        await asyncio.wait_for(self.ticked.wait(), 30)
        await asyncio.sleep(0)


async def test_it_is_healthy_once_it_has_ticked_and_not_while_it_fails() -> None:
    loop = Round()
    assert not loop.healthy()
    loop.start()
    await loop.once_more()
    assert loop.healthy()
    loop.error = Unavailable("gone", "the database is gone")
    await loop.once_more()
    assert not loop.healthy()
    loop.error = None
    await loop.once_more()
    assert loop.healthy()
    await loop.stop()


async def test_one_whose_task_has_ended_is_not_healthy_however_recent_its_tick() -> None:
    loop = Round()
    loop.start()
    await loop.once_more()
    assert loop._task is not None
    loop._task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await loop._task
    assert not loop.healthy()


async def test_an_error_at_its_end_is_logged_and_keeps_nothing_else_from_stopping(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Last(Round):
        async def teardown(self) -> None:
            raise OSError("the disk is full")

    loop = Last()
    loop.start()
    await loop.once_more()
    await loop.stop()
    assert "round did not end in good order" in caplog.text
    assert "the disk is full" in caplog.text
