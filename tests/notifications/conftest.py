"""An engine on a manual clock, with channels that keep what was sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from sexton import Sexton
from sexton.notifications import execution
from sexton.notifications.campaigns import conducting
from sexton.notifications.channels.table import provider_kinds
from sexton.notifications.spec import EmailParts, SmsParts, TemplateSpec
from sexton.notifications.templates.template import put_template
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing import engine as start_engine
from tests.notifications.mailbox import Mailbox
from tests.notifications.outbox import Outbox

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def seldom_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign that waits for hours is not looked after every minute of them. It still wakes up in the very
    second of its next message; with looks by the minute, days of campaigns took 130 s of a processor more."""
    monkeypatch.setattr(conducting, "LONGEST_WAIT", 1800.0)


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    """A channel that keeps what was sent with it."""
    made = Mailbox()
    monkeypatch.setitem(provider_kinds(), "mailbox", made.provider())
    return made


@pytest.fixture
def outbox(monkeypatch: pytest.MonkeyPatch) -> Outbox:
    made = Outbox()
    monkeypatch.setattr(execution, "Dispatcher", made)
    return made


@pytest_asyncio.fixture
async def engine(outbox: Outbox, server_url: str) -> AsyncIterator[Engine]:
    async with start_engine(Sexton(name="mail"), at=START, server=server_url) as running:
        yield running


@pytest_asyncio.fixture
async def context(engine: Engine) -> Context:
    """With a template `hello`."""
    made = Context(engine.database, actor="tester")
    await put_template(
        made,
        "hello",
        TemplateSpec(
            email=EmailParts(subject="Hello", text="Hello {{ name|default('you') }}"),
            sms=SmsParts(text="Hi {{ name|default('you') }}"),
        ),
    )
    return made
