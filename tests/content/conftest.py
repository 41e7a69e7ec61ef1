"""An engine on a manual clock, with what content scheduling needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from sexton import Sexton
from sexton.content.adapters.table import adapters
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing import engine as start_engine
from tests.content.shelf import Shelf

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """An adapter `shelf`. A test names it first: the worker says at its start which adapters it has."""
    made = Shelf()
    monkeypatch.setitem(adapters(), "shelf", made.adapter())
    return made


@pytest_asyncio.fixture
async def engine(server_url: str) -> AsyncIterator[Engine]:
    async with start_engine(Sexton(name="cms"), at=START, server=server_url) as running:
        yield running


@pytest.fixture
def context(engine: Engine) -> Context:
    return Context(engine.database, actor="tester")
