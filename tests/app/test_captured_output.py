"""What the handlers of an application print and log is in the logs of their runs."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

import pytest

from sexton import Run, Sexton
from sexton.testing import engine

MONDAY = datetime(2026, 6, 1, tzinfo=UTC)
LINES = """
select level, message from sexton.run_logs l join sexton.history h on h.run_id = l.run_id
join sexton.jobs j on j.id = h.job_id where j.name = $1 order by l.at, l.message
"""

log = logging.getLogger("shop")


class Pool:
    """Says something when it is made: that is not the run's that needs it first."""

    def __init__(self) -> None:
        print("a pool")


def make_app(*, capture_output: bool = True) -> Sexton:
    app = Sexton(name="test", capture_output=capture_output)
    app.provide(Pool, Pool)

    @app.job("@daily")
    async def report(run: Run, pool: Pool) -> None:
        print("1 of", run.job_name)
        log.warning("2")
        await run.log("3")

    @app.job("@daily")
    def plain() -> None:
        print("plain")

    @app.on("succeeded")
    def listen(event: object) -> None:
        print("a listener")

    return app


async def lines_of(app: Sexton, server_url: str, job: str) -> list[tuple[str, str]]:
    async with engine(app, at=MONDAY, server=server_url) as test:
        assert len(await test.advance(days=1)) == 2
        async with test.database.connection() as connection:
            return [tuple(row) for row in await connection.fetch(LINES, job)]


async def test_they_are_kept(server_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    lines = await lines_of(make_app(), server_url, "report")
    assert lines == [("info", "1 of report"), ("warning", "2"), ("info", "3")]
    assert await lines_of(make_app(), server_url, "plain") == [("info", "plain")]
    assert sys.stdout is before
    printed = capsys.readouterr().out
    counts = {"a pool": 2, "1 of report": 2, "plain": 2, "a listener": 4}
    assert {text: printed.count(text) for text in counts} == counts


async def test_they_are_not_kept_if_so_set(server_url: str) -> None:
    assert await lines_of(make_app(capture_output=False), server_url, "report") == [("info", "3")]
