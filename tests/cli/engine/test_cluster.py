"""`sexton cluster` and `sexton drain`, against a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sexton import clock
from sexton.cli.engine.cluster import shortened
from sexton.engine.cluster.status import get_cluster
from sexton.postgres.transaction import Context
from tests.cli.server import Server
from tests.runs.rows import make_node
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from tests.cli.conftest import Sexton


@pytest.fixture
def server(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server(database_url, ("scheduler", "worker")) as running:
        running.run(settled(running))
        monkeypatch.setenv("SEXTON_URL", running.url)
        yield running


async def settled(server: Server) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await get_cluster(Context(server.database))
            if found.shards_led == found.shards and len(found.nodes) == 2:
                return
            await asyncio.sleep(0.05)


@pytest.mark.usefixtures("server")
def test_the_cluster_is_shown_and_fits(sexton: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    # A pipe gets all columns, however wide; a terminal (here one without colours) has 80.
    for name, value in {"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    result = sexton("cluster")
    assert (result.code, result.err) == (0, "")
    assert max(map(len, result.out.splitlines())) <= 80
    assert "shards   4 of 4 led" in result.out
    assert "elector  postgres, ok" in result.out
    shards = sexton("cluster", "--shards").out.splitlines()
    assert shards[-5].split() == ["shard", "leader", "epoch", "lease", "left", "taken", "jobs", "wheel"]
    assert [line.split()[0] for line in shards[-4:]] == ["0", "1", "2", "3"]


def test_stopped_nodes_do_not_pile_up(server: Server, sexton: Sexton) -> None:
    now = clock.now()
    for number in (101, 102):
        stopped = {"name": f"gone-{number}", "state": "dead", "detail": '{"stopped": true}'}
        server.run(make_node(server.database, number, now, **stopped))
    assert "gone" not in sexton("status").out
    shown = sexton("cluster").out
    assert "gone" not in shown
    assert "stopped  2 nodes within the last hour: --stopped shows them" in shown
    assert "gone-101" in sexton("cluster", "--stopped").out
    assert len(sexton("cluster", "--json").json()["nodes"]) == 4


@pytest.mark.usefixtures("server")
def test_the_cluster_for_programs(sexton: Sexton) -> None:
    sexton("jobs", "add", "soon", "--schedule", "every 1h", "--handler", "sexton.noop")
    found = sexton("cluster", "--json", "--jobs").json()
    [scheduler] = [node for node in found["nodes"] if "scheduler" in node["roles"]]
    assert scheduler["elector"] == found["elector"]["name"] == "postgres"
    assert abs(scheduler["skew_ms"]) < 1000
    assert [shard["leader_id"] for shard in found["leaders"]] == [scheduler["node_id"]] * 4
    # On a busy machine the lease may be over before it is renewed.
    assert all(shard["lease_left_seconds"] <= 4 for shard in found["leaders"])
    assert sum(shard["jobs"] for shard in found["leaders"]) == 1
    assert found["jobs_estimated"] is False


def test_a_process_is_drained_and_goes_on(server: Server, sexton: Sexton) -> None:
    names = [node["name"] for node in sexton("cluster", "--json").json()["nodes"]]
    process = names[0].rsplit(":", 1)[0]
    drained = sexton("drain", process, "--wait")
    assert drained.code == 0
    assert sorted(line.split(" ")[0] for line in drained.out.splitlines()) == sorted(names)
    assert all(line.endswith("is drained") for line in drained.out.splitlines())
    assert "no other scheduler is live" in drained.err
    unled = sexton("cluster")
    assert unled.code == 1
    assert "4 shards without a leader" in unled.err
    again = sexton("drain", process, "--undo", "--json").json()
    assert [node["state"] for node in again["nodes"]] == ["live", "live"]
    server.run(settled(server))
    assert sexton("drain", "nobody").err == "sexton: there is no node nobody\n  see: sexton cluster\n"


@pytest.mark.parametrize(
    ("name", "room", "shown"),
    [
        ("web-1:4711:1f2e3d", 17, "web-1:4711:1f2e3d"),
        ("sexton-worker-7f9c9d8b6f-x2x4z:1:1f2e3d", 20, "sexton-wor…:1:1f2e3d"),
        ("sexton-worker-7f9c9d8b6f-x2x4z:1:1f2e3d", 2, "sext…:1:1f2e3d"),
    ],
)
def test_long_hosts_are_shortened(name: str, room: int, shown: str) -> None:
    assert shortened(name, room) == shown
