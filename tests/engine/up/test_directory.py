"""One `sexton up` on a data directory at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexton.engine.up import directory
from sexton.engine.up.directory import DataDirectory, Up
from sexton.errors import Unavailable


def test_the_second_one_learns_the_owner(tmp_path: Path) -> None:
    first = DataDirectory(tmp_path)
    up = Up(pid=4711, address="http://127.0.0.1:7390", workers=2, data=tmp_path)
    with first.lock() as other:
        assert other is None
        first.name_owner(up)
        with DataDirectory(tmp_path).lock() as other:
            assert other == up
    with first.lock() as other:
        assert other is None


def test_an_owner_that_does_not_write_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "SETTLE_SECONDS", 0)
    with (
        DataDirectory(tmp_path).lock(),
        pytest.raises(Unavailable, match="starting or stopping"),
        DataDirectory(tmp_path).lock(),
    ):
        pass
