"""An elector that fails costs its shards, and nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

import pytest

from sexton import clock
from sexton.engine.cluster.electors.base import Elector, View, unreachable
from sexton.engine.cluster.guard import ElectorGuard
from sexton.errors import InvalidField

VIEW = View(node=1, epochs={0: 5, 1: 5}, holders={0: None, 1: 7}, live=frozenset({7}))


class Moody(Elector):
    """Does what its mood says: answer, raise, or never come back."""

    name = "moody"

    def __init__(self) -> None:
        super().__init__()
        self.mood: Exception | None = None
        self.silent = False
        self.calls = 0

    async def open(self, cluster: str) -> None:
        await self._answer()

    async def renew(self, view: View) -> set[int]:
        await self._answer()
        self.trusted_until = clock.monotonic() + 100
        return {0}

    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        await self._answer()
        return set(shards)

    async def release(self, shards: Collection[int]) -> None:
        await self._answer()

    async def close(self) -> None:
        await self._answer()

    async def _answer(self) -> None:
        self.calls += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.mood is not None:
            raise self.mood


@pytest.fixture
def moody() -> Moody:
    return Moody()


@pytest.fixture
def guard(moody: Moody) -> ElectorGuard:
    return ElectorGuard(moody, lease_seconds=0.04)


async def test_answers_are_passed_on(moody: Moody, guard: ElectorGuard) -> None:
    assert not guard.trusted()
    assert await guard.renew(VIEW) == {0}
    assert await guard.acquire({1}, VIEW) == {1}
    assert guard.trusted()
    assert guard.health.ok


async def test_nothing_is_asked_about_nothing(moody: Moody, guard: ElectorGuard) -> None:
    assert await guard.acquire(set(), VIEW) == set()
    await guard.release([])
    assert moody.calls == 0


@pytest.mark.parametrize(
    ("mood", "said"),
    [
        (unreachable("moody", OSError("no route\nto host")), "the elector moody cannot be reached: no route"),
        (KeyError("surprise"), "'surprise'"),
    ],
)
async def test_a_failure_is_said_once_and_shown_until_it_is_over(
    moody: Moody, guard: ElectorGuard, mood: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert await guard.renew(VIEW) == {0}
    moody.mood = mood
    since = None
    for _ in range(3):
        assert await guard.renew(VIEW) is None
        assert await guard.acquire({1}, VIEW) == set()
        await guard.release({0})
        assert (guard.health.ok, guard.health.error) == (False, said)
        since = since or guard.health.since
        assert guard.health.since == since
    assert guard.trusted()  # what was granted is good until it runs out
    assert [record.message for record in caplog.records if said in record.message] == [caplog.messages[0]]
    moody.mood = None
    assert await guard.renew(VIEW) == {0}
    assert not guard.health.ok  # for what was asked beside that failed, too
    assert await guard.acquire(set(), VIEW) == set()
    await guard.release([])
    assert guard.health.ok
    assert caplog.messages[-1] == "elector moody: answers again"


async def test_no_answer_is_a_failure_too(moody: Moody, guard: ElectorGuard) -> None:
    moody.silent = True
    assert await guard.renew(VIEW) is None
    assert guard.health.error == "no answer in time"
    await guard.close()


async def test_when_its_leases_have_run_out_it_is_asked_more_and_more_rarely(
    moody: Moody, guard: ElectorGuard, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    moody.mood = unreachable("moody", OSError("gone"))
    for _ in range(1000):
        assert await guard.renew(VIEW) is None
    assert 1 <= moody.calls < 20
    assert (
        caplog.messages.count("elector moody: its leases have run out; nothing is fired until it answers")
        == 1
    )
    assert not guard.trusted()


async def test_an_elector_that_has_something_to_tell_is_asked_at_once(
    moody: Moody, guard: ElectorGuard
) -> None:
    told: list[bool] = []
    await guard.open("cluster", lambda: told.append(True))
    moody.mood = unreachable("moody", OSError("gone"))
    while moody.calls < 20:
        await guard.renew(VIEW)
        moody.on_lost()
    assert len(told) >= 18


async def test_what_can_never_work_is_raised_when_it_is_opened(moody: Moody, guard: ElectorGuard) -> None:
    moody.mood = InvalidField("pooled_elector", "not here", field="elector")
    with pytest.raises(InvalidField):
        await guard.open("cluster", lambda: None)
    moody.mood = unreachable("moody", OSError("gone"))
    await guard.open("cluster", lambda: None)
    assert not guard.health.ok


def test_a_shard_is_free_if_no_other_live_node_leads_it() -> None:
    assert VIEW.free(0)
    assert not VIEW.free(1)
    assert View(node=7, holders={1: 7}, live=frozenset({7})).free(1)
    assert View(node=1, holders={1: 8}, live=frozenset({7})).free(1)
