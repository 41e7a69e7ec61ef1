"""Fixtures for pytest: write `pytest_plugins = ["sexton.testing.fixtures"]` into conftest.py.

sexton_server      the address of a private PostgreSQL for the whole session
sexton_database    the address of an empty, migrated database on it, for one test
sexton_app         an application on that database
sexton_engine      `sexton.testing.engine` on that server: `sexton_engine(app, at=…)`
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from sexton.app import Sexton
from sexton.testing import Engine, engine
from sexton.testing.scratch import drop_database, make_database, scratch_server


@pytest.fixture(scope="session")
def sexton_server() -> Iterator[str]:
    with asyncio.Runner() as runner:
        server = scratch_server()
        yield runner.run(server.__aenter__())
        runner.run(server.__aexit__(None, None, None))


@pytest.fixture
def sexton_database(sexton_server: str) -> Iterator[str]:
    url = asyncio.run(make_database(sexton_server))
    yield url
    asyncio.run(drop_database(sexton_server, url))


@pytest.fixture
def sexton_app(sexton_database: str) -> Sexton:
    return Sexton(sexton_database, name="test")


@pytest.fixture
def sexton_engine(sexton_server: str) -> Callable[..., AbstractAsyncContextManager[Engine]]:
    return partial(engine, server=sexton_server)
