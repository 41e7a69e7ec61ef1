"""Requests to the OpenID Connect provider; they go through the same checks as every outgoing request.

The operator names the provider, so it may have a private address; link-local addresses and those of metadata
services are still refused. Redirects are not followed; time and size are bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import aiohttp
import msgspec

from sexton.config import Settings
from sexton.security.issuer import FetchError, Issuer
from sexton.security.openid import read_openid
from sexton.targets.http.hosts import HostBusy
from sexton.targets.http.outbound import Outbound, Request

SECONDS = 10.0
MOST_BYTES = 256 * 1024


class IdentityProvider:
    """Use `issuer` for requests; call `close` when the process stops."""

    def __init__(self, issuer: Issuer, outbound: Outbound) -> None:
        self.issuer = issuer
        self._outbound = outbound

    async def close(self) -> None:
        await self._outbound.close()


def open_provider(settings: Settings) -> IdentityProvider | None:
    """The provider that the settings name, if any. No request is sent yet."""
    openid = read_openid(settings)
    if openid is None:
        return None
    outbound = Outbound(msgspec.structs.replace(settings, egress_private="allow", http_per_host=0))

    async def fetch(method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        request = Request(method, url, headers, body, most_bytes=MOST_BYTES, connect_seconds=SECONDS)
        try:
            async with asyncio.timeout(SECONDS):
                reply = await outbound.send(request)
        except TimeoutError as error:
            raise FetchError(f"no answer within {SECONDS:g} s") from error
        except (aiohttp.ClientError, OSError, HostBusy) as error:
            raise FetchError(str(error) or type(error).__name__) from error
        if reply.truncated:
            raise FetchError(f"more than {MOST_BYTES:,} bytes")
        return reply.status, reply.body

    return IdentityProvider(Issuer(openid, fetch), outbound)
