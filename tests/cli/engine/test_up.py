"""`sexton up` as its users run it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from sexton.cli.engine import up
from sexton.config import Settings
from sexton.engine.up.directory import Up
from sexton.engine.up.listen import listen
from sexton.postgres.database import Database
from sexton.postgres.server import PrivateServer, private_server
from tests.conftest import with_database
from tests.faults.proxy import Proxy
from tests.waiting import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Sexton

INSTALLED = Path(sys.executable).parent / "sexton"
UP = Up(pid=1, address="http://127.0.0.1:7390", workers=2, data=Path("/data"))


class Running:
    """`sexton up` in a process group of its own, as a shell starts it."""

    def __init__(self, data: Path, *arguments: str, cwd: Path | None = None) -> None:
        with listen("127.0.0.1", 0) as free:
            port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [str(INSTALLED), "up", "--data", str(data), "--port", str(port), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            cwd=cwd,
            env={name: value for name, value in os.environ.items() if not name.startswith("SEXTON_")},
        )
        self.said: list[str] = []

    def until(self, pattern: str, stream: IO[str] | None) -> re.Match[str]:
        """Read until a line matches; a process that does not say it in time is ended."""
        assert stream is not None
        patience = threading.Timer(PATIENCE, self.process.kill)
        patience.start()
        try:
            for line in stream:
                self.said.append(line)
                if found := re.search(pattern, line):
                    return found
        finally:
            patience.cancel()
        raise AssertionError(f"{pattern!r} was never said:\n{''.join(self.said)}{self._rest()}")

    def address(self) -> str:
        return self.until(r"Sexton is up: (\S+)", self.process.stdout)[1]

    def children(self) -> dict[str, int]:
        """By role."""
        found = {}
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError, IndexError):
                words = (entry / "cmdline").read_bytes().decode().split("\0")
                parent = (entry / "stat").read_text("utf-8").rsplit(")", 1)[1].split()[1]
                if int(parent) == self.process.pid and "node" in words:
                    found[words[words.index("--roles") + 1]] = int(entry.name)
        return found

    def interrupt(self) -> int:
        """Ctrl-C: the whole group gets it."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(60)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()

    def _rest(self) -> str:
        self.process.kill()
        assert self.process.stderr is not None
        return self.process.stderr.read()


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "data"
    if PrivateServer(tmp_path / "data").running():
        with private_server(tmp_path / "data"):
            pass


@pytest.fixture
def running(data: Path) -> Iterator[Running]:
    process = Running(data, "--workers", "1")
    yield process
    process.close()


def get(address: str, path: str) -> int:
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_link_that_signs_a_browser_in_is_printed(running: Running) -> None:
    address = running.address()
    link = running.until(r"sign in  (\S+)", running.process.stdout)[1]
    page, _, secret = link.partition("#")
    assert (page, len(secret)) == (f"{address}/sign-in", 64)

    def post() -> tuple[int, str | None]:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)
        try:
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            connection.request("POST", "/sign-in", f"token={secret}", form)
            answer = connection.getresponse()
            return answer.status, answer.headers["Set-Cookie"]
        finally:
            connection.close()

    status, cookie = post()
    assert (status, cookie is not None) == (303, True)
    assert post() == (401, None)
    assert running.interrupt() == 0
    assert running.process.stderr is not None
    assert secret not in running.process.stderr.read()


def test_stop_ends_it(running: Running, data: Path) -> None:
    running.address()
    command = [str(INSTALLED), "stop", "--data", str(data)]
    stopped = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (stopped.returncode, stopped.stdout) == (0, f"process {running.process.pid} has stopped\n")
    assert running.process.wait(60) == 0
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (1, f"no sexton up runs on {data}\n")


def test_stop_names_a_demo_that_runs(data: Path) -> None:
    demo = data.with_name("sexton-demo")
    running = Running(demo)
    try:
        running.address()
        stopped = subprocess.run(
            [str(INSTALLED), "stop"],
            env={**os.environ, "XDG_DATA_HOME": str(data.parent)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (stopped.returncode, stopped.stderr) == (
            1, f"no sexton up runs on {data.with_name('sexton')}\n  a demo does: sexton stop --data {demo}\n"
        )  # fmt: skip
    finally:
        running.close()


def test_an_application_that_runs_by_itself_gets_an_api(data: Path, tmp_path: Path) -> None:
    """What the command line advises is done, and then it works."""
    (tmp_path / "embedded.py").write_text(
        "from sexton import Sexton\n\n"
        f"app = Sexton(data={str(data)!r})\n\n"
        "@app.job('every 1h')\ndef hourly():\n    ...\n\napp.run()\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEXTON_")}
    environment["SEXTON_DATA"] = str(data)

    def sexton(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(INSTALLED), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    embedded = subprocess.Popen(
        [sys.executable, str(tmp_path / "embedded.py")], stderr=subprocess.PIPE, text=True, env=environment
    )
    assert embedded.stderr is not None
    api: Running | None = None
    try:
        assert any("is running, with 1 job;" in line for line in embedded.stderr)
        told = sexton("jobs", "list")
        assert (told.returncode, told.stderr.splitlines()) == (
            1,
            [
                f"sexton: an application runs on {data} without an api, which this command needs",
                "  start an api and try again: sexton up --roles api",
            ],
        )
        api = Running(data, "--roles", "api")
        api.address()
        listed = sexton("jobs", "list")
        assert (listed.returncode, "hourly" in listed.stdout) == (0, True), listed.stderr
        assert sexton("stop").returncode == 0
        assert "no_api" in sexton("jobs", "list", "--json").stdout
    finally:
        embedded.terminate()
        embedded.wait(60)
        embedded.stderr.close()
        if api is not None:
            api.close()
    assert "not_running" in sexton("jobs", "list", "--json").stdout


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_up_and_down(running: Running, data: Path) -> None:
    address = running.address()
    paste = running.until(r"^  (\S.*sexton jobs add hello .*)$", running.process.stdout)[1]
    assert str(INSTALLED) in paste or "sexton" in paste
    assert f"SEXTON_URL={address}" in paste
    assert get(address, "/readyz") == 200
    assert get(address, "/") == 200
    assert set(running.children()) == {"api", "scheduler", "worker"}

    second = subprocess.run(
        [str(INSTALLED), "up", "--data", str(data)], capture_output=True, text=True, check=False
    )
    assert second.returncode == 0
    assert f"already running on {data}: process {running.process.pid}, {address}" in second.stdout
    assert f"sexton stop --data {data}  stops it\n" in second.stdout
    other = subprocess.run(
        [str(INSTALLED), "up", "--data", str(data), "--app", "reports:app", "--workers", "3"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (other.returncode, other.stdout) == (1, second.stdout)
    assert "no effect on the one that is running: --app, --workers\n" in other.stderr

    assert running.interrupt() == 0
    assert running.children() == {}
    assert not PrivateServer(data).running()
    running.until("INFO stopping: running runs have .* s to end", running.process.stderr)
    running.until("INFO stopped$", running.process.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_is_killed_comes_back(running: Running, data: Path) -> None:
    address = running.address()
    before = running.children()
    for role, name in (("worker", "worker 1"), ("scheduler", "scheduler"), ("api", "api")):
        os.kill(before[role], signal.SIGKILL)
        running.until(rf"{name} has ended with signal 9 \(SIGKILL\)", running.process.stderr)
    # The socket is the supervisor's: this waits for the new api, it is not refused.
    assert get(address, "/healthz") == 200
    os.kill(int((data / "postgres" / "postmaster.pid").read_text("utf-8").split()[0]), signal.SIGKILL)
    running.until("private PostgreSQL has died", running.process.stderr)
    assert running.interrupt() == 0


def test_firing_goes_on_under_half_open_connections(running: Running, data: Path) -> None:
    """Callers who connect and send nothing reach neither the scheduler nor the next caller."""
    address = running.address()
    host, port = address.removeprefix("http://").split(":")
    make = {"name": "canary", "schedule": "every 1s", "target": {"handler": "sexton.log"}}
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
    body = json.dumps(make)
    connection.request("POST", "/api/v1/jobs", body=body, headers={"Content-Type": "application/json"})
    assert connection.getresponse().status == 201
    connection.close()
    with contextlib.ExitStack() as stack:
        for number in range(400):
            idle = stack.enter_context(socket.create_connection((host, int(port))))
            idle.sendall(b"GET / HTTP/1.1\r\n" if number % 2 else b"")
        asyncio.run(_fired(PrivateServer(data).url, more=5))
        assert get(address, "/healthz") == 200
    assert running.interrupt() == 0


async def _fired(url: str, *, more: int) -> None:
    """Wait until so many more occurrences have fired."""
    database = await Database.open(url, size=1)
    count = "select (select count(*) from sexton.history) + (select count(*) from sexton.runs)"
    async with database.connection() as connection:
        before = await connection.fetchval(count)

        async def enough() -> bool:
            return bool(await connection.fetchval(count) >= before + more)

        await until(enough)
    await database.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_everything_killed_is_repaired_by_the_next_start(running: Running, data: Path) -> None:
    running.address()
    killed = [
        running.process.pid,
        *running.children().values(),
        int((data / "postgres" / "postmaster.pid").read_text("utf-8").split()[0]),
    ]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    again = Running(data, "--workers", "1")
    try:
        assert get(again.address(), "/readyz") == 200
        assert again.interrupt() == 0
    finally:
        again.close()


def test_an_application_that_is_not_there_ends_it(data: Path) -> None:
    hopeless = Running(data, "--workers", "1", "--app", "no_such_module:app")
    try:
        hopeless.until("no_such_module:app cannot be loaded", hopeless.process.stderr)
        assert hopeless.process.wait(60) == 1
    finally:
        hopeless.close()
    assert not PrivateServer(data).running()


def test_an_error_in_the_application_is_told_once(data: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import json\n\njson.loads('{')\n")
    hopeless = Running(data, "--workers", "2", "--app", "broken:app", cwd=tmp_path)
    try:
        assert hopeless.process.wait(60) == 1
        assert hopeless.process.stderr is not None
        told = hopeless.process.stderr.read()
    finally:
        hopeless.close()
    assert told.count(f'File "{tmp_path}/broken.py", line 3, in <module>') == 1
    assert told.count("JSONDecodeError") == 1
    assert "Traceback" not in told


def test_a_foreign_database_must_have_been_migrated(
    sexton: Sexton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(INSTALLED)])
    with private_server(tmp_path) as url:
        result = sexton("up", "--database-url", url, "--port", "0")
    assert (result.code, result.out) == (1, "")
    assert "not migrated" in result.err
    assert "sexton migrate --database-url" in result.err


@pytest.mark.parametrize("command", ["up", "node"])
def test_a_database_that_does_not_exist_is_not_waited_for(
    sexton: Sexton, server_url: str, command: str
) -> None:
    result = sexton(command, "--database-url", with_database(server_url, "nothing"))
    assert (result.code, result.out) == (1, "")
    assert 'database "nothing" does not exist' in result.err


def test_another_number_of_shards_is_refused(sexton: Sexton, migrated_url: str) -> None:
    for command in ("up", "migrate"):
        result = sexton(command, "--database-url", migrated_url, "--shards", "7")
        assert (result.code, result.out) == (1, "")
        assert "has 4 shards, not 7" in result.err
        assert "sexton reshard 7" in result.err
    assert sexton("migrate", "--database-url", migrated_url, "--shards", "4").code == 0


async def test_a_node_that_is_started_before_its_database_waits_for_it(
    database_url: str, database: Database
) -> None:
    server = parse_qs(urlsplit(database_url).query)
    proxy = Proxy(f"{server['host'][0]}/.s.PGSQL.{server['port'][0]}")
    await proxy.start()
    await proxy.cut()
    url = f"postgresql://sexton@127.0.0.1:{proxy.port}{urlsplit(database_url).path}?sslmode=disable"
    process = await asyncio.create_subprocess_exec(
        INSTALLED,
        *("up", "--database-url", url, "--roles", "scheduler"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while b"cannot be reached" not in await process.stderr.readline():
                pass
            proxy.restore()
            assert await process.stdout.readline() == b"Sexton is up: scheduler, no api\n"
        [row] = await database.fetch("cluster/list_live_names")
        assert row["name"].startswith(socket.gethostname())
    finally:
        process.terminate()
        await process.communicate()
        await proxy.stop()
    assert process.returncode == 0
    assert await database.fetch("cluster/list_live_names") == []


def test_told_to_stop_while_it_waits_for_the_database() -> None:
    for command in ("up", "node"):
        process = subprocess.Popen(
            [str(INSTALLED), command, "--database-url", "postgresql://nobody@127.0.0.1:1/nothing"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        assert "cannot be reached" in process.stderr.readline()
        process.terminate()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_alone_have_no_address(data: Path) -> None:
    process = Running(data, "--roles", "worker", "--workers", "2", "--queues", "mail,default")
    try:
        process.until("Sexton is up: worker, no api", process.process.stdout)
        process.until("workers  2, for mail,default", process.process.stdout)
        assert set(process.children()) == {"worker"}
        assert process.interrupt() == 0
    finally:
        process.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "0.0.0.0"), "SEXTON_API_KEYS"),
        (("--workers", "0"), "workers must be at least 1"),
        (("--roles", "cook"), "there is no role 'cook'"),
        (("--roles", "worker", "--queues", "mail,,x"), "not the name of a queue"),
        (("--concurrency", "0"), "concurrency must be more than 0"),
        (("--shards", "5000"), "shards must be at most 4096"),
        (("--port", "many"), "--port"),
    ],
)
def test_what_cannot_work_is_refused(
    sexton: Sexton, data: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = sexton("up", "--data", str(data), *arguments)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert not data.exists()


def test_the_announcement_names_a_port_that_was_not_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    moved = Up(pid=1, address="http://127.0.0.1:7391", workers=2, data=None, moved_from=7390)
    up.announce(moved, Settings(app="reports:app", api_keys="x" * 20))
    said = capsys.readouterr().out
    assert "Port 7390 is taken: using 7391." in said
    assert "with reports:app" in said
    assert "SEXTON_API_KEY=… SEXTON_URL=http://127.0.0.1:7391 " in said
    up.announce(replace(moved, moved_from=0), Settings())
    assert "is taken" not in capsys.readouterr().out  # any port was asked for
    up.announce(UP, Settings())
    assert "SEXTON_" not in capsys.readouterr().out


def test_the_command_to_paste_works_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / ".venv" / "bin" / "sexton"
    script.parent.mkdir(parents=True)
    script.touch(mode=0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.chdir(tmp_path)
    assert up.command() == ".venv/bin/sexton"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert up.command() == str(script)
    monkeypatch.setenv("PATH", str(script.parent))
    assert up.command() == "sexton"
    assert up.command("http://127.0.0.1:7391") == "SEXTON_URL=http://127.0.0.1:7391 sexton"
    monkeypatch.setattr(sys, "argv", ["/somewhere/sexton/__main__.py"])
    assert up.command().endswith(" -m sexton")
