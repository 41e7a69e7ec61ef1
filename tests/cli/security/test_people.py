"""`sexton login`, `whoami` and `sessions`, against a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.browser import Browser
from tests.api.conftest import Api
from tests.cli.server import Server

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton

pytestmark = pytest.mark.usefixtures("server")


def sign_in(server: Server, url: str) -> int:
    """The status that a browser gets with a link."""
    import aiohttp

    async def work() -> int:
        async with aiohttp.ClientSession() as session:
            return (await Browser(Api(session, server.url)).open_link(url)).status

    return server.run(work())


def test_a_link_signs_a_browser_in_once(sexton: Sexton, server: Server) -> None:
    result = sexton("login")
    assert (result.code, result.out.startswith(f"{server.url}/sign-in#")) == (0, True)
    assert "works once" in result.err
    assert sign_in(server, result.out.strip()) == 303
    assert sign_in(server, result.out.strip()) == 401
    assert sexton("login", "--json").json()["url"].startswith(server.url)


def test_sessions_are_listed_and_ended(sexton: Sexton, server: Server) -> None:
    assert "No browser is signed in" in sexton("sessions", "list").out
    for _ in range(3):
        sign_in(server, sexton("login", "--json").json()["url"])
    first, *_ = sexton("sessions", "list", "--json").json()
    assert len(sexton("sessions", "list").out.splitlines()) == 4
    assert sexton("sessions", "end", first["session_id"]).out == f"{first['session_id']} has ended\n"
    assert sexton("sessions", "end", first["session_id"]).code == 1
    assert sexton("sessions", "end-all").code == 2  # it is to be confirmed
    assert sexton("sessions", "end-all", "--name", "person:kim", "--yes").out == (
        "0 sessions of person:kim ended\n"
    )
    assert sexton("sessions", "end-all", "--yes").out == "2 sessions of yours ended\n"
    assert sexton("sessions", "list", "--every", "--json").json() == []


def test_the_server_says_who_asks(sexton: Sexton) -> None:
    said = sexton("whoami").out
    assert "admin in all namespaces" in said
    assert sexton("whoami", "--json").json()["method"] == "owner"
