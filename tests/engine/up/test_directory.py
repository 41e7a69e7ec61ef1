"""Who is up on a data directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexton.engine.up import directory as place
from sexton.engine.up.directory import Place, Up
from sexton.errors import Unavailable


def test_the_second_one_learns_who_is_there(tmp_path: Path) -> None:
    first = Place(tmp_path)
    up = Up(pid=4711, address="http://127.0.0.1:7390", workers=2, data=tmp_path)
    with first.taken() as other:
        assert other is None
        first.write(up)
        with Place(tmp_path).taken() as other:
            assert other == up
    with first.taken() as other:
        assert other is None


def test_one_that_does_not_say_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "SETTLE_SECONDS", 0)
    with (
        Place(tmp_path).taken(),
        pytest.raises(Unavailable, match="starting or stopping"),
        Place(tmp_path).taken(),
    ):
        pass
