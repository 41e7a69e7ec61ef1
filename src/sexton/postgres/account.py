"""The system user of the private PostgreSQL, which does not run as root: what it owns, and what it runs."""

from __future__ import annotations

import contextlib
import logging
import os
import pwd
import subprocess
from pathlib import Path
from typing import NamedTuple

from sexton.errors import Unavailable
from sexton.postgres.file_lock import FileLock

SYSTEM_USER = "sexton"
# Only root can open it. `useradd` locks the same file in another way (`lockf`), so it does not wait for us.
USERS_LOCK = Path("/etc/.pwd.lock")
USERS_SECONDS = 30

log = logging.getLogger("sexton")

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Account(NamedTuple):
    """The system user that PostgreSQL runs as: this one, or, for root, one without privileges."""

    uid: int
    gid: int
    name: str
    other: bool

    @classmethod
    def for_server(cls, cluster: Path) -> Account:
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
        """Replace a file of the account: root must not follow a link that the account has put there."""
        path.unlink(missing_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self.own(path)

    def take_over(self, cluster: Path) -> None:
        """Give all files of the cluster to the account: if root has copied or restored it, they are
        root's."""
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
        """The path of the cluster for a program that runs as this user in the cluster's directory."""
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
        # Every backend has this environment, and any user of the machine that PostgreSQL runs as can read it.
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
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
            # Only Python reacts to Ctrl-C while the cluster is made.
            start_new_session=True,
            check=False,
        )


def _system_user() -> pwd.struct_passwd:
    """The user `sexton`, which is made if necessary; if that fails, an existing system user."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    # If two `useradd` run at once, the second replaces the user of the first with another uid.
    with contextlib.suppress(OSError), FileLock.exclusive(USERS_LOCK, seconds=USERS_SECONDS):
        if made := _make_system_user():
            return made
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise Unavailable(
        "private_server_user",
        "PostgreSQL does not run as root, and there is no other user on this system and no way to make one.",
        hint=f"make a system user named {SYSTEM_USER}, or run Sexton as an ordinary user",
    )


def _make_system_user() -> pwd.struct_passwd | None:
    with contextlib.suppress(KeyError):  # another process has made it meanwhile
        return pwd.getpwnam(SYSTEM_USER)
    for command in (
        "useradd --system --user-group --no-create-home --home-dir /nonexistent",
        "adduser -S -D -H",
    ):
        with contextlib.suppress(OSError):
            subprocess.run([*command.split(), SYSTEM_USER], capture_output=True, check=False)
        with contextlib.suppress(KeyError):
            made = pwd.getpwnam(SYSTEM_USER)
            told = "made the system account %s (uid %d), because PostgreSQL does not run as root"
            log.warning(told, SYSTEM_USER, made.pw_uid)
            return made
    return None


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"the user {uid}"
