"""Nodes that a test has made are closed after it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.scheduling import Stage


@pytest_asyncio.fixture(autouse=True)
async def closed_stages() -> AsyncIterator[None]:
    yield
    await Stage.close_all()
