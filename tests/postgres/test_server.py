"""The private server, with real processes that come, go and are killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import asyncpg
import pytest

from sexton.errors import Unavailable
from sexton.postgres.binaries import MAJOR
from sexton.postgres.failure import failure
from sexton.postgres.server import PrivateServer, default_data_directory, private_server

if TYPE_CHECKING:
    from collections.abc import Iterator

# Starts the server, says where, and lets go of it when its input ends.
HOLDER = """
import signal, sys
from pathlib import Path
from sexton.postgres.server import private_server
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests without
with private_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


class Holder:
    """Another process that uses the server."""

    def __init__(self, data: Path) -> None:
        # A group of its own, as a shell gives to what it starts.
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def url(self) -> str:
        return _pipe(self.process.stdout).readline().strip()

    def leave(self) -> None:
        _pipe(self.process.stdin).close()
        assert self.process.wait() == 0

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.killpg(self.process.pid, number)
        self.process.wait()

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            _pipe(pipe).close()
        self.process.wait()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def ask(url: str, question: str = "select pg_postmaster_start_time()") -> Any:
    async def asking() -> Any:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(question)
        finally:
            await connection.close()

    return asyncio.run(asking())


def postmaster(data: Path) -> int:
    return int((data / "postgres" / "postmaster.pid").read_text("utf-8").split("\n", 1)[0])


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a cluster and no server."""
    data = tmp_path_factory.mktemp("template")
    with private_server(data):
        pass
    return data


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Path]:
    """A place for a data directory; what runs in it is stopped in the end."""
    data = tmp_path / "data"
    yield data
    if PrivateServer(data).running():
        with private_server(data):
            pass


@pytest.fixture
def data(template: Path, empty: Path) -> Path:
    # A copy made by root belongs to root, as after a restored backup.
    shutil.copytree(template, empty)
    return empty


@pytest.fixture
def holders() -> Iterator[list[Holder]]:
    started: list[Holder] = []
    yield started
    for holder in started:
        holder.close()


@pytest.fixture
def hold(data: Path, holders: list[Holder]) -> Any:
    def start() -> Holder:
        holders.append(Holder(data))
        return holders[-1]

    return start


def test_a_first_start_makes_the_database(empty: Path) -> None:
    with private_server(empty) as url:
        assert ask(url, "select current_database() || ' ' || current_user") == "sexton sexton"
        for setting, value in {
            "listen_addresses": "",
            "fsync": "on",
            "synchronous_commit": "on",
            "server_encoding": "UTF8",
            "timezone": "UTC",
            "lc_messages": "C",
            "max_connections": "200",
        }.items():
            assert ask(url, f"show {setting}") == value
        assert PrivateServer(empty).running()
        socket_directory = Path((empty / "socket").read_text("utf-8").strip())
        assert socket_directory.stat().st_mode & 0o777 == 0o700
        assert len(str(socket_directory)) < 60
    assert not PrivateServer(empty).running()
    assert not socket_directory.exists()


def test_what_was_written_is_there_after_a_restart(data: Path) -> None:
    with private_server(data) as url:
        ask(url, "create table kept as select 1 as x")
    with private_server(data) as url:
        assert ask(url, "select x from kept") == 1


def test_the_server_does_not_know_the_secrets_of_who_starts_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SEXTON_SECRET_KEY", "SEXTON_API_KEYS", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "s3cret-value")
    with private_server(data) as url:
        ask(url)
        assert b"s3cret-value" not in Path(f"/proc/{postmaster(data)}/environ").read_bytes()


def test_processes_share_it_and_the_last_one_out_stops_it(data: Path, hold: Any) -> None:
    first, second = hold(), hold()
    url = first.url()
    assert second.url() == url
    started_at = ask(url)
    first.leave()
    assert ask(url) == started_at
    with private_server(data) as again:
        assert again == url
        second.leave()
        assert ask(url) == started_at
    assert not PrivateServer(data).running()


def test_four_first_starts_at_once(empty: Path, holders: list[Holder]) -> None:
    holders += [Holder(empty) for _ in range(4)]
    urls = {holder.url() for holder in holders}
    assert len(urls) == 1
    assert ask(urls.pop(), "select 1") == 1
    for holder in holders:
        holder.leave()
    assert not PrivateServer(empty).running()


def test_a_killed_holder_holds_no_longer(data: Path, hold: Any) -> None:
    killed = hold()
    url = killed.url()
    with private_server(data):
        killed.kill()
        assert ask(url, "select 1") == 1
    assert not PrivateServer(data).running()


def test_an_orphan_is_adopted(data: Path, hold: Any) -> None:
    killed = hold()
    url = killed.url()
    started_at = ask(url)
    killed.kill()
    with private_server(data) as adopted:
        assert adopted == url
        assert ask(adopted) == started_at
    assert not PrivateServer(data).running()


def test_interrupting_a_holder_does_not_reach_the_server(data: Path, hold: Any) -> None:
    interrupted = hold()
    url = interrupted.url()
    started_at = ask(url)
    with private_server(data):
        interrupted.kill(signal.SIGINT)
        assert ask(url) == started_at


def test_a_killed_server_is_started_again_at_its_address(data: Path) -> None:
    private = PrivateServer(data)
    url = private.start()
    ask(url, "create table kept as select 1 as x")
    os.kill(postmaster(data), signal.SIGKILL)
    assert private.start() == url
    assert ask(url, "select x from kept") == 1
    private.release()
    assert not private.running()


def test_everything_killed_at_once(data: Path, hold: Any) -> None:
    holder = hold()
    ask(holder.url(), "create table kept as select 1 as x")
    os.kill(postmaster(data), signal.SIGKILL)
    holder.kill()
    with private_server(data) as url:
        assert ask(url, "select x from kept") == 1


def test_a_number_that_belongs_to_another_process_by_now(data: Path) -> None:
    """As after a reboot: postmaster.pid is left over and names a process that lives."""
    with private_server(data):
        lines = (data / "postgres" / "postmaster.pid").read_text("utf-8").splitlines()
    lines[0] = str(os.getpid())
    (data / "postgres" / "postmaster.pid").write_text("\n".join(lines), "utf-8")
    assert not PrivateServer(data).running()
    with private_server(data) as url:
        assert ask(url, "select 1") == 1


def test_a_crash_while_the_cluster_was_made(template: Path, empty: Path) -> None:
    (empty / "postgres.new").mkdir(parents=True)
    shutil.copy(template / "postgres" / "PG_VERSION", empty / "postgres.new")
    with private_server(empty) as url:
        assert ask(url, "select 1") == 1
    assert not (empty / "postgres.new").exists()


def test_killed_while_the_cluster_is_made(empty: Path, holders: list[Holder]) -> None:
    """What it had started goes on for a while: the next start must not make the same beside it."""
    holders.append(Holder(empty))
    while not (empty / "postgres.new" / "PG_VERSION").exists():
        os.sched_yield()
    holders[0].kill()
    with private_server(empty) as url:
        assert ask(url, "select 1") == 1


def test_a_cluster_of_another_version_is_refused(data: Path) -> None:
    (data / "postgres" / "PG_VERSION").write_text("16\n", "utf-8")
    with pytest.raises(Unavailable) as refused:
        PrivateServer(data).start()
    assert refused.value.code == "private_server_version"
    assert f"PostgreSQL 16; this version of Sexton runs {MAJOR}" in refused.value.message
    for word in ("pg_dump", "pg_restore", "pg_ctl", "mv "):
        assert word in str(refused.value.hint)
    assert not PrivateServer(data).running()


def test_a_directory_with_something_else_in_it_is_refused(empty: Path) -> None:
    (empty / "postgres").mkdir(parents=True)
    (empty / "postgres" / "letters.txt").write_text("dear", "utf-8")
    with pytest.raises(Unavailable, match="holds no PostgreSQL cluster"):
        PrivateServer(empty).start()
    assert (empty / "postgres" / "letters.txt").exists()


def test_a_path_longer_than_a_socket_may_have(template: Path, empty: Path) -> None:
    deep = empty / ("long " * 20) / ("and longer " * 10)
    shutil.copytree(template, deep)
    with private_server(deep) as url:
        assert ask(url, "select 1") == 1


def test_settings_of_the_user_win(data: Path) -> None:
    with (data / "postgres" / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write("work_mem = '5MB'\nmax_connections = 50\n")
    with private_server(data) as url:
        assert ask(url, "show max_connections") == "50"


def test_a_setting_that_cannot_be_read_is_told(data: Path) -> None:
    with (data / "postgres" / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write("max_connections = many\n")
    with pytest.raises(Unavailable) as failed:
        PrivateServer(data).start()
    assert failed.value.code == "private_server_failed"
    assert "did not start" in failed.value.message
    assert "start.log" in str(failed.value.hint)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(Unavailable, match=r"cannot be used: .*Not a directory"):
        PrivateServer(tmp_path / "file" / "data").start()


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("initdb: error: could not create directory: No space left on device", "disk_full"),
        ("[Errno 13] Permission denied: 'x'", "data_directory_denied"),
        ("[Errno 30] Read-only file system: 'x'", "data_directory_denied"),
        ("FATAL:  something else", "private_server_failed"),
    ],
)
def test_what_the_system_said_becomes_what_to_do(said: str, code: str) -> None:
    error = failure("It failed", said, Path("/data"))
    assert error.code == code
    assert said in error.message
    assert error.hint


def test_a_fork_lets_go_of_nothing(data: Path) -> None:
    private = PrivateServer(data)
    url = private.start()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            private.release()
        os._exit(0)
    os.waitpid(child, 0)
    assert ask(url, "select 1") == 1
    with private_server(data):
        pass
    assert ask(url, "select 1") == 1
    private.release()
    assert not private.running()


def test_the_default_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/home/ada/data")
    assert default_data_directory() == Path("/home/ada/data/sexton")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_data_directory() == Path("/home/ada/.local/share/sexton")
