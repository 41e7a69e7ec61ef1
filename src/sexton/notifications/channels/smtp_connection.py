"""A connection to a mail server that sends many messages one after the other.

aiosmtplib connects, encrypts and logs in. Then this module uses the connection directly: if the server offers
PIPELINING (RFC 2920), the envelope of the next message is sent with the content of this one, so a message
takes one round trip instead of four.

The result of a message is unclear only if the connection breaks between the first byte of its content and the
reply to its end. The next message, whose envelope was sent with it, was then not sent and is given back.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import aiosmtplib

from sexton import clock
from sexton.connections.guard import Guard
from sexton.connections.smtp import SmtpAddress
from sexton.connections.tls import make_context
from sexton.notifications.channels.base import Accepted, SendResult, Unclear
from sexton.notifications.channels.bounce import refusal
from sexton.notifications.channels.mime import dotted

CONNECT_SECONDS = 15.0
CONTEXT_SECONDS = 60.0
COMMAND_SECONDS = 60.0
# A server may scan the message before it replies.
CONTENT_SECONDS = 300.0
LARGEST_REPLY = 64 * 1024
CLOSING = 421
GO_ON = 354


class ConnectionLost(ConnectionError):
    """The server closed the connection, or announced that it will."""


@dataclass(slots=True)
class Mail:
    """A message for the wire. `place` is for the caller."""

    place: int
    sender: bytes
    recipient: bytes
    content: bytes
    #: The parameters after MAIL FROM:<…>, such as BODY=8BITMIME.
    options: bytes = b""
    #: How often it was given back.
    tries: int = 0

    @property
    def envelope(self) -> tuple[bytes, bytes, bytes]:
        return (
            b"MAIL FROM:<%b>%b\r\n" % (self.sender, self.options),
            b"RCPT TO:<%b>\r\n" % self.recipient,
            b"DATA\r\n",
        )


class Replies(asyncio.Protocol):
    """The replies of a server, in the order of the commands."""

    def __init__(self) -> None:
        self.lost: Exception | None = None
        self._buffer = bytearray()
        self._lines: list[str] = []
        self._replies: deque[tuple[int, str]] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = self._buffer[:end].rstrip(b"\r")
            del self._buffer[: end + 1]
            self._line(line.decode("utf-8", "replace"))
        if len(self._buffer) > LARGEST_REPLY or len(self._lines) > LARGEST_REPLY // 64:
            self._end(ConnectionLost("its reply is too long"))
        self._wake()

    def eof_received(self) -> bool:
        self._end(ConnectionLost("the server closed the connection"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(ConnectionLost(f"the connection was lost: {exc}" if exc else "the connection was closed"))

    async def next(self) -> tuple[int, str]:
        """Code and text. Raises `ConnectionLost`."""
        while not self._replies:
            if self.lost is not None:
                raise self.lost
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._replies.popleft()

    def _line(self, line: str) -> None:
        if not line[:3].isdigit() or len(line) < 3:
            self._end(ConnectionLost(f"the answer is not SMTP: {line[:100]!r}"))
            return
        self._lines.append(line[4:])
        if line[3:4] != "-":
            self._replies.append((int(line[:3]), "\n".join(self._lines)))
            self._lines = []

    def _end(self, why: Exception) -> None:
        self.lost = self.lost or why
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class MailConnection:
    """One connection. It can `send` any number of messages."""

    def __init__(self, transport: asyncio.Transport, extensions: dict[str, str]) -> None:
        self._transport = transport
        self._replies = Replies()
        self.pipelining = "pipelining" in extensions
        self.eight_bit = "8bitmime" in extensions
        self.utf8 = "smtputf8" in extensions
        size = extensions.get("size", "")
        self.largest = int(size) if size.isdigit() else 0
        self.timer: asyncio.TimerHandle | None = None
        transport.set_protocol(self._replies)

    @classmethod
    async def open(cls, address: SmtpAddress, guard: Guard, *, name: str) -> MailConnection:
        """Connect to a checked address, and log in. `name` is our name for EHLO."""
        async with asyncio.timeout(CONNECT_SECONDS):
            peer = await _dial(address, guard)
            client = aiosmtplib.SMTP(
                hostname=address.host,
                sock=peer,
                local_hostname=name,
                use_tls=address.tls,
                start_tls=False,
                tls_context=_context(address) if address.tls else None,
                timeout=CONNECT_SECONDS,
            )
            try:
                await client.connect()
                await client.ehlo()
                await _encrypt(client, address)
                await _sign_in(client, address)
                transport: Any = client.protocol.transport if client.protocol else None
                if transport is None or transport.is_closing():
                    raise ConnectionLost("the server closed the connection")
                return cls(transport, dict(client.esmtp_extensions))
            except BaseException:
                # The transport, once it exists, owns the socket.
                transport = client.transport
                client.close()
                if transport is None:
                    peer.close()
                else:
                    transport.abort()
                raise

    @property
    def usable(self) -> bool:
        return self._replies.lost is None and not self._transport.is_closing()

    async def send(
        self,
        take: Callable[[], Mail | None],
        done: Callable[[Mail, SendResult], None],
        back: Callable[[Mail, str], None],
    ) -> None:
        """Send the messages that `take` returns until it returns None. Calls `done` with each result, and
        `back` with a message that was not sent because the connection broke; then raises `ConnectionLost`."""
        mail = take()
        if mail is not None:
            self._write_envelope(mail)
        while mail is not None:
            # The state of this message and the next one, for the case that the connection breaks.
            following: Mail | None = None
            begun = False
            try:
                async with asyncio.timeout(COMMAND_SECONDS):
                    refused, goes_on = await self._envelope_replies(mail)
                if refused is None:
                    following = take()
                    begun = True
                    result = await self._send_content(mail, following)
                else:
                    if goes_on:
                        # The server expects a message although no recipient is left: send an empty one.
                        self._transport.write(b".\r\n")
                    else:
                        self._transport.write(b"RSET\r\n")
                    async with asyncio.timeout(COMMAND_SECONDS):
                        await self._next()
                    following, result = take(), refused
                    if following is not None:
                        self._write_envelope(following)
            except (TimeoutError, OSError) as error:
                self.abort()
                why = str(error) or "no reply in time"
                if following is not None:
                    back(following, why)
                if begun:
                    done(mail, Unclear(f"the connection broke before the message was confirmed: {why}"))
                else:
                    back(mail, why)
                raise ConnectionLost(why) from error
            except BaseException:
                self.abort()
                raise
            done(mail, result)
            mail = following

    async def quit(self) -> None:
        """Send QUIT, and close the connection."""
        if self.usable:
            self._transport.write(b"QUIT\r\n")
            try:
                async with asyncio.timeout(2):
                    await self._replies.next()
            except (TimeoutError, OSError):
                pass
        self.abort()

    async def check(self) -> None:
        """Raise if the server does not reply to NOOP."""
        self._transport.write(b"NOOP\r\n")
        async with asyncio.timeout(COMMAND_SECONDS):
            await self._next()

    def abort(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if not self._transport.is_closing():
            self._transport.abort()

    def _write_envelope(self, mail: Mail) -> None:
        """Write the whole envelope with pipelining, else its first command."""
        envelope = mail.envelope
        self._transport.write(b"".join(envelope) if self.pipelining else envelope[0])

    async def _envelope_replies(self, mail: Mail) -> tuple[SendResult | None, bool]:
        """The refusal of the envelope, if any, and whether the server waits for content."""
        refused: SendResult | None = None
        for number, command in enumerate(("MAIL", "RCPT", "DATA")):
            if number and not self.pipelining:
                if refused is not None:
                    return refused, False
                self._transport.write(mail.envelope[number])
            code, text = await self._next()
            if command == "DATA" and code == GO_ON:
                return refused, True
            if not 200 <= code < 300 or command == "DATA":
                refused = refused or refusal(code, text, command)
        return refused, False

    async def _send_content(self, mail: Mail, following: Mail | None) -> SendResult:
        content = dotted(mail.content)
        if following is not None:
            envelope = following.envelope
            content += b"".join(envelope) if self.pipelining else b""
        self._transport.write(content)
        async with asyncio.timeout(CONTENT_SECONDS):
            code, text = await self._replies.next()
        if 200 <= code < 300:
            if following is not None and not self.pipelining:
                self._transport.write(following.envelope[0])
            return Accepted()
        if code == CLOSING:
            # This message was certainly not accepted; the next one finds the connection closed.
            return refusal(code, text, "the message")
        if following is not None and not self.pipelining:
            self._transport.write(following.envelope[0])
        return refusal(code, text, "the message")

    async def _next(self) -> tuple[int, str]:
        code, text = await self._replies.next()
        if code == CLOSING:
            raise ConnectionLost(f"421 {text}")
        return code, text


async def _dial(address: SmtpAddress, guard: Guard) -> socket.socket:
    """Connect a socket to an address that the guard has checked."""
    loop = asyncio.get_running_loop()
    failed: OSError = OSError(f"{address.host} has no address")
    for found in await guard.resolve(address.host, address.port):
        family = socket.AF_INET6 if ":" in found else socket.AF_INET
        peer = socket.socket(family, socket.SOCK_STREAM)
        peer.setblocking(False)
        try:
            await loop.sock_connect(peer, (found, address.port))
        except OSError as error:
            peer.close()
            failed = error
        except BaseException:
            peer.close()
            raise
        else:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return peer
    raise failed


def _context(address: SmtpAddress) -> ssl.SSLContext:
    return _made_context(address.ca, address.cert, address.key, int(clock.monotonic() / CONTEXT_SECONDS))


@lru_cache(maxsize=100)
def _made_context(ca: str | None, cert: str | None, key: str | None, _minute: int) -> ssl.SSLContext:
    """A cached TLS context: reading the system's certificates takes longer than a hundred messages. After a
    minute the files are read again."""
    return make_context(ca, cert, key)


async def _encrypt(client: aiosmtplib.SMTP, address: SmtpAddress) -> None:
    if address.tls or address.starttls == "never":
        return
    if client.supports_extension("starttls"):
        await client.starttls(tls_context=_context(address))
        await client.ehlo()
    elif address.starttls == "required":
        raise ConnectionLost(
            "the server does not offer STARTTLS, without which the password would be readable on its way; "
            "if that does not matter, add ?starttls=never to the address"
        )


async def _sign_in(client: aiosmtplib.SMTP, address: SmtpAddress) -> None:
    # A server that does not offer AUTH needs no password.
    if address.user is not None and client.supports_extension("auth"):
        await client.login(address.user, address.password or "")
