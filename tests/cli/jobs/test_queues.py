"""`sexton queues`, against a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

pytestmark = pytest.mark.usefixtures("server")


def test_limits_are_set_kept_and_removed(sexton: Sexton) -> None:
    assert "No queues" in sexton("queues", "list").out
    result = sexton("queues", "set", "mail", "--concurrency", "5", "--rate", "0.5")
    assert result.code == 0
    assert "no job has used the queue mail yet" in result.err
    shown = sexton("queues", "set", "mail", "--key-concurrency", "2", "--json").json()
    assert (shown["concurrency"], shown["key_concurrency"], shown["rate"]) == (5, 2, 0.5)
    [line] = sexton("queues", "list").out.splitlines()[1:]
    assert line.split() == ["mail", "open", "0", "0", "0.0", "0.0", "5", "2", "0.5"]
    shown = sexton("queues", "set", "mail", "--unlimited", "--rate", "3", "--json").json()
    assert (shown["concurrency"], shown["key_concurrency"], shown["rate"]) == (None, None, 3)
    assert "rate" not in sexton("queues", "set", "mail", "--unlimited").out


def test_pause_and_resume(sexton: Sexton) -> None:
    paused = sexton("queues", "pause", "mail", "--reason", "it moves").out
    assert "state          paused" in paused
    assert "it moves" in sexton("queues", "list").out
    assert sexton("queues", "show", "mail", "--json").json()["paused"] is True
    assert "open" in sexton("queues", "resume", "mail").out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["set", "mail"], 2, "--concurrency"),
        (["set", "mail", "--concurrency", "0"], 2, "pause the queue"),
        (["set", "mail", "--rate", "-1"], 2, "rate is -1"),
        (["set", "mail", "--burst", "3"], 2, "give a rate"),
        (["show", "nobody"], 1, "sexton queues list"),
    ],
)
def test_refusals(sexton: Sexton, arguments: list[str], code: int, said: str) -> None:
    result = sexton("queues", *arguments)
    assert result.code == code
    assert said in result.err
