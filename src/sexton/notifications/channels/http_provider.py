"""The base of providers over HTTP: guarded requests, and the meaning of their failures.

A request that was not sent is a failure. If a request was sent and its answer is lost, the result is unclear.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from sexton.connections.address import http_parts
from sexton.connections.guard import RefusedAddress
from sexton.errors import InvalidField, SextonError
from sexton.notifications.channels.base import (
    SECRET_KIND,
    ChannelProvider,
    Deferred,
    Failed,
    Outgoing,
    ProviderServices,
    Rejected,
    SendResult,
    Unclear,
)
from sexton.refusal import UNREADABLE
from sexton.security.binding import Use, hosts_of
from sexton.targets.http.hosts import HostBusy
from sexton.targets.http.outbound import BadRedirect, BadTls, Reply, Request, TooLarge
from sexton.targets.http.step import seconds_to_wait
from sexton.targets.run import clean

REQUESTS = 20
TIMEOUT_SECONDS = 30.0
LARGEST_ANSWER = 64 * 1024
SHOWN = 300
WAIT_SECONDS = 30.0
LONGEST_WAIT = 3600.0
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
# A gateway got no answer from the server behind it, which may have the message.
UNCLEAR = frozenset({502, 504})
#: The provider does not accept our credentials: the message itself is not the problem.
UNKNOWN_CALLER = frozenset({401, 403, 407})


class HttpProvider(ChannelProvider):
    """One request for each message, some at a time."""

    def __init__(self, config: Any, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._slots = asyncio.Semaphore(services.concurrency or REQUESTS)

    @abstractmethod
    async def send_one(self, message: Outgoing) -> SendResult: ...

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        return await asyncio.gather(*(self._send_one(message) for message in batch))

    async def _send_one(self, message: Outgoing) -> SendResult:
        address = message.address
        if isinstance(address, str) and not (address.strip() and address.isprintable()):
            return Rejected(f"{address[:100]!r} is not an address", code="bad_address")
        async with self._slots:
            try:
                return await self.send_one(message)
            except SextonError as error:
                # For example a missing secret; nothing was sent.
                return Failed(str(error), code=error.code)

    async def close(self) -> None:
        """The HTTP client belongs to the process."""

    async def secret(self, text: str, url: str) -> str:
        """Replace the placeholders of secrets in a text, if the host of this address may have the secrets."""
        use = Use(SECRET_KIND, hosts_of(url), self.services.namespace)
        return await self.services.secrets.reveal(text, use)

    async def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply | SendResult:
        """The answer, whatever its status; or the result for the message if there is no answer."""
        what = f"{method} {_shown(url)}"
        request = Request(
            method=method,
            url=url,
            headers=headers,
            body=body,
            most_bytes=LARGEST_ANSWER,
            read_seconds=TIMEOUT_SECONDS,
            namespace=self.services.namespace,
        )
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self.services.outbound.send(request)
        except HostBusy as busy:
            return Deferred(str(busy), busy.seconds)
        except (RefusedAddress, TooLarge, BadTls, aiohttp.InvalidURL, ValueError) as error:
            return Rejected(f"{what}: {clean(str(error), SHOWN)}", code="not_possible")
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, BadRedirect) as error:
            return Failed(f"{what}: no connection: {clean(str(error), SHOWN)}")
        except TimeoutError:
            return Unclear(f"{what}: no complete answer within {TIMEOUT_SECONDS:.0f} seconds")
        except (aiohttp.ClientError, OSError) as error:
            reason = clean(str(error) or type(error).__name__, SHOWN)
            return Unclear(f"{what}: the answer was lost: {reason}")


def judged(reply: Reply, *, said: str | None = None) -> SendResult:
    """The result for an unwanted answer. `said` is its error message."""
    words = clean(said if said is not None else reply.body[: SHOWN * 4].decode("utf-8", "replace"), SHOWN)
    reason = f"HTTP {reply.status}" + (f": {words}" if words else "")
    status, code = reply.status, str(reply.status)
    wait = seconds_to_wait(reply.headers.get("Retry-After"))
    if status == 429:
        return Deferred(reason, min(wait if wait is not None else WAIT_SECONDS, LONGEST_WAIT))
    if status in UNCLEAR:
        return Unclear(reason)
    if status >= 500 or status in UNKNOWN_CALLER or status == 408:
        return Failed(reason, wait, code=code)
    if 300 <= status < 400:
        return Failed(f"{reason}; redirects are not followed", code=code)
    if 400 <= status < 500:
        return Rejected(reason, code=code)
    return Unclear(f"{reason}, which does not say whether the message was accepted")


def json_of(reply: Reply) -> Any:
    """The answer as JSON; None if it is not JSON or was truncated."""
    try:
        return None if reply.truncated else msgspec.json.decode(reply.body)
    except UNREADABLE:
        return None


def at_path(data: Any, path: str) -> Any:
    """The value at a path such as `messages.0.id`; None if there is none."""
    for step in path.split("."):
        if isinstance(data, Mapping):
            data = data.get(step)
        elif isinstance(data, list) and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    return data


def check_url(url: str, field: str) -> str:
    """Refuse a URL that cannot be the address of an HTTP API."""
    parts = http_parts(url)
    if parts is None or "@" in parts.netloc or parts.fragment or any(char.isspace() for char in url):
        raise InvalidField(
            "bad_url", f"{url!r} is not an http or https address", field=field, hint="write https://host/path"
        )
    return url


def _shown(url: str) -> str:
    """The URL without its query, which may contain keys, and without its path, which may identify a
    device."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}"
