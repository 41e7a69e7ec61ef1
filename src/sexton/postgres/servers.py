"""Connecting to the primary: the one server of an address that can be written to.

An address may name several servers. After a switchover another server is the primary, and the old one answers
again, but read-only; a single name may lead to the old server for a while, too. Sexton cannot work there: it
can neither renew a lease nor fire. So every new connection first asks whether it can write; if it cannot,
Sexton tries the next server. If a connection becomes read-only later, its owner drops it like a lost one.

A machine that is gone sends nothing. Two things end the wait for its answer: when the primary is found on
another server, Sexton ends the connections to the other servers; and the system ends a connection whose
packets are not acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import asyncpg

from sexton.connections.postgres import PostgresHost, read_hosts

# Errors that waiting does not cure: an invalid address, a wrong password, a missing database.
HOPELESS = (
    asyncpg.ClientConfigurationError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)

# The connection is lost, or was not made; or it does not lead to the primary.
LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # it was cut off while a statement was being sent
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TargetServerAttributeNotMatched,
)


# How long a server may take to answer before the next one is tried as well.
PATIENCE_SECONDS = 0.5

# The system ends a connection whose packets are not acknowledged for this long, and probes an idle one. A
# statement may take as long as it needs.
UNACKNOWLEDGED_SECONDS = 10
TCP_OPTIONS = {
    "TCP_KEEPIDLE": 5,
    "TCP_KEEPINTVL": 2,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": UNACKNOWLEDGED_SECONDS * 1000,
}

# A connection of a pool that was not used for so long is closed.
IDLE_SECONDS = 600


class NotPrimaryError(ConnectionError):
    """The server cannot be written to, or none of the servers can."""


class Servers:
    """The servers of an address. `primary`: connect only to the server that can be written to."""

    def __init__(self, url: str, *, primary: bool = True) -> None:
        self._url = url
        self._primary = primary
        # One server is left to asyncpg, with the variables of the environment.
        named = read_hosts(url)
        self._hosts: list[PostgresHost | None] = [*named] if len(named) > 1 else [None]
        # The one that was found last is tried first.
        self._first = 0
        # By connection: the place of its server, and its event loop. A worker's heartbeat has its own loop.
        self._made: WeakKeyDictionary[Any, tuple[int, asyncio.AbstractEventLoop]] = WeakKeyDictionary()
        self._making = threading.Lock()

    async def connect(
        self, _url: str | None = None, *, timeout: float, **options: Any
    ) -> asyncpg.Connection[asyncpg.Record]:
        """Try the server that was the primary last, and the next one if it fails or answers slowly: a machine
        that is gone never answers. (A pool passes the address too.)"""
        count = len(self._hosts)
        places = [(self._first + step) % count for step in range(count)]
        trying: dict[asyncio.Task[asyncpg.Connection[asyncpg.Record]], int] = {}
        errors: dict[int, Exception] = {}
        try:
            async with asyncio.timeout(timeout):
                while len(errors) < count:
                    if places:
                        place = places.pop(0)
                        attempt = self._connect(self._hosts[place], timeout, options)
                        trying[asyncio.create_task(attempt)] = place
                    await asyncio.wait(
                        trying,
                        timeout=PATIENCE_SECONDS if places else None,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                    for task in [task for task in trying if task.done()]:
                        place, error = trying.pop(task), task.exception()
                        if error is None:
                            self._found(place, task.result())
                            return task.result()
                        if not isinstance(error, (*LOST, *HOPELESS)):
                            raise error
                        errors[place] = error
        except TimeoutError as error:
            errors |= dict.fromkeys(trying.values(), error)
        finally:
            await _give_up(trying)
        raise self._worst(errors)

    async def pool(
        self, *, least: int, most: int, timeout: float, **options: Any
    ) -> asyncpg.Pool[asyncpg.Record]:
        """Connections that are kept, from `least` to `most`."""
        connect: Any = self.connect
        return await asyncpg.create_pool(
            self._url,
            connect=connect,
            min_size=least,
            max_size=most,
            timeout=timeout,
            max_inactive_connection_lifetime=IDLE_SECONDS,
            **options,
        )

    async def _connect(
        self, host: PostgresHost | None, seconds: float, options: dict[str, Any]
    ) -> asyncpg.Connection[asyncpg.Record]:
        place: dict[str, Any] = {} if host is None else {"host": host.name, "port": host.port}
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
            self._url, timeout=seconds, **place, **options
        )
        try:
            if self._primary:
                await require_writable(connection)
        except BaseException:
            connection.terminate()
            raise
        _watch_peer(connection)
        return connection

    def _found(self, place: int, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        """End the connections to other servers if the primary has moved: no answer of those counts."""
        with self._making:
            self._made[connection] = (place, asyncio.get_running_loop())
            moved, self._first = self._first != place, place
            old = [(each, loop) for each, (at, loop) in self._made.items() if at != place]
        for each, loop in old if moved and self._primary else ():
            with contextlib.suppress(RuntimeError):  # its event loop is closed
                loop.call_soon_threadsafe(each.terminate)

    def _worst(self, errors: Mapping[int, Exception]) -> Exception:
        """The error to raise for all of them: one that waiting does not cure, if there is one."""
        for error in errors.values():
            if isinstance(error, HOPELESS) or len(errors) == 1:
                return error
        told = (f"{self._hosts[place]}: {reason(error)}" for place, error in errors.items())
        return NotPrimaryError("; ".join(told))


async def require_writable(connection: asyncpg.Connection[asyncpg.Record] | Any) -> None:
    """A replica, and a server that was made read-only, are not the primary."""
    if await connection.fetchval("show transaction_read_only") == "on":
        raise NotPrimaryError("it is read-only, so it is not the primary")


async def _give_up(trying: Iterable[asyncio.Task[asyncpg.Connection[asyncpg.Record]]]) -> None:
    """Cancel attempts that are not needed any more, and end connections that they have made by now."""
    for task in trying:
        task.cancel()
    for made in await asyncio.gather(*trying, return_exceptions=True):
        if not isinstance(made, BaseException):
            made.terminate()


def _watch_peer(connection: Any) -> None:
    """Let the system notice that the machine at the other end is gone."""
    peer = connection._transport.get_extra_info("socket")
    if peer is None or peer.family == getattr(socket, "AF_UNIX", None):
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in TCP_OPTIONS.items():
        if hasattr(socket, name):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def reason(error: BaseException) -> str:
    """The first line of what an error says."""
    if isinstance(error, TimeoutError) and not str(error):
        return "no answer in time"
    return (str(error) or type(error).__name__).splitlines()[0]
