"""Crash points: a process dies where it is told to, and does not start when told something else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from sexton.engine import crash
from sexton.errors import InvalidField

PASS = """
from sexton.engine import crash
for number in range(1, 4):
    print(number, flush=True)
    crash.point("claim.after")
"""


def pass_three_times(at: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != crash.VARIABLE}
    if at is not None:
        environment[crash.VARIABLE] = at
    return subprocess.run(
        [sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("at", "passed"), [("claim.after", 1), ("claim.after:1", 1), ("claim.after:3", 3)])
def test_the_process_is_killed_at_the_passage(at: str, passed: int) -> None:
    done = pass_three_times(at)
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == [str(number) for number in range(1, passed + 1)]
    assert "crash point claim.after" in done.stderr


@pytest.mark.parametrize("at", [None, "", "claim.after:4", "fire.before"])
def test_otherwise_it_lives(at: str | None) -> None:
    assert pass_three_times(at).returncode == 0


@pytest.mark.parametrize("text", ["nowhere", "fire", "fire.before:0", "fire.before:x", ":3x:fire.before"])
def test_an_unknown_point_is_refused_with_the_list(text: str) -> None:
    with pytest.raises(
        InvalidField, match=r"names no crash point .*fire\.before, fire\.after, .*:N"
    ) as refused:
        crash.check(text)
    assert (refused.value.code, refused.value.field) == ("bad_crash_point", "SEXTON_CRASH_AT")


@pytest.mark.parametrize("text", ["", *crash.POINTS, "finish.after:12"])
def test_a_known_point_is_accepted(text: str) -> None:
    crash.check(text)


def test_a_node_that_is_told_of_an_unknown_point_does_not_start() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sexton", "node", "--database-url", "postgresql://nobody@127.0.0.1:1/none"],
        env={**os.environ, crash.VARIABLE: "fire.sometimes"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "SEXTON_CRASH_AT=fire.sometimes names no crash point" in done.stderr
