"""A forked process is like one that was started: it can be killed and stopped alone, and ends alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

from sexton import __version__
from tests.faults.fork_server import Forked, ForkServer
from tests.waiting import until


async def start(forking: ForkServer, directory: Path, *arguments: str, **variables: str) -> Forked:
    environment = {"PATH": os.environ["PATH"], **variables}
    return await forking.run(*arguments, cwd=directory, environment=environment, output=directory / "said")


async def test_it_ends_as_the_command_ends(forking: ForkServer, tmp_path: Path) -> None:
    assert await (await start(forking, tmp_path, "--version")).wait() == 0
    assert (tmp_path / "said").read_text() == f"{__version__}\n"
    other = tmp_path / "other"
    other.mkdir()
    assert await (await start(forking, other, "node", "--roles", "none")).wait() == 2
    assert "none" in (other / "said").read_text()


async def test_it_is_a_process_of_its_own(forking: ForkServer, tmp_path: Path) -> None:
    """Two that wait for a database which is not there, until they are told to stop."""
    places = [tmp_path / "one", tmp_path / "other"]
    nodes = []
    try:
        for place in places:
            place.mkdir()
            url = "postgresql://nobody@127.0.0.1:1/none"
            nodes.append(await start(forking, place, "node", "--roles", "worker", SEXTON_DATABASE_URL=url))
        one, other = nodes
        for place in places:
            await until(partial(_waits, place))
        assert len({os.getpid(), one.pid, other.pid}) == 3
        assert os.getsid(one.pid) == one.pid
        process = Path("/proc") / str(one.pid)
        assert (process / "cwd").resolve() == places[0]
        assert not [each for each in (process / "fd").iterdir() if "pidfd" in str(each.readlink())]
        one.send_signal(signal.SIGSTOP)
        await until(lambda: _state(one) == "T")
        other.send_signal(signal.SIGTERM)
        assert await other.wait() == 0
        assert one.returncode is None
    finally:
        for node in nodes:
            node.send_signal(signal.SIGKILL)
        ends = [await node.wait() for node in nodes]
    assert ends == [-signal.SIGKILL, 0]


def test_a_shell_finds_it_as_a_command(programs: Path, tmp_path: Path) -> None:
    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=tmp_path,
            env={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"},
            capture_output=True,
            encoding="utf-8",
        )

    assert run("sexton --version").stdout == f"{__version__}\n"
    line = "next '0 9 * * 1' --after 2027-01-01T00:00Z | head -n 2"
    assert run(f"sexton {line}").stdout == run(f"{sys.executable} -m sexton {line}").stdout != ""
    refused = run("sexton next 'every fortnight'")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "every fortnight" in refused.stderr


def _waits(place: Path) -> bool:
    return "127.0.0.1" in (place / "said").read_text()


def _state(process: Forked) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
