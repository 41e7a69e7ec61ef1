"""The link that unsubscribes is in what a real mail server gets, of single messages and of campaigns."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.message import EmailMessage
from urllib.parse import urlsplit

import aiohttp
import pytest_asyncio

from sexton import Sexton
from sexton.config import Settings
from sexton.notifications.campaigns.campaign import create_campaign, start
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec
from sexton.notifications.channels.configured import put_provider
from sexton.notifications.channels.provider_spec import ProviderSpec
from sexton.notifications.message import create_message, read_spec
from sexton.notifications.recipients.recipient import get_recipient, put_recipient
from sexton.notifications.spec import EmailParts, RecipientSpec, TemplateSpec
from sexton.notifications.templates.template import put_template
from sexton.notifications.why import why
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from sexton.testing import engine as start_engine
from tests.api.conftest import serve
from tests.notifications.channels.mail_server import MailServer, mail_server

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest_asyncio.fixture
async def mail() -> AsyncIterator[MailServer]:
    async with mail_server() as running:
        yield running


@pytest_asyncio.fixture
async def engine(server_url: str) -> AsyncIterator[Engine]:
    async with start_engine(Sexton(name="shop"), at=START, server=server_url) as running:
        yield running


@pytest_asyncio.fixture
async def context(engine: Engine, mail: MailServer) -> Context:
    """Ann, a template with the link, and a provider that sends to the mail server."""
    context = Context(engine.database, actor="tester")
    config = {"url": f"smtp://127.0.0.1:{mail.port}", "sender": "Shop <shop@example.com>"}
    await put_provider(context, "mail", ProviderSpec(channel="email", kind="smtp", config=config))
    await put_recipient(context, "ann", RecipientSpec(email="ann@example.com"))
    texts = EmailParts(
        subject="News",
        text="No more: {{ unsubscribe_url }}",
        html='<a href="{{ unsubscribe_url }}">No more</a>',
    )
    await put_template(context, "news", TemplateSpec(email=texts, topic="offers"))
    return context


def link_of(mail: EmailMessage) -> str:
    """The one link that all its places have."""
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = mail["List-Unsubscribe"].strip("<>")
    text, html = (mail.get_body([kind]) for kind in ("plain", "html"))
    assert text is not None
    assert html is not None
    assert text.get_content().split() == ["No", "more:", link]
    assert re.findall('href="(.*)"', html.get_content()) == [link]
    return str(link)


async def unsubscribe(engine: Engine, link: str) -> None:
    """As a mail program does it, with one click."""
    path = urlsplit(link).path
    async with serve(engine.database, Settings()) as api, aiohttp.ClientSession() as session:
        form = {"List-Unsubscribe": "One-Click"}
        async with session.post(f"{api.base}{path}", data=form) as answer:
            assert answer.status == 200


async def test_of_a_message(context: Context, engine: Engine, mail: MailServer) -> None:
    made = await create_message(
        context, read_spec({"template_id": "news", "user_id": "ann", "channel": "email"})
    )
    await engine.advance(seconds=5)
    assert (await why(context, made.notification_id)).status == "sent"
    [got] = mail.mails
    link = link_of(got)
    # Nothing says where people reach the API; on a machine of one's own that is its address.
    assert link.startswith("http://127.0.0.1:7390/api/v1/notifications/unsubscribe/")
    await unsubscribe(engine, link)
    assert (await get_recipient(context, "ann")).opt_outs == [{"channel": "email", "topic": "offers"}]
    assert "unsubscribed" in (await why(context, made.notification_id)).summary
    again = await create_message(
        context, read_spec({"template_id": "news", "user_id": "ann", "channel": "email"})
    )
    await engine.advance(seconds=5)
    told = await why(context, again.notification_id)
    assert (told.status, len(mail.mails)) == ("suppressed", 1)
    assert "the recipient has opted out of offers by email" in told.summary


async def test_of_a_campaign(context: Context, engine: Engine, mail: MailServer) -> None:
    await put_recipient(context, "bob", RecipientSpec(email="bob@example.com"))
    spec = CampaignSpec(name="spring", template_id="news", audience=AudienceSpec(everyone=True))
    made = await create_campaign(context, spec)
    await start(context, made.campaign_id)
    await engine.advance(seconds=10)
    links = {got["To"]: link_of(got) for got in mail.mails}
    assert len(set(links.values())) == 2
    await unsubscribe(engine, links["bob@example.com"])
    assert (await get_recipient(context, "ann")).opt_outs == []
    assert (await get_recipient(context, "bob")).opt_outs == [{"channel": "email", "topic": "offers"}]
