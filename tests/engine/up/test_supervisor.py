"""The supervisor with real children: small programs that say what happens to them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sexton.engine.up import supervisor
from sexton.engine.up.supervisor import Child, Stop, Supervisor
from sexton.errors import Unavailable
from tests.waiting import PATIENCE

# Writes its process id, and leaves with 0 when told to.
POLITE = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
with open(sys.argv[1], "a") as told:
    print(os.getpid(), file=told)
while True:
    signal.pause()
"""
STUBBORN = POLITE.replace("lambda *_: sys.exit(0)", "signal.SIG_IGN")


def child(told: Path, program: str = POLITE, name: str = "child") -> Child:
    told.touch()
    return Child(name, [sys.executable, "-c", program, str(told)])


def pids(told: Path) -> list[int]:
    return [int(line) for line in told.read_text("utf-8").splitlines()]


async def until(condition: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)  # what is waited for happens in another process


async def ready() -> bool:
    return True


class Running:
    """A supervisor at work, beside the test."""

    def __init__(self, *children: Child, grace_seconds: float = 20, tend: Any = None) -> None:
        self.stop = Stop()
        self.announced = asyncio.Event()
        self.supervisor = Supervisor(list(children), grace_seconds=grace_seconds)
        self.task = asyncio.create_task(
            self.supervisor.run(self.stop, ready=ready, announce=self.announced.set, tend=tend)
        )

    async def __aenter__(self) -> Running:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        with contextlib.suppress(Unavailable):
            await self.task


def run(scenario: Any) -> None:
    asyncio.run(scenario())


def test_children_are_started_announced_and_stopped(tmp_path: Path) -> None:
    async def scenario() -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        async with Running(child(one, name="one"), child(two, name="two")) as running:
            await running.announced.wait()
            await until(lambda: pids(one) and pids(two))
        codes = [process.returncode for process in running.supervisor.processes.values()]
        assert codes == [0, 0]

    run(scenario)


def test_a_child_that_dies_is_started_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = tmp_path / "told"
        async with Running(child(told)):
            for count in (1, 2):
                await until(lambda count=count: len(pids(told)) == count)
                os.kill(pids(told)[-1], signal.SIGKILL)
            await until(lambda: len(pids(told)) == 3)

    run(scenario)


def test_a_child_that_dies_by_a_signal_without_a_name_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Most of the real-time signals have none."""

    async def scenario() -> None:
        told, nameless = tmp_path / "told", signal.SIGRTMIN + 1
        async with Running(child(told)):
            await until(lambda: len(pids(told)) == 1)
            os.kill(pids(told)[0], nameless)
            await until(lambda: len(pids(told)) == 2)
        assert f"child has ended with signal {int(nameless)}; it is started again" in caplog.text

    run(scenario)


def test_a_child_that_the_system_cannot_start_now_is_started_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other children go on meanwhile."""
    spawn, refusals = supervisor._spawn, [BlockingIOError(errno.EAGAIN, "no process to spare")]

    async def scenario() -> None:
        told, other = tmp_path / "told", tmp_path / "other"
        async with Running(child(told), child(other, name="other")) as running:
            await until(lambda: pids(told) and pids(other))

            async def refusing(child: Child) -> asyncio.subprocess.Process:
                if refusals:
                    raise refusals.pop()
                return await spawn(child)

            monkeypatch.setattr(supervisor, "_spawn", refusing)
            os.kill(pids(told)[0], signal.SIGKILL)
            await until(lambda: len(pids(told)) == 2)
            assert running.supervisor.processes["other"].returncode is None
        assert "child cannot be started: no process to spare; it is started again in" in caplog.text

    run(scenario)


def test_a_child_that_asks_for_it_is_replaced_however_soon(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    worn_out = POLITE.replace("while True:", f"while True:\n    sys.exit({supervisor.REPLACE})")

    async def scenario() -> None:
        told = tmp_path / "told"
        async with Running(child(told, worn_out)):
            await until(lambda: len(pids(told)) == 2)
        assert "child has asked to be replaced; it is started again" in caplog.text

    run(scenario)


def test_a_child_that_cannot_start_ends_everything(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = tmp_path / "told"
        hopeless = Child("hopeless", [sys.executable, "-c", "raise SystemExit(2)"])
        async with Running(child(told), hopeless) as running:
            with pytest.raises(Unavailable, match="hopeless cannot start: it left with 2"):
                await running.task
        codes = [process.returncode for process in running.supervisor.processes.values()]
        assert codes[1] == 2
        assert codes[0] in (0, -signal.SIGTERM)

    run(scenario)


def test_how_a_child_ended_is_told_before_it_is_started_again(tmp_path: Path) -> None:
    """One that had been at work is started again, however soon it left."""
    told = tmp_path / "told"
    hasty = POLITE.replace("while True:", "while True:\n    os._exit(3)")
    ends: list[tuple[int, int]] = []

    async def note(code: int) -> bool:
        ends.append((code, len(pids(told))))
        return True

    async def scenario() -> None:
        async with Running(replace(child(told, hasty), on_end=note)):
            await until(lambda: len(ends) == 2)
        assert ends == [(3, 1), (3, 2)]

    run(scenario)


def test_a_child_that_does_not_leave_is_killed_after_the_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "MARGIN_SECONDS", 0)

    async def scenario() -> None:
        told = tmp_path / "told"
        async with Running(child(told, STUBBORN), grace_seconds=0.1) as running:
            await until(lambda: pids(told))
        assert running.supervisor.processes["child"].returncode == -signal.SIGKILL

    run(scenario)


def test_insisting_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = tmp_path / "told"
        async with Running(child(told, STUBBORN), grace_seconds=3600) as running:
            await until(lambda: pids(told))
            running.stop()
        assert running.supervisor.processes["child"].returncode == -signal.SIGKILL

    run(scenario)


def test_what_is_tended_is_looked_at_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "TEND_SECONDS", 0)

    async def scenario() -> None:
        looked = 0

        async def tend() -> None:
            nonlocal looked
            looked += 1

        async with Running(child(tmp_path / "told"), tend=tend):
            await until(lambda: looked > 2)

    run(scenario)


SUPERVISOR = """
import asyncio, sys
from sexton.engine.up.supervisor import Child, Stop, Supervisor

async def ready():
    return True

async def main():
    program, told, pipe = sys.argv[1:]
    child = Child("child", [sys.executable, "-c", program, told], descriptors=(int(pipe),))
    await Supervisor([child], grace_seconds=5).run(Stop(), ready=ready, announce=lambda: None)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is needed")
def test_children_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.touch()
    reader, writer = os.pipe()
    command = [sys.executable, "-c", SUPERVISOR, POLITE, str(told), str(writer)]
    with subprocess.Popen(command, pass_fds=(writer,)) as process:
        os.close(writer)
        asyncio.run(until(lambda: pids(told)))
        process.kill()
    # The pipe ends when neither of them has it any more.
    readable, _, _ = select.select([reader], [], [], 30)
    assert readable
    assert os.read(reader, 1) == b""
    os.close(reader)
