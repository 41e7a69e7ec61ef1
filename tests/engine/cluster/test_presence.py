"""A process that only serves the api is a node, too."""

from __future__ import annotations

from sexton import __version__
from sexton.config import Settings
from sexton.engine.cluster.membership import Membership
from sexton.engine.cluster.presence import Presence
from sexton.engine.cluster.status import get_cluster
from sexton.engine.node import Node
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.scheduling import execute


async def test_it_is_seen_comes_back_and_leaves(database: Database) -> None:
    membership = Membership(roles=["api"], lease_seconds=15, name="api-1:1:aaaaaa")
    presence = Presence(database, Settings(), membership)
    await presence.tick()
    await presence.tick()
    [node] = (await get_cluster(Context(database))).nodes
    assert (node.name, node.roles, node.state, node.version) == (
        "api-1:1:aaaaaa",
        ["api"],
        "live",
        __version__,
    )
    assert node.skew_ms is not None
    await execute(database, "delete from sexton.nodes")
    await presence.tick()
    assert [node.name for node in (await get_cluster(Context(database))).nodes] == ["api-1:1:aaaaaa"]
    await presence.teardown()
    assert (await get_cluster(Context(database))).nodes == []


def test_which_nodes_have_one(database: Database) -> None:
    def loops(*roles: str) -> list[str]:
        return [loop.name for loop in Node(Settings(), database, roles=roles).loops]

    assert loops("api") == ["descriptors", "presence"]
    assert "presence" in loops("api", "worker")
    assert "presence" not in loops("api", "scheduler")
    assert "presence" not in loops("worker")
