"""How a campaign goes on, told by minute, channel, wave and hold."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sexton.errors import NotFound
from sexton.notifications.campaigns import progress
from sexton.notifications.campaigns.campaign import cancel, create_campaign, pause, resume
from sexton.notifications.campaigns.progress import read_progress
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.campaigns.test_campaign import go, spec
from tests.notifications.crowd import ZONES, add_recipients


async def test_waves_follow_the_zones(context: Context, engine: Engine) -> None:
    await add_recipients(engine.database, 2 * len(ZONES), zones=ZONES)
    made = await create_campaign(context, spec(local_time="2027-03-03 08:00"))
    await engine.advance(to=datetime(2027, 3, 3, 1, tzinfo=UTC))
    shown = await read_progress(context, made.campaign_id)
    states = [wave.state for wave in shown.waves]
    assert {"done", "waiting"} == set(states)
    assert states == sorted(states), "those that are over come first"
    sent = sum(minute.sent for minute in shown.minutes)
    assert sent == sum(wave.sent for wave in shown.waves) > 0
    assert [(each.channel, each.sent, each.sent + each.left) for each in shown.channels] == [
        ("email", sent, 2 * len(ZONES))
    ]
    assert (shown.counted, shown.since) == (2 * len(ZONES), None)
    await cancel(context, made.campaign_id)
    await engine.advance(seconds=30)
    over = (await read_progress(context, made.campaign_id)).waves
    assert [wave.state for wave in over] == ["done" if state == "done" else "cancelled" for state in states]
    assert {wave.left for wave in over} == {0}
    assert sum(wave.cancelled for wave in over) == 2 * len(ZONES) - sent


async def test_the_canary_and_what_was_done_to_it(context: Context, engine: Engine) -> None:
    await add_recipients(engine.database, 200)
    made = await go(context, canary=0.05)
    await engine.advance(seconds=10)
    await pause(context, made.campaign_id, reason="a wrong price")
    await resume(context, made.campaign_id)
    shown = await read_progress(context, made.campaign_id)
    assert [(wave.canary, wave.messages, wave.sent) for wave in shown.waves] == [
        (True, 10, 10),
        (False, 190, 0),
    ]
    assert [(each.kind, each.by) for each in shown.events][-2:] == [
        ("paused", "tester"),
        ("resumed", "tester"),
    ]


async def test_of_a_large_one_the_latest_is_told(
    context: Context,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await add_recipients(engine.database, 2 * len(ZONES), zones=ZONES)
    made = await create_campaign(context, spec(local_time="2027-03-03 08:00"))
    await engine.advance(to=datetime(2027, 3, 3, 21, tzinfo=UTC))
    whole = await read_progress(context, made.campaign_id)
    monkeypatch.setattr(progress, "MOST_MESSAGES", 6)
    shown = await read_progress(context, made.campaign_id)
    assert shown.counted < whole.counted == 2 * len(ZONES)
    assert shown.since is not None
    assert shown.minutes == [each for each in whole.minutes if each.at > shown.since]


async def test_another_namespace_has_no_such_campaign(context: Context, engine: Engine) -> None:
    made = await create_campaign(context, spec())
    with pytest.raises(NotFound):
        await read_progress(Context(engine.database, "other"), made.campaign_id)
