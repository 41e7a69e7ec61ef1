"""How many consoles there may be, and who gives way when all places are taken."""

from __future__ import annotations

import pytest

from sexton.api.console import open_console
from sexton.api.console.open_console import Console, make_room
from sexton.errors import SextonError

REFUSED = "too_many_feeds"


def opened(consoles: list[Console], credential: str) -> str:
    """Another console, as the feed lets it in: whose console gave way, or the code of the refusal."""
    try:
        other = make_room(consoles, credential)
    except SextonError as error:
        return error.code
    if other is not None:
        consoles.remove(other)
    consoles.append(Console("default", credential=credential))
    return "" if other is None else other.credential


def test_few_credentials_cannot_take_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_console, "MOST_CONSOLES", 12)
    monkeypatch.setattr(open_console, "MOST_OF_ONE", 8)
    consoles: list[Console] = []
    assert [opened(consoles, "a") for _ in range(8)] == [""] * 8
    assert opened(consoles, "a") == REFUSED
    assert [opened(consoles, "b") for _ in range(4)] == [""] * 4
    first = [console for console in consoles if console.credential == "a"][:3]
    # One after another, a newcomer gets what the largest has too much; those that were first give way.
    assert [opened(consoles, "c") for _ in range(5)] == ["a", "a", "a", "a", REFUSED]
    assert not set(first) & set(consoles)
    assert [opened(consoles, name) for name in ("a", "b", "c")] == [REFUSED] * 3
    assert [opened(consoles, each) for each in "dddefgh"] == ["a", "b", "c", "a", "b", "c", "d"]
    assert len(consoles) == 12


def test_a_place_that_is_free_is_taken_without_a_loss() -> None:
    consoles = [Console("default", credential="a") for _ in range(open_console.MOST_OF_ONE - 1)]
    assert make_room(consoles, "a") is None
    assert make_room(consoles, "b") is None
