"""A replica while its primary does not answer; with both, it is tested with the lists of the api."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sexton.postgres import replica as module
from sexton.postgres.replica import Replica


class Silent:
    """A primary whose machine is gone: nothing answers, and no connection fails."""

    schema, timeout = "sexton", 30.0

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[None]:
        await asyncio.Event().wait()
        yield


class Answering:
    """A replica that answers how far it lags."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def fetchval(self, statement: str, /, **parameters: Any) -> float:
        self.asked.append((statement, parameters))
        return 3.5


async def test_it_is_read_while_the_primary_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.2)
    primary: Any = Silent()
    replica, database = Replica("postgresql://replica/sexton", primary), Answering()
    monkeypatch.setattr(replica, "_database", database)
    found = await replica.reading()
    assert found is not None
    assert found.lag_seconds == 3.5
    assert database.asked == [("cluster/measure_replica_lag", {"written": None})]
