"""etcd: one lease per node, one key per shard bound to it. When the lease ends, all its keys are gone.

A key is put if it is absent, in a transaction; the lease is kept alive by every renewal. etcd counts leases
in whole seconds, grants what it thinks right, and looks for those that ended twice a second.
"""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

import aetcd

from sexton import clock
from sexton.cluster.electors.base import MARGIN, Elector, View, patience, unreachable
from sexton.errors import InvalidField

PORT = 2379

# etcd refuses transactions of more than 128 operations.
TOGETHER = 64


class EtcdElector(Elector):
    """Keys `sexton/cluster/shard/N`. Of several addresses, another one is tried after a failure."""

    name = "etcd"

    def __init__(self, url: str, *, lease_seconds: float) -> None:
        super().__init__()
        self._user, self._password, self._addresses = _addresses(url)
        self._lease_seconds = lease_seconds
        self._prefix = ""
        self._holder = b""
        self._client: aetcd.Client | None = None
        self._lease: aetcd.Lease | None = None

    async def open(self, cluster: str) -> None:
        self._prefix = f"sexton/{cluster}/shard/"
        self._holder = secrets.token_hex(8).encode()

    async def renew(self, view: View) -> set[int]:
        before = clock.monotonic()
        if self._lease is not None:
            reply = await self._ask(self._connected().refresh_lease(self._lease.id))
            if reply is None or reply.TTL <= 0:
                self._lease = None  # it has ended, and its keys are gone
        if self._lease is None:
            self._lease = await self._ask(self._connected().lease(max(1, math.ceil(self._lease_seconds))))
        found = await self._ask(self._connected().get_lease_info(self._lease.id, keys=True))
        if found.TTL <= 0:
            self._lease = None
            return set()
        self.trusted_until = before + self._lease.ttl - MARGIN
        held = {int(key.decode().removeprefix(self._prefix)) for key in found.keys}
        return held & view.epochs.keys()

    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        if self._lease is None:
            return set()
        got: set[int] = set()
        for some in _parts(sorted(shards)):
            answers = await self._each(
                some, lambda tx, key: (tx.create(key) == 0, tx.put(key, self._holder, self._lease))
            )
            got.update(shard for shard, yes in zip(some, answers, strict=True) if yes)
        return got

    async def release(self, shards: Collection[int]) -> None:
        for some in _parts(sorted(shards)):
            await self._each(some, lambda tx, key: (tx.value(key) == self._holder, tx.delete(key)))

    async def close(self) -> None:
        self.trusted_until = -math.inf
        lease, self._lease = self._lease, None
        try:
            if lease is not None:
                await self._ask(self._connected().revoke_lease(lease.id))
        finally:
            await self._disconnect()

    async def _each(self, shards: list[int], make: Callable[[Any, bytes], tuple[Any, Any]]) -> list[bool]:
        """For every shard: if something holds for its key, do something; whether it did. One round trip."""
        client = self._connected()
        nested = []
        for shard in shards:
            condition, action = make(client.transactions, f"{self._prefix}{shard}".encode())
            nested.append(client.transactions.txn([condition], [action], []))
        _, answers = await self._ask(client.transaction([], nested, []))
        return [answer.response_txn.succeeded for answer in answers]

    async def _ask(self, call: Awaitable[Any]) -> Any:
        try:
            return await call
        except (aetcd.ClientError, OSError) as error:
            await self._disconnect()
            self._addresses.append(self._addresses.pop(0))
            raise unreachable(self.name, error) from error

    def _connected(self) -> aetcd.Client:
        if self._client is None:
            host, port = self._addresses[0]
            self._client = aetcd.Client(
                host,
                port,
                username=self._user,
                password=self._password,
                timeout=patience(self._lease_seconds),
            )
        return self._client

    async def _disconnect(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with contextlib.suppress(aetcd.ClientError, OSError):  # it is of no use any more
                await client.close()


def _addresses(url: str) -> tuple[str | None, str | None, list[tuple[str, int]]]:
    """etcd://user:password@host:port,host:port"""
    try:
        login, _, hosts = url.partition("://")[2].rstrip("/").rpartition("@")
        user, _, password = login.partition(":")
        parts = [urlsplit(f"//{host}") for host in hosts.split(",")]
        addresses = [(part.hostname or "", part.port or PORT) for part in parts]
    except ValueError:
        addresses = []
    if not addresses or not all(host for host, _ in addresses):
        raise InvalidField(
            "bad_elector", f"{url!r} is not the address of an etcd", field="elector", hint="etcd://host:2379"
        )
    return unquote(user) or None, unquote(password) or None, addresses


def _parts(shards: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(shards)
    while part := list(islice(rest, TOGETHER)):
        yield part
