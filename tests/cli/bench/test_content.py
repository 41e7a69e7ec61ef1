"""Content is measured without harm, and its account is right."""

from __future__ import annotations

from sexton.cli.bench.content import content


async def test_all_figures_are_there_and_nothing_is_lost(server_url: str) -> None:
    result = await content(server_url, pending=400, due=40, workers=1, say=lambda line: None)
    assert (result["pending"], result["due"]) == (400, 40)
    assert [result[fault] for fault in ("lost", "doubled", "early", "out_of_order")] == [0, 0, 0, 0]
    assert result["imported_per_second"] > 0
    assert result["seconds"] > 0
    for name in (
        "entity",
        "calendar",
        "calendar_of_author",
        "list_of_author",
        "list_of_failed",
        "executions",
    ):
        assert result[f"{name}_milliseconds"] > 0
