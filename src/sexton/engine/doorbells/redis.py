"""Redis Streams: a stream per lane, with one consumer group that all workers share.

Acknowledged notices are deleted, so the length of a stream is the number of notices that wait or are in hand.
The next worker that reads a stream takes over the notices of a worker that has vanished. Streams are capped:
a stream that no worker reads must not fill the memory. It loses the oldest notices, and the ringer rings
again for their runs.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from sexton import clock
from sexton.connections.address import Address
from sexton.connections.redis import redis_client
from sexton.engine.doorbells.base import FIELD, Broker, Delivery, Notice

GROUP = "workers"
LONGEST = 100_000
IDLE_SECONDS = 3600.0
SOCKET_SECONDS = 5.0

# Reads several streams up to one limit: COUNT alone would apply to each of them.
READ = """
local left, found = tonumber(ARGV[3]), {}
for place, key in ipairs(KEYS) do
    if left <= 0 then break end
    local answer = redis.call('xreadgroup', 'GROUP', ARGV[1], ARGV[2], 'COUNT', left, 'STREAMS', key, '>')
    if answer then
        for _, entry in ipairs(answer[1][2]) do
            table.insert(found, {key, entry[1], entry[2]})
            left = left - 1
        end
    end
end
return found
"""


class RedisBroker(Broker):
    """Keys `sexton:{cluster}:lane:N`: the braces keep them together in a Redis Cluster."""

    name = "redis"
    lost = (RedisError, OSError)

    def __init__(self, url: str, cluster: str) -> None:
        super().__init__(url, cluster)
        self.address: Address = Address.read(url, field=FIELD)
        self._consumer = secrets.token_hex(8)
        self._client: Redis | None = None
        self._groups: set[str] = set()
        self._tidy_at = float("-inf")

    def name_of(self, lane: int) -> str:
        return f"sexton:{{{self.cluster}}}:lane:{lane}"

    async def publish(self, notices: Sequence[Notice]) -> None:
        with self.reached():
            async with self._connected().pipeline(transaction=False) as pipeline:
                pipeline.execute_command("PING")
                for notice in notices:
                    key, body = self.name_of(notice.lane), self.encode(notice)
                    pipeline.execute_command("XADD", key, "MAXLEN", "~", LONGEST, "*", "notice", body)
                await pipeline.execute()

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        keys = [self.name_of(lane) for lane in lanes]
        with self.reached():
            try:
                await self._make_groups(keys)
                return await self._take_over(keys, limit) or await self._read(keys, limit, seconds)
            except ResponseError:
                # The group is gone with its stream: Redis has lost its data. Make them again.
                self._groups.clear()
                raise

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        entries: dict[str, list[bytes]] = {}
        for delivery in deliveries:
            key, number = delivery.tag
            entries.setdefault(key, []).append(number)
        with self.reached():
            async with self._connected().pipeline(transaction=False) as pipeline:
                for key, numbers in entries.items():
                    pipeline.execute_command("XACK", key, GROUP, *numbers)
                    pipeline.execute_command("XDEL", key, *numbers)
                await pipeline.execute()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _connected(self) -> Redis:
        if self._client is None:
            self._client = redis_client(
                self.address,
                field=FIELD,
                socket_timeout=SOCKET_SECONDS,
                socket_connect_timeout=SOCKET_SECONDS,
                retry=None,
            )
        return self._client

    async def _make_groups(self, keys: Sequence[str]) -> None:
        for key in keys:
            if key not in self._groups:
                try:
                    await self._connected().xgroup_create(key, GROUP, id="0", mkstream=True)
                except ResponseError as error:
                    if not str(error).startswith("BUSYGROUP"):
                        raise
                self._groups.add(key)

    async def _take_over(self, keys: Sequence[str], limit: int) -> list[Delivery]:
        """Now and then: take over notices that a worker has had for too long, and delete consumers that are
        gone."""
        if clock.monotonic() < self._tidy_at:
            return []
        self._tidy_at = clock.monotonic() + self.redeliver_seconds / 3
        found: list[Delivery] = []
        for key in keys:
            idle = int(self.redeliver_seconds * 1000)
            answer: Any = await self._connected().xautoclaim(
                key, GROUP, self._consumer, idle, count=max(1, limit - len(found))
            )
            found += [_delivery(key, number, fields) for number, fields in answer[1]]
            for consumer in await self._connected().xinfo_consumers(key, GROUP):
                if consumer["pending"] == 0 and consumer["idle"] > IDLE_SECONDS * 1000:
                    await self._connected().xgroup_delconsumer(key, GROUP, consumer["name"])
        return found

    async def _read(self, keys: Sequence[str], limit: int, seconds: float) -> list[Delivery]:
        client = self._connected()
        found: Any = await client.eval(READ, len(keys), *keys, GROUP, self._consumer, str(limit))
        if found:
            return [
                _delivery(key, number, dict(zip(fields[::2], fields[1::2], strict=True)))
                for key, number, fields in found
            ]
        milliseconds = max(1, int(seconds * 1000))
        streams: Any = dict.fromkeys(keys, ">")
        answer: Any = await client.xreadgroup(GROUP, self._consumer, streams, count=1, block=milliseconds)
        return [_delivery(key, number, fields) for key, entries in answer or () for number, fields in entries]


def _delivery(key: bytes | str, number: bytes, fields: dict[bytes, bytes]) -> Delivery:
    name = key.decode() if isinstance(key, bytes) else key
    return Delivery(fields.get(b"notice", b""), (name, number))
