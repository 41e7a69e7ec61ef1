"""E-mail by SMTP: keeps a few connections, and shares the messages of a batch among them."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any

import aiosmtplib
import msgspec
from msgspec import Meta

from sexton.config import Settings
from sexton.connections.guard import Guard
from sexton.connections.smtp import SmtpAddress
from sexton.errors import InvalidField, SextonError
from sexton.notifications.channels.base import (
    SECRET_KIND,
    ChannelProvider,
    Failed,
    Outgoing,
    ProviderServices,
    Rejected,
    SendResult,
)
from sexton.notifications.channels.mime import MailSender, ascii_address, is_address, mail_bytes
from sexton.notifications.channels.smtp_connection import Mail, MailConnection
from sexton.refusal import about
from sexton.security.placeholder import PLACEHOLDER, secret_names

log = logging.getLogger("sexton")

CONNECTIONS = 8
# One more connection is opened for each of this many waiting messages.
MESSAGES_EACH = 4
IDLE_SECONDS = 20.0
# The most connections that are tried for a message, if they break before its content.
MOST_TRIES = 3
CANNOT_CONNECT = (OSError, TimeoutError, ValueError, SextonError, aiosmtplib.SMTPException)


class SmtpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mail server, and from whom mail comes."""

    url: Annotated[
        str,
        about(
            "smtp://host:port, or smtps:// for TLS from the start; user and password before the host, "
            "the password as ${secret:name}."
        ),
    ]
    sender: Annotated[
        str, Meta(max_length=320, description="The sender of mail: Shop <hello@shop.example.com>.")
    ]
    reply_to: Annotated[str | None, about("The address for answers, if not the sender.")] = None
    bounces_to: Annotated[
        str | None, about("The envelope sender, where servers report what could not be delivered.")
    ] = None

    def __post_init__(self) -> None:
        check_config(self)


class InstallationSmtpConfig(SmtpConfig, frozen=True, kw_only=True):
    """The configuration of the setting `smtp_url`: it may use any host, and has the password in clear."""

    def __post_init__(self) -> None:
        """The settings were checked."""


def check_config(config: SmtpConfig) -> None:
    """Raises `InvalidField`, which names the field."""
    names = secret_names(config.url, "config.url")
    address = SmtpAddress.read(PLACEHOLDER.sub("secret", config.url), field="config.url")
    if address.password is not None and not names:
        raise InvalidField(
            "secret_in_clear",
            "config.url has a password in clear",
            field="config.url",
            hint="store it with sexton secret set NAME, and write smtp://user:${secret:NAME}@host",
        )
    MailSender.read(config.sender, field="config.sender", reply_to=config.reply_to)
    if config.bounces_to is not None and not is_address(config.bounces_to):
        raise InvalidField(
            "bad_address",
            f"{config.bounces_to!r} is not an e-mail address",
            field="config.bounces_to",
            hint="write bounces@example.com",
        )


def installation_configs(settings: Settings) -> list[SmtpConfig]:
    """The mail servers of the setting `smtp_url`."""
    found: list[SmtpConfig] = []
    for url in settings.smtp_addresses():
        user = SmtpAddress.read(url, field="smtp_url").user
        own = user if user and is_address(user) else f"sexton@{_host_name()}"
        found.append(InstallationSmtpConfig(url=url, sender=settings.mail_from or own))
    return found


class SmtpProvider(ChannelProvider):
    channels = frozenset({"email"})
    config = SmtpConfig
    deduplicates = False

    def __init__(self, config: SmtpConfig, services: ProviderServices) -> None:
        super().__init__(config, services)
        self._config = config
        self._sender = MailSender.read(config.sender, field="sender", reply_to=config.reply_to)
        self._most = services.concurrency or CONNECTIONS
        self._slots = asyncio.Semaphore(self._most)
        self._idle: deque[MailConnection] = deque()
        self._closed = False

    async def send(self, batch: Sequence[Outgoing]) -> Sequence[SendResult]:
        post = _Post(self, batch)
        workers = min(self._most, max(1, -(-len(batch) // MESSAGES_EACH)))
        await asyncio.gather(*(post.work() for _ in range(workers)))
        return post.results()

    async def check(self) -> str | None:
        async with self._slots:
            try:
                connection = await self.connect()
            except CANNOT_CONNECT as error:
                raise SextonError("provider_unreachable", _connect_failure(error).reason) from error
            await connection.check()
            self.keep(connection)
        how = "with pipelining" if connection.pipelining else "without pipelining"
        return f"the mail server answers, {how}"

    async def close(self) -> None:
        self._closed = True
        idle, self._idle = list(self._idle), deque()
        await asyncio.gather(*(each.quit() for each in idle))

    @property
    def slots(self) -> asyncio.Semaphore:
        return self._slots

    @property
    def sender(self) -> MailSender:
        return self._sender

    @property
    def envelope_sender(self) -> str:
        return self._config.bounces_to or self._sender.address

    async def connect(self) -> MailConnection:
        """A kept connection, or a new one."""
        while self._idle:
            connection = self._idle.pop()
            if connection.timer is not None:
                connection.timer.cancel()
            if connection.usable:
                return connection
            connection.abort()
        address, guard = await self._address()
        return await MailConnection.open(address, guard, name=_host_name())

    def keep(self, connection: MailConnection) -> None:
        if self._closed or not connection.usable:
            connection.abort()
            return
        self._idle.append(connection)
        connection.timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._let_go, connection)

    def _let_go(self, connection: MailConnection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)
        connection.abort()

    async def _address(self) -> tuple[SmtpAddress, Guard]:
        if isinstance(self._config, InstallationSmtpConfig):
            return SmtpAddress.read(self._config.url, field="smtp_url"), Guard(private=True)
        url = await self.services.secrets.address(
            self._config.url, SECRET_KIND, namespace=self.services.namespace, encode=True
        )
        guard, address = self.services.outbound.guard, SmtpAddress.read(url, field="config.url")
        for path in filter(None, (address.ca, address.cert, address.key)):
            guard.check_file(path, "config.url")
        return address, guard


class _Post:
    """Shares the messages of a batch among connections."""

    def __init__(self, provider: SmtpProvider, batch: Sequence[Outgoing]) -> None:
        self._provider = provider
        self._batch = batch
        self._waiting: deque[int] = deque(range(len(batch)))
        self._results: list[SendResult | None] = [None] * len(batch)
        self._tries: dict[int, int] = {}
        self._connection: MailConnection | None = None

    async def work(self) -> None:
        """Send on one connection after another, until no message waits or no connection can be opened."""
        while self._waiting:
            async with self._provider.slots:
                if not self._waiting:
                    return
                try:
                    connection = await self._provider.connect()
                except CANNOT_CONNECT as error:
                    self._give_up(_connect_failure(error))
                    return
                try:
                    await connection.send(lambda: self._take(connection), self._done, self._back)  # noqa: B023
                except OSError as error:
                    log.debug("a connection to a mail server broke: %s", error)
                else:
                    self._provider.keep(connection)

    def results(self) -> list[SendResult]:
        return [each or Failed("it was not tried") for each in self._results]

    def _take(self, connection: MailConnection) -> Mail | None:
        while self._waiting:
            place = self._waiting.popleft()
            made = self._mail(place, connection)
            if isinstance(made, Mail):
                return made
            self._results[place] = made
        return None

    def _mail(self, place: int, connection: MailConnection) -> Mail | SendResult:
        message, provider = self._batch[place], self._provider
        if not isinstance(message.address, str) or not is_address(message.address):
            return Rejected(f"{message.address!r} is not an e-mail address", code="5.1.3", gone=True)
        recipient = ascii_address(message.address)
        options = b""
        if recipient is None:
            if not connection.utf8:
                reason = f"the mail server cannot send to {message.address}: it does not know SMTPUTF8"
                return Rejected(reason, code="5.6.7")
            recipient, options = message.address, b" SMTPUTF8"
        content = mail_bytes(message, provider.sender, eight_bit=connection.eight_bit)
        if connection.largest and len(content) > connection.largest:
            reason = f"the message has {len(content):,} bytes, the mail server takes {connection.largest:,}"
            return Rejected(reason, code="5.3.4")
        if not content.isascii():
            options = b" BODY=8BITMIME" + options
        sender = ascii_address(provider.envelope_sender) or provider.envelope_sender
        return Mail(place, sender.encode(), recipient.encode(), content, options)

    def _done(self, mail: Mail, result: SendResult) -> None:
        self._results[mail.place] = result

    def _back(self, mail: Mail, why: str) -> None:
        """The message was not sent: try it on another connection, a few times."""
        tries = self._tries[mail.place] = self._tries.get(mail.place, 0) + 1
        if tries >= MOST_TRIES:
            self._results[mail.place] = Failed(
                f"the connection broke {tries} times before the message: {why}"
            )
        else:
            self._waiting.appendleft(mail.place)

    def _give_up(self, failed: Failed) -> None:
        """Without a connection, all waiting messages have failed."""
        while self._waiting:
            self._results[self._waiting.popleft()] = failed


def _connect_failure(error: Exception) -> Failed:
    code: Any = getattr(error, "code", None)
    words = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
    return Failed(
        f"the mail server: {' '.join(words.split())[:500]}", code=None if code is None else str(code)
    )


def _host_name() -> str:
    """Our name for EHLO. It is not resolved: a slow name server must not delay mail."""
    name = socket.gethostname()
    return name if name.isascii() and name.replace("-", "").replace(".", "").isalnum() else "localhost"
