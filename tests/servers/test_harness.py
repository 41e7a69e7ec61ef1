"""The harness itself: what is missing is said, what was started is stopped."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.servers import __main__ as harness
from tests.servers import installation
from tests.servers.address import address
from tests.servers.sandbox import Sandbox, free_port
from tests.servers.table import SERVERS, Server, accepts, says

ECHO = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = listener.accept()
    connection.sendall(connection.recv(100))
    connection.close()
"""

# Its child answers for a while after it has gone.
PARENT = """
import os, signal, sys, time
if os.fork():
    signal.pause()
signal.signal(signal.SIGTERM, lambda number, frame: (time.sleep(0.5), os._exit(0)))
exec(open(sys.argv[2]).read())
"""


def start_echo(sandbox: Sandbox) -> str:
    port = free_port()
    sandbox.run([sys.executable, sandbox.write("echo.py", ECHO), str(port)])
    return f"echo://127.0.0.1:{port}"


def start_parent(sandbox: Sandbox) -> str:
    port = free_port()
    script = sandbox.write("echo.py", ECHO)
    sandbox.run([sys.executable, sandbox.write("parent.py", PARENT), str(port), script])
    return f"echo://127.0.0.1:{port}"


def start_nothing(sandbox: Sandbox) -> str:
    sandbox.run([sys.executable, "-c", "print('out of order'); raise SystemExit(3)"])
    return f"nothing://127.0.0.1:{free_port()}"


GOOD = Server("good", "SEXTON_TEST_GOOD_URL", start_echo, programs=())
BAD = Server("bad", "SEXTON_TEST_BAD_URL", start_nothing, programs=())
ABSENT = Server(
    "absent",
    "SEXTON_TEST_ABSENT_URL",
    start_echo,
    programs=("no-such-program",),
    packages=("no-such-package",),
)


def test_every_entry_has_a_name_and_a_variable_of_its_own() -> None:
    assert len({server.name for server in SERVERS}) == len(SERVERS)
    assert len({server.variable for server in SERVERS}) == len(SERVERS)
    assert all(server.variable.startswith("SEXTON_TEST_") for server in SERVERS)


def test_a_server_runs_until_its_place_is_closed(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, tmp_path)
    url = start_echo(sandbox)
    assert harness._wait(GOOD, sandbox, url) is None
    assert says(url, b"hello", b"hello")
    assert sandbox.failed() is None
    sandbox.close()
    assert sandbox.process is not None
    assert sandbox.process.returncode == -signal.SIGTERM
    assert not accepts(url)


def test_a_server_is_gone_when_its_children_are(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, tmp_path)
    url = start_parent(sandbox)
    assert harness._wait(GOOD, sandbox, url) is None
    sandbox.close()
    assert not accepts(url)


def test_a_frozen_server_does_not_answer(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, tmp_path)
    url = start_echo(sandbox)
    assert harness._wait(GOOD, sandbox, url) is None
    assert sandbox.process is not None
    state = Path(f"/proc/{sandbox.process.pid}/stat")
    for _ in range(100):
        sandbox.freeze()
        assert state.read_text("utf-8").rpartition(")")[2].split()[0] == "T"
        sandbox.thaw()
    assert says(url, b"hello", b"hello")
    sandbox.close()


def test_all_but_what_is_missing_is_handed_to_the_tests(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    seen: dict[str, str] = {}

    def run_tests(arguments: list[str], environment: dict[str, str]) -> int:
        seen.update(environment)
        assert says(environment[GOOD.variable], b"hello", b"hello")
        assert arguments == ["-x"]
        return 7

    monkeypatch.setattr(harness, "SERVERS", (GOOD, BAD, ABSENT))
    monkeypatch.setattr(harness, "PROGRAMS", tmp_path)
    monkeypatch.setattr(harness, "_test", run_tests)
    monkeypatch.setattr(installation, "_refusal", lambda: "nobody may")
    monkeypatch.setattr(signal, "signal", lambda *arguments: None)
    assert harness.main(["-x"]) == 7
    assert seen[f"{ABSENT.variable}_MISSING"] == "absent: nobody may"
    assert seen[f"{BAD.variable}_MISSING"] == "bad: it ended with 3: out of order"
    assert BAD.variable not in seen
    assert not accepts(seen[GOOD.variable])
    lines = capsys.readouterr().out.splitlines()
    loud = [line for line in lines if line.startswith("!!! SKIPPED: all tests of absent")]
    assert loud == ["!!! SKIPPED: all tests of absent, for it is not here: nobody may"] * 2  # first and last


def test_only_some_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert harness._read(["--only", "redis,etcd", "-x"]) == ({"redis", "etcd"}, ["-x"])
    with pytest.raises(SystemExit, match="there is no server mongo: --only takes some of redis, etcd"):
        harness._read(["--only", "mongo"])


def test_without_its_server_a_test_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEXTON_TEST_ABSENT_URL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="run make test-servers"):
        address("SEXTON_TEST_ABSENT_URL")
    monkeypatch.setenv("SEXTON_TEST_ABSENT_URL_MISSING", "absent: nobody may")
    with pytest.raises(pytest.skip.Exception, match="nobody may"):
        address("SEXTON_TEST_ABSENT_URL")
    monkeypatch.setenv("SEXTON_TEST_ABSENT_URL", "echo://here")
    assert address("SEXTON_TEST_ABSENT_URL") == "echo://here"
