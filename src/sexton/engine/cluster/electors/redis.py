"""Redis: one key per shard with the holder as its value, which ends by itself unless it is renewed.

Keys are set if absent. Renewal and release are scripts that compare the holder, so that no node renews or
deletes the key of another. Each takes one round trip for all shards of a node. A Redis that loses its keys,
in a restart or a failover, lets two nodes hold a shard for a moment: then the epochs in PostgreSQL decide.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection

from redis.asyncio import Redis
from redis.exceptions import RedisError

from sexton import clock
from sexton.connections.address import Address
from sexton.connections.redis import redis_client
from sexton.connections.tls import context_of
from sexton.engine.cluster.electors.base import FIELD, Elector, View, patience, unreachable
from sexton.engine.cluster.lease import trusted_until

RENEW = """
local ours = {}
for place, key in ipairs(KEYS) do
    if redis.call('get', key) == ARGV[1] then
        redis.call('pexpire', key, ARGV[2])
        table.insert(ours, place)
    end
end
return ours
"""

RELEASE = """
for _, key in ipairs(KEYS) do
    if redis.call('get', key) == ARGV[1] then
        redis.call('del', key)
    end
end
"""


class RedisElector(Elector):
    """Keys `sexton:{cluster}:shard:N`: the braces keep them together in a Redis Cluster."""

    name = "redis"

    def __init__(self, url: str, *, lease_seconds: float) -> None:
        super().__init__()
        self._address = Address.read(url, field=FIELD)
        context_of(self._address, FIELD)
        self._lease = lease_seconds
        self._cluster = ""
        self._holder = ""
        self._held: set[int] = set()
        self._client: Redis | None = None

    async def open(self, cluster: str) -> None:
        self._cluster = cluster
        # Node numbers are unique in a database, but a database can be restored to an earlier state.
        self._holder = secrets.token_hex(8)

    async def renew(self, view: View) -> set[int]:
        before = clock.monotonic()
        shards = sorted(view.epochs)
        places = await self._eval(RENEW, shards, self._holder, str(self._milliseconds))
        self.trusted_until = trusted_until(before, self._lease)
        self._held = {shards[place - 1] for place in places}
        return set(self._held)

    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        asked = sorted(shards)
        try:
            async with self._connected().pipeline(transaction=False) as pipeline:
                for shard in asked:
                    pipeline.execute_command(
                        "SET", self._key(shard), self._holder, "NX", "PX", self._milliseconds
                    )
                answers = await pipeline.execute()
        except (RedisError, OSError) as error:
            raise unreachable(self.name, error, self._address) from error
        got = {shard for shard, answer in zip(asked, answers, strict=True) if answer}
        self._held |= got
        return got

    async def release(self, shards: Collection[int]) -> None:
        self._held -= set(shards)
        await self._eval(RELEASE, sorted(shards), self._holder)

    async def close(self) -> None:
        self.trusted_until = -math.inf
        try:
            if self._held:
                await self.release(set(self._held))
        finally:
            self._held = set()
            if self._client is not None:
                client, self._client = self._client, None
                await client.aclose()

    async def _eval(self, script: str, shards: list[int], *arguments: str) -> list[int]:
        keys = [self._key(shard) for shard in shards]
        try:
            answer = await self._connected().eval(script, len(keys), *keys, *arguments)
        except (RedisError, OSError) as error:
            raise unreachable(self.name, error, self._address) from error
        return answer or []

    def _connected(self) -> Redis:
        if self._client is None:
            seconds = patience(self._lease)
            self._client = redis_client(
                self._address,
                field=FIELD,
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                retry=None,
            )
        return self._client

    def _key(self, shard: int) -> str:
        return f"sexton:{{{self._cluster}}}:shard:{shard}"

    @property
    def _milliseconds(self) -> int:
        return int(self._lease * 1000)
