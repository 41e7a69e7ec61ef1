"""Amazon SQS: a standard queue per lane. Credentials are in the address, or come from the environment as for
AWS's own tools.

A call first asks for messages without waiting. Only if there are none, it waits for every lane; the first
answer ends the other requests, and messages that these might have returned become visible again later.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from aiohttp import ClientError as HttpError
from botocore.exceptions import BotoCoreError, ClientError

from sexton.connections.address import Address
from sexton.engine.doorbells.base import FIELD, Broker, Delivery, Notice

T = TypeVar("T")

# The most messages in one request of SQS.
BATCH = 10
PARALLEL = 10

# Older notices are dropped: their runs have been rung for again.
RETENTION_SECONDS = 3600

# SQS answers some requests with a server error, or asks for a pause: then a retry works. A notice that is
# sent twice does no harm.
CONFIG = AioConfig(
    connect_timeout=5,
    read_timeout=25,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=50,
)


class SqsBroker(Broker):
    """Queues `sexton-CLUSTER-LANE`. The address is `sqs://REGION`, with `?endpoint=http://…` for something
    else than AWS."""

    name = "sqs"
    lost = (BotoCoreError, ClientError, HttpError, OSError, TimeoutError)

    def __init__(self, url: str, cluster: str) -> None:
        super().__init__(url, cluster)
        self.address: Address = Address.read(url, field=FIELD, queue=True)
        self._stack = contextlib.AsyncExitStack()
        self._client: Any = None
        self._urls: dict[int, str] = {}

    def name_of(self, lane: int) -> str:
        return f"sexton-{self.cluster}-{lane}"

    async def publish(self, notices: Sequence[Notice]) -> None:
        with self.reached():
            client = await self._open()
            if not notices:
                await client.list_queues(MaxResults=1)
            by_lane: dict[int, list[Notice]] = {}
            for notice in notices:
                by_lane.setdefault(notice.lane, []).append(notice)
            sending = [
                self._send(client, await self._queue(lane), part)
                for lane, those in by_lane.items()
                for part in _batches(those)
            ]
            for some in _batches(sending):
                await asyncio.gather(*some)

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        with self.reached():
            await self._open()
            chosen = random.sample(lanes, min(len(lanes), limit))
            share = limit // len(chosen)
            asked = [min(BATCH, share - taken) for taken in range(0, min(share, BATCH * PARALLEL), BATCH)]
            answers = await asyncio.gather(*(self._take(lane, most, 0) for lane in chosen for most in asked))
            found = [delivery for answer in answers for delivery in answer]
            return found or await self._first(chosen, max(1, round(seconds)))

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        with self.reached():
            client = await self._open()
            by_queue: dict[str, list[str]] = {}
            for delivery in deliveries:
                queue, handle = delivery.tag
                by_queue.setdefault(queue, []).append(handle)
            deleting = [
                client.delete_message_batch(
                    QueueUrl=queue,
                    Entries=[{"Id": str(n), "ReceiptHandle": handle} for n, handle in enumerate(part)],
                )
                for queue, handles in by_queue.items()
                for part in _batches(handles)
            ]
            for some in _batches(deleting):
                await asyncio.gather(*some)

    async def close(self) -> None:
        self._client = None
        self._urls.clear()
        await self._stack.aclose()

    async def _open(self) -> Any:
        if self._client is None:
            [(region, _)] = self.address.hosts
            endpoint = self.address.options.get("endpoint")
            made = get_session().create_client(
                "sqs",
                region_name=region,
                endpoint_url=endpoint,
                config=CONFIG,
                aws_access_key_id=self.address.user,
                aws_secret_access_key=self.address.password,
            )
            self._client = await self._stack.enter_async_context(made)
        return self._client

    async def _queue(self, lane: int) -> str:
        if lane not in self._urls:
            attributes = {"MessageRetentionPeriod": str(RETENTION_SECONDS)}
            answer = await self._client.create_queue(QueueName=self.name_of(lane), Attributes=attributes)
            self._urls[lane] = answer["QueueUrl"]
        return self._urls[lane]

    async def _send(self, client: Any, queue: str, notices: Sequence[Notice]) -> None:
        # Bodies are text: every byte becomes a character.
        entries = [
            {"Id": str(n), "MessageBody": self.encode(notice).decode("latin-1")}
            for n, notice in enumerate(notices)
        ]
        answer = await client.send_message_batch(QueueUrl=queue, Entries=entries)
        if failed := answer.get("Failed"):
            raise OSError(failed[0].get("Message") or failed[0]["Code"])

    async def _take(self, lane: int, most: int, wait: int) -> list[Delivery]:
        queue = await self._queue(lane)
        answer = await self._client.receive_message(
            QueueUrl=queue,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait,
            VisibilityTimeout=max(1, round(self.redeliver_seconds)),
        )
        return [
            Delivery(message["Body"].encode("latin-1", "replace"), (queue, message["ReceiptHandle"]))
            for message in answer.get("Messages", ())
        ]

    async def _first(self, lanes: Sequence[int], wait: int) -> list[Delivery]:
        waiting = {asyncio.ensure_future(self._take(lane, 1, wait)) for lane in lanes}
        found: list[Delivery] = []
        try:
            while waiting and not found:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for one in done:
                    found += one.result()
        finally:
            for one in waiting:
                one.cancel()
        return found


def _batches(things: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(things), BATCH):
        yield things[start : start + BATCH]
