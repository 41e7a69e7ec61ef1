"""Slack, Discord, Teams, Telegram and a hundred more through Apprise.

Apprise makes its own requests. So it runs in a separate process, whose sockets the guard checks, which opens
no files, and which gets nothing but the messages (`apprise_process`): no setting or secret of this process is
in its environment, and no proxy, which would connect to addresses that the guard has not seen.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from sexton.errors import InvalidField, SextonError
from sexton.notifications.channels.base import (
    SECRET_KIND,
    Accepted,
    ChannelProvider,
    Failed,
    Outgoing,
    ProviderServices,
    Rejected,
    SendResult,
    Unclear,
)
from sexton.refusal import about
from sexton.security.binding import Use
from sexton.security.placeholder import PLACEHOLDER, secret_names

log = logging.getLogger("sexton")

PROCESS = "sexton.notifications.channels.apprise_process"
SECONDS = 60.0
LARGEST_LINE = 1024 * 1024
#: The variables that its process gets: where its code is, its language, whom it trusts.
INHERITED = (
    "PATH", "PYTHONPATH", "PYTHONHOME", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
)  # fmt: skip
#: Its HTTP client would send the logins of the user's ~/.netrc.
NO_LOGINS = {"NETRC": ""}
#: Services of Apprise that act on this machine.
LOCAL = frozenset(
    {
        "dbus",
        "gio",
        "gnome",
        "kde",
        "qt",
        "glib",
        "macosx",
        "windows",
        "syslog",
        "growl",
        "file",
        "memory",
        "blink1",
    }
)


class AppriseConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A service, as Apprise writes it."""

    url: Annotated[
        str | None,
        about(
            "The service, such as slack://${secret:slack}/#ops, secrets as ${secret:name}; "
            "null: the address of the recipient is one."
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.url is not None:
            secret_names(self.url, "config.url")
            check_service(PLACEHOLDER.sub("secret", self.url), "config.url")


class AppriseProvider(ChannelProvider):
    config = AppriseConfig

    def __init__(self, config: AppriseConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config
        self._lock = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        async with self._lock:  # one pipe, one conversation
            return [await self._send_one(message) for message in batch]

    async def check(self) -> str | None:
        async with self._lock:
            await self._open()
        return "Apprise is installed"

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()

    async def _send_one(self, message: Outgoing) -> SendResult:
        try:
            url = await self._url(message)
            process = await self._open()
        except InvalidField as error:
            return Rejected(str(error), code=error.code)
        except SextonError as error:
            return Failed(str(error), code=error.code)
        assert process.stdin is not None
        assert process.stdout is not None
        parts = message.parts
        question = {
            "url": url,
            "title": parts.get("title") or parts.get("subject") or "",
            "body": parts.get("body") or parts.get("text") or "",
        }
        try:
            async with asyncio.timeout(SECONDS):
                process.stdin.write(msgspec.json.encode(question) + b"\n")
                await process.stdin.drain()
                line = await process.stdout.readline()
            answer = msgspec.json.decode(line)
        except (OSError, TimeoutError, ValueError, msgspec.DecodeError) as error:
            await self.close()
            return Unclear(f"Apprise gave no answer: {str(error) or type(error).__name__}")
        except BaseException:
            await self.close()
            raise
        return _result(answer)

    async def _url(self, message: Outgoing) -> str:
        if self._config.url is None:
            return check_service(str(message.address), "address")
        # Only Apprise knows the host, so a secret that is bound to hosts is refused.
        use = Use(SECRET_KIND, (), self.services.namespace)
        return await self.services.secrets.reveal(self._config.url, use)

    async def _open(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        if find_spec("apprise") is None:
            raise SextonError(
                "not_installed",
                "the Python package apprise is not installed",
                hint="pip install 'sexton[apprise]'",
            )
        private = "private" if self.services.outbound.guard.private else "public"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", PROCESS, private,
            env={name: os.environ[name] for name in INHERITED if name in os.environ} | NO_LOGINS,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LARGEST_LINE,
        )  # fmt: skip
        return self._process


def check_service(url: str, field: str) -> str:
    """Refuse a text that is not the address of a service, and services that act on this machine."""
    scheme = urlsplit(url).scheme.lower() if "://" in url else ""
    if not scheme or scheme in LOCAL:
        raise InvalidField(
            "bad_address",
            f"{scheme}:// acts on this machine" if scheme else "this is not the address of a service",
            field=field,
            hint="write it as Apprise does, such as slack://…, discord://…, tgram://…",
        )
    return url


def _result(answer: Any) -> SendResult:
    match answer:
        case {"sent": True}:
            return Accepted()
        case {"refused": str(reason)}:
            return Rejected(reason[:500], code="bad_address")
        case {"failed": str(reason)}:
            return Failed(reason[:500])
    return Unclear("Apprise gave an answer that cannot be read")
