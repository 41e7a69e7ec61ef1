"""A NATS client for an address. A user without a password is a token."""

from __future__ import annotations

from typing import Any

from nats import errors
from nats.aio.client import Client

from sexton.connections.address import Address
from sexton.connections.tls import context_of


class Encrypted(Client):
    """The library encrypts if the server asks for it. This one says nothing to a server that does not."""

    def _connect_command(self) -> bytes:
        if not self._server_info.get("tls_required"):
            raise errors.Error("the server does not ask for TLS, so the password was not sent")
        return super()._connect_command()


async def nats_client(address: Address, *, field: str, seconds: float, **options: Any) -> Client:
    """Connected, and never again once the connection is lost. Raises `ConnectionError` with what went wrong
    at each of the servers, or `InvalidField`."""
    troubles: list[Exception] = []

    async def note(error: Exception) -> None:
        troubles.append(error)

    context = context_of(address, field)
    if context is not None:
        options["tls"] = context
    if address.password is not None:
        options |= {"user": address.user or "", "password": address.password}
    elif address.user is not None:
        options["token"] = address.user
    client = Encrypted() if context is not None else Client()
    try:
        await client.connect(
            [f"{address.scheme}://{server}" for server in address.servers],
            allow_reconnect=False,
            connect_timeout=int(seconds),
            error_cb=note,
            **options,
        )
    except (errors.Error, OSError, TimeoutError) as error:
        said = dict.fromkeys(str(each) or type(each).__name__ for each in (*troubles, error))
        raise ConnectionError("; ".join(said)) from error
    return client
