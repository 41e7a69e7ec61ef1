"""Handlers of a Django project: connections that are broken are let go of, and functions keep their names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.contrib.django import application
from sexton.contrib.django.application import DjangoApplication
from sexton.errors import InvalidField
from sexton.testing import engine


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    monkeypatch.setattr(application, "close_old_connections", lambda: calls.append("closed"))
    return calls


async def test_connections_are_looked_after_around_every_run(closed: list[str], server_url: str) -> None:
    app = DjangoApplication(name="shop")

    @app.job("@daily")
    def plain(run: Any) -> None:
        closed.append("plain")

    @app.job("@daily")
    async def coroutine(run: Any) -> None:
        closed.append("coroutine")

    @app.handler("failing")
    def failing(what: str) -> None:
        raise ValueError(what)

    async with engine(app, at=datetime(2027, 1, 1, tzinfo=UTC), server=server_url) as test:
        for job in (plain, coroutine):
            closed.clear()
            await app.run_now(job)
            await test.drain()
            assert closed == ["closed", job.__name__, "closed"]
        await app.schedule(failing, after="1s", payload={"what": "bread"}, max_retries=0)
        closed.clear()
        [run] = await test.advance(seconds=2)
        assert (run.status, closed) == ("dead", ["closed", "closed"])


def test_one_name_is_one_function() -> None:
    app = DjangoApplication(name="shop")

    def report() -> None: ...

    app.handler("report")(report)
    app.handler("report")(report)
    with pytest.raises(InvalidField, match="there is a handler report already"):
        app.handler("report")(lambda: None)
    with pytest.raises(InvalidField, match="is not a handler"):
        app._ref(lambda: None)
    assert app._ref(report) == "report"
    assert app._origin().modules == [__name__]
