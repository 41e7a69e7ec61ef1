"""etcd: one lease per node, one key per shard bound to it. When the lease ends, all its keys are gone.

A transaction puts a key if it is absent; every renewal keeps the lease alive. etcd counts leases in whole
seconds, decides itself how long they are, and looks for ended ones twice a second.
"""

from __future__ import annotations

import contextlib
import math
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import aetcd
from aetcd import rpc
from grpc import ssl_channel_credentials  # type: ignore[import-untyped]

from sexton import clock
from sexton.connections.address import Address
from sexton.connections.tls import context_of, files_of
from sexton.engine.cluster.electors.base import FIELD, Elector, View, patience, unreachable
from sexton.engine.cluster.lease import trusted_until
from sexton.errors import InvalidField

# etcd refuses transactions of more than 128 operations.
TOGETHER = 64


class EtcdElector(Elector):
    """Keys `sexton/cluster/shard/N`. Of several addresses, another one is tried after a failure."""

    name = "etcd"

    def __init__(self, url: str, *, lease_seconds: float) -> None:
        super().__init__()
        self._address = Address.read(url, field=FIELD)
        if self._address.user is not None and self._address.password is None:
            raise InvalidField(
                "bad_elector",
                "the address of the etcd has a user, but no password",
                field=FIELD,
                hint=f"write {self._address.scheme}://user:password@host:2379",
            )
        context_of(self._address, FIELD)
        self._hosts = list(self._address.hosts)
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
        self.trusted_until = trusted_until(before, self._lease.ttl)
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
        """For every shard: carry out the action on its key if the condition is true; returns whether it was.
        One round trip."""
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
            self._hosts.append(self._hosts.pop(0))
            raise unreachable(self.name, error, self._address) from error

    def _connected(self) -> aetcd.Client:
        if self._client is None:
            make = partial(_Encrypted, address=self._address) if self._address.tls else aetcd.Client
            host, port = self._hosts[0]
            self._client = make(
                host,
                port,
                username=self._address.user,
                password=self._address.password,
                timeout=patience(self._lease_seconds),
            )
        return self._client

    async def _disconnect(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with contextlib.suppress(aetcd.ClientError, OSError):  # the client is not needed any more
                await client.close()


class _Encrypted(aetcd.Client):  # type: ignore[misc]
    """The library has no TLS, but can be given a channel that has it."""

    def __init__(self, host: str, port: int, address: Address, **options: Any) -> None:
        super().__init__(host, port, **options)
        self._address = address

    async def connect(self) -> None:
        if self._connected.is_set():
            return
        ca, cert, key = files_of(self._address, FIELD)
        if cert is not None and key is None:
            key = cert  # the file may hold both
        credentials = ssl_channel_credentials(ca, key, cert)
        self.channel = rpc.secure_channel(f"{self._host}:{self._port}", credentials)
        if self._username is not None:
            request = rpc.AuthenticateRequest(name=self._username, password=self._password)
            answer = await rpc.AuthStub(self.channel).Authenticate(request, timeout=self._timeout)
            self.metadata = (("token", answer.token),)
        self.kvstub = rpc.KVStub(self.channel)
        self.leasestub = rpc.LeaseStub(self.channel)
        self._connected.set()


def _parts(shards: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(shards)
    while part := list(islice(rest, TOGETHER)):
        yield part
