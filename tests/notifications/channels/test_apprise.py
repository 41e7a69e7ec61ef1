"""Apprise: a hundred services in a process of its own, whose sockets are guarded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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


@pytest.mark.parametrize("url", ["syslog://", "dbus://", "no address", "file:///etc/passwd"])
def test_what_acts_on_this_machine_is_refused(url: str) -> None:
    with pytest.raises(InvalidField):
        AppriseConfig(url=url)
