"""A process that cannot open anything is not ready, and says so once."""

from __future__ import annotations

import errno
import logging
import os

import pytest

from sexton.engine.descriptors import Descriptors
from tests.waiting import until


async def test_without_descriptors_it_is_not_healthy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    descriptors = Descriptors()
    descriptors.start()
    await until(descriptors.healthy)

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as limited, caplog.at_level(logging.ERROR, "sexton"):
        limited.setattr(os, "open", refuse)
        assert not descriptors.healthy()
        assert not descriptors.healthy()
    assert len(caplog.messages) == 1
    assert "Too many open files" in caplog.messages[0]
    assert descriptors.healthy()
    await descriptors.stop()
