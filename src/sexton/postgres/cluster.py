"""The directory of a PostgreSQL cluster: made whole or not at all, and used only in the right version."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from sexton.errors import Unavailable
from sexton.postgres.binaries import MAJOR, Binaries
from sexton.postgres.configuration import SYNC_METHOD
from sexton.postgres.failure import failure
from sexton.postgres.file_lock import FileLock

if TYPE_CHECKING:
    from pathlib import Path

    from sexton.postgres.account import Account

DATABASE = ROLE = "sexton"
INITDB = ("--username", ROLE, "--auth", "trust", "--encoding", "UTF8", "--locale", "C")


def has_cluster(cluster: Path) -> bool:
    """Whether the directory holds a PostgreSQL cluster. Refuses a directory with other files."""
    if (cluster / "PG_VERSION").exists():
        return True
    if cluster.exists() and any(cluster.iterdir()):
        raise Unavailable(
            "data_directory_foreign",
            f"{cluster} is not empty and holds no PostgreSQL cluster.",
            hint="move it away, or choose another directory with --data",
        )
    return False


def refuse_other_version(cluster: Path) -> None:
    """Refuse a cluster of another version of PostgreSQL, and say how to move its data."""
    found = (cluster / "PG_VERSION").read_text(encoding="utf-8").strip()
    if found == str(MAJOR):
        return
    old = Binaries.of(found)
    new = Binaries.find().directory / "bin"
    tool = f"{old.directory / 'bin'}/" if old else f"/usr/lib/postgresql/{found}/bin/"
    data, aside = cluster.parent, cluster.with_name(f"postgres-{found}")
    raise Unavailable(
        "private_server_version",
        f"{cluster} was made by PostgreSQL {found}; this version of Sexton runs {MAJOR}.",
        hint="to move the data, with the programs of both versions"
        + (" (not as root, but as the owner of the directory)" if os.geteuid() == 0 else "")
        + f""":
    {tool}pg_ctl -D '{cluster}' -w -o "-k /tmp -c listen_addresses=''" start
    {new}/pg_dump -h /tmp -U {ROLE} -Fc -f sexton.dump {DATABASE}
    {tool}pg_ctl -D '{cluster}' -w stop
    mv '{cluster}' '{aside}'
    sexton up --data '{data}'     and, while it is running, from another terminal:
    {new}/pg_restore -h "$(cat '{data}/socket')" -U {ROLE} -d {DATABASE} --clean --if-exists sexton.dump
  or start afresh with another --data""",
    )


def make_cluster(cluster: Path, binaries: Binaries, account: Account) -> None:
    """Make the cluster under another name and rename it, so that a crash leaves nothing half made."""
    data = cluster.parent
    making = cluster.with_name("postgres.new")
    if making.exists():
        shutil.rmtree(making)
    making.mkdir(mode=0o700)
    account.own(making)
    # The programs hold the lock too: if this process is killed, the next one waits for them.
    with FileLock.exclusive(data / "server.lock", seconds=0) as lock:

        def run(program: str, *arguments: str, statements: str = "") -> None:
            command = [binaries.program(program), *arguments]
            done = account.run(command, cluster=making, statements=statements, keep=(lock.descriptor,))
            if done.returncode != 0:
                message = f"{program} could not make the private PostgreSQL in {data}"
                raise failure(message, done.stdout.decode(errors="replace"), data)

        run("initdb", "--no-sync", *INITDB)
        account.write(
            making / "postgresql.conf",
            "include_if_exists 'sexton.conf'  # written anew at every start\n# What stands below wins.\n",
        )
        account.write(
            making / "pg_hba.conf",
            "# Only this account can enter the directory of the socket.\nlocal all all trust\n",
        )
        run("postgres", "--single", "-F", "postgres", statements=f"CREATE DATABASE {DATABASE}\n")
        # All of it at once, at the end: file by file it takes seconds.
        run("initdb", "--sync-only", "--sync-method", SYNC_METHOD)
    if cluster.exists():
        cluster.rmdir()
    making.rename(cluster)
    _sync(data)


def _sync(directory: Path) -> None:
    """Make new and renamed entries of this directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
