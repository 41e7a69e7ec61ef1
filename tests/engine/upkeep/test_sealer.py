"""The audit is sealed by one node of the cluster, within a second."""

from __future__ import annotations

import logging

import pytest

from sexton.engine.upkeep.sealer import SEAL_SECONDS, Sealer
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.audit import record
from sexton.security.audit_chain import Link, verify


async def test_what_is_written_is_sealed(database: Database) -> None:
    sealer = Sealer(database, leading=lambda: True)
    assert await sealer.tick() == SEAL_SECONDS
    for _ in range(3):
        await record(Context(database), "thing.done")
    assert await sealer.tick() == SEAL_SECONDS
    assert (await verify(Context(database))).rows == 3


async def test_the_log_is_told_the_end_of_the_chain_once_in_a_while(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    sealer = Sealer(database, leading=lambda: True)
    with caplog.at_level(logging.INFO, "sexton"):
        for _ in range(2):
            await record(Context(database), "thing.done")
            await sealer.tick()
    [line] = [each for each in caplog.messages if "the audit ends" in each]
    kept = Link.read(line.rpartition(" ")[2])
    assert kept.sequence == 1
    assert (await verify(Context(database), kept)).sound


async def test_only_the_leader_of_the_first_shard_does_it(database: Database) -> None:
    await record(Context(database), "thing.done")
    await Sealer(database, leading=lambda: False).tick()
    assert (await verify(Context(database))).rows == 0


async def test_a_full_batch_is_followed_by_the_next_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.engine.upkeep.sealer.BATCH", 2)
    for _ in range(3):
        await record(Context(database), "thing.done")
    sealer = Sealer(database, leading=lambda: True)
    assert await sealer.tick() == 0
    assert await sealer.tick() == SEAL_SECONDS
    assert (await verify(Context(database))).rows == 3
