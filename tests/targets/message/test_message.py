"""Messages: what a broker gets, when it is tried again, and that no secret is told."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from sexton.config import Settings
from sexton.connections.scheme import servers
from sexton.errors import InvalidField
from sexton.jobs.validation import read_spec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from sexton.targets.table import check_target
from tests.seeding import drained, working
from tests.targets.carrying import carry_out, end_of, waiting
from tests.targets.services import serving


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


@pytest.mark.parametrize("broker", ["redis", "rabbitmq", "nats", "mqtt", "kafka"])
async def test_what_is_checked_is_what_is_dialled(
    database: Database, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name leads to a good address when it is checked, and to another one ever after."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def moving(host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if host != "moving.test":
            return real(host, port, *rest, **named)
        asked.append(host)
        return real("127.0.0.1" if len(asked) == 1 else "127.0.0.2", port, *rest, **named)

    def closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        dialled.append(writer.get_extra_info("sockname")[0])
        writer.close()

    dialled: list[str] = []
    monkeypatch.setattr(socket, "getaddrinfo", moving)
    async with await asyncio.start_server(closed, "127.0.0.1", 0) as good:
        port = good.sockets[0].getsockname()[1]
        async with await asyncio.start_server(closed, "127.0.0.2", port):
            url = URLS[broker].format(f"moving.test:{port}")
            await carry_out(database, {"message": {"broker": broker, "url": url, "topic": "orders"}})
    assert set(dialled) == {"127.0.0.1"}
    assert len(dialled) > 1


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
