"""The hot second is correct at a small size, and not far from the limit."""

from __future__ import annotations

from sexton.cli.bench.hot_second import hot_second

TRIES = 3
LEAST_RATIO = 0.3


async def test_every_job_is_run_once_and_near_the_limit(server_url: str) -> None:
    said: list[str] = []
    ratio = 0.0
    # The machine may be busy with something else: the best of some tries counts.
    for _ in range(TRIES):
        result = await hot_second(server_url, jobs=3000, workers=1, say=said.append)
        assert (result["jobs"], result["lost"], result["doubled"], result["early"]) == (3000, 0, 0, 0)
        assert 0 < result["late_p50_seconds"] <= result["late_p99_seconds"] <= result["late_max_seconds"]
        assert result["per_second"] > 0
        assert result["limit_per_second"] > 0
        assert result["scheduler_peak_megabytes"] < 300
        ratio = max(ratio, result["ratio"])
        if ratio >= LEAST_RATIO:
            break
    assert ratio >= LEAST_RATIO
    assert said
