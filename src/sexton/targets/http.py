"""The HTTP target: one signed request per attempt.

The signature is that of Standard Webhooks, so any of its libraries can verify it. Redirects are not
followed, and addresses that only the machine itself should talk to (link-local, metadata services) are
refused when the socket is made, whatever the name resolved to.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import aiohttp
import msgspec

from sexton import __version__, clock
from sexton.execution import RunContext, Step, clean
from sexton.model import Failure, HttpTarget, Outcome, Success, Target
from sexton.postgres.database import Database

CONNECT_SECONDS = 10.0
SECRET_SECONDS = 30.0
BODY_LIMIT = 16 * 1024
PREFIX = "whsec_"
RETRYABLE = frozenset({408, 425, 429})

REFUSED = tuple(
    map(
        ipaddress.ip_network,
        (
            "169.254.0.0/16",  # link-local; the metadata services of most clouds
            "100.100.100.200/32",  # Alibaba's
            "192.0.0.192/32",  # Oracle's
            "168.63.129.16/32",  # Azure's
            "fd00:ec2::/32",  # Amazon's on IPv6
            "fe80::/10",
        ),
    )
)
# IPv6 addresses that carry an IPv4 address, and where in them it begins.
CARRIERS = (
    (ipaddress.ip_network("::ffff:0:0/96"), 12),
    (ipaddress.ip_network("64:ff9b::/96"), 12),
    (ipaddress.ip_network("2002::/16"), 2),
)


class RefusedAddress(OSError):
    """An address that runs may not reach."""


class HttpTargetKind:
    """All requests of a worker share one session."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._session: aiohttp.ClientSession | None = None
        self._secrets: list[bytes] = []
        self._secrets_at = float("-inf")

    def step(self, target: Target) -> Step | None:
        return partial(self._send, target.http) if target.http is not None else None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _send(self, target: HttpTarget, run: RunContext) -> Outcome:
        body = render(target, run)
        headers = request_headers(target, run, body, await self._signing_secrets())
        session = self._open_session()
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_SECONDS, sock_read=run.policy.timeout_seconds
        )
        try:
            async with session.request(
                target.method,
                target.url,
                data=body or None,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                text, truncated = await _read(response)
                return judge(target, response.status, response.headers.get("Retry-After"), text, truncated)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            return Failure(
                f"the address {target.url} cannot be used: {clean(str(error), 500)}", permanent=True
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            refused = _refusal(error)
            if refused is not None:
                return Failure(f"the address {target.url} is refused: {refused}", permanent=True)
            kind = "timeout" if isinstance(error, TimeoutError) else "error"
            reason = clean(str(error) or type(error).__name__, 2000)
            return Failure(f"{type(error).__name__}: {target.url}: {reason}", kind=kind)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, socket_factory=guarded_socket)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": f"Sexton/{__version__}"},
                auto_decompress=True,
            )
        return self._session

    async def _signing_secrets(self) -> list[bytes]:
        if clock.monotonic() - self._secrets_at > SECRET_SECONDS:
            self._secrets = read_secrets(await signing_secret(self._database))
            self._secrets_at = clock.monotonic()
        return self._secrets


async def signing_secret(database: Database) -> Any:
    """The secret of the installation, made if there is none: `whsec_…`, or a list while it is rotated."""
    async with database.connection() as connection:
        made = msgspec.json.encode(new_secret()).decode()
        text = await connection.fetchval(
            database.sql(
                """with made as (
                    insert into sexton.settings (name, value) values ('webhook_secret', $1::jsonb)
                    on conflict (name) do nothing returning value
                )
                select value::text from made
                union all select value::text from sexton.settings where name = 'webhook_secret'
                limit 1"""
            ),
            made,
        )
    return msgspec.json.decode(text)


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def read_secrets(value: str | Sequence[str]) -> list[bytes]:
    texts = [value] if isinstance(value, str) else list(value)
    return [base64.b64decode(text.removeprefix(PREFIX)) for text in texts]


def render(target: HttpTarget, run: RunContext) -> bytes:
    """The body: the payload as JSON, or the target's own text with its few places filled in."""
    if target.body is None:
        if target.method in ("GET", "DELETE"):
            return b""
        return (run.payload_json or "null").encode()
    places = {
        "payload": lambda: run.payload_json or "null",
        "job_id": lambda: run.job_id,
        "job_name": lambda: run.job_name,
        "run_id": lambda: run.run_id,
        "attempt": lambda: str(run.attempt),
        "scheduled_at": lambda: _iso(run),
        "idempotency_key": lambda: run.idempotency_key,
        "trigger": lambda: str(run.trigger),
    }

    def fill(found: re.Match[str]) -> str:
        place = places.get(found[1])
        return place() if place else found[0]

    return re.sub(r"\{\{\s*(\w+)\s*\}\}", fill, target.body).encode()


def request_headers(
    target: HttpTarget, run: RunContext, body: bytes, keys: Sequence[bytes]
) -> dict[str, str]:
    now = clock.now()
    # A name that is given in both ways is ours: nobody may forge what a receiver checks.
    ours = {
        "Idempotency-Key": _header(run.idempotency_key),
        "Sexton-Job-Id": run.job_id,
        "Sexton-Run-Id": run.run_id,
        "Sexton-Attempt": str(run.attempt),
        "Sexton-Scheduled-At": _iso(run),
        "Sexton-Trigger": str(run.trigger),
        "Sexton-Missed": "true" if run.missed else "false",
        **signature_headers(run.run_id, int(now.timestamp()), body, keys),
    }
    taken = {name.lower() for name in ours}
    given = {name: value for name, value in target.headers.items() if name.lower() not in taken}
    if body and "content-type" not in {name.lower() for name in given}:
        given["Content-Type"] = "application/json"
    return {**given, **ours}


def signature_headers(message: str, timestamp: int, body: bytes, keys: Sequence[bytes]) -> dict[str, str]:
    """The headers of Standard Webhooks; the same id at every attempt, a fresh time at each."""
    signed = f"{message}.{timestamp}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def judge(target: HttpTarget, status: int, retry_after: str | None, text: str, truncated: bool) -> Outcome:
    """What an answer means for the attempt."""
    good = status in target.success_codes if target.success_codes else 200 <= status < 300
    if good:
        result: dict[str, Any] = {"status": status, "body": text}
        if truncated:
            result["truncated"] = True
        return Success(result)
    hint = " (redirects are not followed)" if 300 <= status < 400 else ""
    error = f"HTTP {status}{hint}" + (f": {clean(text, 2000)}" if text else "")
    permanent = 400 <= status < 500 and status not in RETRYABLE
    return Failure(
        error, permanent=permanent, retry_after=None if permanent else seconds_to_wait(retry_after)
    )


def seconds_to_wait(retry_after: str | None) -> float | None:
    """`Retry-After`: seconds, or the date of HTTP."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - clock.now()).total_seconds())


def guarded_socket(info: tuple[Any, ...]) -> socket.socket:
    """Where the connection really goes is known here, after every name was resolved."""
    family, kind, protocol, _, address = info
    check_address(str(address[0]))
    return socket.socket(family, kind, protocol)


def check_address(text: str) -> None:
    address = ipaddress.ip_address(text.split("%")[0])
    for network, start in CARRIERS:
        if address.version == 6 and address in network:
            address = ipaddress.ip_address(address.packed[start : start + 4])
            break
    if any(address.version == network.version and address in network for network in REFUSED):
        raise RefusedAddress(f"{text} is a link-local or metadata address")


async def _read(response: aiohttp.ClientResponse) -> tuple[str, bool]:
    """The beginning of the body; the rest is not waited for."""
    data = b""
    while len(data) <= BODY_LIMIT:
        chunk = await response.content.read(BODY_LIMIT + 1 - len(data))
        if not chunk:
            break
        data += chunk
    truncated = len(data) > BODY_LIMIT
    if truncated:
        response.close()
    return clean(data[:BODY_LIMIT].decode("utf-8", "replace"), BODY_LIMIT), truncated


def _refusal(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, RefusedAddress):
            return str(error)
        error = error.__cause__ or error.__context__
    return None


def _iso(run: RunContext) -> str:
    return run.scheduled_at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _header(text: str) -> str:
    """Keys come from templates and payloads: no line breaks, and only what a header can carry."""
    return "".join(char if " " <= char <= "~" else "?" for char in text)
