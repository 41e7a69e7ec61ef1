"""Apprise: a hundred services in a process of its own, whose sockets are guarded."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sexton.errors import InvalidField
from sexton.notifications.channels.apprise import AppriseConfig, AppriseProvider
from sexton.notifications.channels.base import Accepted, Failed, Rejected
from tests.notifications.channels.api_server import answering, api_server
from tests.notifications.channels.lending import lending, outgoing


@asynccontextmanager
async def providing(config: AppriseConfig, **more: Any) -> AsyncIterator[AppriseProvider]:
    async with lending(channel="chat", secrets={"token": "the-secret-token"}, **more) as services:
        provider = AppriseProvider(config, services)
        yield provider
        await provider.close()


async def test_services_are_reached_through_the_guard_only() -> None:
    async with api_server() as server:
        address = server.url.replace("http://", "json://")
        async with providing(AppriseConfig(url=f"{address}/${{secret:token}}")) as provider:
            message = outgoing(1, "", parts={"title": "Hello", "body": "How are you?"})
            assert await provider.send([message]) == [Accepted()]
            [(request, body)] = server.requests
            assert request.path.rstrip("/") == "/the-secret-token"
            assert msgspec.json.decode(body)["message"] == "How are you?"
            server.answer = answering(500)
            [failed] = await provider.send([message])
            assert isinstance(failed, Failed)
        seen = len(server.requests)
        async with providing(AppriseConfig(), egress_private="refuse") as provider:
            [refused] = await provider.send([outgoing(2, address)])
            assert isinstance(refused, Rejected)
            assert "private address" in refused.reason
            [never] = await provider.send([outgoing(3, "json://169.254.169.254/")])
            assert isinstance(never, Rejected)
            assert "never reached" in never.reason
            [unknown] = await provider.send([outgoing(4, "nothing://x")])
            assert isinstance(unknown, Rejected)
        assert len(server.requests) == seen


async def test_files_of_this_machine_are_not_read(tmp_path: Path) -> None:
    """Services of Apprise read templates and keys from files that their addresses name."""
    card = {"type": "message", "attachments": [{"contentType": "text"}], "token": "the-token-of-another"}
    (tmp_path / "card.json").write_bytes(msgspec.json.encode(card))
    connected: list[object] = []

    async def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)
        writer.close()

    async with (
        await asyncio.start_server(note, "127.0.0.1", 0) as server,
        providing(AppriseConfig()) as provider,
    ):
        port = server.sockets[0].getsockname()[1]
        address = f"workflows://127.0.0.1:{port}/workflow/signature/?template="
        paths = [tmp_path / "card.json", tmp_path / "missing.json", "/proc/self/environ"]
        results = await provider.send([outgoing(n, f"{address}{each}") for n, each in enumerate(paths, 1)])
        assert isinstance(results[0], Rejected)
        assert results == [results[0]] * 3  # nor does it tell whether a file exists
        assert not connected


async def test_its_process_has_no_settings_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with api_server() as server, api_server() as proxy:
        monkeypatch.setenv("SEXTON_SECRET_KEY", "the-key-for-secrets")
        monkeypatch.setenv("http_proxy", proxy.url)
        async with providing(AppriseConfig()) as provider:
            address = server.url.replace("http://", "json://")
            assert await provider.send([outgoing(1, address)]) == [Accepted()]
            assert len(server.requests) == 1
            assert not proxy.requests
            assert provider._process is not None
            environment = Path(f"/proc/{provider._process.pid}/environ").read_bytes()
            assert b"the-key-for-secrets" not in environment


def test_its_sockets_connect_to_what_was_checked() -> None:
    """A name may have another address when it is connected to than when it was checked."""
    code = """
import socket, ssl
from sexton.connections.guard import Guard
from sexton.notifications.channels.apprise_process import guard_sockets

seen, refused = [], []
asked = iter(["93.184.215.14", "10.0.0.1"])
socket.getaddrinfo = lambda host, port, *_: [(2, 1, 6, "", (next(asked), port))]
socket.socket.connect = lambda self, address: seen.append(address)
guard_sockets(Guard(private=False), refused)
socket.socket().connect(("rebound.example", 443))
try:
    ssl._create_unverified_context().wrap_socket(socket.socket()).connect(("rebound.example", 443))
except OSError:
    pass
print(seen, refused)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[('93.184.215.14', 443)] ['10.0.0.1 is a private address")


@pytest.mark.parametrize("url", ["syslog://", "dbus://", "no address", "file:///etc/passwd"])
def test_what_acts_on_this_machine_is_refused(url: str) -> None:
    with pytest.raises(InvalidField):
        AppriseConfig(url=url)
