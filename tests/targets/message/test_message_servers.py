"""Messages at real brokers: what arrives, and that a lost connection is made again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import aio_pika
import aiomqtt
import nats
import pytest
from aiobotocore.session import get_session
from aiokafka import AIOKafkaConsumer
from redis.asyncio import Redis

from sexton.config import Settings
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import completion as report
from sexton.security import secrets
from sexton.targets.message.step import OpenMessage
from tests.seeding import NOW, drained, working
from tests.servers.address import address
from tests.targets.carrying import carry_out, end_of, waiting

pytestmark = pytest.mark.servers

PATIENCE = 60.0


@dataclass(frozen=True)
class Arrival:
    """A message as a receiver has it; `headers` with lower-case names."""

    body: bytes
    headers: dict[str, str]
    key: str | None = None


Receive = Callable[[], Awaitable[Arrival]]


@asynccontextmanager
async def redis_stream(url: str, topic: str) -> AsyncIterator[Receive]:
    client: Any = Redis.from_url(url)

    async def receive() -> Arrival:
        [[_, [(number, fields)]]] = await client.xread({topic: "0"}, count=1, block=int(PATIENCE * 1000))
        await client.xdel(topic, number)
        named = {name.decode(): value.decode() for name, value in fields.items()}
        body, key = named.pop("message"), named.pop("key", None)
        return Arrival(body.encode(), {name.lower(): value for name, value in named.items()}, key)

    try:
        yield receive
    finally:
        await client.aclose()


@asynccontextmanager
async def rabbitmq(url: str, topic: str) -> AsyncIterator[Receive]:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue(topic, auto_delete=False)

        async def receive() -> Arrival:
            async with queue.iterator(timeout=PATIENCE) as messages:
                async for message in messages:
                    await message.ack()
                    headers = {name.lower(): str(value) for name, value in message.headers.items()}
                    assert message.delivery_mode == aio_pika.DeliveryMode.PERSISTENT
                    return Arrival(message.body, headers)
            raise AssertionError("nothing came")

        yield receive
        await queue.delete(if_unused=False, if_empty=False)


@asynccontextmanager
async def nats_stream(url: str, topic: str) -> AsyncIterator[Receive]:
    client = await nats.connect(url)
    stream = client.jetstream()
    await stream.add_stream(name=topic, subjects=[topic])
    subscription = await stream.subscribe(topic)

    async def receive() -> Arrival:
        message = await subscription.next_msg(timeout=PATIENCE)
        await message.ack()
        headers = {name.lower(): value for name, value in (message.headers or {}).items()}
        return Arrival(message.data, headers, headers.get("sexton-key"))

    try:
        yield receive
    finally:
        await client.close()


@asynccontextmanager
async def kafka(url: str, topic: str) -> AsyncIterator[Receive]:
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=url.removeprefix("kafka://"), auto_offset_reset="earliest"
    )
    await consumer.start()

    async def receive() -> Arrival:
        record = await asyncio.wait_for(consumer.getone(), PATIENCE)
        headers = {name.lower(): value.decode() for name, value in record.headers}
        return Arrival(record.value, headers, record.key.decode() if record.key else None)

    try:
        yield receive
    finally:
        await consumer.stop()


@asynccontextmanager
async def sqs(url: str, topic: str) -> AsyncIterator[Receive]:
    endpoint = url.replace("key:secret@", "").partition("?")[0]
    async with get_session().create_client(
        "sqs",
        region_name="eu-central-1",
        endpoint_url=endpoint,
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    ) as client:
        fifo = {"FifoQueue": "true"} if topic.endswith(".fifo") else {}
        queue = (await client.create_queue(QueueName=topic, Attributes=fifo))["QueueUrl"]

        async def receive() -> Arrival:
            answer = await client.receive_message(
                QueueUrl=queue, MessageAttributeNames=["All"], AttributeNames=["All"], WaitTimeSeconds=20
            )
            [message] = answer["Messages"]
            await client.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            named = message["MessageAttributes"].items()
            headers = {name.lower(): value["StringValue"] for name, value in named}
            return Arrival(message["Body"].encode(), headers, message["Attributes"].get("MessageGroupId"))

        yield receive


@asynccontextmanager
async def mqtt(url: str, topic: str) -> AsyncIterator[Receive]:
    host, _, port = url.removeprefix("mqtt://").partition(":")
    async with aiomqtt.Client(host, int(port), protocol=aiomqtt.ProtocolVersion.V5) as client:
        await client.subscribe(topic, qos=1)

        async def receive() -> Arrival:
            message = await asyncio.wait_for(anext(aiter(client.messages)), PATIENCE)
            properties: Any = message.properties
            assert message.qos == 1
            headers = {name.lower(): value for name, value in properties.UserProperty}
            assert properties.CorrelationData.decode() == headers["idempotency-key"]
            return Arrival(bytes(message.payload), headers)

        yield receive


@dataclass(frozen=True)
class Case:
    broker: str
    variable: str
    receiver: Callable[[str, str], Any]
    has_key: bool = False
    suffix: str = ""


CASES = {
    "redis": Case("redis", "SEXTON_TEST_REDIS_URL", redis_stream, has_key=True),
    "rabbitmq": Case("rabbitmq", "SEXTON_TEST_RABBITMQ_URL", rabbitmq),
    "nats": Case("nats", "SEXTON_TEST_NATS_URL", nats_stream, has_key=True),
    "kafka": Case("kafka", "SEXTON_TEST_KAFKA_URL", kafka, has_key=True),
    "sqs": Case("sqs", "SEXTON_TEST_SQS_URL", sqs),
    "sqs-fifo": Case("sqs", "SEXTON_TEST_SQS_URL", sqs, has_key=True, suffix=".fifo"),
    "mqtt": Case("mqtt", "SEXTON_TEST_MQTT_URL", mqtt),
}
every_broker = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def a_topic(case: Case) -> str:
    return f"t-{uuid4().hex[:12]}{case.suffix}"


@every_broker
async def test_a_run_arrives_with_everything_it_takes(database: Database, case: Case) -> None:
    url, topic = address(case.variable), a_topic(case)
    settings = Settings(secret_key=secrets.new_key())
    await secrets.keep(Context(database), settings, "broker", url)
    message = {
        "broker": case.broker,
        "url": {"secret": "broker"},
        "topic": topic,
        "key": "{{payload.customer}}",
        "headers": {"Team": "{{payload.team}} on {{date}}"},
    }
    async with case.receiver(url, topic) as receive:
        store, run = await carry_out(
            database,
            {"message": message},
            {"secret_key": settings.secret_key},
            payload={"customer": "acme", "team": "bïlling", "n": 1},
        )
        arrived = await receive()
    status, result, error = await end_of(store, run)
    assert (status, error) == ("success", None)
    assert result["broker"] == case.broker
    assert result["topic"] == topic
    row = await store.history(run)
    job_id = encode_id("j", row["job_id"])
    key = f"{job_id}:1903867200"
    told = json.loads(arrived.body)
    assert told.pop("job_name").startswith("job-")
    assert told == {
        "payload": {"customer": "acme", "team": "bïlling", "n": 1},
        "job_id": job_id,
        "run_id": encode_id("r", run),
        "scheduled_at": "2030-05-01T12:00:00Z",
        "attempt": 1,
        "trigger": "schedule",
        "missed": False,
        "idempotency_key": key,
    }
    assert arrived.headers["idempotency-key"] == key
    assert arrived.headers["sexton-run-id"] == encode_id("r", run)
    assert arrived.headers["sexton-attempt"] == "1"
    assert arrived.headers["team"] == "bïlling on 2030-05-01"
    assert arrived.key == ("acme" if case.has_key else None)


@every_broker
async def test_a_connection_is_shared_and_made_again_when_it_is_lost(database: Database, case: Case) -> None:
    url, topic = address(case.variable), a_topic(case)
    target = {"message": {"broker": case.broker, "url": url, "topic": topic, "format": "payload"}}
    options: dict[str, Any] = {"max_retries": 5, "retry_base_seconds": 0}
    async with case.receiver(url, topic) as receive, working(database, {}) as worker:
        kind = worker.kinds["message"]
        assert isinstance(kind, OpenMessage)
        for number in range(3):
            store, run = await waiting(database, target, payload=number, **options)
            await drained(worker)
            assert (await end_of(store, run))[0] == "success"
            arrived = await receive()
            assert json.loads(arrived.body) == number
            [connection] = kind._pool._connections.values()
            assert connection.publisher is not None
            if number == 1:
                # As if the broker had closed it.
                await connection.publisher.close()


async def test_a_list_and_a_channel_of_redis(database: Database) -> None:
    url = address("SEXTON_TEST_REDIS_URL")
    client: Any = Redis.from_url(url)
    topic = a_topic(CASES["redis"])
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.aclose)
        listener = client.pubsub()
        stack.push_async_callback(listener.aclose)
        await listener.subscribe(f"{topic}-channel")
        await listener.get_message(timeout=PATIENCE)
        for how in ("list", "channel"):
            message = {"broker": "redis", "url": url, "topic": f"{topic}-{how}", "redis_type": how}
            store, run = await carry_out(database, {"message": message}, payload=how)
            assert (await end_of(store, run))[0] == "success"
        assert json.loads(await client.lpop(f"{topic}-list"))["payload"] == "list"
        heard = await listener.get_message(ignore_subscribe_messages=True, timeout=PATIENCE)
        assert json.loads(heard["data"])["payload"] == "channel"


async def test_what_redis_would_refuse_again_is_permanent(database: Database) -> None:
    url, topic = address("SEXTON_TEST_REDIS_URL"), a_topic(CASES["redis"])
    client: Any = Redis.from_url(url)
    await client.set(topic, "a text")
    target = {"message": {"broker": "redis", "url": url, "topic": topic}}
    store, run = await carry_out(database, target, max_retries=3)
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert "is not a stream" in (error or "")
    await client.aclose()


async def test_a_wrong_password_is_permanent_and_not_told(database: Database) -> None:
    url = address("SEXTON_TEST_RABBITMQ_URL").replace("guest:guest", "guest:hunter22")
    settings = Settings(secret_key=secrets.new_key())
    await secrets.keep(Context(database), settings, "broker", url)
    target = {"message": {"broker": "rabbitmq", "url": {"secret": "broker"}, "topic": "x"}}
    store, run = await carry_out(database, target, {"secret_key": settings.secret_key}, max_retries=3)
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert "hunter22" not in (error or "")


@pytest.mark.parametrize(
    ("broker", "variable", "said"),
    [
        ("rabbitmq", "SEXTON_TEST_RABBITMQ_URL", "no queue takes it"),
        ("nats", "SEXTON_TEST_NATS_URL", "no stream takes the subject"),
        ("sqs", "SEXTON_TEST_SQS_URL", "NonExistentQueue"),
    ],
)
async def test_messages_without_a_taker_are_tried_again(
    database: Database, broker: str, variable: str, said: str
) -> None:
    target = {"message": {"broker": broker, "url": address(variable), "topic": f"t-{uuid4().hex}"}}
    store, run = await carry_out(database, target, max_retries=3)
    row = await store.live(run)
    assert row["state"] == "failed"
    assert said in row["error"]


async def test_an_exchange_of_rabbitmq(database: Database) -> None:
    url, topic = address("SEXTON_TEST_RABBITMQ_URL"), a_topic(CASES["rabbitmq"])
    async with rabbitmq(url, topic) as receive, await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        exchange = await channel.declare_exchange(f"{topic}-x", aio_pika.ExchangeType.TOPIC)
        await (await channel.get_queue(topic)).bind(exchange, "orders.*")
        message = {"broker": "rabbitmq", "url": url, "topic": "orders.new", "exchange": f"{topic}-x"}
        store, run = await carry_out(database, {"message": message}, payload=1)
        assert (await end_of(store, run))[0] == "success"
        assert json.loads((await receive()).body)["payload"] == 1
        await exchange.delete(if_unused=False)


async def test_a_receiver_may_report_later(database: Database) -> None:
    url, topic = address("SEXTON_TEST_REDIS_URL"), a_topic(CASES["redis"])
    target = {"message": {"broker": "redis", "url": url, "topic": topic, "mode": "async", "wait_seconds": 60}}
    async with redis_stream(url, topic) as receive, working(database, {}) as worker:
        store, run = await waiting(database, target)
        await drained(worker)
        arrived = await receive()
        assert (await store.live(run))["state"] == "waiting"
        told = json.loads(arrived.body)
        assert told["token"] == arrived.headers["sexton-run-token"]
        assert told["reply"]["complete"] == f"/api/v1/runs/{encode_id('r', run)}/complete"
        await report.complete(Context(database, now=NOW), told["run_id"], told["token"], {"rows": 3})
    status, result, _ = await end_of(store, run)
    assert (status, result) == ("success", {"rows": 3})
