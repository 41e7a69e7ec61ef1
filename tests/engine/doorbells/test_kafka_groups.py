"""Several workers in one consumer group of Kafka, played by the gateway of SeaweedFS: the mock cluster that
the rest is tried on takes only one."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from sexton.engine.doorbells.base import Broker, Delivery, Notice
from sexton.engine.doorbells.kafka import KafkaBroker
from sexton.engine.worker.receiver import read_notice
from sexton.postgres.database import Database
from tests.engine.doorbells.suite import BrokerSuite, Stage, patiently
from tests.servers.address import address
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.servers


class Groups(BrokerSuite):
    exact = False

    def broker(self, cluster: str) -> Broker:
        return KafkaBroker(address("SEXTON_TEST_KAFKA_GROUPS_URL"), cluster)

    async def stop(self) -> None:
        raise NotImplementedError("it is shared with other tests")

    async def start(self) -> None:
        raise NotImplementedError("it is shared with other tests")


class Member:
    """Takes what comes, and acknowledges it, until it is told to leave."""

    def __init__(self, broker: KafkaBroker, seen: Counter[int]) -> None:
        self.broker = broker
        self._seen = seen
        self.answering = True
        self.kept: list[Delivery] = []
        self._task = asyncio.create_task(self._work())

    @property
    def partitions(self) -> int:
        return len(self.broker._consumer.assignment()) if self.broker._consumer else 0

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        await self.broker.close()

    async def _work(self) -> None:
        while True:
            got = await patiently(lambda: self.broker.receive([1], 10, 0.5))
            if self.answering:
                self._seen.update(read_notice(one.body).runs[0] for one in got)
                await patiently(lambda got=got: self.broker.acknowledge(got))  # type: ignore[misc]
            else:
                self.kept += got


async def test_members_share_the_partitions_and_take_them_over() -> None:
    url, cluster = address("SEXTON_TEST_KAFKA_GROUPS_URL"), secrets.token_hex(8)
    seen: Counter[int] = Counter()
    sender = KafkaBroker(url, cluster)
    sent = 0

    async def send(count: int) -> None:
        nonlocal sent
        await patiently(lambda: sender.publish([Notice(1, [sent + n]) for n in range(count)]))
        sent += count

    async with AsyncExitStack() as stack:
        stack.push_async_callback(sender.close)
        await send(20)
        first = Member(KafkaBroker(url, cluster), seen)
        stack.push_async_callback(first.leave)
        await until(lambda: len(seen) == 20)
        second = Member(KafkaBroker(url, cluster), seen)
        stack.push_async_callback(second.leave)
        await until(lambda: first.partitions == second.partitions == 2)
        await send(40)
        await until(lambda: len(seen) == sent)
        # One that has something in hand goes, without having said a word of it.
        first.answering = False
        async with asyncio.timeout(PATIENCE):
            while not first.kept:
                await send(10)
        await first.leave()
        await until(lambda: second.partitions == 4)
        await until(lambda: len(seen) == sent)


async def test_what_is_in_hand_belongs_to_one_assignment() -> None:
    """What is acknowledged of an earlier one could have been dealt with by another worker, and go back."""
    url, cluster = address("SEXTON_TEST_KAFKA_GROUPS_URL"), secrets.token_hex(8)
    seen: Counter[int] = Counter()
    async with AsyncExitStack() as stack:
        ours = KafkaBroker(url, cluster)
        stack.push_async_callback(ours.close)
        await patiently(lambda: ours.publish([Notice(1, [n]) for n in range(20)]))
        held: list[Delivery] = []
        async with asyncio.timeout(PATIENCE):
            while len(held) < 20:
                held += await patiently(lambda: ours.receive([1], 20, 0.5))
        other = Member(KafkaBroker(url, cluster), seen)
        stack.push_async_callback(other.leave)
        again: list[Delivery] = []
        async with asyncio.timeout(PATIENCE):
            while other.partitions != 2 or len(ours._consumer.assignment()) != 2:
                again += await patiently(lambda: ours.receive([1], 20, 0.5))
        await ours.acknowledge(held)
        assert ours._in_hand.keys() <= ours._consumer.assignment()
        # They were not acknowledged before the group changed: they come to the worker that has them now.
        async with asyncio.timeout(PATIENCE):
            while len(seen) < 20:
                seen.update(read_notice(one.body).runs[0] for one in again)
                await ours.acknowledge(again)
                again = await patiently(lambda: ours.receive([1], 20, 0.5))


async def test_doubled_and_disordered_notices_do_no_harm(database: Database) -> None:
    suite = Groups()
    async with AsyncExitStack() as stack:
        stage = await Stage(database, suite, stack).prepare()
        await suite.test_doubled_and_disordered_notices_do_no_harm(stage)
