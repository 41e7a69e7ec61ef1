"""In CI a test that fails by chance gets a second try; what is broken does not pass."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import second_try
from tests.waiting import PATIENCE, until

FLAKY = """
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["a/b c", "plain"])
def test_flaky(name):
    tried = Path(__file__).with_name(f"tried-{name[-1]}")
    first = not tried.exists()
    tried.touch()
    assert not first


def test_fine():
    with Path(__file__).with_name("fine").open("a") as file:
        file.write(".")
"""
BROKEN = """
def test_broken():
    assert 0
"""
MANY = """
import pytest


@pytest.mark.parametrize("n", range(11))
def test_broken(n):
    assert 0
"""
# The process of pytest ends in the middle.
CRASH = """
import os


def test_broken():
    assert 0


def test_crash():
    os._exit(1)
"""
# Its server is to be stopped whatever happens.
WAITING = """
import signal
from pathlib import Path

import pytest


@pytest.fixture
def server():
    yield
    Path(__file__).with_name("stopped").touch()


def test_waiting(server):
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    Path(__file__).with_name("started").touch()
    signal.pause()
"""


def run(folder: Path, *arguments: str, ci: str = "true") -> int:
    return second_try.run(
        ["-p", "xdist.plugin", *arguments, "-q", "-c", "/dev/null", "--rootdir", str(folder), str(folder)],
        {**os.environ, "CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # which would take most of the time
    )


def said(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capfd.readouterr().out.splitlines() if line.startswith("!!! ")]


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_fails_once_passes_and_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], workers: str
) -> None:
    (tmp_path / "test_it.py").write_text(FLAKY)
    assert run(tmp_path, "-n", workers) == 0
    assert said(capfd) == [
        "!!! SECOND TRY: test_it.py::test_flaky[a/b c] passed",
        "!!! SECOND TRY: test_it.py::test_flaky[plain] passed",
    ]
    assert (tmp_path / "fine").read_text() == "."  # only what failed is run again


def test_elsewhere_the_first_failure_counts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_it.py").write_text(FLAKY)
    assert run(tmp_path, ci="") == 1
    assert said(capfd) == []


def test_what_fails_twice_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_it.py").write_text(FLAKY + BROKEN)
    assert run(tmp_path) == 1
    assert said(capfd)[0] == "!!! SECOND TRY: test_it.py::test_broken failed again"


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        (MANY, [], 1),
        (FLAKY, ["-p", "no:cacheprovider"], 1),
        (FLAKY, ["-k", "nothing"], 5),
        (FLAKY + "raise ValueError", [], 2),
        (FLAKY + "raise ValueError", ["-n", "1"], 1),
        (CRASH, [], 1),
        (FLAKY, ["--no-such-option"], 4),
    ],
    ids=["many", "no cache", "nothing collected", "not collected", "not collected, xdist", "crash", "usage"],
)
def test_what_is_no_chance_is_not_tried_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, arguments: list[str], code: int
) -> None:
    (tmp_path / "test_it.py").write_text(text)
    assert run(tmp_path, *arguments) == code
    assert said(capfd) == []


async def test_it_stops_in_order_also_in_the_background(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(WAITING)
    module = [sys.executable, "-m", "tests.second_try", "-q", "-c", "/dev/null", str(tmp_path)]
    # A shell that cannot control jobs starts what runs in the background like this.
    deaf = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *module]
    with subprocess.Popen(deaf, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}) as process:
        await until(lambda: (tmp_path / "started").exists() or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert (tmp_path / "stopped").exists()
