"""Who is at the other end of a loopback connection, and whom a server without keys answers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sexton.api.security.site import FORWARDED
from sexton.cli.client import find_own_url, read_token
from sexton.config import Settings
from sexton.errors import Unavailable
from sexton.postgres.database import Database
from sexton.security import access, peer
from sexton.security.access import OwnerCheck, make_token, token_file
from sexton.security.peer import user_listening, user_of
from tests.api.conftest import serve

NOBODY = 65534
KEY = "a-key-of-sixteen-or-more"


@contextmanager
def connected(host: str = "127.0.0.1") -> Iterator[tuple[socket.socket, socket.socket]]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as listener,
        socket.create_connection(listener.getsockname()[:2]) as client,
        listener.accept()[0] as server,
    ):
        yield client, server


@pytest.fixture(params=["asked", "looked up"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to tell a user, of which the first is used where the kernel has it."""
    if request.param == "looked up":
        monkeypatch.setattr(peer, "can_ask", lambda: False)
    elif not peer.can_ask():
        pytest.skip("this kernel cannot be asked")


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


def test_a_connection_that_has_ended_does_not_tell_the_user_of_the_next_one() -> None:
    """Its addresses may be those of another connection by now."""
    with connected() as (client, server):
        here = client.getsockname()[:2], server.getsockname()[:2]
        inode = os.fstat(server.fileno()).st_ino
        assert user_of(*here, inode) == os.geteuid()
        assert user_of(*here, inode + 1) is None


@contextmanager
def another_user() -> Iterator[None]:
    """Sockets that are made in the block are another user's."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("listening", "host", "family"),
    [
        ("127.0.0.1", "127.0.0.1", socket.AF_INET),
        ("127.0.0.1", "::ffff:127.0.0.1", socket.AF_INET6),
        ("::1", "::1", socket.AF_INET6),
        ("::", "127.0.0.1", socket.AF_INET),
    ],
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_told_over_every_kind_of_address(
    listening: str, host: str, family: socket.AddressFamily
) -> None:
    own = socket.AF_INET6 if ":" in listening else socket.AF_INET
    with socket.create_server((listening, 0), family=own, dualstack_ipv6=listening == "::") as listener:
        with another_user():
            client = socket.socket(family)
        with client:
            client.connect((host, listener.getsockname()[1]))
            with listener.accept()[0] as server:
                client_at, server_at = server.getpeername()[:2], server.getsockname()[:2]
                inode = os.fstat(server.fileno()).st_ino
                assert user_of(client_at, server_at, inode) == NOBODY


def is_owner(user: int | None) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access, "user_of", lambda *_: user)
        return OwnerCheck(Settings()).is_owner(("127.0.0.1", 1), ("127.0.0.1", 2), None, "")


def test_without_keys_only_the_user_who_runs_the_server_and_root_are_answered() -> None:
    assert is_owner(os.geteuid())
    assert is_owner(0)
    assert not is_owner(NOBODY)
    assert not is_owner(None)


@pytest.mark.asyncio
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
async def test_headers_of_proxies_do_not_tell_who_asks(database: Database) -> None:
    """Another user of the machine sees in the kernel's table from which port the owner is connected."""
    async with serve(database, Settings()) as api:
        place = urlsplit(api.base)
        with socket.create_connection((place.hostname, place.port)) as owner:
            port = owner.getsockname()[1]
            for name in ("X-Forwarded-For", "Forwarded"):
                with another_user():
                    made = socket.socket()
                made.setblocking(False)
                await asyncio.get_running_loop().sock_connect(made, (place.hostname, place.port))
                reader, writer = await asyncio.open_connection(sock=made)
                head = f"GET /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n{name}: 127.0.0.1:{port}\r\n\r\n"
                writer.write(head.encode())
                assert b" 403 " in await reader.readline()
                writer.close()


@pytest.mark.asyncio
async def test_without_keys_nothing_is_answered_through_a_proxy(database: Database) -> None:
    """The connection is the proxy's, for every caller."""
    async with serve(database, Settings()) as api:
        for name in FORWARDED:
            reply = await api("GET", "/jobs", headers={name: "10.0.0.1"})
            assert (reply.status, reply.code) == (403, "forwarded")
    async with serve(database, Settings(api_keys=KEY)) as api:
        sent = {"Authorization": f"Bearer {KEY}", "X-Forwarded-For": "10.0.0.1"}
        assert (await api("GET", "/jobs", headers=sent)).status == 200


@pytest.mark.asyncio
async def test_another_user_of_this_machine_is_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(database, Settings()) as api:
        assert (await api("GET", "/jobs")).status == 200
    monkeypatch.setattr(access, "user_of", lambda *_: NOBODY)
    async with serve(database, Settings()) as api:
        for path in ("/jobs", "/metrics"):
            reply = await api("GET", path)
            assert (reply.status, reply.code) == (403, "other_user")
        # A page sends a person to sign in: it shows nothing else.
        assert b"<title>Sign in</title>" in (await api("GET", "/")).content
        assert (await api("GET", "/healthz")).status == 200
        assert (await api("GET", "/readyz")).status == 200
        # A service that was sent a run may be run by any user: its token tells.
        reply = await api("POST", "/runs/r_1/complete", headers={"Sexton-Run-Token": "1.x"})
        assert (reply.status, reply.code) == (401, "bad_token")
    async with serve(database, Settings(api_keys=KEY)) as api:
        assert (await api("GET", "/jobs", headers={"Authorization": f"Bearer {KEY}"})).status == 200


@pytest.mark.parametrize("wrong", ["empty", "readable", "link"])
def test_a_token_that_others_can_know_is_not_used(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "data.token"
    if wrong == "link":
        (tmp_path / "other").write_text("a-token")
        file.symlink_to(tmp_path / "other")
    else:
        file.write_text("" if wrong == "empty" else "a-token")
        file.chmod(0o644 if wrong == "readable" else 0o600)
    with pytest.raises(Unavailable, match="other users can read it"):
        make_token(file)


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
