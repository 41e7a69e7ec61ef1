"""The files of the tests are in memory where there is enough of it, and are gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import memory
from tests.memory import in_memory


def test_they_are_there_for_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LEAST_BYTES", 1)
    with in_memory({"A": "a"}, tmp_path) as environment:
        folder = Path(environment["TMPDIR"])
        assert folder.parent == tmp_path
        (folder / "file").touch()
    assert environment == {"A": "a", "TMPDIR": str(folder)}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_given_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LEAST_BYTES", 1)
    with in_memory({"TMPDIR": "/mine"}, tmp_path) as environment:
        assert environment == {"TMPDIR": "/mine"}


@pytest.mark.parametrize("place", [".", "missing"])
def test_without_room_they_are_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(memory, "LEAST_BYTES", 1 << 60)
    with in_memory({}, tmp_path / place) as environment:
        assert environment == {}
