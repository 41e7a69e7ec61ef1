"""Kafka: a topic per lane, and one consumer group of all workers.

A partition belongs to one worker at a time, so a worker that is full keeps the notices of its partitions
waiting. Their runs are found by others all the same: by those that have nothing to do and look, and when
they are rung for again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError, TopicAlreadyExistsError

from sexton.queues.base import Broker, Delivery, Notice, unreachable

PARTITIONS = 12
COPIES = 3
REQUEST_MILLISECONDS = 4000

# Joining the group waits for its other members, and committing for the joining.
JOIN_MILLISECONDS = 20_000
COMMIT_SECONDS = 3.0
GRACE_SECONDS = 0.5


class KafkaBroker(Broker):
    """Topics `sexton.CLUSTER.LANE`. The address is `kafka://host:9092,host:9092`, with `?partitions=12` for
    new topics."""

    name = "kafka"

    def __init__(self, url: str, cluster: str) -> None:
        super().__init__(url, cluster)
        parts = urlsplit(url)
        self._servers = parts.netloc
        self._partitions = int(parse_qs(parts.query).get("partitions", [PARTITIONS])[0])
        self._topics: set[str] = set()
        self._producer: Any = None
        self._consumer: Any = None
        self._subscribed: frozenset[str] = frozenset()
        # Of each partition, what was handed out and not acknowledged, and the offset after the last one
        # handed out.
        self._in_hand: dict[Any, set[int]] = {}
        self._after: dict[Any, int] = {}

    async def publish(self, notices: Sequence[Notice]) -> None:
        with _reached():
            producer = await self._publisher()
            await self._make_topics({self.place(notice.lane) for notice in notices})
            if not notices:
                await producer.client.fetch_all_metadata()
            sent = [await producer.send(self.place(notice.lane), self.encode(notice)) for notice in notices]
            await asyncio.gather(*sent)

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        with _reached():
            consumer = await self._member(frozenset(self.place(lane) for lane in lanes))
            answer: dict[Any, Any] = {}
            # Joining the group waits for its other members, which may take longer than this call. To give up
            # then would make them all join anew, and again nobody would be done in time.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds + GRACE_SECONDS):
                    answer = await consumer.getmany(timeout_ms=int(seconds * 1000), max_records=limit)
            found = []
            for partition, records in answer.items():
                for record in records:
                    self._in_hand.setdefault(partition, set()).add(record.offset)
                    self._after[partition] = record.offset + 1
                    found.append(Delivery(record.value or b"", (partition, record.offset)))
            if not found:
                # Without an answer nothing would tell whether anybody is there.
                await consumer._client.fetch_all_metadata()
            return found

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """A partition is acknowledged up to the first that still is in hand."""
        done: dict[Any, int] = {}
        for delivery in deliveries:
            partition, offset = delivery.tag
            waiting = self._in_hand.get(partition)
            if waiting is not None:
                waiting.discard(offset)
                done[partition] = min(waiting, default=self._after[partition])
        if done and self._consumer is not None:
            # A partition that somebody else has by now is theirs to acknowledge; and the next call says
            # more than this.
            with _reached(), contextlib.suppress(CommitFailedError, IllegalStateError, TimeoutError):
                async with asyncio.timeout(COMMIT_SECONDS):
                    await self._consumer.commit(done)

    async def close(self) -> None:
        parts, self._consumer, self._producer = (self._consumer, self._producer), None, None
        self._topics.clear()
        self._subscribed = frozenset()
        self._in_hand.clear()
        self._after.clear()
        await asyncio.gather(*(part.stop() for part in parts if part is not None))

    async def _publisher(self) -> Any:
        if self._producer is None:
            made = AIOKafkaProducer(
                bootstrap_servers=self._servers, acks="all", request_timeout_ms=REQUEST_MILLISECONDS
            )
            await _started(made)
            self._producer = made
        return self._producer

    async def _member(self, topics: frozenset[str]) -> Any:
        await self._make_topics(topics)
        if self._consumer is None:
            made = AIOKafkaConsumer(
                bootstrap_servers=self._servers,
                group_id=f"sexton.{self.cluster}",
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                request_timeout_ms=JOIN_MILLISECONDS,
                session_timeout_ms=10_000,
                heartbeat_interval_ms=1000,
                metadata_max_age_ms=30_000,
            )
            await _started(made)
            self._consumer = made
        if topics != self._subscribed:
            self._consumer.subscribe(topics=sorted(topics))
            self._subscribed = topics
        return self._consumer

    async def _make_topics(self, topics: set[str] | frozenset[str]) -> None:
        new = topics - self._topics
        if not new:
            return
        admin = AIOKafkaAdminClient(bootstrap_servers=self._servers, request_timeout_ms=REQUEST_MILLISECONDS)
        await _started(admin, stop=admin.close)
        try:
            cluster = await admin.describe_cluster()
            brokers = {broker["node_id"] for broker in cluster["brokers"]}
            wanted = sorted(new - set(await admin.list_topics()))
            # One that names no controller, such as librdkafka's mock cluster, makes topics when they are
            # used.
            if wanted and cluster["controller_id"] in brokers:
                copies = min(COPIES, len(brokers))
                await admin.create_topics([NewTopic(topic, self._partitions, copies) for topic in wanted])
        except TopicAlreadyExistsError:
            pass
        finally:
            await admin.close()
        self._topics |= new


async def _started(part: Any, stop: Any = None) -> None:
    """What fails to start has something to clean up all the same."""
    try:
        await part.start()
    except BaseException:
        await (stop or part.stop)()
        raise


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    try:
        yield
    except (KafkaError, OSError, TimeoutError) as error:
        raise unreachable(KafkaBroker.name, error) from error
