"""The account that PostgreSQL runs as."""

from __future__ import annotations

import pwd
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from sexton.postgres import account
from sexton.postgres.account import _system_user


class Users:
    """The users of a system that has none yet. As with `useradd`, a later one replaces one of its name."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def find(self, name: str) -> pwd.struct_passwd:
        if name not in self.made:
            raise KeyError(name)
        return pwd.struct_passwd((name, "x", 989 + len(self.made), 990, "", "/nonexistent", "/bin/false"))

    def make(self, command: list[str], **_: Any) -> None:
        self.made.append(command[-1])


@pytest.fixture
def users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Users:
    users = Users()
    monkeypatch.setattr(pwd, "getpwnam", users.find)
    monkeypatch.setattr(subprocess, "run", users.make)
    monkeypatch.setattr(account, "USERS_LOCK", tmp_path / "lock")
    return users


def test_an_account_that_is_made_is_told_of(users: Users, caplog: pytest.LogCaptureFixture) -> None:
    assert _system_user().pw_uid == 990
    assert caplog.messages == [
        "made the system account sexton (uid 990), because PostgreSQL does not run as root"
    ]
    caplog.clear()
    assert (_system_user().pw_uid, caplog.messages) == (990, [])


def test_an_account_is_made_once_by_processes_that_start_together(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_looked = Barrier(4)
    looked = iter([True] * 4)

    def find_none_at_first(name: str) -> pwd.struct_passwd:
        if next(looked, False):
            all_looked.wait()
            raise KeyError(name)
        return users.find(name)

    monkeypatch.setattr(pwd, "getpwnam", find_none_at_first)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: _system_user().pw_uid, range(4)))
    assert (found, users.made) == ([990] * 4, ["sexton"])
