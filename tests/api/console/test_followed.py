"""Lists that consoles follow: made once for all who may see the same, and sent when they differ."""

from __future__ import annotations

import asyncio
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sexton.api.console import followed, open_console
from sexton.api.console.change import Kind, SeenChanges
from sexton.api.console.followed import FollowedLists, FollowedQuestion
from sexton.api.console.open_console import Console
from sexton.api.replay import StoredAnswer
from sexton.api.security.gate import RequestCaller
from sexton.api.shared import SharedAnswers
from sexton.config import Settings
from sexton.errors import SextonError, Unavailable
from sexton.model import decode_id, encode_id
from sexton.postgres.database import Database
from tests.api.conftest import Api, serve
from tests.api.console.test_events import following, heard
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.seeding import Store
from tests.waiting import until

JOBS = "/api/v1/jobs?limit=10"
NEVER = "0 0 1 1 *"


class Maker:
    """Answers with what it is told to; counts."""

    def __init__(self) -> None:
        self.made = 0
        self.body = b"[1]"
        self.failures: list[Exception] = []

    async def __call__(self) -> StoredAnswer:
        self.made += 1
        if self.failures:
            raise self.failures.pop(0)
        return StoredAnswer(200, {"Sexton-Total": "1"}, self.body)


def question(
    maker: Callable[[], Awaitable[StoredAnswer]],
    *kinds: Kind,
    key: str = "x",
    namespace: str = "default",
    credential: str = "key:1",
) -> FollowedQuestion:
    return FollowedQuestion(
        RequestCaller(credential, credential), "/api/v1/jobs", namespace, key, frozenset(kinds), maker
    )


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "REST_SECONDS", 0.0)


async def test_a_list_is_made_once_for_all_and_sent_when_it_differs(at_once: None) -> None:
    lists, maker, other = FollowedLists(), Maker(), Maker()
    consoles = [Console("default") for _ in range(3)]
    for console in consoles:
        lists.add(console, [question(maker, "jobs")])
    lists.add(apart := Console("default"), [question(other, "jobs", key="other rights")])
    await until(lambda: bool(apart.answers and all(console.answers for console in consoles)))
    events = {console.take() for console in consoles}
    assert events == {
        b'event: answer\ndata: {"address":"/api/v1/jobs","headers":{"Sexton-Total":"1"},"answer":[1]}\n\n'
    }
    assert (maker.made, other.made) == (1, 1)
    lists.changed("default", SeenChanges(kinds={"jobs"}))
    await until(lambda: maker.made == 2)
    await asyncio.sleep(0)
    assert [console.take() for console in consoles] == [b""] * 3
    lists.changed("elsewhere", SeenChanges(kinds={"jobs"}))
    lists.changed("default", SeenChanges(kinds={"runs"}))
    maker.body = b"[2]"
    lists.add(late := Console("default"), [question(maker, "jobs")])
    assert late.take() in events  # as it stands, without asking
    lists.changed("default", SeenChanges(kinds={"jobs", "dead"}))
    await until(lambda: all(console.answers for console in [*consoles, late]))
    assert maker.made == 3
    assert {console.take() for console in [*consoles, late]}.isdisjoint(events)
    for console in [*consoles, late]:
        lists.remove(console)
    lists.changed("default", SeenChanges(kinds={"jobs"}))
    await lists.close()
    assert maker.made == 3


async def test_runs_make_a_list_of_jobs_old_if_it_shows_one_of_them(at_once: None) -> None:
    lists, maker = FollowedLists(), Maker()
    maker.body = b'[{"job_id":"%s"}]' % encode_id("j", 7).encode()
    lists.add(console := Console("default"), [question(maker, "jobs")])
    await until(lambda: bool(console.answers))
    lists.changed("default", SeenChanges(kinds={"runs"}, jobs_of_runs={8}))
    lists.changed("default", SeenChanges(kinds={"queues"}, more=True))
    await asyncio.sleep(0)
    assert maker.made == 1
    lists.changed("default", SeenChanges(kinds={"runs"}, jobs_of_runs=set(range(1000))))
    await until(lambda: maker.made == 2)
    lists.changed("default", SeenChanges(kinds={"runs"}, jobs_of_runs={8}, more=True))
    await until(lambda: maker.made == 3)
    await lists.close()


async def test_what_cannot_be_read_now_is_read_later(at_once: None) -> None:
    lists, maker = FollowedLists(), Maker()
    maker.failures = [Unavailable("database_down", "away"), SextonError("too_many_lists", "no place")]
    lists.add(console := Console("default"), [question(maker, "jobs")])
    await until(lambda: bool(console.answers))
    assert maker.made == 3
    maker.failures = [SextonError("job_not_found", "there is none")]
    lists.changed("default", SeenChanges(kinds={"jobs"}))
    await until(lambda: maker.made == 4)
    maker.body = b"[2]"
    lists.changed("default", SeenChanges(kinds={"jobs"}))
    await until(lambda: b"[2]" in b"".join(console.answers.values()))
    await lists.close()


async def test_an_answer_that_was_not_read_is_replaced() -> None:
    console = Console("default")
    console.tell(b"changed ")
    for event in (b"old ", b"new "):
        console.answer("a", event)
    console.answer("b", b"other")
    assert console.take() == b"changed new other"
    assert console.take() == b""


async def test_large_answers_are_not_kept(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too large, or has no room beside the others, is said to have changed; each change once."""
    monkeypatch.setattr(followed, "LARGEST_ANSWER", 40)
    monkeypatch.setattr(followed, "MOST_BYTES", 200)
    lists, maker, console = FollowedLists(), Maker(), Console("default")
    maker.body = b"[%s]" % (b"1" * 50)
    lists.add(console, [question(maker, "jobs")])

    async def hears() -> bytes:
        await until(lambda: bool(console.answers))
        return console.take()

    told = b'event: answer\ndata: {"address":"/api/v1/jobs","headers":{"Sexton-Total":"1"},"answer":null}\n\n'
    assert await hears() == told
    lists.changed("default", SeenChanges(kinds={"jobs"}))
    await until(lambda: maker.made == 2)
    maker.body = b"[%s]" % (b"2" * 50)
    lists.changed("default", SeenChanges(kinds={"jobs"}))
    assert await hears() == told
    maker.body = b"[2]"
    lists.changed("default", SeenChanges(kinds={"jobs"}))
    assert b'"answer":[2]' in await hears()
    others = [Maker() for _ in range(9)]
    for number, other in enumerate(others):
        apart = Console("default")
        lists.add(apart, [question(other, "jobs", key=f"other {number}")])
        await answered(apart)
    assert b'"answer":null' in apart.take(), "there is no room for so many"
    await lists.close()


async def answered(console: Console) -> None:
    await until(lambda: bool(console.answers))


async def test_an_answer_is_not_kept_while_its_list_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "REST_SECONDS", 60.0)

    made: list[weakref.ref[StoredAnswer]] = []

    class Answered(StoredAnswer, frozen=True, weakref=True):
        pass

    async def make() -> StoredAnswer:
        answer = Answered(200, {}, b"[1]")
        made.append(weakref.ref(answer))
        lists.changed("default", SeenChanges(kinds={"jobs"}))  # it rests, and is to be made again
        return answer

    lists, console = FollowedLists(), Console("default")
    lists.add(console, [question(make, "jobs")])
    await until(lambda: bool(console.answers))
    assert [ref() for ref in made] == [None]
    await lists.close()


async def test_a_caller_with_many_lists_does_not_keep_others_waiting() -> None:
    """Few are made at a time, and of one credential fewer."""
    lists, go, making = FollowedLists(), asyncio.Event(), list[str]()

    def made_for(credential: str) -> Callable[[], Awaitable[StoredAnswer]]:
        async def make() -> StoredAnswer:
            making.append(credential)
            await go.wait()
            return StoredAnswer(200, {}, b"[]")

        return make

    greedy, other = Console("default"), Console("default")
    for number in range(20):
        for credential in ("key:1", "key:2"):
            asked = question(
                made_for(credential), "jobs", key=f"{credential} {number}", credential=credential
            )
            lists.add(greedy, [asked])
    await until(lambda: len(making) == followed.AT_ONCE)
    assert set(Counter(making).values()) == {followed.OF_ONE}
    lists.add(other, [question(made_for("key:3"), "jobs", key="other", credential="key:3")])
    await until(lambda: lists.gate.waiting == 40 + 1 - followed.AT_ONCE)
    go.set()
    await until(lambda: bool(other.answers))
    assert "key:3" in making[: 2 * followed.AT_ONCE], "it was made before those that waited longer"
    await lists.close()


def test_what_waits_for_a_slow_caller_is_sent_in_pieces() -> None:
    console = Console("default")
    for number in range(3):
        console.answer(str(number), b"x" * open_console.PIECE_BYTES)
    console.tell(b"changed")
    pieces = [console.take() for _ in range(4)]
    assert [len(piece) for piece in pieces] == [
        open_console.PIECE_BYTES + len(b"changed"), *[open_console.PIECE_BYTES] * 2, 0,
    ]  # fmt: skip


async def test_a_console_hears_what_its_list_has_now(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its filter, and with how many there are; consoles alike share one answer."""
    asked: list[Any] = []
    answer = SharedAnswers.answer

    async def counted(self: SharedAnswers, namespace: str, key: Any, *more: Any) -> StoredAnswer:
        asked.append(key)
        return await answer(self, namespace, key, *more)

    monkeypatch.setattr(SharedAnswers, "answer", counted)
    job = (await api("POST", "/jobs", {"name": "a", "schedule": NEVER})).json()["job_id"]
    paused = "/api/v1/jobs?limit=10%26status%3Dpaused"
    async with (
        following(api, f"?follow={JOBS}".replace("jobs?", "jobs%3F")) as of_all,
        following(api, f"?follow={JOBS}".replace("jobs?", "jobs%3F")) as again,
        following(api, f"?follow={paused}".replace("jobs?", "jobs%3F")) as of_paused,
    ):
        for events in (of_all, again):
            said = (await heard(events, "answer", address=JOBS)).data
            assert [each["name"] for each in said["answer"]] == ["a"]
            assert said["headers"]["Sexton-Total"] == "1"
        assert (await heard(of_paused, "answer")).data["answer"] == []
        before = len(asked)
        assert (await api("POST", f"/jobs/{job}/pause")).status == 200
        for events in (of_all, again, of_paused):
            said = (await heard(events, "answer")).data
            assert [each["status"] for each in said["answer"]] == ["paused"]
        # One for each address, and one more where a look came in between.
        assert 2 <= len(asked) - before <= 4


async def test_runs_that_end_are_heard_of(api: Api, database: Database) -> None:
    store = Store(database)
    job = (await api("POST", "/jobs", {"name": "a", "schedule": NEVER})).json()["job_id"]
    async with following(api, "?follow=/api/v1/runs,/api/v1/runs/counts") as events:
        empty = [(await heard(events, "answer")).data for _ in range(2)]
        assert {said["address"] for said in empty} == {"/api/v1/runs", "/api/v1/runs/counts"}
        await store.execute(
            """insert into sexton.history (run_id, job_id, scheduled_at, status, trigger)
            values (77, $1, now(), 'success', 'manual')""",
            decode_id("j", job),
        )
        seen: dict[str, Any] = {}
        while not (seen.get("/api/v1/runs") and seen.get("/api/v1/runs/counts", {}).get("success")):
            said = (await heard(events, "answer")).data
            seen[said["address"]] = said["answer"]
        assert [run["run_id"] for run in seen["/api/v1/runs"]] == [encode_id("r", 77)]


async def test_what_a_caller_may_not_see_it_does_not_follow(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        for name in ("ash", "oak"):
            await api("POST", "/namespaces", {"name": name}, headers=ADMIN)
        ash, oak = await make_key(api, "viewer", "ash"), await make_key(api, "editor", "oak")
        follow = "?follow=/api/v1/jobs"
        async with following(api, follow, ash) as of_ash, following(api, follow, oak) as of_oak:
            assert (await heard(of_ash, "answer")).data["answer"] == []
            assert (await heard(of_oak, "answer")).data["answer"] == []
            job = {"name": "mine", "schedule": NEVER}
            assert (await api("POST", "/jobs", job, headers=oak)).status == 201
            assert [each["name"] for each in (await heard(of_oak, "answer")).data["answer"]] == ["mine"]
            async with following(api, follow + "&seconds=2", ash) as again:
                answers = [each.data["answer"] async for each in again if each.kind == "answer"]
                assert answers == [[]]
        refused = await api("GET", "/events?follow=/api/v1/keys", headers=ash)
        assert (refused.status, refused.code) == (422, "bad_value")
        for wrong in (
            "/api/v1/jobs%3Flimit=0",
            "/api/v1/jobs%3Fnothing=1",
            "/api/v1/backlog%3Fnothing=1",
            ",".join(["/api/v1/jobs"] * 2),
        ):
            answer = await api("GET", f"/events?seconds=1&follow={wrong}", headers=ash)
            assert answer.status == (200 if "," in wrong else 422)
        many = ",".join(f"/api/v1/jobs%3Flimit={n}" for n in range(1, followed.MOST_ADDRESSES + 2))
        assert (await api("GET", f"/events?follow={many}", headers=ash)).status == 422
