"""The default: node leases in PostgreSQL. A shard is free if it has no leader whose lease is good."""

from __future__ import annotations

import math
from collections.abc import Collection

from sexton.engine.cluster.electors.base import Elector, View


class PostgresElector(Elector):
    """Holds nothing itself: the beat renews the lease, and the statement that takes a shard checks it
    again."""

    name = "postgres"
    final = False

    async def open(self, cluster: str) -> None:
        self.trusted_until = math.inf

    async def renew(self, view: View) -> set[int]:
        return {shard for shard, holder in view.holders.items() if holder == view.node}

    async def acquire(self, shards: Collection[int], view: View) -> set[int]:
        return {shard for shard in shards if view.free(shard)}

    async def release(self, shards: Collection[int]) -> None:
        """Handing the shard over in PostgreSQL is all there is to do."""

    async def close(self) -> None:
        """There is nothing to disconnect."""
