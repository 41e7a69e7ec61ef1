"""Whether runs may reach private addresses is one decision for the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.config import Settings
from sexton.engine.cluster.egress import decide_egress, decided_egress, is_local
from sexton.postgres.database import Database

WORKER = ("worker",)
API = ("api", "scheduler")


async def decision(database: Database, roles: tuple[str, ...], **settings: Any) -> bool:
    return (await decide_egress(database, Settings(**settings), roles)).private_egress()


async def test_a_worker_apart_follows_an_api_that_others_reach(database: Database) -> None:
    assert not await decision(database, API, host="0.0.0.0")
    assert not await decision(database, WORKER)
    assert not await decision(database, API, host="127.0.0.1")


async def test_an_api_behind_a_proxy_is_one_that_others_reach(database: Database) -> None:
    assert await decision(database, API, public_url="http://localhost:7390")
    assert not await decision(database, API, public_url="https://sexton.example.com")
    assert not await decision(database, WORKER)


async def test_a_worker_apart_follows_an_api_on_loopback(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "url", "postgresql://db.example.com/sexton")
    assert not await decision(database, WORKER)
    assert await decision(database, API)
    assert await decision(database, WORKER)
    assert not await decision(database, API, host="10.1.2.3")
    assert not await decision(database, WORKER)


async def test_what_is_said_explicitly_counts_for_all(database: Database) -> None:
    assert await decided_egress(database) is None
    assert not await decision(database, API, egress_private="refuse")
    assert not await decision(database, API)
    assert await decision(database, API, host="0.0.0.0", egress_private="allow")
    assert await decision(database, WORKER)
    assert await decided_egress(database) == "allow"


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("postgresql://sexton@/sexton?host=/run/sexton&port=5432", True),
        ("postgresql://me:secret@127.0.0.1:5432/sexton", True),
        ("postgresql://[::1]/sexton", True),
        ("postgresql://localhost,db.example.com/sexton", False),
        ("postgresql://me@db.example.com:5432/sexton", False),
        ("postgresql://127.0.0.1/sexton?host=db.example.com", False),
    ],
)
def test_a_database_on_this_machine(url: str, local: bool) -> None:
    assert is_local(url) is local
