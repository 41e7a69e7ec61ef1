"""A node that only serves the api: no lease that anybody waits for, but everybody can see it."""

from __future__ import annotations

import msgspec

from sexton import clock
from sexton.config import Settings
from sexton.engine.cluster.leadership import DatabaseClock
from sexton.engine.loop import Loop
from sexton.errors import Unavailable
from sexton.postgres.database import Database


class Presence(Loop):
    """Keeps this process among the nodes."""

    name = "presence"

    def __init__(self, database: Database, settings: Settings, *, name: str, version: str) -> None:
        super().__init__()
        self._database = database
        self._settings = settings
        self._name = name
        self._version = version
        self._time = DatabaseClock()
        self.node: int | None = None

    async def tick(self) -> float:
        before = clock.monotonic()
        row = None
        if self.node is not None:
            row = await self._database.fetchrow(
                "stay", self.node, self._settings.worker_lease_seconds, self._detail()
            )
        if row is None:
            row = await self._database.fetchrow(
                "join",
                self._name,
                ["api"],
                None,
                [],
                [],
                self._settings.worker_lease_seconds,
                0,
                self._version,
                self._detail(),
                "live",
            )
        assert row is not None
        self.node = row["id"]
        self._time.sample(row["now"], before, clock.monotonic())
        self._time.watch()
        return self._settings.heartbeat_seconds

    async def teardown(self) -> None:
        try:
            async with self._database.connection() as connection:
                await connection.execute(
                    self._database.sql("delete from sexton.nodes where id = $1"), self.node
                )
        except Unavailable:
            return  # its row tells that it was not heard of

    def _detail(self) -> str:
        return msgspec.json.encode({"skew_ms": round(self._time.skew_seconds * 1000)}).decode()
