"""A primary and a streaming replica of it, made with the programs of the private server."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from sexton import clock
from sexton.postgres.binaries import Binaries
from sexton.postgres.cluster import DATABASE, ROLE
from sexton.postgres.server import PrivateServer


class Pair:
    """Two servers; the second one repeats what the first one does."""

    def __init__(self, folder: Path) -> None:
        self.primary = PrivateServer(folder / "primary")
        self.replica = PrivateServer(folder / "replica")

    def make(self) -> None:
        self.primary.start()
        self.run(self.primary, "alter system set wal_level = replica")
        self.run(self.primary, "alter system set max_wal_senders = 4")
        with (self.primary.cluster / "pg_hba.conf").open("a", encoding="utf-8") as access:
            access.write("local replication all trust\n")
        self.primary.release()
        self.primary.start()
        self.replica.data.mkdir(mode=0o700)
        where = parse_qs(urlsplit(self.primary.url).query)
        subprocess.run(
            [
                Binaries.find().program("pg_basebackup"),
                *("--host", where["host"][0], "--port", where["port"][0], "--username", ROLE),
                *("--pgdata", str(self.replica.cluster), "--write-recovery-conf", "--checkpoint", "fast"),
            ],
            check=True,
            capture_output=True,
        )
        self.replica.start()

    def run(self, server: PrivateServer, statement: str) -> str:
        where = parse_qs(urlsplit(server.url).query)
        done = subprocess.run(
            [
                Binaries.find().program("psql"),
                *("-h", where["host"][0], "-p", where["port"][0], "-U", ROLE, "-d", DATABASE),
                *("-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement),
            ],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def kill_replica(self) -> None:
        """As if its machine had gone; `replica.start()` brings it back at the same address, with all that is
        committed by now: it begins where it was at its last checkpoint, which may be before any table."""
        self.run(self.primary, "checkpoint")
        self._wait_for_replay()
        self.run(self.replica, "checkpoint")
        self.end(self.replica, signal.SIGQUIT)

    def end(self, server: PrivateServer, how: signal.Signals) -> None:
        """SIGINT is a fast shutdown, SIGQUIT an immediate one."""
        postmaster = server.cluster / "postmaster.pid"
        os.kill(int(postmaster.read_text("utf-8").split()[0]), how)
        while server.running():
            clock.block(0.05)

    def cut_replica_off(self) -> None:
        """What is committed from now on does not reach it. It has all that was committed before."""
        self._wait_for_replay()
        self.run(self.replica, "alter system set primary_conninfo = ''")
        self.run(self.replica, "select pg_reload_conf()")
        self._wait_for(self.replica, "select not exists (select from pg_stat_wal_receiver)")

    def _wait_for_replay(self) -> None:
        reached = self.run(self.primary, "select pg_current_wal_lsn()")
        self._wait_for(self.replica, f"select pg_last_wal_replay_lsn() >= '{reached}'")

    def _wait_for(self, server: PrivateServer, statement: str) -> None:
        while self.run(server, statement) != "t":
            clock.block(0.05)

    def fail_over(self) -> None:
        """The primary is gone, and the replica takes its place."""
        self.end(self.primary, signal.SIGQUIT)
        self._promote()

    def switch_over(self) -> None:
        """In good order: the replica becomes the primary, and the primary its replica. Nothing is lost."""
        self.end(self.primary, signal.SIGINT)  # it sends all that it has to the replica first
        self._promote()
        where = parse_qs(urlsplit(self.primary.url).query)
        with (self.replica.cluster / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
            settings.write(
                f"primary_conninfo = 'host={where['host'][0]} port={where['port'][0]} user={ROLE}'\n"
            )
        (self.replica.cluster / "standby.signal").touch()
        self.replica.start()

    def _promote(self) -> None:
        self.run(self.replica, "select pg_promote()")
        self.primary, self.replica = self.replica, self.primary

    def close(self) -> None:
        self.replica.release()
        self.primary.release()


@contextmanager
def standby(folder: Path) -> Iterator[Pair]:
    folder.mkdir(parents=True, exist_ok=True)
    pair = Pair(folder)
    try:
        pair.make()
        yield pair
    finally:
        pair.close()
