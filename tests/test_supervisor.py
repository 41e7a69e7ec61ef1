"""The supervisor with real children: small programs that say what happens to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sexton import supervisor
from sexton.config import Settings
from sexton.errors import InvalidField, Unavailable
from sexton.supervisor import Child, Stop, Supervisor, Up, listen, refuse_open_door

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
    async with asyncio.timeout(30):
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
from sexton.supervisor import Child, Stop, Supervisor

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


def test_a_taken_port_gives_the_next_free_one() -> None:
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    with listen("127.0.0.1", port) as first, listen("127.0.0.1", port) as second:
        assert first.getsockname()[1] == port
        assert port < second.getsockname()[1] < port + supervisor.PORTS


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
def test_names_of_this_machine(host: str) -> None:
    try:
        socket.getaddrinfo(host, 0)[0]
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"no {host} here")
    with listen(host, 0) as listener:
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(InvalidField) as refused, listen(host, 7390):
        pass
    assert refused.value.field == "host"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    refuse_open_door(Settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org"])
def test_any_other_address_needs_keys(host: str) -> None:
    with pytest.raises(InvalidField) as refused:
        refuse_open_door(Settings(host=host))
    assert refused.value.code == "keys_required"
    assert "SEXTON_API_KEYS" in str(refused.value.hint)
    refuse_open_door(Settings(host=host, api_keys="a-long-random-word"))


def test_the_second_one_learns_who_is_there(tmp_path: Path) -> None:
    place = supervisor._Place(tmp_path)
    up = Up(pid=4711, address="http://127.0.0.1:7390", workers=2, data=tmp_path)
    with place.taken() as other:
        assert other is None
        place.write(up)
        with supervisor._Place(tmp_path).taken() as other:
            assert other == up
    with place.taken() as other:
        assert other is None


def test_one_that_does_not_say_who_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "SETTLE_SECONDS", 0)
    with (
        supervisor._Place(tmp_path).taken(),
        pytest.raises(Unavailable, match="starting or stopping"),
        supervisor._Place(tmp_path).taken(),
    ):
        pass


def test_settings_reach_the_children_as_variables() -> None:
    given = {"database_url": "postgresql://ada:secret@db/x", "port": 7391, "app": None}
    assert supervisor._environment(given) == {
        "SEXTON_DATABASE_URL": "postgresql://ada:secret@db/x",
        "SEXTON_PORT": "7391",
    }
