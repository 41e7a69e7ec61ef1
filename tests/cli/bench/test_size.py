"""What many jobs cost is measured without harm."""

from __future__ import annotations

import asyncpg
import pytest

import sexton.cli.bench.size
from sexton.cli.bench.harness import SCHEMA
from sexton.cli.bench.size import size


async def test_all_figures_are_there_and_nothing_is_left(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The figure of the idle nodes need not be exact here.
    monkeypatch.setattr(sexton.cli.bench.size, "STATISTICS_SECONDS", 0)
    result = await size(server_url, jobs=5000, idle_seconds=5, say=lambda line: None)
    assert result["jobs"] == 5000
    assert result["ready_seconds"] > 0
    assert 0 < result["bytes_per_job"] < 1024
    assert result["scheduler_peak_megabytes"] < 300
    assert result["due_scan_milliseconds"] > 0
    assert result["firing_microseconds"] > 0
    assert result["firing_ratio"] > 0
    assert result["idle_statements_per_second_and_node"] > 0
    connection = await asyncpg.connect(server_url)
    try:
        left = await connection.fetchval("select count(*) from pg_namespace where nspname = $1", SCHEMA)
    finally:
        await connection.close()
    assert left == 0
