"""A NATS client for an address. A user without a password is a token."""

from __future__ import annotations

import random
from typing import Any

from nats import errors
from nats.aio.client import Client

from sexton.connections.address import Address
from sexton.connections.tls import context_of


class Encrypted(Client):
    """The library encrypts only if the server asks for it. This client sends no password to other servers."""

    def _connect_command(self) -> bytes:
        if not self._server_info.get("tls_required"):
            raise errors.Error("the server does not ask for TLS, so the password was not sent")
        return super()._connect_command()


async def nats_client(address: Address, *, field: str, seconds: float, **options: Any) -> Client:
    """A client that is connected to one of the servers. It does not reconnect. Raises `ConnectionError` with
    the error of each server, or `InvalidField`."""
    context = context_of(address, field)
    if context is not None:
        options["tls"] = context
    if address.password is not None:
        options |= {"user": address.user or "", "password": address.password}
    elif address.user is not None:
        options["token"] = address.user
    troubles: dict[str, None] = {}

    async def note(error: Exception) -> None:
        troubles.setdefault(str(error) or type(error).__name__)

    for server in random.sample(address.servers, len(address.servers)):
        client = Client() if context is None else Encrypted()
        try:
            await client.connect(
                f"{address.scheme}://{server}",
                allow_reconnect=False,
                connect_timeout=int(seconds),
                error_cb=note,
                **options,
            )
            return client
        except BaseException as error:
            transport: Any = client._transport
            if transport is not None:
                transport.close()  # the library leaves it open
            if not isinstance(error, errors.Error | OSError | TimeoutError):
                raise
            await note(error)
    raise ConnectionError("; ".join(troubles))
