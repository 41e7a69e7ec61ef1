"""Kafka: a topic per lane, and one consumer group of all workers.

A partition belongs to one worker at a time, so a full worker delays the notices of its partitions. Other
workers find those runs all the same: idle workers look into PostgreSQL, and the ringer rings again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaError,
    NoError,
    TopicAlreadyExistsError,
    for_code,
)

from sexton.connections.address import Address
from sexton.connections.kafka import kafka_options
from sexton.engine.doorbells.base import FIELD, Broker, Delivery, Notice
from sexton.errors import InvalidField

PARTITIONS = 12
MOST_PARTITIONS = 1000
COPIES = 3
REQUEST_MILLISECONDS = 4000

# A join of the group waits for its other members, and a commit waits for the join.
JOIN_MILLISECONDS = 20_000
COMMIT_SECONDS = 3.0
GRACE_SECONDS = 0.5


class KafkaBroker(Broker):
    """Topics `sexton.CLUSTER.LANE`. The address is `kafka://host:9092,host:9092`, with `?partitions=12` for
    new topics."""

    name = "kafka"
    lost = (KafkaError, OSError, TimeoutError)

    def __init__(self, url: str, cluster: str) -> None:
        super().__init__(url, cluster)
        self.address: Address = Address.read(url, field=FIELD, queue=True)
        self._partitions = _number(self.address.options.get("partitions", str(PARTITIONS)))
        self._topics: set[str] = set()
        self._producer: Any = None
        self._consumer: Any = None
        self._subscribed: frozenset[str] = frozenset()
        # For each assigned partition: the offsets that were delivered since then and not acknowledged, and
        # the offset after the last one.
        self._in_hand: dict[Any, set[int]] = {}
        self._after: dict[Any, int] = {}

    async def publish(self, notices: Sequence[Notice]) -> None:
        with self.reached():
            producer = await self._publisher()
            await self._make_topics({self.name_of(notice.lane) for notice in notices})
            if not notices:
                await producer.client.fetch_all_metadata()
            sent = [await producer.send(self.name_of(notice.lane), self.encode(notice)) for notice in notices]
            await asyncio.gather(*sent)

    async def receive(self, lanes: Sequence[int], limit: int, seconds: float) -> list[Delivery]:
        with self.reached():
            consumer = await self._member(frozenset(self.name_of(lane) for lane in lanes))
            answer: dict[Any, Any] = {}
            # A join of the group waits for its other members, which may take longer than this call. If it
            # were cancelled, all members would have to join again, and again not in time.
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
                # An empty answer does not show whether a server is there.
                await consumer._client.fetch_all_metadata()
            return found

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge each partition up to its first message that is still in hand."""
        ours = frozenset() if self._consumer is None else self._consumer.assignment()
        done: dict[Any, int] = {}
        for delivery in deliveries:
            partition, offset = delivery.tag
            waiting = self._in_hand.get(partition)
            if waiting is not None:
                waiting.discard(offset)
                # If another worker has the partition now, that worker acknowledges it.
                if partition in ours:
                    done[partition] = min(waiting, default=self._after[partition])
        if done:
            # The group may be changing; the next call reports real problems.
            with self.reached(), contextlib.suppress(CommitFailedError, IllegalStateError, TimeoutError):
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
            made = AIOKafkaProducer(acks="all", request_timeout_ms=REQUEST_MILLISECONDS, **self._options())
            await _started(made)
            self._producer = made
        return self._producer

    async def _member(self, topics: frozenset[str]) -> Any:
        await self._make_topics(topics)
        if self._consumer is None:
            made = AIOKafkaConsumer(
                **self._options(),
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
            self._consumer.subscribe(topics=sorted(topics), listener=_Assigned(self._begin_anew))
            self._subscribed = topics
        return self._consumer

    def _begin_anew(self) -> None:
        """Partitions were assigned, perhaps the same as before. Each begins at its last acknowledged offset:
        the messages that were in hand come again, or another worker has acknowledged them."""
        self._in_hand.clear()
        self._after.clear()

    def _options(self) -> dict[str, Any]:
        return kafka_options(self.address, field=FIELD)

    async def _make_topics(self, topics: set[str] | frozenset[str]) -> None:
        new = topics - self._topics
        if not new:
            return
        admin = AIOKafkaAdminClient(request_timeout_ms=REQUEST_MILLISECONDS, **self._options())
        await _started(admin, stop=admin.close)
        try:
            cluster = await admin.describe_cluster()
            brokers = {broker["node_id"] for broker in cluster["brokers"]}
            wanted = sorted(new - set(await admin.list_topics()))
            # One that names no controller, such as librdkafka's mock cluster, makes topics when they are
            # used.
            if wanted and cluster["controller_id"] in brokers:
                copies = min(COPIES, len(brokers))
                answer = await admin.create_topics(
                    [NewTopic(topic, self._partitions, copies) for topic in wanted]
                )
                _check_topics(answer)
        finally:
            await admin.close()
        self._topics |= new


class _Assigned(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, assigned: Callable[[], None]) -> None:
        self._assigned = assigned

    def on_partitions_revoked(self, revoked: object) -> None:
        """Nothing to do: their messages may be acknowledged until other members have them."""

    def on_partitions_assigned(self, assigned: object) -> None:
        self._assigned()


def _number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MOST_PARTITIONS:
        raise InvalidField(
            "bad_address",
            "partitions is not a number of partitions",
            field=FIELD,
            hint=f"write partitions={PARTITIONS}, or anything up to {MOST_PARTITIONS}",
        )
    return int(text)


def _check_topics(answer: Any) -> None:
    """Raise the error of a topic that could not be made: the library does not."""
    for topic, code, *said in answer.topic_errors:
        error = for_code(code)
        if error not in (NoError, TopicAlreadyExistsError):
            raise error(f"the topic {topic} could not be made: {(said and said[0]) or error.__name__}")


async def _started(part: Any, stop: Any = None) -> None:
    """Start a part of the library; if that fails, stop it, since it leaves things open."""
    try:
        await part.start()
    except BaseException:
        await (stop or part.stop)()
        raise
