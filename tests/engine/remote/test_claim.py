"""Waiting for runs: bounded in time and in number, and ended by a ring or a stop."""

from __future__ import annotations

import asyncio

import pytest

from sexton.config import Settings
from sexton.engine.remote import claim as claiming
from sexton.engine.remote.claim import RemoteClaims
from sexton.engine.remote.spec import WorkerSpec
from sexton.engine.remote.worker import join, worker_id_of
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.waiting import until

CALLER = "key:1"


async def joined(database: Database, lease_seconds: float = 300.0) -> str:
    spec = WorkerSpec(name="a", handlers=["resize"], lease_seconds=lease_seconds)
    return worker_id_of(await join(Context(database), spec, CALLER))


async def test_all_who_wait_are_let_go_at_a_stop(database: Database) -> None:
    claims, worker = RemoteClaims(database, Settings()), await joined(database)
    waiting = [
        asyncio.create_task(claims.claim(Context(database), worker, CALLER, 1, wait_seconds=30))
        for _ in range(3)
    ]
    await until(lambda: claims.waiting == 3)
    claims.stop()
    assert [runs for _, runs in await asyncio.gather(*waiting)] == [[], [], []]
    await claims.close()


async def test_beyond_a_number_of_callers_an_answer_comes_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claiming, "MOST_WAITING", 1)
    claims, worker = RemoteClaims(database, Settings()), await joined(database)
    first = asyncio.create_task(claims.claim(Context(database), worker, CALLER, 1, wait_seconds=30))
    await until(lambda: claims.waiting == 1)
    _, runs = await claims.claim(Context(database), worker, CALLER, 1, wait_seconds=30)
    assert (runs, first.done()) == ([], False)
    claims.stop()
    await first
    await claims.close()


async def test_a_caller_who_has_hung_up_waits_no_longer(database: Database) -> None:
    claims, worker, gone = RemoteClaims(database, Settings()), await joined(database), asyncio.Event()
    waiting = asyncio.create_task(
        claims.claim(Context(database), worker, CALLER, 1, wait_seconds=30, gone=gone.is_set)
    )
    await until(lambda: claims.waiting == 1)
    gone.set()
    claims.ring("runs")
    assert (await waiting)[1] == []
    await claims.close()
