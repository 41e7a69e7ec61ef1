"""How many consoles there may be, and who gives way when all places are taken."""

from __future__ import annotations

import pytest

from sexton.api.console import open_console
from sexton.api.console.change import EVERYTHING, encoded
from sexton.api.console.open_console import Console, make_room
from sexton.errors import SextonError

REFUSED = "too_many_feeds"


def opened(consoles: list[Console], credential: str, scope: str = "default") -> str:
    """Another console, as the feed lets it in: whose console gave way, or the code of the refusal."""
    console = Console("default", credential=credential, scope=scope)
    try:
        other = make_room(consoles, console)
    except SextonError as error:
        return error.code
    if other is not None:
        consoles.remove(other)
    consoles.append(console)
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
    assert make_room(consoles, Console("default", credential="a")) is None
    assert make_room(consoles, Console("default", credential="b")) is None


def test_the_keys_of_one_namespace_cannot_take_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its admin can make as many keys as there are places."""
    monkeypatch.setattr(open_console, "MOST_CONSOLES", 6)
    consoles: list[Console] = []
    assert [opened(consoles, each, "ash") for each in "abcdef"] == [""] * 6
    assert opened(consoles, "g", "ash") == REFUSED
    assert [opened(consoles, each, "oak") for each in "tuvw"] == ["a", "b", "c", REFUSED]
    # Of its own, the namespace that has its share still serves another caller.
    assert opened(consoles, "t", "oak") == REFUSED
    assert opened(consoles, "x", "elm") == "d"
    assert [opened(consoles, each, "elm") for each in "xx"] == ["t", REFUSED]


def test_what_waits_for_a_console_that_does_not_read_is_bounded() -> None:
    console, large = Console("default"), b"x" * (open_console.MOST_UNREAD_BYTES // 4)
    for _ in range(open_console.MOST_UNREAD):
        console.tell(large)
        assert sum(map(len, console.unread)) <= open_console.MOST_UNREAD_BYTES
    assert console.unread[0] == encoded("changed", EVERYTHING)
    while console.take():
        pass
    # One that has read everything gets also a larger event.
    console.tell(8 * large)
    assert list(console.unread) == [8 * large]
    console.tell(b"next")
    assert list(console.unread) == [encoded("changed", EVERYTHING), b"next"]
