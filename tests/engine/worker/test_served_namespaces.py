"""A worker sees nothing of the namespaces that it was not told to serve."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from sexton.config import Settings
from sexton.engine.cluster.application import Application
from sexton.engine.telemetry import Telemetry
from sexton.engine.upkeep.dead_letter_sender import DeadLetterSender
from sexton.engine.worker.worker import Worker
from sexton.jobs.queues import pause_queue, set_limits
from sexton.jobs.spec import Limits
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.read import get_run
from sexton.security.binding import Use
from sexton.security.secrets import SecretError, Secrets, keep, new_key
from sexton.targets.face import Run
from tests.seeding import NOW, QUIET, Store, settled, working


async def work(run: Run) -> None:
    """Returns nothing."""


async def test_a_worker_claims_from_the_namespaces_that_it_serves(store: Store, database: Database) -> None:
    ours, theirs = [await store.run(namespace=each, payload='{"of": 1}') for each in ("a", "b")]
    async with working(database, {"work": work}, namespaces="a,c") as worker:
        await worker.claimer.tick()
        await settled(worker)
        assert await store.statuses() == {ours: "success"}
        assert (await store.live(theirs))["claim"] == 0
        node = await store.row("select * from sexton.nodes")
        assert node["namespaces"] == ["a", "c"]
    async with working(database, {"work": work}) as worker:
        await worker.claimer.tick()
        await settled(worker)
    assert await store.statuses() == {ours: "success", theirs: "success"}


async def test_no_claim_reaches_beyond_the_lanes_of_the_namespaces(store: Store, database: Database) -> None:
    """Every statement that claims is given the lanes of `a`, and ids of runs of `b`."""
    theirs = await store.run(namespace="b")
    suspect = await store.run(namespace="b", company=1)
    limited = await store.run(namespace="b", handler="other")
    await set_limits(Context(database, "b"), "default", Limits(concurrency=5))
    async with working(database, {"work": work, "other": work}, namespaces="a") as worker:
        ours = await store.lane(namespace="a")
        await set_limits(Context(database, "a"), "default", Limits(concurrency=5))
        found = await worker.queue.lanes(None, ["work", "other"], [], namespaces=["a"])
        assert (found.free, found.limited) == ([], [ours])
        node, lanes = worker.state.node, found.limited
        assert node is not None
        assert await worker.queue.claim(node, lanes, 10, now=NOW) == []
        assert await worker.queue.claim_by_id(node, lanes, [theirs, suspect, limited], now=NOW) == []
        assert await worker.queue.claim_suspects(node, lanes, 10, now=NOW) == []
        assert (await worker.queue.claim_limited(node, lanes, 10, now=NOW)).rows == []
        assert (await worker.queue.claim_limited(node, lanes, 1, company=1, now=NOW)).rows == []
        assert (await worker.queue.suspects(lanes, now=NOW)).lanes == set()


async def test_limits_and_pauses_are_those_of_the_namespace(store: Store, database: Database) -> None:
    ours, theirs = [await store.run(namespace=each) for each in ("a", "b")]
    await pause_queue(Context(database, "b"), "default", reason="they move")
    for _ in range(2):
        await store.run(namespace="a")
    await set_limits(Context(database, "a"), "default", Limits(concurrency=1))
    async with working(database, {"work": work}) as worker:
        await worker.claimer.tick()
        assert worker.state.in_hand == 1
        await settled(worker)
        assert await store.statuses() == {ours: "success"}
        shown = await get_run(Context(database, "b", now=NOW), theirs)
        assert shown.waiting_for == "the queue default is paused (they move)"


async def test_limits_of_two_namespaces_are_counted_apart(store: Store, database: Database) -> None:
    for namespace in ("a", "b"):
        await set_limits(Context(database, namespace), "default", Limits(concurrency=2, rate=3))
        for _ in range(5):
            await store.run(namespace=namespace)
    async with working(database, {"work": work}) as worker:
        await worker.claimer.find_lanes()
        node = worker.state.node
        assert node is not None
        claimed = await worker.queue.claim_limited(node, worker.state.limited, 10, now=NOW)
    assert sorted(row["job_id"] for row in claimed.rows)
    rows = await store.fetch(
        """select lane.namespace, count(*) as runs from sexton.runs as run
        join sexton.lanes as lane on lane.id = run.lane
        where run.claim > 0 group by lane.namespace order by 1"""
    )
    assert [tuple(row) for row in rows] == [("a", 2), ("b", 2)]


async def test_why_says_that_no_worker_serves_the_namespace(store: Store, database: Database) -> None:
    run = await store.run(namespace="b", available_at=datetime(2020, 1, 1, tzinfo=UTC))
    async with working(database, {"work": work}, namespaces="a"):
        shown = await get_run(Context(database, "b"), run)
        assert shown.waiting_for == "no worker serves the namespace b"


async def test_secrets_of_other_namespaces_are_not_revealed(database: Database) -> None:
    settings = Settings(secret_key=new_key())
    for namespace in ("a", "b"):
        await keep(Context(database, namespace), settings, "token", f"secret of {namespace}")
    found = Secrets(database, msgspec.structs.replace(settings, namespaces="a"))
    assert await found.value("token", Use(namespace="a")) == "secret of a"
    with pytest.raises(SecretError) as refused:
        await found.value("token", Use(namespace="b"))
    assert refused.value.code == "other_namespace"
    with pytest.raises(SecretError, match="sees no secret of b"):
        await found.address("redis://:${secret:token}@host", "message", namespace="b")


async def test_letters_of_other_namespaces_are_left_alone(store: Store, database: Database) -> None:
    for namespace in ("a", "b"):
        job = await store.job(namespace=namespace)
        await store.execute(
            """insert into sexton.dead (run_id, job_id, reason, error_group, lane, priority, scheduled_at,
                due_at, revision, trigger, missed, attempt)
            values ($1, $1, 'exhausted', '', $2, 2, $3, $3, 1, 'schedule', false, 1)""",
            job,
            await store.lane(namespace=namespace),
            NOW,
        )
    settings = msgspec.structs.replace(QUIET, namespaces="a")
    sender = DeadLetterSender(database, settings, {}, Telemetry(), now=lambda: NOW)
    assert await sender.deliver() == 1
    rows = await store.fetch(
        """select lane.namespace from sexton.dead join sexton.lanes as lane on lane.id = dead.lane
        where dead.next_delivery_at is not null"""
    )
    assert [row["namespace"] for row in rows] == ["b"]


def served(namespaces: str | None, own: str | None) -> list[str] | None:
    application = Application("shop", "/srv/shop.py", given=True, namespace=own)
    return application.serves(Settings(namespaces=namespaces)).namespace_names()


def test_an_application_with_a_namespace_of_its_own_serves_that() -> None:
    assert served(None, None) is None
    assert served(None, "a") == ["a"]
    assert served("b,c", "a") == ["b", "c"]
    assert served("*", "a") is None


async def test_one_handler_of_applications_in_two_namespaces_is_not_contested(
    store: Store, database: Database
) -> None:
    lanes = {each: await store.lane(namespace=each) for each in ("a", "b")}

    def worker(app: str, namespace: str) -> Worker:
        application = Application(app, f"/srv/{app}.py", given=True, namespace=namespace)
        return Worker(database, QUIET, {"work": work}, app=application, loops=())

    workers: list[Any] = [worker("one", "a"), worker("two", "b")]
    for each in workers:
        await each.start()
    try:
        for each in workers:
            await each.claimer.find_lanes()
        assert [each.state.lanes for each in workers] == [[lanes["a"]], [lanes["b"]]]
    finally:
        for each in workers:
            await each.stop(0)
