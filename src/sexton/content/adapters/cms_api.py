"""The HTTP API of a CMS on one host, with the guarded HTTP client that jobs use too.

Secrets are sent only to the host of the configured address. Redirects are not followed. Answers are limited
in size and time.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec

from sexton.connections.address import http_parts
from sexton.connections.guard import RefusedAddress
from sexton.content.adapters.base import AdapterServices, NotNow, NotPossible
from sexton.errors import InvalidField
from sexton.postgres.transaction import Context
from sexton.printable import counted
from sexton.refusal import UNREADABLE
from sexton.security.binding import Use, hosts_of
from sexton.security.placeholder import PLACEHOLDER
from sexton.targets.http.hosts import HostBusy
from sexton.targets.http.outbound import BadRedirect, Reply, Request, TooLarge
from sexton.targets.http.step import RETRYABLE
from sexton.targets.run import clean

LARGEST_ANSWER = 1024 * 1024
SHOWN = 300
#: Statuses for an entity that does not exist.
ABSENT = frozenset({404, 410})
FOR_GOOD = frozenset({301, 308})


class CmsError(Exception):
    """The site did not carry out a request; a retry may succeed."""


@dataclass(frozen=True, slots=True)
class CmsAnswer:
    """An answer of a site."""

    request: str
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    def exists(self) -> bool:
        """Whether the site has what was asked for. Raises the exception for any other unwanted answer."""
        if self.good or self.status in ABSENT:
            return self.good
        raise self.refuse()

    def json(self) -> Any:
        try:
            return msgspec.json.decode(self.body)
        except UNREADABLE:
            raise CmsError(
                f"{self.request} answered {self.status}, and the answer is not JSON{self.shown}"
            ) from None

    @property
    def shown(self) -> str:
        text = clean(self.body[: SHOWN * 4].decode("utf-8", "replace"), SHOWN)
        return f": {text}" if text else ""

    def refuse(self) -> Exception:
        """The exception for an unwanted answer."""
        message = f"{self.request}: HTTP {self.status}{self.shown}"
        if 300 <= self.status < 400:
            where = self.headers.get("Location", "nowhere")
            message = f"{self.request}: HTTP {self.status} to {where[:SHOWN]}; redirects are not followed"
            return NotPossible(message) if self.status in FOR_GOOD else CmsError(message)
        if 400 <= self.status < 500 and self.status not in (*RETRYABLE, 409):
            return NotPossible(message)
        return CmsError(message)


class CmsApi:
    """Sends requests to the paths below one address."""

    def __init__(self, url: str, services: AdapterServices, *, timeout_seconds: float) -> None:
        self.url = url.rstrip("/")
        self._services = services
        self._timeout_seconds = timeout_seconds

    async def secret(self, context: Context, text: str) -> str:
        """Replace the placeholders of secrets in a text, if this host may have the secrets."""
        return await self._services.secrets.reveal(text, self._use(context))

    async def send(
        self,
        context: Context,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
    ) -> CmsAnswer:
        """The answer, with any status. Raises `CmsError`, `NotNow` or `NotPossible`."""
        url = self.url + path
        what = f"{method} {url}"
        request = Request(
            method=method,
            url=url,
            headers={**headers, **({"Content-Type": "application/json"} if body else {})},
            body=body,
            most_bytes=LARGEST_ANSWER,
            read_seconds=self._timeout_seconds,
            namespace=context.namespace,
        )
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await self._services.outbound.send(request)
        except HostBusy as busy:
            raise NotNow(str(busy), busy.seconds) from None
        except (RefusedAddress, TooLarge, BadRedirect, aiohttp.InvalidURL) as error:
            raise NotPossible(f"{what}: {clean(str(error), SHOWN)}") from error
        except TimeoutError as error:
            waited = counted(self._timeout_seconds, "second")
            raise CmsError(f"timeout: {what}: no complete answer within {waited}") from error
        except (aiohttp.ClientError, OSError) as error:
            reason = clean(str(error) or type(error).__name__, SHOWN)
            raise CmsError(f"{type(error).__name__}: {what}: {reason}") from error
        return _answer(what, reply)

    def _use(self, context: Context) -> Use:
        return Use("content", hosts_of(self.url), context.namespace)


def _answer(what: str, reply: Reply) -> CmsAnswer:
    if reply.truncated:
        raise CmsError(f"{what} answered with more than {LARGEST_ANSWER:,} bytes")
    return CmsAnswer(what, reply.status, reply.body, dict(reply.headers))


def check_site(url: str, field: str) -> None:
    """Refuse a URL that cannot be the address of a site."""
    parts = http_parts(url)
    if parts is None or parts.query or parts.fragment or "@" in parts.netloc or re.search(r"[\s\\{}$]", url):
        raise InvalidField(
            "bad_url",
            f"{url!r} is not the address of a site",
            field=field,
            hint="write https://host/path, without a query; users and passwords have fields of their own",
        )


def check_secret(text: str, field: str) -> None:
    """Refuse a password that is not the name of a secret: answers would show it."""
    if not PLACEHOLDER.fullmatch(text):
        raise InvalidField(
            "plain_secret",
            f"{field} is not the name of a secret",
            field=field,
            hint="store it (sexton secret set NAME --host HOST), and write ${secret:NAME}",
        )
