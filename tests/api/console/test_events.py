"""The feed of events: what consoles hear of, when, and which of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from sexton.api.console import feed as feeds
from sexton.api.console import open_console
from sexton.api.console.change import EVERYTHING, KINDS, encoded, instant_of, kind_of
from sexton.api.console.feed import Feed
from sexton.api.console.open_console import Console
from sexton.config import Settings
from sexton.engine.overview import OverviewReader
from sexton.errors import Unavailable
from sexton.jobs import queues
from sexton.jobs.create import create
from sexton.jobs.spec import JobSpec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.api.conftest import Api, serve
from tests.api.security.test_access import ADMIN, CONFIGURED, make_key
from tests.seeding import Store

PATIENCE = 60


@dataclass(frozen=True)
class Event:
    kind: str
    data: Any
    id: str | None = None


async def events_of(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            if "event" in fields:
                yield Event(fields["event"], json.loads(fields["data"]), fields.get("id"))
            fields = {}


@asynccontextmanager
async def following(
    api: Api, query: str = "", headers: dict[str, str] | None = None
) -> AsyncIterator[AsyncIterator[Event]]:
    async with api.session.get(f"{api.base}/api/v1/events{query}", headers=headers or {}) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        yield events_of(response)


async def heard(events: AsyncIterator[Event], kind: str, **wanted: Any) -> Event:
    """The next event of this kind with these values in its data."""

    async def wait() -> Event:
        async for event in events:
            if event.kind == kind and all(event.data.get(name) == value for name, value in wanted.items()):
                return event
        raise AssertionError(f"the feed ended without {kind}")

    return await asyncio.wait_for(wait(), PATIENCE)


async def test_a_console_hears_what_was_changed_and_what_ended(api: Api, database: Database) -> None:
    store = Store(database)
    async with following(api) as events:
        assert (await heard(events, "heartbeat")).data["at"]
        overview = (await heard(events, "overview")).data
        assert overview["live"] == {}
        assert overview == (await api("GET", "/overview")).json() | {
            "at": overview["at"],
            "hour": overview["hour"],
            "day": overview["day"],
            "lateness": overview["lateness"],
        }
        job = (await api("POST", "/jobs", {"name": "a", "schedule": "0 0 1 1 *"})).json()["job_id"]
        changed = await heard(events, "changed")
        assert (changed.data["kinds"], changed.data["job_ids"]) == (["jobs"], [job])
        run = (await api("POST", f"/jobs/{job}/run")).json()["run_id"]
        assert (await heard(events, "overview", live={"pending": 1})).data["queue_depth"] == 1
        number = await store.value("select id from sexton.runs")
        await store.execute(
            """with ended as (delete from sexton.runs returning id, job_id, scheduled_at)
            insert into sexton.history (run_id, job_id, scheduled_at, status, trigger)
            select id, job_id, scheduled_at, 'success', 'manual' from ended"""
        )
        ended = await heard(events, "changed", run_ids=[run])
        assert "runs" in ended.data["kinds"]
        assert number


async def test_who_comes_back_hears_what_it_missed(api: Api) -> None:
    async with following(api) as stays:
        await heard(stays, "overview")
        async with following(api) as events:
            last = (await heard(events, "overview")).id
        assert last is not None
        job = (await api("POST", "/jobs", {"name": "a", "schedule": "0 0 1 1 *"})).json()["job_id"]
        await heard(stays, "changed", job_ids=[job])
        async with following(api, headers={"Last-Event-ID": last}) as events:
            assert (await heard(events, "changed")).data["job_ids"] == [job]
    async with following(api, headers={"Last-Event-ID": "12345"}) as events:
        everything = await heard(events, "changed")
        assert (everything.data["kinds"], everything.data["more"]) == (list(KINDS), True)


async def test_a_page_of_a_job_and_one_of_a_run_hear_more(api: Api, database: Database) -> None:
    store = Store(database)
    job = (await api("POST", "/jobs", {"name": "a", "schedule": "0 0 1 1 *"})).json()["job_id"]
    run = (await api("POST", f"/jobs/{job}/run")).json()["run_id"]
    async with following(api, "?job=a") as of_job, following(api, f"?run={run}") as of_run:
        shown = await heard(of_job, "runs")
        assert [each["run_id"] for each in shown.data["runs"]] == [run]
        await heard(of_run, "overview")
        await store.execute(
            """insert into sexton.run_logs (run_id, attempt, at, message)
            select id, 1, clock_timestamp(), 'half of it' from sexton.runs"""
        )
        line = (await heard(of_run, "log")).data
        assert (line["run_id"], line["message"], line["level"]) == (run, "half of it", "info")
        await store.execute("""update sexton.runs set state = 'running', progress = '{"fraction": 0.5}'""")
        assert (await heard(of_run, "progress")).data == {"run_id": run, "progress": {"fraction": 0.5}}
        while (await heard(of_job, "runs")).data["runs"][0]["status"] != "running":
            pass
    assert (await api("GET", "/events?job=none")).code == "job_not_found"
    assert (await api("GET", "/events?run=r_zzz")).code == "run_not_found"


async def test_runs_with_large_results_are_named_and_not_sent(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a console that does not read, many of them would wait."""
    monkeypatch.setattr(feeds, "LARGEST_ANSWER", 100)
    job = (await api("POST", "/jobs", {"name": "a", "schedule": "0 0 1 1 *"})).json()["job_id"]
    await api("POST", f"/jobs/{job}/run")
    async with following(api, "?job=a") as events:
        while True:
            event = await asyncio.wait_for(anext(events), PATIENCE)
            assert event.kind != "runs"
            if event.kind == "changed" and event.data == {
                "kinds": ["runs"], "job_ids": [job], "run_ids": [], "more": False,
            }:  # fmt: skip
                break


async def test_namespaces_and_the_cluster_are_kept_apart(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        for name in ("ash", "oak"):
            await api("POST", "/namespaces", {"name": name}, headers=ADMIN)
        ash, oak = await make_key(api, "viewer", "ash"), await make_key(api, "editor", "oak")
        async with following(api, headers=ash) as of_ash, following(api, headers=oak) as of_oak:
            assert (await heard(of_ash, "overview")).data["nodes"] is None
            await heard(of_oak, "overview")
            job = (await api("POST", "/jobs", {"name": "a", "schedule": "0 0 1 1 *"}, headers=oak)).json()
            assert "jobs" in (await heard(of_oak, "changed", job_ids=[job["job_id"]])).data["kinds"]
            async with following(api, "?seconds=1", headers=ash) as again:
                assert [each.kind async for each in again if each.kind == "changed"] == []
        worker = await make_key(api, "worker", "ash")
        assert (await api("GET", "/events", headers=worker)).code == "forbidden"


async def test_a_feed_ends_with_its_key(database: Database) -> None:
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        key = await make_key(api, "viewer", "default")
        async with following(api, headers=key) as events:
            await heard(events, "overview")
            number = (await api("GET", "/keys", headers=ADMIN)).json()[0]["key_id"]
            assert (await api("DELETE", f"/keys/{number}", headers=ADMIN)).status == 200
            async with asyncio.timeout(PATIENCE):
                async for _ in events:
                    pass


async def test_there_is_an_end_to_how_many_follow(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_console, "MOST_OF_ONE", 1)
    async with following(api) as events:
        await heard(events, "heartbeat")
        refused = await api("GET", "/events")
        assert (refused.status, refused.code) == (429, "too_many_feeds")
    async with asyncio.timeout(PATIENCE):  # its place is free when the server has noticed
        while (await api("GET", "/events?seconds=1")).status == 429:
            pass


async def test_the_oldest_of_the_largest_holder_gives_way(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_console, "MOST_CONSOLES", 2)
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        first, second = [await make_key(api, "viewer", "default") for _ in range(2)]
        async with following(api, headers=first) as oldest, following(api, headers=first) as stays:
            await heard(oldest, "heartbeat")
            await heard(stays, "heartbeat")
            async with following(api, headers=second) as newcomer:
                await heard(newcomer, "heartbeat")
                async with asyncio.timeout(PATIENCE):
                    async for _ in oldest:
                        pass  # until it ends
                await heard(stays, "heartbeat")
                for headers in (first, second):
                    assert (await api("GET", "/events", headers=headers)).code == "too_many_feeds"


async def test_many_consoles_are_one_reader(database: Database) -> None:
    feed = Feed(database, OverviewReader())
    consoles = [Console("default") for _ in range(50)]
    feed.consoles.update(consoles)
    await feed.look()
    assert feed.looks == 1
    assert len({bytes(b"".join(console.unread)) for console in consoles}) == 1
    assert all(console.unread for console in consoles)


async def changed(feed: Feed, console: Console) -> list[Any]:
    """What a look tells a console of changes."""
    console.unread.clear()
    await feed.look()
    told = [each for each in console.unread if b"event: changed\n" in each]
    return [json.loads(each.partition(b"data: ")[2]) for each in told]


async def test_much_that_happens_elsewhere_hides_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look reads so many rows; what it has not read may be of any namespace."""
    monkeypatch.setattr(feeds, "MOST_ROWS", 3)
    feed, quiet = Feed(database, OverviewReader()), Console("quiet")
    feed.consoles.update({quiet, Console("busy")})
    await feed.look()
    assert await changed(feed, quiet) == []
    for number in range(4):
        await queues.pause_queue(Context(database, "busy"), f"queue-{number}")
    [told] = await changed(feed, quiet)
    assert (told["kinds"], told["more"], told["job_ids"]) == (sorted(KINDS), True, [])


async def test_namespaces_have_their_turns_and_miss_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MOST_NAMESPACES", 1)
    monkeypatch.setattr(feeds, "OVERLAP", timedelta(0))
    feed = Feed(database, OverviewReader())
    consoles = [Console(name) for name in ("ash", "elm", "oak")]
    feed.consoles.update(consoles)
    for _ in range(4):
        await feed.look()
    for console in consoles:
        await queues.pause_queue(Context(database, console.namespace), "mail")
    told = {console.namespace: 0 for console in consoles}
    for _ in range(6):
        for console in consoles:
            console.unread.clear()
        await feed.look()
        for console in consoles:
            told[console.namespace] += sum(b"event: changed\n" in each for each in console.unread)
    assert told == {"ash": 1, "elm": 1, "oak": 1}


async def test_what_happened_while_a_namespace_was_not_watched_is_not_missed(database: Database) -> None:
    """The feed goes on for others, and reads nothing of it."""
    async with serve(database, Settings(api_keys=CONFIGURED)) as api:
        for name in ("ash", "oak"):
            await api("POST", "/namespaces", {"name": name}, headers=ADMIN)
        ash, oak = await make_key(api, "viewer", "ash"), await make_key(api, "editor", "oak")
        async with following(api, headers=ash) as stays:
            await heard(stays, "overview")
            async with following(api, headers=oak) as events:
                last = (await heard(events, "overview")).id
            assert last is not None
            for _ in range(2):
                await heard(stays, "heartbeat")
            assert (await api("POST", "/queues/mail/pause", headers=oak)).status == 200
            async with following(api, headers={**oak, "Last-Event-ID": last}) as events:
                assert (await heard(events, "changed")).data["more"]


def test_one_that_does_not_read_is_told_to_read_everything_again() -> None:
    console = Console("default")
    for _ in range(open_console.MOST_UNREAD + 1):
        console.tell(b"an event")
    assert list(console.unread) == [encoded("changed", EVERYTHING), b"an event"]


def test_ids_of_events_are_instants() -> None:
    at = instant_of("1780318800512000")
    assert at is not None
    assert encoded("heartbeat", {}, at).startswith(b"id: 1780318800512000\n")
    assert [instant_of(each) for each in (None, "", "x", "-1", "9" * 40, "٣")] == [None] * 6


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("job.paused", "jobs"),
        ("dead.redriven", "dead"),
        ("queue.limited", "queues"),
        ("key.created", "access"),
    ],
)
def test_a_change_concerns_a_kind_of_lists(action: str, kind: str) -> None:
    assert kind_of(action) == kind


async def test_what_was_changed_just_before_the_first_look_is_told(database: Database) -> None:
    """A page may have read its lists before that, and nothing else would tell it."""
    feed, console = Feed(database, OverviewReader()), Console("default")
    feed.consoles.add(console)
    await queues.pause_queue(Context(database), "mail")
    [told] = await changed(feed, console)
    assert told["kinds"] == ["queues"]
    assert await changed(feed, console) == []


async def test_what_a_failed_look_has_read_is_told_by_the_next_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, console = OverviewReader(), Console("default")
    feed = Feed(database, reader)
    feed.consoles.add(console)
    await feed.look()
    await queues.pause_queue(Context(database), "mail")

    async def cannot(*_: object, **__: object) -> None:
        raise Unavailable("no_database", "the database is away", hint="wait")

    with monkeypatch.context() as broken:
        broken.setattr(reader, "read", cannot)
        with pytest.raises(Unavailable):
            await feed.look()
    [told] = await changed(feed, console)
    assert "queues" in told["kinds"]
    assert await changed(feed, console) == []


async def test_who_has_heard_an_id_has_heard_of_all_changes_up_to_it(database: Database) -> None:
    """A connection may break within what one look has told."""
    feed, console = Feed(database, OverviewReader()), Console("default")
    feed.consoles.add(console)
    await feed.look()
    await queues.pause_queue(Context(database), "mail")
    await create(Context(database), JobSpec(name="a", schedule="0 0 1 1 *"))
    console.unread.clear()
    await feed.look()
    kinds = [each.partition(b"event: ")[2].partition(b"\n")[0] for each in console.unread if b"id: " in each]
    assert kinds[:2] == [b"changed", b"overview"]


async def logged(database: Database, run: int, messages: list[str]) -> None:
    await Store(database).execute(
        """insert into sexton.run_logs (run_id, attempt, at, message)
        select $1, 1, '2026-06-01T12:00:00Z', message from unnest($2::text[]) as message""",
        run,
        messages,
    )


def told_of(console: Console, kind: str) -> list[Any]:
    events = [each for each in console.unread if f"event: {kind}\n".encode() in each]
    return [json.loads(each.partition(b"data: ")[2]) for each in events]


async def test_lines_of_one_instant_are_all_told_and_each_once(database: Database) -> None:
    run = await Store(database).run()
    feed, console = Feed(database, OverviewReader()), Console("default", run=run)
    feed.consoles.add(console)
    await logged(database, run, ["one", "two"])
    await feed.look()
    await logged(database, run, ["three"])
    await feed.look()
    assert sorted(line["message"] for line in told_of(console, "log")) == ["one", "three", "two"]


async def test_much_that_one_page_watches_hides_nothing_from_another(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job with very many live runs, and a run that writes very much, are only a part of what is read."""
    monkeypatch.setattr(feeds, "MOST_ROWS", 4)
    monkeypatch.setattr(feeds, "LATEST_RUNS", 2)
    monkeypatch.setattr(feeds, "LEAST_LINES", 2)
    store = Store(database)
    job = await store.job()
    busy = [await store.run(job) for _ in range(6)]
    run = await store.run(namespace="quiet", state="running", progress='{"fraction": 0.5}')
    await logged(database, busy[0], [f"line {number}" for number in range(9)])
    await logged(database, run, ["done"])
    feed, quiet = Feed(database, OverviewReader()), Console("quiet", run=run)
    feed.consoles.update({Console("default", job=job), Console("default", run=busy[0]), quiet})
    await feed.look()
    assert [each["progress"] for each in told_of(quiet, "progress")] == [{"fraction": 0.5}]
    assert [each["message"] for each in told_of(quiet, "log")] == ["done"]
