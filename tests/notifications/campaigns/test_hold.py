"""What holds a whole campaign is told by each of its messages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.notifications.campaigns.campaign import create_campaign, pause, resume, start
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec
from sexton.notifications.campaigns.view import CampaignView
from sexton.notifications.read import list_messages
from sexton.notifications.why import why
from sexton.postgres.transaction import Context
from sexton.security.quota_spec import QuotaChanges
from sexton.security.quotas import change_quotas
from sexton.testing import Engine
from tests.notifications.crowd import add_recipients
from tests.notifications.mailbox import Mailbox

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def context(context: Context) -> Context:
    return replace(context, actor="ann")


async def go(context: Context, **fields: Any) -> CampaignView:
    audience = AudienceSpec(everyone=True)
    spec = CampaignSpec(name="spring", template_id="hello", audience=audience, **fields)
    made = await create_campaign(context, spec)
    return await start(context, made.campaign_id)


async def told(context: Context, status: str) -> str:
    """What one message of this status tells: the last that was made."""
    page = await list_messages(context, status=status)
    return (await why(context, page.items[0].notification_id)).summary


async def test_a_pause(context: Context, engine: Engine) -> None:
    await add_recipients(engine.database, 100)
    made = await go(context, rate=10.0)
    await engine.advance(seconds=3)
    await pause(context, made.campaign_id, reason="a wrong price")
    await engine.advance(hours=1)
    paused = f"the campaign {made.campaign_id} was paused: a wrong price"
    assert paused in await told(context, "pending")
    await resume(context, made.campaign_id)
    await engine.advance(minutes=1)
    last = await told(context, "sent")
    assert f"{paused} → the campaign {made.campaign_id} was resumed by ann → email submitted 13:00:" in last
    # What went out before the pause does not tell of it.
    page = await list_messages(context, status="sent")
    first = min(page.items, key=lambda each: each.sent_at or START)
    assert "paused" not in (await why(context, first.notification_id)).summary


async def test_a_pause_before_its_time(context: Context, engine: Engine) -> None:
    await add_recipients(engine.database, 1)
    at = START + timedelta(hours=1)
    made = await go(context, send_at=at)
    await engine.advance(minutes=55)
    await pause(context, made.campaign_id)
    await engine.advance(minutes=20)
    await resume(context, made.campaign_id)
    await engine.advance(minutes=1)
    assert "was paused: paused by ann" in await told(context, "sent")


async def test_the_late_guard(context: Context, engine: Engine) -> None:
    await add_recipients(engine.database, 1)
    made = await go(context, send_at=START + timedelta(minutes=5), prepare_seconds=240)
    await engine.advance(minutes=2)
    await engine.outage(hours=5)
    await engine.advance(minutes=1)
    assert "waited: found 4 h 5" in await told(context, "pending")
    await resume(context, made.campaign_id)
    await engine.advance(minutes=1)
    assert "waited: found 4 h 5" in await told(context, "sent")


async def test_the_canary(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await add_recipients(engine.database, 100)
    made = await go(context, canary=0.05)
    await engine.advance(seconds=20)
    assert len(mailbox.got) == 5
    assert "waited: the canary is out: 5 of 100 were sent" in await told(context, "pending")
    await resume(context, made.campaign_id)
    await engine.advance(seconds=20)
    assert f"the campaign {made.campaign_id} was resumed by ann" in await told(context, "sent")


async def test_the_rate(context: Context, engine: Engine) -> None:
    await add_recipients(engine.database, 100)
    made = await go(context, rate=5.0)
    await engine.advance(seconds=3)
    rate = f"the campaign {made.campaign_id} sends at most 5 messages a second"
    assert f"waits for its turn: {rate}" in await told(context, "pending")
    await engine.advance(minutes=1)
    page = await list_messages(context, status="sent")
    last = max(page.items, key=lambda each: each.sent_at or START)
    assert f"waited for its turn: {rate}" in (await why(context, last.notification_id)).summary


async def test_the_quota_of_a_day(context: Context, engine: Engine, mailbox: Mailbox) -> None:
    await change_quotas(context, "default", QuotaChanges(campaign_sends_per_day=3))
    await add_recipients(engine.database, 5)
    await go(context)
    await engine.advance(seconds=20)
    assert len(mailbox.got) == 3
    quota = "waited: the quota of 3 campaign sends a day is used up"
    assert quota in await told(context, "pending")
    await engine.advance(hours=13)
    assert len(mailbox.got) == 5
    page = await list_messages(context, status="sent")
    last = max(page.items, key=lambda each: each.sent_at or START)
    summary = (await why(context, last.notification_id)).summary
    assert summary.count(quota) == 1
    assert "email submitted 00:00" in summary
