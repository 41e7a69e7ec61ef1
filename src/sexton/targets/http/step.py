"""The HTTP target: one signed request per attempt.

The signature follows Standard Webhooks, so any of its libraries can verify it. `outbound` decides which
addresses may be reached, and how many requests run at a time.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import aiohttp
import msgspec

from sexton import clock
from sexton.connections.guard import RefusedAddress
from sexton.errors import InvalidField
from sexton.model import Failure, Outcome, Release, Success, Wait
from sexton.postgres.database import Connection, Database
from sexton.postgres.transaction import SHARED, Context, command
from sexton.printable import counted
from sexton.security.secrets import WEBHOOK_SECRET, SecretError, keep_webhook_secret, sealed_setting
from sexton.targets.base import TargetServices
from sexton.targets.http.hosts import HostBusy
from sexton.targets.http.kind import BODY_NAMES, BODY_PLACEHOLDER, HttpTarget, HttpTls
from sexton.targets.http.outbound import LARGEST_REQUEST, BadRedirect, BadTls, Reply, Request, TooLarge
from sexton.targets.run import TOKEN_HEADER, RunContext, Step, clean

SECRET_SECONDS = 30.0
ERROR_BYTES = 2000
PREFIX = "whsec_"
ACCEPTED = 202
SIGNATURE = ("webhook-id", "webhook-timestamp", "webhook-signature")
RETRYABLE = frozenset({408, 425, 429})


class OpenHttp:
    """Makes requests from runs, and outcomes from answers."""

    def __init__(self, services: TargetServices) -> None:
        self._outbound = services.outbound
        self._renderer = services.renderer
        self._database = services.database
        self._key = services.settings.secret_key
        self._secrets: list[bytes] = []
        self._secrets_at = float("-inf")

    def step(self, spec: HttpTarget) -> Step:
        if b"${secret:" in msgspec.json.encode(spec):
            return self._renderer.guarded(partial(self._send_revealed, spec))
        return partial(self._send, spec)

    async def close(self) -> None:
        """The session is the caller's."""

    async def _send_revealed(self, target: HttpTarget, run: RunContext) -> Outcome:
        """Insert secrets before the template is filled: the payload is data, and never names a secret."""
        tls = target.tls
        url = await self._renderer.address(target.url, "http", run)
        reveal = partial(self._renderer.secrets.reveal, use=await self._renderer.use(run, "http", url))
        if tls is not None:
            shown = {name: getattr(tls, name) for name in tls.__struct_fields__}
            tls = HttpTls(**{name: text and await reveal(text) for name, text in shown.items()})
        revealed = msgspec.structs.replace(
            target,
            url=url,
            headers={name: await reveal(text) for name, text in target.headers.items()},
            body=target.body and await reveal(target.body),
            tls=tls,
        )
        return await self._send(revealed, run)

    async def _send(self, target: HttpTarget, run: RunContext) -> Outcome:
        try:
            for path in filter(None, (target.tls.cert, target.tls.key, target.tls.ca) if target.tls else ()):
                self._outbound.guard.check_file(path, "target.http.tls")
            body = render(target, run)
            headers = request_headers(target, run, body, await self._signing_secrets(target, run))
            if target.mode == "async":
                headers[TOKEN_HEADER] = await run.token()
            reply = await self._outbound.send(
                Request(
                    method=target.method,
                    url=target.url,
                    headers=headers,
                    body=body,
                    most_bytes=max(target.capture_bytes, ERROR_BYTES) if target.capture else 0,
                    redirects=target.redirects,
                    connect_seconds=target.connect_timeout_seconds,
                    read_seconds=target.read_timeout_seconds or run.policy.timeout_seconds,
                    tls=target.tls,
                    namespace=run.namespace or "",
                    # The headers of the job are not for another host that the service redirects to.
                    private=frozenset(map(str.lower, (*target.headers, TOKEN_HEADER, *SIGNATURE))),
                )
            )
        except HostBusy as busy:
            return Release(busy.seconds, str(busy))
        except InvalidField as error:
            return Failure(str(error), permanent=True)
        except SecretError as error:
            return Failure(f"the request cannot be signed: {error}")
        except TooLarge as error:
            return Failure(f"the request cannot be sent: {error}", permanent=True)
        except RefusedAddress as error:
            return Failure(f"the address {target.url} is refused: {error}", permanent=True)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            return Failure(
                f"the address {target.url} cannot be used: {clean(str(error), 500)}", permanent=True
            )
        except BadRedirect as error:
            return Failure(f"{target.url}: {clean(str(error), 500)}", permanent=True)
        except BadTls as error:
            # Another worker may have the files, or this one may get them later.
            return Failure(clean(str(error.args[-1]), 1000))
        except aiohttp.ConnectionTimeoutError:
            return Failure(
                f"timeout: {target.url}: no connection within "
                f"{counted(target.connect_timeout_seconds, 'second')}",
                kind="timeout",
            )
        except TimeoutError:
            waited = target.read_timeout_seconds or run.policy.timeout_seconds
            return Failure(f"timeout: {target.url}: no data for {counted(waited, 'second')}", kind="timeout")
        except (aiohttp.ClientError, OSError) as error:
            reason = clean(str(error) or type(error).__name__, 2000)
            return Failure(f"{type(error).__name__}: {target.url}: {reason}")
        if target.mode == "async" and reply.status == ACCEPTED:
            return Wait(target.wait_seconds or run.policy.timeout_seconds)
        return judge(target, reply)

    async def _signing_secrets(self, target: HttpTarget, run: RunContext) -> list[bytes]:
        if target.sign_with is not None:
            use = await self._renderer.use(run, "http", target.url)
            value = await self._renderer.secrets.value(target.sign_with, use)
            try:
                return [base64.b64decode(value.removeprefix(PREFIX), validate=True)]
            except ValueError:
                text = f"the secret {target.sign_with} is not whsec_ and base64"
                raise SecretError("bad_secret", text) from None
        if clock.monotonic() - self._secrets_at > SECRET_SECONDS:
            self._secrets = read_secrets(await signing_secret(self._database, self._key))
            self._secrets_at = clock.monotonic()
        return self._secrets


@command
async def rotate_signing_secret(context: Context, key: str | None = None) -> list[str]:
    """Make a new secret; the previous one stays valid. Returns both, the new one first."""
    present = await signing_secret(context.database, key, context.open)
    both = [new_secret(), present if isinstance(present, str) else present[0]]
    await keep_webhook_secret(context, key, both)
    context.changed("webhook_secret.rotated", namespace=SHARED)
    return both


async def signing_secret(
    database: Database, key: str | None = None, connection: Connection | None = None
) -> Any:
    """The secret of the installation, which is made if there is none: `whsec_…`, or a list during a rotation.
    With a key for secrets it is encrypted."""
    return await sealed_setting(database, key, WEBHOOK_SECRET, new_secret(), connection)


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def read_secrets(value: str | Sequence[str]) -> list[bytes]:
    texts = [value] if isinstance(value, str) else list(value)
    return [base64.b64decode(text.removeprefix(PREFIX)) for text in texts]


def render(target: HttpTarget, run: RunContext) -> bytes:
    """The body: the filled template of the target, else the payload as JSON."""
    if target.body is None:
        return b"" if target.method in ("GET", "DELETE") else (run.payload_json or "").encode()
    values = {
        "payload": lambda: run.payload_json or "null",
        "job_id": lambda: run.job_id,
        "job_name": lambda: run.job_name,
        "run_id": lambda: run.run_id,
        "attempt": lambda: str(run.attempt),
        "scheduled_at": lambda: clock.iso(run.scheduled_at),
        "idempotency_key": lambda: run.idempotency_key,
        "trigger": lambda: str(run.trigger),
    }

    size = 0

    def fill(found: re.Match[str]) -> str:
        nonlocal size
        text = values[found[1]]() if found[1] in BODY_NAMES else found[0]
        size += len(text)
        if size > LARGEST_REQUEST:
            # A small template may contain the payload many times: stop before it fills the memory.
            raise TooLarge(f"the body has more than {LARGEST_REQUEST:,} characters once it is filled in")
        return text

    return BODY_PLACEHOLDER.sub(fill, target.body).encode()


def request_headers(
    target: HttpTarget, run: RunContext, body: bytes, keys: Sequence[bytes]
) -> dict[str, str]:
    now = clock.now()
    # Our headers win over the target's: a job must not forge headers that a receiver checks.
    ours = {
        "Idempotency-Key": header_text(run.idempotency_key),
        "Sexton-Job-Id": run.job_id,
        "Sexton-Run-Id": run.run_id,
        "Sexton-Attempt": str(run.attempt),
        "Sexton-Scheduled-At": clock.iso(run.scheduled_at),
        "Sexton-Trigger": str(run.trigger),
        "Sexton-Missed": "true" if run.missed else "false",
        **signature_headers(run.run_id, int(now.timestamp()), body, keys),
    }
    taken = {TOKEN_HEADER.lower(), *(name.lower() for name in ours)}
    given = {name: value for name, value in target.headers.items() if name.lower() not in taken}
    if body and "content-type" not in {name.lower() for name in given}:
        given["Content-Type"] = "application/json"
    return {**given, **ours}


def signature_headers(message: str, timestamp: int, body: bytes, keys: Sequence[bytes]) -> dict[str, str]:
    """The headers of Standard Webhooks: every attempt has the same id, and its own time."""
    signed = f"{message}.{timestamp}.".encode() + body
    signatures = (base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)
    listed = " ".join(f"v1,{signature}" for signature in signatures)
    return dict(zip(SIGNATURE, (message, str(timestamp), listed), strict=True))


def judge(target: HttpTarget, reply: Reply) -> Outcome:
    """The outcome of an attempt with this answer."""
    status = reply.status
    if status in target.success_codes if target.success_codes else 200 <= status < 300:
        return Success(captured(target, reply))
    hint = " (redirects are not followed)" if 300 <= status < 400 and not target.redirects else ""
    text = reply.body[:ERROR_BYTES].decode("utf-8", "replace")
    error = f"HTTP {status}{hint}" + (f": {clean(text, ERROR_BYTES)}" if text else "")
    permanent = 400 <= status < 500 and status not in RETRYABLE
    wait = None if permanent else seconds_to_wait(reply.headers.get("Retry-After"))
    return Failure(error, permanent=permanent, retry_after=wait)


def captured(target: HttpTarget, reply: Reply) -> dict[str, Any]:
    """The result of a run, from its answer."""
    kept: dict[str, Any] = {"status": reply.status}
    headers = {
        name.lower(): clean(", ".join(reply.headers.getall(name)), 2000)
        for name in target.capture_headers
        if name in reply.headers
    }
    if headers:
        kept["headers"] = headers
    if target.capture:
        most = target.capture_bytes
        kept["body"] = clean(reply.body[:most].decode("utf-8", "replace"), most)
        if reply.truncated or len(reply.body) > most:
            kept["truncated"] = True
    return kept


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


def header_text(text: str) -> str:
    """A text as the value of a header: keys come from templates and payloads, and may hold any character."""
    return "".join(char if " " <= char <= "~" else "?" for char in text)
