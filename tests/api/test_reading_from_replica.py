"""Lists, history and counts from a streaming replica; everything else from the primary."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from sexton.config import Settings
from sexton.postgres import replica as replicas
from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate
from sexton.postgres.partitions import make_partitions
from sexton.postgres.replica import Replica
from tests.api.conftest import Api, Reply, serve
from tests.postgres.standby import Pair, standby
from tests.waiting import PATIENCE

LISTS = ("/jobs", "/runs", "/dead", "/dead/groups", "/cluster")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with standby(tmp_path_factory.mktemp("standby")) as made:
        asyncio.run(_migrated(made.primary.url))
        yield made


async def _migrated(url: str) -> None:
    database = await Database.open(url)
    await migrate(database, shards=4)
    await make_partitions(database, days=1)
    await database.close()


@pytest_asyncio.fixture
async def primary(pair: Pair) -> AsyncIterator[Database]:
    database = await Database.open(pair.primary.url, size=4)
    yield database
    await database.close()


@pytest_asyncio.fixture
async def api(pair: Pair, primary: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Api]:
    monkeypatch.setattr(replicas, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(replicas, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(replicas, "PATIENCE_SECONDS", 30.0)
    replica = Replica(pair.replica.url, primary)
    async with serve(primary, Settings(), replica=replica) as client:
        await caught_up(client)
        yield client
    await replica.close()


async def caught_up(api: Api) -> Reply:
    async with asyncio.timeout(PATIENCE):
        while (reply := await api("GET", "/jobs")).headers.get("Sexton-Replica-Lag") != "0.0":
            await asyncio.sleep(0.05)  # it replays in its own time
    return reply


def read_from(reply: Reply) -> str:
    assert reply.status == 200, reply.content
    return reply.headers["Sexton-Read-From"]


async def make(api: Api, name: str) -> str:
    made = await api("POST", "/jobs", {"name": name, "schedule": "@hourly", "target": {"handler": "work"}})
    assert made.status == 201
    assert "Sexton-Read-From" not in made.headers
    return str(made.json()["job_id"])


async def test_lists_are_read_from_the_replica_which_tells_its_lag(api: Api) -> None:
    for path in LISTS:
        reply = await api("GET", path)
        assert read_from(reply) == "replica"
        assert float(reply.headers["Sexton-Replica-Lag"]) >= 0


async def test_a_replica_that_lags_says_so_and_what_was_just_written_is_found(api: Api, pair: Pair) -> None:
    pair.run(pair.replica, "select pg_wal_replay_pause()")
    try:
        job = await make(api, "just-made")
        async with asyncio.timeout(PATIENCE):
            while float((listed := await api("GET", "/jobs")).headers["Sexton-Replica-Lag"]) < 0.3:
                await asyncio.sleep(0.05)  # the lag grows with the time
        assert listed.json() == []
        shown = await api("GET", f"/jobs/{job}")
        assert (shown.status, shown.headers["ETag"]) == (200, '"1"')
        assert "Sexton-Read-From" not in shown.headers
        assert (await api("GET", "/jobs/just-made/runs")).json() == []
        occurrences = await api("GET", f"/jobs/{job}/occurrences")
        assert read_from(occurrences) == "primary"  # the replica does not know the job yet
        assert len(occurrences.json()) == 24
        counts = (await api("GET", "/cluster")).json()["counts"]
        assert counts["jobs"] == {}
    finally:
        pair.run(pair.replica, "select pg_wal_replay_resume()")
    assert [each["name"] for each in (await caught_up(api)).json()] == ["just-made"]
    assert read_from(await api("GET", f"/jobs/{job}/occurrences")) == "replica"
    assert (await api("DELETE", f"/jobs/{job}")).status == 204


async def test_while_it_is_away_the_primary_is_read(
    api: Api, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.kill_replica()
    try:
        for path in LISTS:
            reply = await api("GET", path)
            assert read_from(reply) == "primary"
            assert "Sexton-Replica-Lag" not in reply.headers
        job = await make(api, "meanwhile")
        assert [each["job_id"] for each in (await api("GET", "/jobs")).json()] == [job]
    finally:
        pair.replica.start()
    assert [each["job_id"] for each in (await caught_up(api)).json()] == [job]
    said = [record.message for record in caplog.records if "replica" in record.message]
    assert len(said) == 2  # once each, however many asked
    assert said[0].startswith("the replica cannot be read, the primary is read instead")
    assert said[1] == "the replica is back: lists are read there again"
    assert (await api("DELETE", f"/jobs/{job}")).status == 204


async def test_a_primary_is_not_taken_for_a_replica(
    pair: Pair, primary: Database, caplog: pytest.LogCaptureFixture
) -> None:
    replica = Replica(pair.primary.url, primary)
    async with serve(primary, Settings(), replica=replica) as api:
        assert read_from(await api("GET", "/jobs")) == "primary"
    await replica.close()
    assert "not the address of a replica" in caplog.text


async def test_without_a_replica_nothing_is_said(primary: Database) -> None:
    async with serve(primary, Settings()) as api:
        assert "Sexton-Read-From" not in (await api("GET", "/jobs")).headers
