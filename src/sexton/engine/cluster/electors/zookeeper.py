"""ZooKeeper: one ephemeral node per shard, which lives as long as the session of its holder.

Threads of the client keep its session alive. While the connection is suspended, the elector trusts nothing
that it holds; when the session is lost, it has lost everything. A renewal makes its own round trip, so that a
process that was stopped does not trust a session that has ended meanwhile.

The threads go on when the rest of a process hangs. So a shard counts as held only together with the lease of
the node: the node that should lead next removes the nodes of an owner whose lease in PostgreSQL has ended.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Collection, Iterable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

from sexton import clock
from sexton.connections.address import Address
from sexton.engine.cluster.electors.base import FIELD, Elector, View, unreachable
from sexton.engine.cluster.lease import trusted_until
from sexton.errors import InvalidField


class ZooKeeperElector(Elector):
    """Nodes `/sexton/CLUSTER/N`, with the number of the holder as their data."""

    name = "zookeeper"

    def __init__(self, url: str, *, lease_seconds: float) -> None:
        super().__init__()
        address = Address.read(url, field=FIELD)
        if address.user is not None:
            raise InvalidField(
                "bad_elector",
                "the elector zookeeper takes no user yet",
                field=FIELD,
                hint="write zookeeper://host:2181,host:2181",
            )
        self._hosts = ",".join(address.servers) + address.path
        self._lease = lease_seconds
        self._root = ""
        self._ready = False
        self._losses = 0
        self._suspects: set[tuple[int, int]] = set()
        self._connected = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: KazooClient | None = None

    async def open(self, cluster: str) -> None:
        self._root = f"/sexton/{cluster}"

    async def renew(self, view: View) -> set[int]:
        before, losses = clock.monotonic(), self._losses
        client = await self._session()
        found = await self._all(client.exists_async(self._path(shard)) for shard in view.epochs)
        if self._losses != losses or not client.connected:
            raise unreachable(self.name, KazooException("the connection was lost"))
        self.trusted_until = trusted_until(before, self._lease)
        return {shard for shard, stat in zip(view.epochs, found, strict=True) if _is_own(client, stat)}

    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        client = await self._session()
        got = await self._create(client, shards, view)
        left = [shard for shard in shards if shard not in got]
        stale = await self._stale(client, left, view)
        await self._all((client.delete_async(self._path(shard)) for shard in stale), NoNodeError)
        return got | await self._create(client, stale, view)

    async def release(self, shards: Collection[int]) -> None:
        client = await self._session()
        paths = [self._path(shard) for shard in shards]
        found = await self._all(client.exists_async(path) for path in paths)
        ours = [path for path, stat in zip(paths, found, strict=True) if _is_own(client, stat)]
        await self._all((client.delete_async(path) for path in ours), NoNodeError)

    async def close(self) -> None:
        """Ending the session removes all its nodes."""
        self.trusted_until = -math.inf
        if self._client is not None:
            client, self._client = self._client, None
            self._connected.clear()
            self._ready = False
            await asyncio.to_thread(_stop, client)

    async def _create(self, client: KazooClient, shards: Collection[int], view: View) -> set[int]:
        data = str(view.node).encode()
        made = await self._all(
            (client.create_async(self._path(shard), data, ephemeral=True) for shard in shards),
            NodeExistsError,
        )
        return {shard for shard, path in zip(shards, made, strict=True) if path is not None}

    async def _stale(self, client: KazooClient, shards: list[int], view: View) -> list[int]:
        """Shards held by nodes whose lease in PostgreSQL has ended. A node may have joined since our last
        beat, so only a node that is missing from two beats counts."""
        found = await self._all((client.get_async(self._path(shard)) for shard in shards), NoNodeError)
        suspects = {
            (shard, int(answer[0]))
            for shard, answer in zip(shards, found, strict=True)
            if answer is not None and int(answer[0]) not in {*view.live, view.node}
        }
        stale = sorted(shard for shard, _ in suspects & self._suspects)
        self._suspects = suspects
        return stale

    async def _session(self) -> KazooClient:
        """A connected client; its threads connect again by themselves."""
        if self._client is None:
            self._loop = asyncio.get_running_loop()
            forever = KazooRetry(max_tries=-1, delay=0.1, backoff=2, max_delay=5.0)
            self._client = KazooClient(
                hosts=self._hosts, timeout=self._lease, connection_retry=forever, logger=_quiet()
            )
            self._client.add_listener(self._changed)
            self._client.start_async()
        await self._connected.wait()
        client = self._client
        if not self._ready:
            for path in ("/sexton", self._root):
                await self._all([client.create_async(path)], NodeExistsError)
            self._ready = True
        return client

    def _changed(self, state: str) -> None:
        """In a thread of the client."""
        assert self._loop is not None
        if state != KazooState.CONNECTED:
            self._losses += 1
            self.trusted_until = -math.inf
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._follow, state)

    def _follow(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._connected.set()
        else:
            self._connected.clear()
        if self._client is not None:
            self.on_lost()

    async def _all(self, calls: Iterable[Any], *expected: type[Exception]) -> list[Any]:
        """The answers to calls that run at the same time; None for a call that failed as expected."""
        answers = await asyncio.gather(*(_answer(call) for call in calls), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, (KazooException, KazooTimeoutError)) and not isinstance(answer, expected):
                raise unreachable(self.name, answer) from answer
            if isinstance(answer, BaseException) and not isinstance(answer, expected):
                raise answer
        return [None if isinstance(answer, expected) else answer for answer in answers]

    def _path(self, shard: int) -> str:
        return f"{self._root}/{shard}"


def _is_own(client: KazooClient, stat: Any) -> bool:
    """Whether a node is there, and belongs to this session."""
    return stat is not None and stat.ephemeralOwner == client.client_id[0]


def _answer(call: Any) -> asyncio.Future[Any]:
    """The answer of a thread of the client, for the event loop."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle() -> None:
        if future.done():
            return
        if call.exception is not None:
            future.set_exception(call.exception)
        else:
            future.set_result(call.value)

    def answered(_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle)

    call.rawlink(answered)
    return future


def _quiet() -> logging.Logger:
    """Silence the library: the guard logs a lost connection, once."""
    logger = logging.getLogger("sexton.kazoo")
    logger.setLevel(logging.CRITICAL)
    return logger


def _stop(client: KazooClient) -> None:
    client.stop()
    client.close()
