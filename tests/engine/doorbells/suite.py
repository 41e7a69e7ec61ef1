"""What every broker must do. A backend's test file says how to make one and how to take it away, and
inherits the rest.

The first half tries the broker alone. The second puts it between a ringer and workers on a real PostgreSQL,
makes it misbehave, and then looks at the ledger: every run has succeeded, once.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.engine.doorbells.base import (
    Broker,
    Delivery,
    Notice,
    notices_of,
)
from sexton.engine.doorbells.connection import BrokerConnection
from sexton.engine.doorbells.ringer import Ringer
from sexton.engine.telemetry import Telemetry
from sexton.engine.worker.receiver import Receiver, read_notice
from sexton.engine.worker.worker import Worker
from sexton.errors import Unavailable
from sexton.postgres.database import Database, array_text
from sexton.targets.face import Run
from tests.seeding import Store
from tests.waiting import PATIENCE, until

T = TypeVar("T")


# Nothing happens by itself: what is done, a notice has done.
QUIET = Settings(worker_lease_seconds=3000, heartbeat_seconds=1000, poll_seconds=60, sweep_seconds=1000)
# As usual, only quicker.
LIVELY = Settings(worker_lease_seconds=3000, heartbeat_seconds=1000, poll_seconds=0.2, sweep_seconds=0.5)

MANY = """
insert into sexton.runs (job_id, lane, priority, available_at, scheduled_at, due_at, revision)
select $1, $2, 2, now(), now(), now(), 1 from generate_series(1, $3::int)
returning id, scheduled_at
"""


class Stage:
    """A database with one lane, and what a test puts around the broker."""

    def __init__(self, database: Database, suite: BrokerSuite, stack: AsyncExitStack) -> None:
        self.database = database
        self.store = Store(database)
        self.suite = suite
        self.stack = stack
        self.lane = self.job = 0
        self.cluster = ""
        self.done: Counter[int] = Counter()

    async def prepare(self) -> Stage:
        self.lane = await self.store.lane()
        self.job = await self.store.job()
        row = await self.database.fetchrow("cluster/read_name")
        assert row is not None
        self.cluster = row["name"]
        return self

    def connection(self) -> BrokerConnection:
        return BrokerConnection(self.database, self.suite.broker)

    async def runs(self, count: int) -> list[int]:
        """Runs that can be claimed now."""
        return (await self.fired(count))[1]

    async def fired(self, count: int) -> tuple[datetime, list[int]]:
        """Runs as a firing makes them, and the time they are scheduled for."""
        rows = await self.store.fetch(MANY, self.job, self.lane, count)
        return rows[0]["scheduled_at"], [row["id"] for row in rows]

    async def work(self, run: Run) -> None:
        self.done[run._attempt.id] += 1

    async def worker(self, settings: Settings = QUIET, work: Any = None, **changes: Any) -> Worker:
        """One that hears the broker, if it is there to be heard."""
        changed = msgspec.structs.replace(settings, **changes)
        worker = Worker(self.database, changed, {"work": work or self.work}, broker=self.connection())
        await worker.start()
        self.stack.push_async_callback(worker.stop, 0)
        await worker.joined()
        return worker

    async def hearing(self, *arguments: Any, **changes: Any) -> Worker:
        worker = await self.worker(*arguments, **changes)
        receiver = receiver_of(worker)
        await until(lambda: receiver.up)
        return worker

    async def ringer(self, settings: Settings = QUIET, *, sweeping: bool = False) -> Ringer:
        ringer = Ringer(self.database, settings, self.connection(), Telemetry(), sweeping=lambda: sweeping)
        ringer.start()
        self.stack.push_async_callback(ringer.stop)
        return ringer

    async def broker(self) -> Broker:
        broker = self.suite.broker(self.cluster)
        self.stack.push_async_callback(broker.close)
        return broker

    async def publish(self, runs: Sequence[int], *, broker: Broker | None = None) -> None:
        await (broker or await self.broker()).publish(list(notices_of(self.lane, runs)))

    async def succeeded(self, runs: Sequence[int]) -> None:
        """Until all of them have; then see that each was carried out once, and nothing is left."""
        await until(lambda: len(self.done) >= len(runs))

        async def recorded() -> bool:
            ended: int = await self.store.value("select count(*) from sexton.history")
            return ended >= len(runs)

        await until(recorded)
        assert self.done == Counter(runs)
        assert await self.store.statuses() == dict.fromkeys(runs, "success")
        assert await self.store.value("select count(*) from sexton.history") == len(runs)
        assert await self.store.value("select count(*) from sexton.runs") == 0


class Slow:
    """A handler that waits until it is let go."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.started: list[int] = []
        self.free = asyncio.Event()

    async def work(self, run: Run) -> None:
        self.started.append(run._attempt.id)
        await self.free.wait()
        await self._stage.work(run)


class BrokerSuite(ABC):
    """Inherit as Test…, and say how to come by a broker."""

    # Whether what one worker does not take is there for the others.
    exact = True
    # Whether the server of the test can serve several workers.
    shared = True
    # Whether two calls at the same time never get the same notice.
    once = True

    @abstractmethod
    def broker(self, cluster: str) -> Broker:
        """One of this cluster, on the server of the test."""

    @abstractmethod
    async def stop(self) -> None:
        """Take the server away."""

    @abstractmethod
    async def start(self) -> None:
        """Bring it back. It may have forgotten everything."""

    @pytest_asyncio.fixture
    async def stage(self, database: Database) -> AsyncIterator[Stage]:
        async with AsyncExitStack() as stack:
            yield await Stage(database, self, stack).prepare()

    @asynccontextmanager
    async def pair(self) -> AsyncIterator[tuple[Broker, Broker]]:
        """Two of a cluster that has no others; what is not acknowledged comes again soon."""
        cluster = secrets.token_hex(8)
        brokers = self.broker(cluster), self.broker(cluster)
        for broker in brokers:
            broker.redeliver_seconds = 1.0
        try:
            yield brokers
        finally:
            for broker in brokers:
                await broker.close()

    # The broker alone.

    async def test_what_is_published_is_received_once(self) -> None:
        async with self.pair() as (sender, receiver):
            receiver.redeliver_seconds = 60.0  # not again, however slow this machine is
            notices = [Notice(1, [n]) for n in range(25)]
            await sender.publish(notices)
            got = await collect(receiver, [1], 25)
            numbers = sorted(read_notice(one.body).runs[0] for one in got)
            assert (numbers if self.once else sorted(set(numbers))) == list(range(25))
            await receiver.acknowledge(got)
            assert await receiver.receive([1], 10, 0.2) == []

    async def test_lanes_are_apart(self) -> None:
        async with self.pair() as (sender, receiver):
            await sender.publish([Notice(1, [1]), Notice(2, [2]), Notice(3, [3])])
            got = await collect(receiver, [2, 3], 2)
            assert sorted(read_notice(one.body).lane for one in got) == [2, 3]
            await receiver.acknowledge(got)
            [other] = await collect(receiver, [1, 2, 3], 1)
            assert read_notice(other.body) == Notice(1, [1])

    async def test_no_more_is_taken_than_was_asked_for(self) -> None:
        async with self.pair() as (sender, receiver):
            await sender.publish([Notice(1 + n % 3, [n]) for n in range(30)])
            got = await receive(receiver, [1, 2, 3], 4)
            assert 1 <= len(got) <= 4

    async def test_between_calls_nothing_is_taken(self) -> None:
        """One that waited in vain does not get what comes afterwards; another does."""
        async with self.pair() as (sender, first):
            assert await first.receive([1], 5, 0.2) == []
            second = self.broker(first.cluster)
            if self.exact:
                await sender.publish([Notice(1, [7])])
                [got] = await collect(second, [1], 1)
                assert read_notice(got.body).runs == [7]
            await second.close()

    async def test_one_that_waits_is_woken(self) -> None:
        async with self.pair() as (sender, receiver):
            # Patiently: RabbitMQ may refuse when two declare a new queue at once.
            waiting = asyncio.create_task(patiently(lambda: collect(receiver, [1, 2], 1)))
            await sender.publish([])
            await patiently(lambda: sender.publish([Notice(2, [9])]))
            [got] = await waiting
            assert read_notice(got.body) == Notice(2, [9])

    async def test_what_was_not_acknowledged_comes_again(self) -> None:
        async with self.pair() as (sender, receiver):
            await sender.publish([Notice(1, [n]) for n in range(5)])
            got = await collect(receiver, [1], 5)
            kept = got[0]
            await receiver.acknowledge([kept])
            await receiver.close()
            again = self.broker(sender.cluster)
            again.redeliver_seconds = 1.0
            seen: set[int] = set()
            try:
                expected = {read_notice(one.body).runs[0] for one in got if one.body != kept.body}
                async with asyncio.timeout(PATIENCE):
                    while not expected <= seen:
                        found = await again.receive([1], 10, 0.5)
                        seen |= {read_notice(one.body).runs[0] for one in found}
                        await again.acknowledge(found)
            finally:
                await again.close()

    async def test_what_cannot_be_reached_is_said_and_found_again(self) -> None:
        async with self.pair() as (sender, receiver):
            await sender.publish([])
            await receiver.receive([1], 1, 0.1)
            await self.stop()
            try:
                for call in (lambda: sender.publish([Notice(1, [1])]), lambda: receiver.receive([1], 1, 0.1)):
                    with pytest.raises((Unavailable, TimeoutError)):
                        async with asyncio.timeout(10):
                            await call()
            finally:
                await self.start()
            for broker in (sender, receiver):
                await broker.close()
            await patiently(lambda: sender.publish([Notice(1, [2])]))
            got = await patiently(lambda: collect(receiver, [1], 1))
            assert read_notice(got[-1].body).runs in ([1], [2])

    # Between a ringer and workers.

    async def test_notices_bring_runs_to_workers(self, stage: Stage) -> None:
        worker = await stage.hearing()
        ringer = await stage.ringer()
        at, runs = await stage.fired(250)
        ringer.fired(array_text([stage.job]), array_text([1]), [at], 250)
        await stage.succeeded(runs)
        assert count(worker.telemetry.rings_received) == 250
        assert count(ringer._telemetry.rings_sent) == 250
        assert count(worker.telemetry.rings_empty) == 0

    async def test_doubled_and_disordered_notices_do_no_harm(self, stage: Stage) -> None:
        workers = [await stage.hearing() for _ in range(2 if self.shared else 1)]
        runs = await stage.runs(100)
        notices = [Notice(stage.lane, [run]) for run in runs] * 3
        random.Random(1).shuffle(notices)
        await (await stage.broker()).publish(notices)
        await stage.succeeded(runs)
        await until(lambda: sum(count(worker.telemetry.rings_received) for worker in workers) >= 300)
        await until(lambda: sum(count(worker.telemetry.rings_empty) for worker in workers) >= 200)

    async def test_a_notice_of_nothing_is_dropped(self, stage: Stage) -> None:
        """Runs that have ended, are not due, are of another lane, or never were."""
        worker = await stage.hearing()
        elsewhere = await stage.store.lane("other")
        other = await stage.store.run(lane=elsewhere, available_at=datetime.now(UTC))
        later = await stage.store.run(stage.job, available_at=datetime(2100, 1, 1, tzinfo=UTC))
        await stage.publish([other, later, 10**15])
        await until(lambda: count(worker.telemetry.rings_empty) == 3)
        runs = await stage.runs(1)
        await stage.publish(runs)
        await until(lambda: stage.done == Counter(runs))
        for run in (other, later):
            assert (await stage.store.live(run))["state"] == "pending"

    async def test_what_is_no_notice_is_dropped_and_logged(
        self, stage: Stage, caplog: pytest.LogCaptureFixture
    ) -> None:
        await stage.hearing()
        poison = await stage.broker()
        for body in (b"\xff\xfe garbage", b"{}", b'{"lane":1,"runs":"all"}'):
            setattr(poison, "encode", lambda notice, body=body: body)  # noqa: B010
            await poison.publish([Notice(stage.lane, [1])])
        runs = await stage.runs(10)
        await stage.publish(runs)
        await stage.succeeded(runs)
        await until(lambda: sum("no notice" in line for line in caplog.messages) >= 3)

    async def test_lost_notices_are_made_good_by_the_sweep(self, stage: Stage) -> None:
        worker = await stage.hearing()
        runs = await stage.runs(150)  # without a ring
        await stage.ringer(LIVELY, sweeping=True)
        await stage.succeeded(runs)
        assert count(worker.telemetry.rings_received) >= 150

    async def test_lost_notices_are_made_good_by_looking(self, stage: Stage) -> None:
        worker = await stage.hearing(LIVELY)
        runs = await stage.runs(150)
        await stage.succeeded(runs)
        assert count(worker.telemetry.rings_received) == 0

    async def test_what_is_not_fired_is_rung_for(self, stage: Stage) -> None:
        """A retry, when its time has come; a manual run."""
        await stage.ringer(LIVELY, sweeping=True)
        tried: Counter[int] = Counter()

        async def work(run: Run) -> None:
            tried[run._attempt.id] += 1
            if tried[run._attempt.id] == 1:
                raise ValueError("not yet")
            stage.done[run._attempt.id] += 1

        await stage.hearing(work=work)
        job = await stage.store.job(max_retries=3, retry_base_seconds=0, retry_max_seconds=0)
        now = datetime.now(UTC)
        run = await stage.store.run(job, trigger="manual", available_at=now, scheduled_at=now, due_at=now)
        await stage.succeeded([run])
        assert tried == {run: 2}

    async def test_a_full_worker_takes_nothing(self, stage: Stage) -> None:
        slow = Slow(stage)
        full = await stage.hearing(work=slow.work, concurrency=2)
        first = await stage.runs(2)
        broker = await stage.broker()
        await broker.publish([Notice(stage.lane, [run]) for run in first])
        await until(lambda: sorted(slow.started) == sorted(first))
        received = count(full.telemetry.rings_received)
        rest = await stage.runs(40)
        await broker.publish([Notice(stage.lane, [run]) for run in rest])
        if self.exact:
            # Everything is still there for a worker that has room.
            await stage.hearing()
            await until(lambda: stage.done == Counter(rest))
            assert count(full.telemetry.rings_received) == received == 2
            assert full.state.in_hand == 2
        else:
            assert full.state.in_hand == 2
        slow.free.set()
        await stage.succeeded([*first, *rest])

    async def test_more_than_there_is_room_for_is_passed_on(self, stage: Stage) -> None:
        """One notice of more runs than a worker has slots: the other gets the rest."""
        slow = Slow(stage)
        small = await stage.hearing(work=slow.work, concurrency=3)
        runs = await stage.runs(60)
        await stage.publish(runs)
        await until(lambda: len(slow.started) == 3)
        await (stage.hearing() if self.exact else stage.worker(LIVELY))
        await until(lambda: len(stage.done) == 57)
        assert small.state.in_hand == 3
        slow.free.set()
        await stage.succeeded(runs)

    async def test_a_worker_that_vanishes_leaves_its_notices_to_others(self, stage: Stage) -> None:
        runs = await stage.runs(20)
        gone = self.broker(stage.cluster)
        gone.redeliver_seconds = 1.0
        await stage.publish(runs)
        assert await collect(gone, [stage.lane], 1)
        await gone.close()
        await stage.worker(LIVELY)
        await stage.succeeded(runs)

    async def test_a_broker_that_is_away_at_the_start(self, stage: Stage) -> None:
        await self.stop()
        try:
            worker = await stage.worker(LIVELY)
            ringer = await stage.ringer(LIVELY, sweeping=True)
            first = await stage.runs(100)
            ringer.fired(array_text([stage.job]), array_text([1]), [datetime.now(UTC)], 100)
            await until(lambda: stage.done == Counter(first))
            await until(lambda: count(ringer._telemetry.rings_dropped) >= 100)
            assert not receiver_of(worker).up
        finally:
            await self.start()
        await until(lambda: receiver_of(worker).up and ringer.broker.up)
        second = await stage.runs(100)
        await stage.succeeded([*first, *second])

    async def test_a_broker_that_goes_away_for_a_while(self, stage: Stage) -> None:
        worker = await stage.hearing(LIVELY)
        ringer = await stage.ringer(LIVELY, sweeping=True)
        before = await stage.runs(50)
        await stage.publish(before)
        await until(lambda: stage.done == Counter(before))
        await self.stop()
        try:
            await until(lambda: not receiver_of(worker).up and not ringer.broker.up)
            meanwhile = await stage.runs(50)
            await until(lambda: stage.done == Counter([*before, *meanwhile]))
        finally:
            await self.start()
        await until(lambda: receiver_of(worker).up and ringer.broker.up)
        received = count(worker.telemetry.rings_received)
        after = await stage.runs(50)
        broker = await stage.broker()
        await patiently(lambda: stage.publish(after, broker=broker))
        await stage.succeeded([*before, *meanwhile, *after])
        await until(lambda: count(worker.telemetry.rings_received) > received)

    async def test_a_restart_in_the_middle_of_many(self, stage: Stage) -> None:
        settings = Settings(
            worker_lease_seconds=3000,
            heartbeat_seconds=1000,
            poll_seconds=0.5,
            sweep_seconds=2,
            concurrency=50,
        )
        for _ in range(2 if self.shared else 1):
            await stage.hearing(settings)
        ringer = await stage.ringer(settings, sweeping=True)
        runs: list[int] = []
        for part in range(10):
            at, made = await stage.fired(2000)
            runs += made
            ringer.fired(array_text([stage.job]), array_text([1]), [at], 2000)
            if part == 4:
                await until(lambda: len(stage.done) >= 2000)
                await self.stop()
                await self.start()
        await stage.succeeded(runs)


def receiver_of(worker: Worker) -> Receiver:
    assert worker.receiver is not None
    return worker.receiver


def count(metric: Any) -> int:
    return int(metric._value.get())


async def receive(broker: Broker, lanes: Sequence[int], limit: int) -> list[Delivery]:
    """The first that come."""
    async with asyncio.timeout(PATIENCE):
        while not (got := await broker.receive(lanes, limit, 0.5)):
            pass
    return got


async def collect(broker: Broker, lanes: Sequence[int], wanted: int) -> list[Delivery]:
    """So many different ones."""
    got: list[Delivery] = []
    async with asyncio.timeout(PATIENCE):
        while (missing := wanted - len({one.body for one in got})) > 0:
            got += await broker.receive(lanes, missing, 0.5)
    return got


async def patiently(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Until it is reached."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await call()
            except Unavailable:
                await asyncio.sleep(0.1)
