"""Consoles that ask the same at the same moment share the answer; others get one of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sexton import clock
from sexton.api import shared
from sexton.api.replay import StoredAnswer
from sexton.api.security.gate import Gate
from sexton.api.shared import SharedAnswers, accepted_age
from sexton.config import Settings
from sexton.errors import SextonError
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.key_spec import KeySpec
from sexton.security.keys import create_key
from sexton.security.role import Role
from tests.api.conftest import Api, serve
from tests.seeding import Store
from tests.waiting import until

OLD = {"Cache-Control": "max-age=2"}


class Maker:
    """Makes answers, when it may, and counts them."""

    def __init__(self) -> None:
        self.made = 0
        self.go = asyncio.Event()

    async def __call__(self) -> StoredAnswer:
        self.made += 1
        number = self.made
        await self.go.wait()
        return StoredAnswer(200, {}, b"%d" % number)


async def test_who_asks_meanwhile_waits_for_the_same_answer() -> None:
    told, maker = {"a": 0}, Maker()
    answers = SharedAnswers(lambda namespace: told.get(namespace, 0))
    asked = [asyncio.create_task(answers.answer("a", "x", 2, maker)) for _ in range(3)]
    other = asyncio.create_task(answers.answer("b", "x", 2, maker))
    await asyncio.sleep(0)
    asked[0].cancel()  # the others still get theirs
    maker.go.set()
    assert [(await each).body for each in asked[1:]] == [b"1", b"1"]
    assert (await other).body == b"2"
    assert (await answers.answer("a", "x", 2, maker)).body == b"1"
    told["a"] += 1  # the feed has told of a change
    assert (await answers.answer("a", "x", 2, maker)).body == b"3"
    answers.changed("a")
    assert (await answers.answer("a", "x", 2, maker)).body == b"4"
    assert (await answers.answer("b", "x", 2, maker)).body == b"2"


async def test_an_answer_that_takes_long_is_shared_until_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    now, maker = 100.0, Maker()
    monkeypatch.setattr(clock, "monotonic", lambda: now)
    answers = SharedAnswers(lambda namespace: 0)
    first = asyncio.create_task(answers.answer("a", "x", 2, maker))
    await until(lambda: maker.made == 1)
    now += 10
    other = asyncio.create_task(answers.answer("a", "y", 2, maker))
    second = asyncio.create_task(answers.answer("a", "x", 2, maker))
    await until(lambda: maker.made == 2)
    maker.go.set()
    assert [(await each).body for each in (first, second, other)] == [b"1", b"1", b"2"]
    assert (await answers.answer("a", "x", 2, maker)).body == b"3"


async def test_of_many_large_answers_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that asks for ever other pages does not fill the memory."""
    monkeypatch.setattr(shared, "MOST_BYTES", 3)
    answers, maker = SharedAnswers(lambda namespace: 0), Maker()
    maker.go.set()
    for question in ("first", "w", "x", "y", "z"):
        await answers.answer("a", question, 2, maker)
    assert [(await answers.answer("a", each, 2, maker)).body for each in "xyz"] == [b"3", b"4", b"5"]
    assert (await answers.answer("a", "first", 2, maker)).body == b"6"


def test_an_age_is_read_from_the_header() -> None:
    for text, age in (("max-age=2", 2.0), ("no-transform, max-age=7", 7.0), ("no-cache", 0.0), ("", 0.0)):
        assert accepted_age({"cache-control": text}) == age
    assert accepted_age({}) == 0.0


async def test_lists_are_shared_until_something_changes(api: Api, database: Database) -> None:
    assert (await api("GET", "/jobs", headers=OLD)).json() == []
    await Store(database).job()
    assert len((await api("GET", "/jobs")).json()) == 1
    assert (await api("GET", "/jobs", headers=OLD)).json() == []
    job = {"name": "one", "schedule": "every 1h", "target": {"handler": "sexton.log"}}
    assert (await api("POST", "/jobs", job)).status == 201
    assert len((await api("GET", "/jobs", headers=OLD)).json()) == 2


async def test_other_rights_have_another_answer(database: Database) -> None:
    """Also another namespace, and a caller without a role is refused as ever."""
    made = {
        name: await create_key(Context(database), KeySpec(name=name, role=role))
        for name, role in (("a", Role.VIEWER), ("b", Role.EDITOR))
    }
    async with serve(database, Settings(api_keys="configured-key-of-32-characters")) as api:
        keys = {name: key.key for name, key in made.items()}
        headers = {name: {**OLD, "Authorization": f"Bearer {key}"} for name, key in keys.items()}
        assert (await api("GET", "/jobs", headers=headers["a"])).json() == []
        await Store(database).job()
        assert (await api("GET", "/jobs", headers=headers["a"])).json() == []
        assert len((await api("GET", "/jobs", headers=headers["b"])).json()) == 1
        assert (await api("GET", "/jobs", headers=OLD)).status == 401


async def test_a_caller_without_a_place_does_not_fail_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two that ask the same, the one that was to make the answer finds no place."""
    asked, refused, go = 0, 0, asyncio.Event()
    answer = SharedAnswers.answer

    async def counted(self: SharedAnswers, *arguments: Any) -> StoredAnswer:
        nonlocal asked
        asked += 1
        return await answer(self, *arguments)

    @asynccontextmanager
    async def place(self: Gate, caller: str) -> AsyncIterator[None]:
        nonlocal refused
        if not go.is_set():
            refused += 1
            await go.wait()
            raise SextonError("too_many_lists", "no place became free")
        yield

    monkeypatch.setattr(SharedAnswers, "answer", counted)
    monkeypatch.setattr(Gate, "place", place)
    async with serve(database, Settings()) as api:
        first = asyncio.create_task(api("GET", "/jobs", headers=OLD))
        await until(lambda: refused == 1)
        second = asyncio.create_task(api("GET", "/jobs", headers=OLD))
        await until(lambda: asked == 2)
        # What is not expensive needs no place.
        assert (await api("GET", "/overview", headers=OLD)).status == 200
        go.set()
        assert (await first).code == "too_many_lists"
        assert (await second).json() == []
        assert refused == 1


async def test_what_workers_do_all_the_time_does_not_end_the_sharing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(SharedAnswers, "changed", lambda self, namespace: told.append(namespace))
    worker = (await api("POST", "/workers", {"name": "one", "handlers": ["work"]})).json()["worker_id"]
    for path, body in ((f"{worker}/claims", {"wait_seconds": 0}), (f"{worker}/beats", {})):
        assert (await api("POST", f"/workers/{path}", body)).status == 200
    assert told == []
    job = {"name": "one", "schedule": "every 1h", "target": {"handler": "sexton.log"}}
    assert (await api("POST", "/jobs", job)).status == 201
    assert told == ["default"]


async def test_queues_are_shared_until_one_is_changed(api: Api, database: Database) -> None:
    before = (await api("GET", "/queues", headers=OLD)).json()
    await Store(database).lane(queue="later")
    assert (await api("GET", "/queues", headers=OLD)).json() == before
    assert len((await api("GET", "/queues")).json()) == len(before) + 1
    assert (await api("PUT", "/queues/mail", {"concurrency": 2})).status in (200, 201)
    assert len((await api("GET", "/queues", headers=OLD)).json()) == len(before) + 2
