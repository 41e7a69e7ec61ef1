"""NATS JetStream: one work-queue stream per cluster, a subject and a durable pull consumer per lane.

A call first asks for messages without waiting. Only if there are none, it waits for one message of each lane;
the end of the subscription for the answers also ends these requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DiscardPolicy, RetentionPolicy, StorageType, StreamConfig

from sexton.connections.address import Address
from sexton.connections.nats import nats_client
from sexton.engine.doorbells.base import FIELD, Broker, Delivery, Notice

CONNECT_SECONDS = 5
ANSWER_SECONDS = 4

# Per lane: older notices are dropped, and the ringer rings again for their runs.
LONGEST = 100_000


class NatsBroker(Broker):
    """The stream `sexton_CLUSTER` with subjects `sexton.CLUSTER.LANE` and consumers `lane_LANE`."""

    name = "nats"
    lost = (Error, OSError, TimeoutError)

    def __init__(self, url: str, cluster: str) -> None:
        super().__init__(url, cluster)
        self.address: Address = Address.read(url, field=FIELD)
        self._client: Client | None = None
        self._stream: JetStreamContext | None = None
        self._consumers: set[int] = set()
        self._closed = asyncio.Event()

    async def publish(self, notices: Sequence[Notice]) -> None:
        with self.reached():
            client, stream = await self._open()
            await client.flush(ANSWER_SECONDS)
            await asyncio.gather(
                *(
                    stream.publish(self.name_of(notice.lane), self.encode(notice), timeout=ANSWER_SECONDS)
                    for notice in notices
                )
            )

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        with self.reached():
            chosen = random.sample(lanes, min(len(lanes), limit))
            await self._make_consumers(chosen)
            batch = limit // len(chosen)
            found = await self._ask(chosen, {"batch": batch, "no_wait": True}, batch, ANSWER_SECONDS)
            if not found:
                wish = {"batch": 1, "expires": int(seconds * 1e9)}
                found = await self._ask(chosen, wish, 1, seconds, first=True)
        return [Delivery(message.data, message) for message in found]

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        with self.reached():
            client, _ = await self._open()
            for delivery in deliveries:
                await client.publish(delivery.tag.reply, b"+ACK")
            await client.flush(ANSWER_SECONDS)

    async def close(self) -> None:
        client, self._client = self._client, None
        self._consumers.clear()
        if client is not None:
            await client.close()

    async def _open(self) -> tuple[Client, JetStreamContext]:
        if self._client is None or self._client.is_closed or self._stream is None:
            self._consumers.clear()
            self._closed = closed = asyncio.Event()

            async def over() -> None:
                closed.set()

            self._client = await nats_client(
                self.address, field=FIELD, seconds=CONNECT_SECONDS, closed_cb=over
            )
            self._stream = self._client.jetstream()
            await self._stream.add_stream(
                StreamConfig(
                    name=self._stream_name,
                    subjects=[f"sexton.{self.cluster}.*"],
                    retention=RetentionPolicy.WORK_QUEUE,
                    storage=StorageType.FILE,
                    discard=DiscardPolicy.OLD,
                    max_msgs_per_subject=LONGEST,
                )
            )
        return self._client, self._stream

    async def _make_consumers(self, lanes: Sequence[int]) -> None:
        _, stream = await self._open()
        for lane in set(lanes) - self._consumers:
            await stream.add_consumer(
                self._stream_name,
                ConsumerConfig(
                    durable_name=f"lane_{lane}",
                    filter_subject=self.name_of(lane),
                    ack_wait=self.redeliver_seconds,
                    max_ack_pending=-1,
                ),
            )
            self._consumers.add(lane)

    async def _ask(
        self,
        lanes: Sequence[int],
        wish: Mapping[str, object],
        batch: int,
        seconds: float,
        *,
        first: bool = False,
    ) -> list[Msg]:
        """Ask for messages of these lanes, and collect them until each lane has no more; `first`: until one
        has come."""
        client, _ = await self._open()
        found: list[Msg] = []
        waiting, count = len(lanes), dict.fromkeys(map(self.name_of, lanes), 0)
        async with self._answers(client) as (inbox, answers):
            for lane in lanes:
                subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream_name}.lane_{lane}"
                await client.publish(subject, msgspec.json.encode(wish), inbox)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while waiting and not (first and found):
                        message = await self._next(answers)
                        if (message.headers or {}).get("Status"):
                            waiting -= 1
                            continue
                        found.append(message)
                        count[message.subject] += 1
                        waiting -= count[message.subject] == batch
            # Messages that were on their way arrive before the answer to this.
            await client.flush(ANSWER_SECONDS)
            while not answers.empty():
                message = answers.get_nowait()
                if not (message.headers or {}).get("Status"):
                    found.append(message)
        return found

    @contextlib.asynccontextmanager
    async def _answers(self, client: Client) -> AsyncIterator[tuple[str, asyncio.Queue[Msg]]]:
        answers: asyncio.Queue[Msg] = asyncio.Queue()
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox, cb=answers.put)
        try:
            yield inbox, answers
        finally:
            if not client.is_closed:
                await subscription.unsubscribe()

    async def _next(self, answers: asyncio.Queue[Msg]) -> Msg:
        """The next answer, unless the connection ends."""
        come = asyncio.ensure_future(answers.get())
        over = asyncio.ensure_future(self._closed.wait())
        try:
            await asyncio.wait((come, over), return_when=asyncio.FIRST_COMPLETED)
            if not come.done():
                raise OSError("the connection was lost")
            return come.result()
        finally:
            come.cancel()
            over.cancel()

    @property
    def _stream_name(self) -> str:
        return f"sexton_{self.cluster}"
