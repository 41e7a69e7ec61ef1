"""Dead letters, sent to a target beside being kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from sexton.config import Settings
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.dead_letter_sender import LEASE_SECONDS, DeadLetterSender, wait_before
from sexton.errors import InvalidField
from sexton.jobs.validation import read_spec
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.dead_letter_target import dead_letter_target, set_dead_letter_target
from sexton.runs.dead_letters import get_dead
from sexton.targets.http.outbound import Outbound
from sexton.targets.run import RunContext
from sexton.targets.table import check_dead_letter_target, make_services, open_kinds
from tests.seeding import (
    NOW,
    Store,
    drained,
    working,
)

SETTINGS = Settings()


class Office:
    """A service that takes letters, as long as it is open."""

    def __init__(self) -> None:
        self.letters: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.status = 200
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.keys.append(request.headers["Idempotency-Key"])
        if self.status == 200:
            self.letters.append(await request.json())
        return web.Response(status=self.status)


@pytest_asyncio.fixture
async def office() -> AsyncIterator[Office]:
    office = Office()
    app = web.Application()
    app.router.add_post("/dead", office.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    office.url = f"http://127.0.0.1:{runner.addresses[0][1]}/dead"
    yield office
    await runner.cleanup()


class Sender(DeadLetterSender):
    """A sender whose clock the test sets."""

    def __init__(self, database: Database) -> None:
        self.at = NOW
        self.outbound = Outbound(SETTINGS)
        kinds = open_kinds(make_services(database, SETTINGS, self.outbound))
        super().__init__(database, SETTINGS, kinds, Telemetry(), now=lambda: self.at)


@pytest_asyncio.fixture
async def sender(database: Database) -> AsyncIterator[Sender]:
    sender = Sender(database)
    yield sender
    for kind in sender._kinds.values():
        await kind.close()
    await sender.outbound.close()


async def die(database: Database, **options: Any) -> int:
    """A run that fails for good."""

    async def fail(run: Any) -> None:
        raise ValueError("no such customer")

    store = Store(database)
    run = await store.run(await store.job(payload={"n": 1}, max_retries=0, **options))
    async with working(database, {"work": fail}) as worker:
        await drained(worker)
    return run


async def test_the_target_of_the_job_gets_the_letter_once(
    database: Database, sender: Sender, office: Office
) -> None:
    run = await die(database, dead_letter_target={"http": {"url": office.url}})
    assert await sender.deliver() == 1
    assert await sender.deliver() == 0
    [letter] = office.letters
    assert office.keys == [f"dead:{encode_id('r', run)}"]
    assert letter["run_id"] == encode_id("r", run)
    assert letter["payload"] == {"n": 1}
    assert letter["idempotency_key"] == f"{letter['job_id']}:1903867200"
    assert (letter["reason"], letter["attempt"], letter["trigger"]) == ("exhausted", 1, "schedule")
    assert letter["error"].startswith("ValueError: no such customer")
    assert letter["scheduled_at"] == "2030-05-01T12:00:00Z"
    shown = await get_dead(Context(database), run)
    assert (shown.delivered_at, shown.delivery_error) == (NOW, None)


async def test_letters_of_all_jobs_go_where_the_namespace_says(
    database: Database, sender: Sender, office: Office
) -> None:
    before = await die(database)
    assert await sender.deliver() == 1
    await set_dead_letter_target(Context(database), {"http": {"url": office.url}})
    assert await dead_letter_target(Context(database)) == {"http": {"url": office.url}}
    run = await die(database)
    assert await sender.deliver() == 1
    assert [letter["run_id"] for letter in office.letters] == [encode_id("r", run)]
    assert (await get_dead(Context(database), before)).delivered_at is None
    await set_dead_letter_target(Context(database), None)
    assert await dead_letter_target(Context(database)) is None
    await die(database)
    await sender.deliver()
    assert len(office.letters) == 1


async def test_a_letter_that_is_refused_is_taken_again_later(
    database: Database, sender: Sender, office: Office
) -> None:
    run = await die(database, dead_letter_target={"http": {"url": office.url}})
    office.status = 500
    for tried in (1, 2, 3):
        assert await sender.deliver() == 1
        assert "HTTP 500" in ((await get_dead(Context(database), run)).delivery_error or "")
        assert await sender.deliver() == 0
        sender.at += timedelta(seconds=wait_before(tried))
    office.status = 200
    assert await sender.deliver() == 1
    assert len(office.letters) == 1
    assert (await get_dead(Context(database), run)).delivery_error is None


async def test_a_sender_that_dies_loses_no_letter(database: Database, sender: Sender, office: Office) -> None:
    await die(database, dead_letter_target={"http": {"url": office.url}})
    taken = await database.fetch(
        "recording/take_letters", namespaces=None, now=NOW, hearing=[], limit=10, lease_seconds=LEASE_SECONDS
    )
    assert len(taken) == 1
    assert await sender.deliver() == 0
    sender.at += timedelta(seconds=LEASE_SECONDS)
    assert await sender.deliver() == 1
    assert len(office.letters) == 1
    # What the first one says now is too late.
    late = await database.fetch(
        "recording/settle_letters",
        runs=[taken[0]["run_id"]],
        deliveries=[1],
        errors=["lost"],
        sent=[True],
        waits=[1.0],
        now=NOW,
    )
    assert late == []


async def test_a_broken_address_keeps_no_other_letter(
    database: Database, sender: Sender, office: Office
) -> None:
    broken = {"message": {"broker": "redis", "url": "redis://127.0.0.1:1/0", "topic": "dead"}}
    run = await die(database, dead_letter_target=broken)
    await die(database, dead_letter_target={"http": {"url": office.url}})
    assert await sender.deliver() == 2
    assert len(office.letters) == 1
    assert "redis" in ((await get_dead(Context(database), run)).delivery_error or "")


async def test_nothing_of_it_is_scanned_while_no_run_dies(database: Database) -> None:
    store = Store(database)
    rows = await store.fetch(
        """explain select run_id from sexton.dead where next_delivery_at <= now()
        order by next_delivery_at limit 9"""
    )
    assert "dead_undelivered" in "\n".join(row[0] for row in rows)


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"handler": "x"}, "dead_letter_target"),
        ({"shell": {"command": ["x"]}}, "dead_letter_target"),
        ({"http": {"url": "ftp://x"}}, "dead_letter_target.http.url"),
        ({"http": {"url": "http://x", "mode": "async"}}, "dead_letter_target.http.mode"),
        ({"http": {"link": "http://x"}}, "dead_letter_target.http.link"),
        (
            {"message": {"broker": "redis", "url": "redis://x", "topic": "a", "mode": "async"}},
            "dead_letter_target.message.mode",
        ),
        (
            {"message": {"broker": "redis", "url": "redis://x", "topic": "{{payload.nothing}}"}},
            "dead_letter_target.message.topic",
        ),
    ],
)
def test_what_cannot_work_is_refused(target: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        read_spec({"name": "a", "schedule": "@daily", "dead_letter_target": target})
    assert refused.value.field == field


def test_templates_find_the_letter() -> None:
    message = {"broker": "redis", "url": "redis://x", "topic": "dead", "key": "{{payload.job_name}}"}
    assert check_dead_letter_target({"message": message}).spec.key == "{{payload.job_name}}"


class Hearing:
    """A kind of target that wants to know of its dead runs, and may be deaf at first."""

    def __init__(self, deaf: int = 0) -> None:
        self.deaf = deaf
        self.heard: list[tuple[int, Any, str]] = []

    def step(self, spec: Any) -> None:
        """It carries nothing out."""

    async def close(self) -> None:
        """Nothing was opened."""

    async def given_up(self, run: RunContext, error: str) -> None:
        if self.deaf:
            self.deaf -= 1
            raise ConnectionError("not now")
        self.heard.append((run.id, run.payload, error.partition("\n")[0]))


async def test_a_kind_that_wants_to_know_is_told_of_its_dead_runs_once(
    database: Database, sender: Sender
) -> None:
    hearing = Hearing()
    sender._kinds = {"handler": hearing}
    run = await die(database)
    assert [await sender.deliver(), await sender.deliver()] == [1, 0]
    assert hearing.heard == [(run, {"n": 1}, "ValueError: no such customer")]
    assert (await get_dead(Context(database), run)).delivered_at is None


async def test_a_kind_is_told_before_the_letter_is_sent_and_again_until_it_has_heard(
    database: Database, sender: Sender, office: Office
) -> None:
    hearing = Hearing(deaf=1)
    sender._kinds = {**sender._kinds, "handler": hearing}
    run = await die(database, dead_letter_target={"http": {"url": office.url}})
    assert await sender.deliver() == 1
    assert (office.letters, hearing.heard) == ([], [])
    assert "ConnectionError: not now" in ((await get_dead(Context(database), run)).delivery_error or "")
    sender.at += timedelta(seconds=wait_before(1) + 1)
    assert await sender.deliver() == 1
    assert (len(office.letters), len(hearing.heard)) == (1, 1)
    assert (await get_dead(Context(database), run)).delivered_at == sender.at
