"""Every HTTP request that Sexton sends to another server goes through `Outbound.send`.

The guard of `sexton.connections.guard` resolves names and makes sockets, for redirects as well. It never
allows addresses of the link and of metadata services, in any notation. It allows private addresses if the
policy does.

Redirects are followed only as often as the request allows. The sizes of requests and answers are capped.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver
from multidict import CIMultiDictProxy
from yarl import URL

from sexton import __version__, clock
from sexton.config import Settings
from sexton.connections.guard import Guard, RefusedAddress
from sexton.connections.tls import PEM, make_context
from sexton.targets.http.hosts import Hosts, Permit
from sexton.targets.http.kind import HttpTls

CONNECT_SECONDS = 10.0
LARGEST_REQUEST = 1024 * 1024
TLS_SECONDS = 60.0
MOST_CONTEXTS = 1000
# Redirects that repeat the request as it was; the others lead to a GET.
KEPT = frozenset({307, 308})
# A time-out counts against the host only if the caller has waited this long.
PATIENT_SECONDS = 10.0
REDIRECTS = frozenset({301, 302, 303}) | KEPT


class TooLarge(ValueError):
    """A request with more bytes than may be sent."""


class BadRedirect(aiohttp.ClientError):
    """A redirect that is not followed though redirects are asked for."""


class BadTls(ssl.SSLError):
    """Certificates or keys that this machine cannot use."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and how much of its answer to read. `private`: names of headers for the host of the URL
    only, not for hosts that it redirects to."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    most_bytes: int = 16 * 1024
    redirects: int = 0
    connect_seconds: float = CONNECT_SECONDS
    read_seconds: float | None = None
    tls: HttpTls | None = None
    private: frozenset[str] = frozenset()
    #: Whose request it is: each namespace has circuits of its own.
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, with the beginning of its body."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    truncated: bool


class Outbound:
    """Sends requests. All requests of a process share one session, one policy and the state of the hosts."""

    def __init__(self, settings: Settings, *, resolver: AbstractResolver | None = None) -> None:
        self.guard = Guard(settings.private_egress(), settings.target_files)
        self.hosts = Hosts(settings)
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[HttpTls, tuple[ssl.SSLContext, tuple[float, ...], float]] = {}

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, request: Request) -> Reply:
        """Returns the answer, whatever its status. Raises `RefusedAddress`, `TooLarge`, `HostBusy` (nothing
        was sent), or an error of the connection: aiohttp.ClientError, OSError, TimeoutError."""
        if len(request.body) > LARGEST_REQUEST:
            raise TooLarge(f"the body has {len(request.body):,} bytes, more than {LARGEST_REQUEST:,}")
        method, url, headers, body = request.method, request.url, dict(request.headers), request.body
        for left in range(request.redirects, -1, -1):
            async with self.hosts.admit(origin(url), request.namespace) as permit:
                reply = await self._exchange(request, permit, method, url, headers, body)
            where = reply.headers.get("Location")
            if reply.status not in REDIRECTS or where is None or not request.redirects:
                return reply
            if not left:
                raise BadRedirect(f"more than {request.redirects} redirects")
            before, url = url, _follow(url, where)
            if reply.status not in KEPT and method != "GET":
                method, body = "GET", b""
                headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
            if origin(url) != origin(before):
                if body:
                    raise BadRedirect(
                        f"redirected with {reply.status} to another host, {origin(url)}, "
                        "where the body is not sent"
                    )
                headers = {
                    name: value for name, value in headers.items() if name.lower() not in request.private
                }
                # The certificate is only for the first host.
                request = replace(request, tls=request.tls and HttpTls(ca=request.tls.ca))
        raise AssertionError("the last of the redirects returns or raises")

    async def _exchange(
        self, request: Request, permit: Permit, method: str, url: str, headers: dict[str, str], body: bytes
    ) -> Reply:
        timeout = aiohttp.ClientTimeout(
            total=None,
            sock_connect=request.connect_seconds,
            connect=None,
            sock_read=request.read_seconds,
        )
        with _noted(permit, request):
            async with self._open_session().request(
                method,
                URL(url),
                data=body or None,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                ssl=self._tls(request.tls) if request.tls else True,
            ) as response:
                permit.answered(response.status)
                data, truncated = await _read(response, request.most_bytes)
                return Reply(response.status, response.headers, data, truncated)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    socket_factory=self.guard.socket,
                    resolver=self.guard.resolver(self._resolver),
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": f"Sexton/{__version__}"},
                auto_decompress=True,
            )
        return self._session

    def _tls(self, files: HttpTls) -> ssl.SSLContext:
        """The context for these files. It is made again after one of them has changed."""
        now = clock.monotonic()
        known = self._contexts.get(files)
        if known is not None and now - known[2] < TLS_SECONDS:
            return known[0]
        try:
            stamps = tuple(
                Path(path).stat().st_mtime
                for path in (files.cert, files.key, files.ca)
                if path is not None and not path.startswith(PEM)
            )
            context = (
                known[0]
                if known is not None and known[1] == stamps
                else make_context(files.ca, files.cert, files.key)
            )
        except (OSError, ValueError) as error:
            raise BadTls(f"target.http.tls: {error}") from error
        if len(self._contexts) >= MOST_CONTEXTS:
            self._contexts.clear()
        self._contexts[files] = (context, stamps, now)
        return context


def origin(url: str) -> str:
    """`https://host:443`: each has its own limits and circuit."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    scheme = parts.scheme.lower()
    return f"{scheme}://{parts.hostname or ''}:{port or (443 if scheme == 'https' else 80)}"


async def _read(response: aiohttp.ClientResponse, most: int) -> tuple[bytes, bool]:
    """Read the beginning of the body, and do not wait for the rest."""
    data = b""
    while len(data) <= most:
        chunk = await response.content.read(most + 1 - len(data))
        if not chunk:
            return data, False
        data += chunk
    response.close()
    return data[:most], True


def _follow(url: str, where: str) -> str:
    try:
        target = URL(url).join(URL(where))
        scheme, host = target.scheme, target.host
    except ValueError as error:
        raise BadRedirect(f"redirected to {where[:200]!r}, which is not a URL") from error
    if scheme not in ("http", "https") or not host:
        raise BadRedirect(f"redirected to {where[:200]!r}, which is not an http or https URL")
    if url.lower().startswith("https:") and scheme != "https":
        raise BadRedirect(f"redirected from https to {where[:200]!r}")
    return str(target)


@contextmanager
def _noted(permit: Permit, request: Request) -> Iterator[None]:
    """Count failures against the host, but not those that the caller causes: a short time-out, its own
    certificates, and the errors of the guard, which aiohttp wraps."""
    try:
        yield
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
        raise
    except (aiohttp.ClientError, OSError) as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, RefusedAddress | BadTls):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            counts = request.connect_seconds >= PATIENT_SECONDS
        elif isinstance(error, TimeoutError):
            counts = (request.read_seconds or PATIENT_SECONDS) >= PATIENT_SECONDS
        else:
            counts = not (request.tls and isinstance(error, aiohttp.ClientSSLError))
        if counts:
            permit.failed()
        raise
