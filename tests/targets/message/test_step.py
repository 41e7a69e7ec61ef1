"""Messages: what a broker gets, when it is tried again, and that no secret is told."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.structs import BrokerMetadata

from sexton.config import Settings
from sexton.connections.address import Address
from sexton.connections.guard import Guard, RefusedAddress
from sexton.connections.scheme import servers
from sexton.errors import InvalidField
from sexton.jobs.validation import read_spec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from sexton.targets.message.brokers import redis as redis_broker
from sexton.targets.message.brokers.base import Message
from sexton.targets.message.brokers.kafka import _guard_brokers
from sexton.targets.table import check_target
from tests.seeding import drained, working
from tests.targets.carrying import carry_out, end_of, waiting
from tests.targets.services import make_authority, serving


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


URLS = {
    "kafka": "kafka://{}",
    "rabbitmq": "amqp://guest:guest@{}/",
    "nats": "nats://{}",
    "redis": "redis://{}/0",
    "sqs": "http://key:guest@{}?region=eu-central-1",
    "mqtt": "mqtt://{}",
}


@pytest.mark.parametrize("broker", servers("message"))
async def test_a_broker_that_is_away_is_tried_again(database: Database, broker: str) -> None:
    url = URLS[broker].format(f"127.0.0.1:{closed_port()}")
    target = {"message": {"broker": broker, "url": url, "topic": "orders"}}
    store, run = await carry_out(database, target, max_retries=3)
    row = await store.live(run)
    assert row["state"] == "failed"
    assert row["error"].startswith((broker, "timeout"))


@pytest.mark.parametrize("broker", servers("message"))
async def test_addresses_of_the_machine_itself_are_refused(database: Database, broker: str) -> None:
    url = URLS[broker].format("169.254.169.254:80")
    target = {"message": {"broker": broker, "url": url, "topic": "orders"}}
    store, run = await carry_out(database, target, max_retries=3)
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert "is refused" in (error or "")


@pytest.mark.parametrize(
    "url",
    [
        "sqs://eu-central-1?endpoint=http://169.254.169.254",
        "http://key:s@host?region=x&endpoint=http://169.254.169.254",
    ],
)
async def test_a_job_names_no_endpoint_for_the_credentials_of_the_worker(
    database: Database, url: str
) -> None:
    target = {"message": {"broker": "sqs", "url": url, "topic": "orders"}}
    with pytest.raises(InvalidField, match="has no parameter 'endpoint'"):
        check_target({"message": {**target["message"], "url": url.replace(":s@", ":${secret:s}@")}}, None)
    store, run = await carry_out(database, target, max_retries=3)
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert "has no parameter 'endpoint'" in (error or "")


async def test_the_credentials_of_the_worker_are_not_for_a_host_that_a_job_names(database: Database) -> None:
    async with serving() as service:
        target = {"message": {"broker": "sqs", "url": service.url, "topic": "orders"}}
        store, run = await carry_out(database, target, max_retries=3)
        assert service.requests == []
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert "the worker's credentials are not for 127.0.0.1" in (error or "")


async def test_a_host_that_a_job_names_is_not_reached_through_a_proxy(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy would connect to it, and asks no guard."""
    async with serving() as service, serving() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        url = service.url.replace("http://", "http://key:guest@")
        target = {"message": {"broker": "sqs", "url": url, "topic": "orders"}}
        await carry_out(database, target, max_retries=0)
        assert service.requests
        assert not proxy.requests


MOVING = "named.test"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def moving(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that leads to 127.0.0.1 when it is asked for first, and to 127.0.0.2 ever after."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def answer(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if host != MOVING:
            return real(host, port, *rest, **named)
        asked.append(host)
        return real("127.0.0.1" if len(asked) == 1 else "127.0.0.2", port, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", answer)


@asynccontextmanager
async def two_hosts(handler: Handler) -> AsyncIterator[tuple[int, list[str]]]:
    """The same port of both addresses, and which of them were dialled."""
    dialled: list[str] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        dialled.append(writer.get_extra_info("sockname")[0])
        try:
            await handler(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as good:
        port = good.sockets[0].getsockname()[1]
        async with await asyncio.start_server(accept, "127.0.0.2", port):
            yield port, dialled


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def carried_out_until(seen: asyncio.Event, attempt: Coroutine[Any, Any, Any]) -> None:
    """Carry out a run until its hosts have seen enough: some clients wait long for one that hung up."""
    tasks = [asyncio.create_task(attempt), asyncio.create_task(seen.wait())]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended


@pytest.mark.usefixtures("moving")
@pytest.mark.parametrize("broker", ["redis", "rabbitmq", "nats", "mqtt", "kafka"])
async def test_what_is_checked_is_what_is_dialled(database: Database, broker: str) -> None:
    seen = asyncio.Event()

    async def say_nothing_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(dialled) > 1:  # the first was the guard, which looks for an address that accepts connections
            seen.set()

    async with two_hosts(say_nothing_twice) as (port, dialled):
        url = URLS[broker].format(f"{MOVING}:{port}")
        target = {"message": {"broker": broker, "url": url, "topic": "orders"}}
        await carried_out_until(seen, carry_out(database, target))
    assert set(dialled) == {"127.0.0.1"}
    assert len(dialled) > 1


@pytest.mark.usefixtures("moving")
@pytest.mark.parametrize(
    ("broker", "scheme"),
    [("redis", "rediss"), ("rabbitmq", "amqps"), ("nats", "tls"), ("mqtt", "mqtts"), ("kafka", "kafka+ssl")],
)
async def test_with_tls_too_and_the_certificate_is_asked_for_the_name(
    database: Database, broker: str, scheme: str, tmp_path: Path
) -> None:
    authority = make_authority(tmp_path)
    context = authority.context()
    agreed: list[str | None] = []
    asked: list[str | None] = []
    seen = asyncio.Event()
    context.sni_callback = lambda _socket, name, _context: asked.append(name)

    async def shake_hands(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if broker == "nats":
            writer.write(b'INFO {"tls_required": true}\r\n')
        await writer.start_tls(context)
        await reader.read(1)  # the client has verified the certificate, and goes on
        agreed.append(writer.get_extra_info("cipher") and asked[-1])
        seen.set()

    async with two_hosts(shake_hands) as (port, dialled):
        url = f"{scheme}://{MOVING}:{port}?ca={authority.ca}"
        target = {"message": {"broker": broker, "url": url, "topic": "orders"}}
        await carried_out_until(seen, carry_out(database, target, {"target_files": tmp_path}))
    assert set(dialled) == {"127.0.0.1"}
    assert set(agreed) == {MOVING}


@pytest.mark.usefixtures("moving")
async def test_the_brokers_that_a_kafka_names_are_dialled_where_they_were_checked() -> None:
    async with two_hosts(say_nothing) as (port, dialled):
        producer = AIOKafkaProducer(bootstrap_servers=f"127.0.0.1:{port}")
        _guard_brokers(producer, Guard(private=True), None)
        client: Any = producer.client
        client.cluster._brokers = {
            1: BrokerMetadata(1, MOVING, port, None),
            2: BrokerMetadata(2, "169.254.169.254", 80, None),
        }
        assert await client._get_conn(1) is None
        with pytest.raises(RefusedAddress):
            await client._get_conn(2)
        await producer.stop()
    assert set(dialled) == {"127.0.0.1"}
    assert len(dialled) > 1


async def test_a_redis_does_not_send_the_worker_to_another_host() -> None:
    """Servers may announce that they move; where to is theirs to say."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            if words[0] == b"HELLO":
                writer.write(b"%1\r\n+proto\r\n:3\r\n")
            elif words[0] == b"XADD":
                move = f"127.0.0.2:{port}".encode()
                writer.write(b">4\r\n$6\r\nMOVING\r\n:1\r\n:10\r\n$%d\r\n%s\r\n" % (len(move), move))
                writer.write(b"$3\r\n1-1\r\n")
            else:
                writer.write(b"+PONG\r\n" if words[0] == b"PING" else b"+OK\r\n")

    async with two_hosts(answer) as (port, dialled):
        address = Address.read(f"redis://127.0.0.1:{port}/0", field="url")
        publisher = await redis_broker.connect(address, Guard(private=True))
        for _ in range(2):
            assert await publisher.publish(Message("orders", b"{}", "1")) == {"id": "1-1"}
        await publisher.close()
    assert set(dialled) == {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/etc/passwd", "/no/such/file", "{0}/../outside"])
async def test_a_file_outside_the_directory_is_refused_alike_whether_it_exists(
    database: Database, tmp_path: Path, path: str
) -> None:
    path = path.format(tmp_path)
    for url in (f"unix://{path}", f"rediss://localhost:1/0?ca={path}"):
        target = {"message": {"broker": "redis", "url": url, "topic": "orders"}}
        store, run = await carry_out(database, target, {"target_files": tmp_path}, max_retries=3)
        status, _, error = await end_of(store, run)
        assert status == "dead"
        assert f"jobs may not name the file {path}: the worker's setting target_files" in (error or "")


async def test_private_addresses_are_refused_where_the_policy_says_so(database: Database) -> None:
    target = {"message": {"broker": "redis", "url": "redis://127.0.0.1:1/0", "topic": "orders"}}
    store, run = await carry_out(database, target, {"egress_private": "refuse"}, max_retries=3)
    assert (await end_of(store, run))[0] == "dead"


async def test_a_broker_without_its_client_is_not_served(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.targets.message.kind.is_installed", lambda broker: broker != "nats")
    store, run = await waiting(
        database, {"message": {"broker": "nats", "url": "nats://127.0.0.1:1", "topic": "a"}}
    )
    async with working(database, {}) as worker:
        assert "message:nats" not in worker.served
        assert "message:redis" in worker.served
        await drained(worker)
    assert (await store.live(run))["state"] == "pending"


async def test_a_missing_secret_is_worth_a_retry_and_names_what_to_type(database: Database) -> None:
    target = {"message": {"broker": "redis", "url": {"secret": "broker"}, "topic": "orders"}}
    store, run = await carry_out(database, target, max_retries=3)
    row = await store.live(run)
    assert row["error"] == "there is no secret broker (make it: sexton secret set broker)"


async def test_a_secret_in_an_address_is_never_told(database: Database) -> None:
    settings = Settings(secret_key=secrets.new_key())
    await secrets.keep(Context(database), settings, "broker", "redis://:hunter22@no-such-host.invalid:6379/0")
    target = {"message": {"broker": "redis", "url": {"secret": "broker"}, "topic": "orders"}}
    store, run = await carry_out(database, target, {"secret_key": settings.secret_key}, max_retries=3)
    error = (await store.live(run))["error"]
    assert "hunter22" not in error
    assert error.startswith("redis: ")


async def test_a_payload_that_lacks_what_a_template_names_is_permanent(database: Database) -> None:
    target = {"message": {"broker": "redis", "url": "redis://127.0.0.1:1/0", "topic": "{{payload.customer}}"}}
    store, run = await carry_out(database, target, max_retries=3, payload={})
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert "{{payload.customer}} is not in the payload" in (error or "")


GOOD: dict[str, Any] = {"broker": "redis", "url": "redis://host:6379/0", "topic": "orders"}


@pytest.mark.parametrize(
    ("changes", "field", "hint"),
    [
        ({"broker": "zeromq"}, "target.message.broker", ""),
        ({"url": "http://host"}, "target.message.url", "redis://host:6379/0"),
        ({"url": "redis://:hunter22@host/0"}, "target.message.url", "sexton secret set"),
        ({"url": "redis://host:6379/0?ca=/ca.pem"}, "target.message.url", "write rediss://"),
        ({"url": "rediss://host:6379/0?verify=no"}, "target.message.url", "it has ca, cert, key"),
        ({"broker": "nats", "url": "nats://s3cr3t@host"}, "target.message.url", "sexton secret set"),
        ({"url": {"secret": "a b"}}, "target.message.url.secret", "letters"),
        ({"url": {"secrets": "a"}}, "target.message.url.secrets", "secret"),
        ({"url": "${secret:broker"}, "target.message.url", "${secret:name}"),
        ({"topic": ""}, "target.message.topic", ""),
        ({"topic": "{{nothing}}"}, "target.message.topic", "run_id"),
        ({"key": "{{payload.absent}}"}, "target.message.key", "payload"),
        ({"headers": {"Sexton-Run-Id": "x"}}, "target.message.headers", "leave it out"),
        ({"headers": {"a b": "x"}}, "target.message.headers", "letters"),
        ({"exchange": "x"}, "target.message.exchange", "leave it out"),
        ({"wait_seconds": 5}, "target.message.wait_seconds", "async"),
        ({"wait_seconds": 0, "mode": "async"}, "target.message.wait_seconds", "from 1"),
        ({"topik": "x"}, "target.message.topik", "topic"),
    ],
)
def test_what_cannot_work_is_refused_when_the_job_is_made(
    changes: dict[str, Any], field: str, hint: str
) -> None:
    job = {"name": "a", "schedule": "@daily", "payload": {"n": 1}, "target": {"message": {**GOOD, **changes}}}
    with pytest.raises(InvalidField) as refused:
        read_spec(job)
    assert refused.value.field == field
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize("broker", servers("message"))
def test_every_broker_takes_an_address_or_a_secret(broker: str) -> None:
    for url in (URLS[broker].format("host:1"), {"secret": "a"}, "${secret:a}"):
        message = {"broker": broker, "url": url, "topic": "{{job_name}}", "key": "{{date}}"}
        read_spec({"name": "a", "schedule": "@daily", "target": {"message": message}})
