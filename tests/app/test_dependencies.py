"""What handlers need beside their payload, provided by the application."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sexton import Run, RunFailed, Sexton
from sexton.errors import InvalidField
from sexton.testing import engine
from tests.waiting import PATIENCE

FAR = datetime(2100, 1, 1, tzinfo=UTC)
MONDAY = datetime(2026, 6, 1, tzinfo=UTC)


class Pool:
    def __init__(self, name: str = "real") -> None:
        self.name = name
        self.closed = False


DEFAULT = Pool("default")


@dataclass
class Region:
    """JSON could give it, too: it is provided all the same."""

    name: str


@pytest.fixture
def app(database_url: str) -> Sexton:
    return Sexton(database_url, name="test")


async def test_handlers_are_given_what_is_provided(app: Sexton) -> None:
    pools: list[Pool] = []

    async def make_pool() -> AsyncIterator[Pool]:
        pools.append(Pool())
        yield pools[-1]
        pools[-1].closed = True

    @app.handler("report")
    async def report(run: Run, customer: str, pool: Pool, region: Region, days: int = 7) -> list[Any]:
        assert not pool.closed
        return [customer, pool.name, region.name, days]

    @app.handler("plain")
    def plain(pool: Pool, customer: str) -> list[Any]:
        return [customer, pool.name]

    app.provide(Pool, make_pool)
    app.provide(Region, lambda: Region("north"))
    with pytest.raises(InvalidField, match="pool"):
        await app.schedule(report, at=FAR, payload={"customer": "c", "pool": 1})
    with pytest.raises(InvalidField, match="customer"):
        await app.schedule(report, at=FAR)
    for _ in range(2):
        async with app.running():
            for handler, given in ((report, ["c", "real", "north", 7]), (plain, ["c", "real"])):
                job = await app.schedule(handler, at=FAR, payload={"customer": "c"})
                assert await app.result(await app.run_now(job.job_id), timeout=PATIENCE) == given
        assert pools[-1].closed
    assert len(pools) == 2


async def test_what_nothing_provides_is_refused_at_the_start(app: Sexton) -> None:
    @app.job("@daily")
    async def report(run: Run, pool: Pool) -> None: ...

    with pytest.raises(InvalidField, match="pool= of report needs a Pool") as caught:
        async with app.running():
            raise AssertionError
    assert caught.value.code == "no_provider"
    assert "write app.provide(Pool, …)" in str(caught.value)


def test_what_a_payload_could_give_is_provided_before_its_handler(app: Sexton) -> None:
    with pytest.raises(InvalidField, match=r"write app\.provide\(Region, …\) above the handler"):
        app.job("@daily")(_where)
    app.provide(Region, lambda: Region("north"))
    app.job("@daily")(_where)


async def test_a_parameter_with_a_default_may_go_without(app: Sexton, server_url: str) -> None:
    @app.job("@daily")
    async def report(run: Run, pool: Pool | None = None, other: Pool = DEFAULT) -> list[Any]:
        return [pool and pool.name, other.name]

    async with engine(app, at=MONDAY, server=server_url) as test:
        assert [run.result for run in await test.advance(days=1)] == [[None, "default"]]
    app.provide(Pool, Pool)
    async with engine(app, at=MONDAY, server=server_url) as test:
        assert [run.result for run in await test.advance(days=1)] == [["real", "real"]]


async def test_a_test_provides_something_else(app: Sexton, server_url: str) -> None:
    app.provide(Pool, Pool)

    @app.job("@daily")
    async def report(run: Run, pool: Pool) -> str:
        return pool.name

    with app.provide(Pool, lambda: Pool("fake")):
        async with engine(app, at=MONDAY, server=server_url) as test:
            assert [run.result for run in await test.advance(days=1)] == ["fake"]
    async with engine(app, at=MONDAY, server=server_url) as test:
        assert [run.result for run in await test.advance(days=1)] == ["real"]
    with app.provide(Region, lambda: Region("north")):
        app.handler("where")(_where)
        await app.schedule("where", at=FAR)
    with pytest.raises(InvalidField, match="region"):
        await app.schedule("where", at=FAR)


async def _where(region: Region) -> None: ...


async def test_a_provider_that_fails_fails_the_attempts_that_need_it(app: Sexton, server_url: str) -> None:
    ends = [ConnectionError("the server is away"), None]

    async def make_pool() -> Pool:
        if (end := ends.pop(0)) is not None:
            raise end
        return Pool()

    app.provide(Pool, make_pool)

    @app.job("@daily", retry_base_seconds=60)
    async def report(run: Run, pool: Pool) -> str:
        return pool.name

    @app.job("@daily")
    async def other(run: Run) -> None: ...

    async with engine(app, at=MONDAY, server=server_url) as test:
        [run] = await test.advance(days=1)
        assert run.job_name == "other"
        [live] = await test.live()
        assert live.status == "failed"
        assert live.error is not None
        assert live.error.startswith("the provider of Pool failed: ConnectionError: the server is away")
        [run] = await test.advance(minutes=1)
        assert (run.job_name, run.result, run.attempt) == ("report", "real", 2)


async def test_waiting_for_a_provider_counts_as_time_of_the_attempt(app: Sexton) -> None:
    async def make_pool() -> Pool:
        await asyncio.Event().wait()
        return Pool()

    app.provide(Pool, make_pool)

    @app.handler("report")
    async def report(run: Run, pool: Pool) -> None: ...

    async with app.running():
        job = await app.schedule(report, at=FAR, timeout_seconds=1, max_retries=0)
        with pytest.raises(RunFailed, match="timeout"):
            await app.result(await app.run_now(job.job_id), timeout=PATIENCE)


PROGRAM = """
    from sexton import Sexton

    class Pool: ...

    app = Sexton(name="shop")

    @app.job("@daily")
    async def report(run, pool: Pool): ...
"""


def test_sexton_up_refuses_it_too(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(textwrap.dedent(PROGRAM), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sexton", "up", "--app", "shop:app", "--data", str(tmp_path / "data")],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("SEXTON_")},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "pool= of report needs a Pool" in done.stderr
    assert done.stderr.count("needs a Pool") == 1
