"""A steady rate is fired as it was asked for, each occurrence once."""

from __future__ import annotations

from sexton.cli.bench.steady import steady


async def test_every_occurrence_is_run_once(server_url: str) -> None:
    result = await steady(server_url, rate=50, seconds=3, workers=1, say=lambda line: None)
    assert (result["lost"], result["doubled"], result["early"]) == (0, 0, 0)
    # 500 jobs have their own milliseconds within ten seconds: about 150 of them are in three.
    assert 100 < result["jobs"] < 200
    assert result["seconds"] == 3
    assert result["late_p50_seconds"] <= result["late_p99_seconds"] <= result["late_max_seconds"]
    assert result["limit_per_second"] > 0
    assert result["ratio"] > 0
