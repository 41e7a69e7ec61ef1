"""A replica while its primary does not answer; with both, it is tested with the lists of the api."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sexton.postgres import replica as module
from sexton.postgres.database import Database
from sexton.postgres.replica import Replica
from tests.faults.proxy import Proxy


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


async def test_it_is_read_while_open_connections_to_the_primary_say_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that does not answer is given back only after a while."""
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.2)
    where = parse_qs(urlsplit(database_url).query)
    if "host" not in where:
        pytest.skip("the proxy goes to a socket")
    proxy = Proxy(f"{where['host'][0]}/.s.PGSQL.{where['port'][0]}")
    await proxy.start()
    url = f"postgresql://sexton:secret@127.0.0.1:{proxy.port}{urlsplit(database_url).path}?sslmode=disable"
    primary = await Database.open(url, size=1)
    replica, database = Replica("postgresql://replica/sexton", primary), Answering()
    monkeypatch.setattr(replica, "_database", database)
    try:
        proxy.black_hole()
        found = await replica.reading()
        assert found is not None
        assert database.asked == [("cluster/measure_replica_lag", {"written": None})]
    finally:
        await proxy.stop()
        await primary.close()
