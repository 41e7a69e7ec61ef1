"""A forked process is like one that was started: it can be killed and stopped alone, and ends alike."""

from __future__ import annotations

import os
import signal
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
    """It waits for a database that is not there until it is told to stop."""
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    node = await start(forking, tmp_path, "node", SEXTON_DATABASE_URL=nowhere, SEXTON_ROLES="worker")
    other = await start(forking, tmp_path, "node", SEXTON_DATABASE_URL=nowhere, SEXTON_ROLES="worker")
    await until(lambda: "127.0.0.1" in (tmp_path / "said").read_text())
    place = Path("/proc") / str(node.pid)
    assert os.getsid(node.pid) == node.pid
    assert (place / "cwd").resolve() == tmp_path
    assert len({os.getpid(), node.pid, other.pid}) == 3
    opened = {str(each.readlink()) for each in (place / "fd").iterdir()}
    assert not [each for each in opened if "pidfd" in each]
    node.send_signal(signal.SIGSTOP)
    await until(lambda: _state(node) == "T")
    other.send_signal(signal.SIGTERM)
    assert await other.wait() == 0
    assert node.returncode is None
    node.send_signal(signal.SIGKILL)
    assert await node.wait() == -signal.SIGKILL
    assert node.returncode == -signal.SIGKILL


def _state(process: Forked) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
