"""An engine on a manual clock, which stands at the `START` of the module, with a provider that keeps what was
sent."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from sexton import Sexton
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing import engine as start_engine
from tests.notifications.crowd import without_sweep
from tests.notifications.mailbox import Mailbox


@pytest_asyncio.fixture
async def engine(server_url: str, mailbox: Mailbox, request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with start_engine(Sexton(name="shop"), at=request.module.START, server=server_url) as running:
        yield running


@pytest_asyncio.fixture
async def context(engine: Engine) -> Context:
    context = Context(engine.database, actor="tester")
    await without_sweep(context)
    await put_provider(context, "box", ProviderSpec(channel="email", kind="mailbox"))
    return context
