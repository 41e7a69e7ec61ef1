"""A person's word about messages that may have gone out: of one message, or of a whole campaign."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sexton.errors import Conflict
from sexton.notifications.campaigns.campaign import cancel, create_campaign, pause, resume, start
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec, CampaignStatus
from sexton.notifications.campaigns.unconfirmed import (
    confirm_campaign,
    confirm_message,
    resend_campaign,
    resend_message,
)
from sexton.notifications.campaigns.view import CampaignView, get_campaign
from sexton.notifications.channels.base import Accepted, Rejected, Unclear
from sexton.notifications.channels.table import provider_kinds
from sexton.notifications.message import create_message, read_spec
from sexton.notifications.read import get_message, list_messages
from sexton.notifications.why import why
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.changes import entries
from tests.notifications.crowd import add_recipients
from tests.notifications.mailbox import Mailbox
from tests.seeding import Store

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def mailbox(monkeypatch: pytest.MonkeyPatch) -> Mailbox:
    made = Mailbox(answer=lambda message: Unclear("the connection broke off"))
    monkeypatch.setitem(provider_kinds(), "mailbox", made.provider(deduplicates=False))
    return made


@pytest.fixture
def context(context: Context) -> Context:
    return replace(context, actor="ann", reason="the log of the provider says so")


async def doubtful(context: Context, engine: Engine, count: int = 5) -> CampaignView:
    """A campaign that is over, of whose messages none is known to have gone out."""
    await add_recipients(engine.database, count)
    spec = CampaignSpec(name="spring", template_id="hello", audience=AudienceSpec(everyone=True))
    made = await create_campaign(context, spec)
    await start(context, made.campaign_id)
    await engine.advance(seconds=10)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.unconfirmed) == (CampaignStatus.DONE, count)
    return shown


async def messages(context: Context) -> list[str]:
    return [each.notification_id for each in (await list_messages(context)).items]


async def actions(engine: Engine) -> list[str]:
    return [entry["action"] for entry in await entries(Store(engine.database))]


async def test_all_of_a_campaign_are_sent_again(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    made = await doubtful(context, engine)
    keys = set(await messages(context))
    mailbox.answer = lambda message: Accepted()
    again = await resend_campaign(context, made.campaign_id)
    assert (again.status, again.ended_at) == (CampaignStatus.SENDING, None)
    assert (again.counts.unconfirmed, again.counts.left) == (0, 5)
    await engine.advance(seconds=10)
    done = await get_campaign(context, made.campaign_id)
    assert (done.status, done.counts.sent, done.counts.unconfirmed) == (CampaignStatus.DONE, 5, 0)
    assert done.ended_at is not None
    # Under the keys that they had.
    assert {message.key for message in mailbox.got} == keys
    told = await why(context, keys.pop())
    assert "resent 12:00:10 UTC by ann: the log of the provider says so" in told.summary
    assert "campaign.resent" in await actions(engine)
    # Nothing is left to be decided about.
    await resend_campaign(context, made.campaign_id)
    await engine.advance(seconds=10)
    assert len(mailbox.got) == 5
    assert (await actions(engine)).count("campaign.resent") == 1


async def test_all_of_a_campaign_count_as_sent(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    made = await doubtful(context, engine)
    confirmed = await confirm_campaign(context, made.campaign_id)
    assert (confirmed.status, confirmed.counts.sent, confirmed.counts.unconfirmed) == ("done", 5, 0)
    await engine.advance(minutes=5)
    assert mailbox.got == []
    [one, *_] = await messages(context)
    shown = await get_message(context, one)
    assert (shown.status, shown.failure_reason) == ("sent", None)
    assert shown.sent_at is not None
    assert "counts as sent since 12:00:10 UTC, by ann: the log" in (await why(context, one)).summary
    assert "campaign.confirmed" in await actions(engine)


async def test_one_of_a_campaign(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    made = await doubtful(context, engine)
    first, second, *_ = await messages(context)
    mailbox.answer = lambda message: Accepted()
    assert (await confirm_message(context, first)).status == "sent"
    assert (await resend_message(context, second)).status == "pending"
    await engine.advance(seconds=10)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.sent, shown.counts.unconfirmed) == ("done", 2, 3)
    assert [message.key for message in mailbox.got] == [second]
    with pytest.raises(Conflict, match="is sent"):
        await resend_message(context, second)
    with pytest.raises(Conflict, match="is sent"):
        await confirm_message(context, first)


async def test_one_that_has_failed(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    mailbox.answer = lambda message: Rejected("no such user")
    await add_recipients(engine.database, 2)
    spec = CampaignSpec(name="spring", template_id="hello", audience=AudienceSpec(everyone=True))
    made = await create_campaign(context, spec)
    await start(context, made.campaign_id)
    await engine.advance(seconds=10)
    mailbox.answer = lambda message: Accepted()
    await resend_message(context, (await messages(context))[0])
    await engine.advance(seconds=10)
    shown = await get_campaign(context, made.campaign_id)
    assert (shown.status, shown.counts.sent, shown.counts.failed) == ("done", 1, 1)


async def test_a_campaign_that_is_paused_sends_them_when_it_is_resumed(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    made = await doubtful(context, engine)
    await resend_campaign(context, made.campaign_id)
    await pause(context, made.campaign_id)
    mailbox.answer = lambda message: Accepted()
    await engine.advance(minutes=5)
    assert mailbox.got == []
    await resume(context, made.campaign_id)
    await engine.advance(seconds=10)
    assert len(mailbox.got) == 5


async def test_of_one_that_was_cancelled_nothing_is_sent_again(
    context: Context, engine: Engine, mailbox: Mailbox
) -> None:
    made = await doubtful(context, engine, 2)
    first, second = await messages(context)
    await resend_message(context, first)
    await cancel(context, made.campaign_id)
    await engine.advance(seconds=10)
    with pytest.raises(Conflict, match="it sends no more messages"):
        await resend_campaign(context, made.campaign_id)
    with pytest.raises(Conflict, match="it sends no more messages"):
        await resend_message(context, second)
    assert (await confirm_campaign(context, made.campaign_id)).counts.sent == 1
    assert (await get_message(context, first)).status == "cancelled"
    assert mailbox.got == []


async def test_a_single_message(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    spec = read_spec({"template_id": "hello", "channel": "email", "address": "ann@example.com"})
    made = await create_message(context, spec)
    other = await create_message(context, spec)
    await engine.advance(seconds=10)
    assert (await get_message(context, made.notification_id)).status == "unconfirmed"
    mailbox.answer = lambda message: Accepted()
    await resend_message(context, made.notification_id)
    assert (await confirm_message(context, other.notification_id)).status == "sent"
    await engine.advance(seconds=10)
    assert [message.key for message in mailbox.got] == [made.notification_id]
    assert "notification.confirmed" in await actions(engine)
