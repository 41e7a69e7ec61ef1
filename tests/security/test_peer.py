"""Who is at the other end of a loopback connection, and whom a server without keys answers."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sexton.cli.client import find_own_url, read_token
from sexton.config import Settings
from sexton.errors import SextonError, Unavailable
from sexton.postgres.database import Database
from sexton.security import access, peer
from sexton.security.access import OwnerCheck, make_token, token_file
from sexton.security.peer import user_listening, user_of
from tests.api.conftest import serve

NOBODY = 65534


@contextmanager
def connected(host: str = "127.0.0.1") -> Iterator[tuple[socket.socket, socket.socket]]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as listener,
        socket.create_connection(listener.getsockname()[:2]) as client,
        listener.accept()[0] as server,
    ):
        yield client, server


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_kernel_tells_the_user_of_a_connection(host: str) -> None:
    with connected(host) as (client, server):
        assert user_of(client.getsockname()[:2], server.getsockname()[:2]) == os.geteuid()
        here = client.getsockname()[:2], server.getsockname()[:2]
        client.close()
        # The table says 0 of a closed socket, which is not root.
        assert user_of(*here) is None
    assert user_of(("127.0.0.1", 1), ("127.0.0.1", 2)) is None


def test_the_kernel_tells_who_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert user_listening("127.0.0.1", port) == os.geteuid()
    assert user_listening("127.0.0.1", port) is None


@pytest.mark.parametrize(
    ("user", "allowed"), [(os.geteuid(), True), (0, True), (NOBODY, False), (None, False)]
)
def test_without_keys_only_the_user_who_runs_the_server_and_root_are_answered(
    monkeypatch: pytest.MonkeyPatch, user: int | None, allowed: bool
) -> None:
    monkeypatch.setattr(access, "user_of", lambda *_: user)
    check = OwnerCheck(Settings())
    if allowed:
        check.check(("127.0.0.1", 1), ("127.0.0.1", 2), "")
        return
    with pytest.raises(SextonError) as refused:
        check.check(("127.0.0.1", 1), ("127.0.0.1", 2), "")
    assert refused.value.code == "other_user"


@pytest.mark.asyncio
async def test_another_user_of_this_machine_is_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(database, Settings()) as api:
        assert (await api("GET", "/jobs")).status == 200
        monkeypatch.setattr(access, "user_of", lambda *_: NOBODY)
        for path in ("/jobs", "/", "/metrics"):
            reply = await api("GET", path)
            assert (reply.status, reply.code) == (403, "other_user")
        assert (await api("GET", "/healthz")).status == 200
        assert (await api("GET", "/readyz")).status == 200
        # A service that was sent a run may be run by any user: its token tells.
        reply = await api("POST", "/runs/r_1/complete", headers={"Sexton-Run-Token": "1.x"})
        assert (reply.status, reply.code) == (401, "bad_token")
    key = "a-key-of-sixteen-or-more"
    async with serve(database, Settings(api_keys=key)) as api:
        assert (await api("GET", "/jobs", headers={"Authorization": f"Bearer {key}"})).status == 200


@pytest.mark.asyncio
async def test_where_the_kernel_does_not_tell_a_token_is_needed(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(access, "can_tell", lambda: False)
    monkeypatch.setenv("SEXTON_DATA", str(tmp_path / "data"))
    settings = Settings(data=tmp_path / "data")
    async with serve(database, settings) as api:
        file = token_file(settings.data)
        assert file.stat().st_mode & 0o777 == 0o600
        assert (await api("GET", "/jobs")).code == "other_user"
        assert (await api("GET", "/jobs", headers={"Authorization": "Bearer wrong"})).code == "other_user"
        token = read_token()
        assert token == make_token(file)
        assert (await api("GET", "/jobs", headers={"Authorization": f"Bearer {token}"})).status == 200


def test_the_client_does_not_use_the_server_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEXTON_URL", raising=False)
    asked: list[Any] = []

    def listening(host: str, port: int) -> int:
        asked.append((host, port))
        return NOBODY

    monkeypatch.setattr(peer, "user_listening", listening)
    with pytest.raises(Unavailable) as refused:
        find_own_url()
    assert refused.value.code == "other_user"
    assert "SEXTON_URL=http://127.0.0.1" in str(refused.value.hint)
    monkeypatch.setattr(peer, "user_listening", lambda *_: os.geteuid())
    assert find_own_url().startswith("http://127.0.0.1")
