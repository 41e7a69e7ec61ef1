"""An engine on a manual clock, with a provider that keeps what was sent and a template `hello`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from sexton import Sexton
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing import engine as start_engine
from tests.notifications.conftest import START
from tests.notifications.crowd import add_template
from tests.notifications.mailbox import Mailbox


@pytest_asyncio.fixture
async def engine(server_url: str, mailbox: Mailbox) -> AsyncIterator[Engine]:
    async with start_engine(Sexton(name="shop"), at=START, server=server_url) as running:
        yield running


@pytest_asyncio.fixture
async def context(engine: Engine) -> Context:
    context = Context(engine.database, actor="tester")
    await put_provider(context, "box", ProviderSpec(channel="email", kind="mailbox"))
    await add_template(engine.database)
    return context
