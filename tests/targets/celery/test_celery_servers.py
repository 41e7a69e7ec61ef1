"""Celery tasks, carried out by a real Celery worker on real brokers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from redis import Redis

from sexton.postgres.database import Database
from tests.seeding import Store, drained, working
from tests.servers.address import address
from tests.targets.carrying import carry_out, end_of, waiting
from tests.waiting import until

pytestmark = pytest.mark.servers

PATIENCE = 60

APPLICATION = """
import json, os
from celery import Celery
from redis import Redis

app = Celery("shop", broker=os.environ["BROKER"], backend=os.environ["RESULTS"])
app.conf.task_default_queue = os.environ["QUEUE"]
app.conf.broker_connection_retry_on_startup = True
report = Redis.from_url(os.environ["RESULTS"])

@app.task(bind=True, name="shop.bill")
def bill(self, *args, **kwargs):
    report.rpush(os.environ["QUEUE"] + "-seen", json.dumps([self.request.id, args, kwargs]))
    return {"billed": kwargs.get("customer")}

@app.task(name="shop.fail")
def fail(*args, **kwargs):
    raise ValueError("no such customer")
"""


class Shop:
    """A foreign application, with a worker that runs."""

    def __init__(self, broker: str, url: str, results: str, queue: str, log: Path) -> None:
        self.broker, self.url, self.results, self.queue, self.log = broker, url, results, queue, log
        self._redis: Any = Redis.from_url(results, socket_timeout=2 * PATIENCE)

    def target(self, task: str, **more: Any) -> dict[str, Any]:
        celery = {"broker": self.broker, "url": self.url, "task": task, "queue": self.queue, **more}
        return {"celery": celery}

    def seen(self) -> tuple[str, list[Any], dict[str, Any]]:
        """The next task that was carried out: its id and arguments."""
        found = self._redis.blpop(f"{self.queue}-seen", timeout=PATIENCE)
        assert found is not None, self.log.read_text()
        number, args, kwargs = json.loads(found[1])
        return number, args, kwargs

    def unseen(self) -> int:
        return int(self._redis.llen(f"{self.queue}-seen"))

    def close(self) -> None:
        self._redis.close()


@contextmanager
def running_shop(folder: Path, broker: str, url: str, results: str) -> Iterator[Shop]:
    queue = f"q-{uuid4().hex[:10]}"
    (folder / "shop.py").write_text(APPLICATION)
    environment = {
        **os.environ,
        "BROKER": url,
        "RESULTS": results,
        "QUEUE": queue,
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-m", "celery", "-A", "shop", "worker", "--pool", "solo", "--without-mingle"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            # Two workers of one name would fight for a queue of RabbitMQ.
            [*command, "-l", "info", "-n", f"{queue}@localhost"],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    shop = Shop(broker, url, results, queue, folder / "log")
    try:
        yield shop
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shop.close()


@pytest.fixture(params=["redis", "rabbitmq"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    results = address("SEXTON_TEST_REDIS_URL")
    url = results if request.param == "redis" else address("SEXTON_TEST_RABBITMQ_URL")
    with running_shop(tmp_path, request.param, url, results) as shop:
        yield shop


@pytest_asyncio.fixture(autouse=True)
async def _ready(shop: Shop) -> None:
    await until(lambda: " ready." in shop.log.read_text())


async def until_sent(database: Database, target: dict[str, Any], **job: Any) -> tuple[str, Any, str | None]:
    """Its end; the shop makes its queue before it says that it is ready."""
    # Other tests have jobs of the same number at the same Redis.
    template = f"{uuid4().hex}:{{{{unix}}}}"
    store, run = await waiting(
        database, target, max_retries=100, retry_base_seconds=0, idempotency_key_template=template, **job
    )
    async with working(database, {}) as worker:
        while not await store.fetch("select 1 from sexton.history where run_id = $1", run):
            await drained(worker)
    return await end_of(store, run)


async def test_a_task_is_carried_out_with_the_idempotency_key_as_its_id(
    database: Database, shop: Shop
) -> None:
    status, result, error = await until_sent(database, shop.target("shop.bill"), payload={"customer": "acme"})
    assert (status, error) == ("success", None)
    assert result["topic"] == shop.queue
    number, args, kwargs = shop.seen()
    assert number == await Store(database).value("select idempotency_key from sexton.history")
    assert number.endswith(":1903867200")
    assert (args, kwargs) == ([], {"customer": "acme"})


async def test_arguments_are_filled_in_and_the_result_is_awaited(database: Database, shop: Shop) -> None:
    target = shop.target(
        "shop.bill",
        args=["{{date}}", 3],
        kwargs={"customer": "{{payload.customer}}"},
        wait=True,
        result_url=shop.results,
    )
    status, result, error = await until_sent(database, target, payload={"customer": "acme"})
    assert (status, error) == ("success", None)
    assert result == {"billed": "acme"}
    _, args, kwargs = shop.seen()
    assert (args, kwargs) == (["2030-05-01", 3], {"customer": "acme"})


async def test_a_task_that_fails_fails_the_attempt(database: Database, shop: Shop) -> None:
    await until_sent(database, shop.target("shop.bill"), payload=1)
    shop.seen()
    target = shop.target("shop.fail", wait=True, result_url=shop.results)
    store, run = await carry_out(database, target, idempotency_key_template=uuid4().hex)
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert (error or "").startswith("ValueError: no such customer")


async def test_a_result_that_is_there_already_is_taken_and_nothing_sent_twice(
    database: Database, shop: Shop
) -> None:
    target = shop.target("shop.bill", wait=True, result_url=shop.results)
    assert (await until_sent(database, target, payload={"customer": "acme"}))[0] == "success"
    number, _, _ = shop.seen()
    store, run = await waiting(database, target, payload={"customer": "acme"})
    await store.execute("update sexton.runs set idempotency_key = $2 where id = $1", run, number)
    async with working(database, {}) as worker:
        await drained(worker)
    assert (await end_of(store, run))[1] == {"billed": "acme"}
    assert shop.unseen() == 0
