"""The account that PostgreSQL runs as."""

from __future__ import annotations

import pwd
import subprocess
from typing import Any

import pytest

from sexton.postgres.account import _system_user


def test_an_account_that_is_made_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[str] = []

    def find(name: str) -> pwd.struct_passwd:
        if name not in made:
            raise KeyError(name)
        return pwd.struct_passwd((name, "x", 990, 990, "", "/nonexistent", "/bin/false"))

    def make(command: list[str], **_: Any) -> None:
        made.append(command[-1])

    monkeypatch.setattr(pwd, "getpwnam", find)
    monkeypatch.setattr(subprocess, "run", make)
    assert _system_user().pw_uid == 990
    assert caplog.messages == [
        "made the system account sexton (uid 990), because PostgreSQL does not run as root"
    ]
    caplog.clear()
    assert (_system_user().pw_uid, caplog.messages) == (990, [])
