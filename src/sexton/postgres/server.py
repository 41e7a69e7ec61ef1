"""The private PostgreSQL: what Sexton runs on when no database is configured.

One directory holds it and is shared by all processes that name it:

    DATA/postgres      the cluster; its logs are in postgres/log, settings of your own go into postgresql.conf
    DATA/socket        names the socket's directory: private, and short (such a path has at most 107 bytes)
    DATA/start.lock    held exclusively by the process that starts or stops the server
    DATA/holders.lock  held shared by every process that uses the server; the last one stops it
    DATA/server.lock   held by the server itself

The locks decide, not the process ids: the kernel releases a lock with the last process that has the file
open, however it died. Sexton takes `server.lock` before it starts the server, and all processes of the server
inherit it. So the lock shows whether one of them is alive, even if the number in `postmaster.pid` belongs to
another process after a reboot or to another container, or the postmaster was killed and a backend still
writes.

PostgreSQL refuses to run as root. If root starts it, it runs as a system user, and no directory above the
data directory is opened for that user: it gets the data directory as its working directory, and knows it as
`/proc/self/cwd`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sexton import clock
from sexton.errors import Unavailable
from sexton.postgres.account import Account
from sexton.postgres.binaries import Binaries
from sexton.postgres.cluster import DATABASE, ROLE, has_cluster, make_cluster, refuse_other_version
from sexton.postgres.configuration import PORT, configuration
from sexton.postgres.failure import explained, failure
from sexton.postgres.file_lock import POLL_SECONDS, FileLock, is_free
from sexton.postgres.postmaster import Postmaster

if TYPE_CHECKING:
    from collections.abc import Iterator

# Recovery after a crash may replay gigabytes of log; Sexton waits as long as the server is alive.
START_SECONDS = 900
# Without the main process, the others exit once they have finished their statements.
HEADLESS_SECONDS = 60
STOP_SECONDS = 120


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
    """The private server in a directory, as one process holds it."""

    def __init__(self, data: Path) -> None:
        self.data = Path(os.path.abspath(data.expanduser()))  # noqa: PTH100 - resolve() would follow links
        self.cluster = self.data / "postgres"
        self._postmaster = Postmaster(self.cluster)
        self._holders: FileLock | None = None
        self._holding_pid = 0

    @property
    def url(self) -> str:
        """The address for asyncpg; known once the server has started."""
        directory = (self.data / "socket").read_text(encoding="utf-8").strip()
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(directory)}&port={PORT}"

    def start(self) -> str:
        """Start the server if necessary, make or repair it, and hold it; returns its address.

        A caller may call this again at any time: a server that has died starts again, at the same address.
        """
        with explained(self.data):
            self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock.exclusive(self.data / "start.lock", seconds=START_SECONDS):
                self._ensure_running()
                if self._holders is None or self._holding_pid != os.getpid():
                    self._holders = FileLock.shared(self.data / "holders.lock")
                    self._holding_pid = os.getpid()
                    atexit.register(self.release)
            return self.url

    def release(self) -> None:
        """Release the server; the last process to do so stops it."""
        holders, self._holders = self._holders, None
        atexit.unregister(self.release)
        if holders is None:
            return
        if self._holding_pid != os.getpid():
            # A fork shares the lock of its parent: if it unlocked, it would release the parent's server.
            holders.close()
            return
        with explained(self.data), FileLock.exclusive(self.data / "start.lock", seconds=START_SECONDS):
            if holders.try_exclusive():
                self._stop()
            holders.close()

    def running(self) -> bool:
        """Whether any process of the server is alive."""
        if not self.data.exists():
            return False
        return not is_free(self.data / "server.lock") or self._postmaster.started_by_hand()

    # Starting, under start.lock.

    def _ensure_running(self) -> None:
        binaries = Binaries.find()
        if self._wait_until_settled():
            return
        account = Account.for_server(self.cluster)
        binaries = binaries.reachable_by(account)
        if has_cluster(self.cluster):
            refuse_other_version(self.cluster)
        else:
            make_cluster(self.cluster, binaries, account)
        self._start(binaries, account)

    def _wait_until_settled(self) -> bool:
        """Wait while a server starts or stops; returns whether it runs."""
        began = clock.monotonic()
        while self.running():
            headless = self._postmaster.pid() is None
            if not headless and self._postmaster.status() == "ready" and self._postmaster.answers():
                return True
            if clock.monotonic() - began > (HEADLESS_SECONDS if headless else START_SECONDS):
                raise Unavailable(
                    "private_server_stuck",
                    f"The private PostgreSQL in {self.data} is neither up nor down: "
                    + ("its main process is gone, or in another container." if headless else "see its log."),
                    hint=f"see {self.cluster / 'log'}, end its remaining processes, and start again",
                )
            clock.block(POLL_SECONDS)
        return False

    def _start(self, binaries: Binaries, account: Account) -> None:
        # The lock is free, so this file is a leftover; the number in it may belong to anyone by now.
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)
        account.take_over(self.cluster)
        account.write(self.cluster / "sexton.conf", configuration(self._socket_directory(account)))
        log = self.data / "start.log"
        with FileLock.exclusive(self.data / "server.lock", seconds=0) as lock, log.open("wb") as output:
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
        raise failure(f"The private PostgreSQL in {self.data} did not start", self._said(), self.data)

    def _socket_directory(self, account: Account) -> Path:
        """The directory that was used before, if no other user can enter it, or a new one."""
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
        postmaster = self._postmaster.pid() if self.running() else None
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

    def _said(self) -> str:
        """Its last output, before and after it opened its log."""
        texts = []
        with contextlib.suppress(OSError):
            texts.append((self.data / "start.log").read_text(encoding="utf-8", errors="replace"))
        logs = self.cluster / "log"
        with contextlib.suppress(OSError, ValueError):
            latest = max(logs.iterdir(), key=lambda log: log.stat().st_mtime)
            texts.append(latest.read_text(encoding="utf-8", errors="replace")[-4000:])
        return "\n".join(texts)
