"""`sexton bench console` on a small scale: every view of the console is asked for, and open consoles hear."""

from __future__ import annotations

import pytest

from sexton.cli.bench import console_requests
from sexton.cli.bench.console import console


async def test_every_view_and_open_consoles(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_requests, "ROUNDS", 1)
    said: list[str] = []
    result = await console(
        server_url, jobs=200, history=2000, consoles=2, seconds=0.5, browser=None, say=said.append
    )
    assert len(result["views"]) > 60
    assert {"view", "slowest", "query_ms", "query_max_ms", "total_ms", "bytes"} <= set(result["views"][0])
    assert result["slowest_milliseconds"] > 0
    assert result["jobs"] == 200
    assert set(result["open_consoles"]) == {"overview", "jobs", "runs"}
    assert any("2 consoles" in line for line in said)
