"""A real mail server in the loop of the test (aiosmtpd), and one that breaks off where a test wants it to."""

from __future__ import annotations

import asyncio
import contextlib
import email
import email.policy
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

USER, PASSWORD = "shop", "p@ss:w/rd"


@dataclass
class MailServer:
    """Remembers what it was sent. `refuse` answers RCPT instead, by address; `judge` the message."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    envelopes: list[Any] = field(default_factory=list)
    sessions: list[Any] = field(default_factory=list)
    refuse: dict[str, str] = field(default_factory=dict)
    judge: Callable[[EmailMessage], str] = field(default=lambda _: "250 2.0.0 Ok: queued as 4F2A1")
    pipelining: bool = True

    async def handle_EHLO(  # noqa: N802 - aiosmtpd calls it so
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        self.sessions.append(session)
        return [responses[0], "250-PIPELINING", *responses[1:]] if self.pipelining else responses

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if address in self.refuse:
            return self.refuse[address]
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        assert isinstance(mail, EmailMessage)
        answer = self.judge(mail)
        if answer.startswith("2"):
            self.mails.append(mail)
            self.envelopes.append(envelope)
        return answer

    def authenticate(
        self, server: Any, session: Any, envelope: Any, mechanism: str, given: Any
    ) -> AuthResult:
        right = isinstance(given, LoginPassword) and (given.login, given.password) == (
            USER.encode(),
            PASSWORD.encode(),
        )
        return AuthResult(success=right, handled=right)


@asynccontextmanager
async def mail_server(
    *, tls: ssl.SSLContext | None = None, starttls: ssl.SSLContext | None = None, auth: bool = False
) -> AsyncIterator[MailServer]:
    found = MailServer()
    loop = asyncio.get_running_loop()
    transports: list[asyncio.BaseTransport] = []

    class Server(SMTP):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            transports.append(transport)
            super().connection_made(transport)

    def make() -> SMTP:
        return Server(
            found,
            loop=loop,
            hostname="mail.test",
            enable_SMTPUTF8=True,
            tls_context=starttls,
            require_starttls=False,
            authenticator=found.authenticate if auth else None,
            auth_required=auth,
            auth_require_tls=tls is None and starttls is not None,
        )

    server = await loop.create_server(make, "127.0.0.1", 0, ssl=tls)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for transport in transports:
            if isinstance(transport, asyncio.Transport):
                transport.abort()
        await server.wait_closed()
        # What aiosmtpd still does with the connections ends in this loop.
        others = [each for each in asyncio.all_tasks() if "_handle_client" in repr(each)]
        for each in others:
            each.cancel()
        if others:
            await asyncio.wait(others)


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[int]:
    """A port where the script says what becomes of each connection."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            await script(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    for writer in writers:
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def greet(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, pipelining: bool = True
) -> None:
    """The beginning of every session."""
    writer.write(b"220 mail.test\r\n")
    await reader.readline()
    writer.write(b"250-mail.test\r\n" + (b"250-PIPELINING\r\n" * pipelining) + b"250 8BITMIME\r\n")


async def envelope(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """MAIL, RCPT and DATA, accepted; who the mail is for."""
    await reader.readline()
    writer.write(b"250 Ok\r\n")
    recipient = (await reader.readline()).decode()
    writer.write(b"250 Ok\r\n")
    await reader.readline()
    writer.write(b"354 Go on\r\n")
    return recipient.partition("<")[2].partition(">")[0]


async def content(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n.\r\n")
