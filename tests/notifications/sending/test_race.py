"""A moment before it is due: a message that was cancelled or moved does not go out then; one that went out
is said to have gone out. A thousand races between commands and the worker that sends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from sexton.errors import Conflict
from sexton.model import encode_id
from sexton.notifications.campaigns.campaign import create_campaign, start
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec
from sexton.notifications.message import cancel_message, create_messages, move_message
from sexton.notifications.read import get_message
from sexton.notifications.spec import NotificationMove
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.conftest import START
from tests.notifications.crowd import add_recipients
from tests.notifications.outbox import Outbox

ROUNDS, OF_EACH = 50, 10
FIRST = START + timedelta(seconds=10)
LATER = START + timedelta(minutes=5)

Change = Callable[[Context, str], Awaitable[object]]


async def move(context: Context, ref: str) -> object:
    return await move_message(context, ref, NotificationMove(send_at=LATER))


async def race(context: Context, engine: Engine, at: datetime, refs: list[str], change: Change) -> list[str]:
    """Change each while it is sent; those whose change was accepted."""
    turn = asyncio.Semaphore(2)

    async def one(ref: str) -> list[str]:
        async with turn:
            try:
                await change(context, ref)
            except Conflict as refused:
                if refused.code != "already_submitted":
                    raise
                return []
        return [ref]

    random.shuffle(refs)
    going = asyncio.ensure_future(engine.advance(to=at))
    changed = await asyncio.gather(*map(one, refs))
    await going
    return [ref for accepted in changed for ref in accepted]


@pytest.mark.parametrize("change", [cancel_message, move], ids=["cancel", "reschedule"])
async def test_what_was_changed_in_time_does_not_go_out_then(
    context: Context, engine: Engine, outbox: Outbox, change: Change
) -> None:
    rounds: list[tuple[datetime, list[str]]] = []
    for number in range(ROUNDS):
        at = FIRST + timedelta(seconds=number)
        message = {"template_id": "hello", "channel": "email", "send_at": at}
        given = [{**message, "address": f"u{n}@example.com"} for n in range(OF_EACH)]
        rounds.append((at, await create_messages(context, given)))
    changed = {ref for at, refs in rounds for ref in await race(context, engine, at, refs, change)}
    await engine.drain()
    everything = {ref for _, refs in rounds for ref in refs}
    sent = [message.key for _, message in outbox.sent]
    assert len(set(sent)) == len(sent)
    assert set(sent) == everything - changed
    statuses = {ref: (await get_message(context, ref)).status for ref in everything}
    changed_to = "cancelled" if change is cancel_message else "pending"
    assert statuses == {ref: changed_to if ref in changed else "sent" for ref in everything}
    assert 0 < len(changed) < len(everything), "one side has always been faster: this was no race"
    await engine.advance(to=LATER)
    later = [message.key for _, message in outbox.sent]
    assert sorted(later) == sorted(sent if change is cancel_message else everything)


async def test_what_was_cancelled_in_time_does_not_go_out_with_its_campaign(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    """Messages of a campaign are marked by the batch, in their chunk, and not one by one."""
    await add_recipients(engine.database, 1000)
    spec = CampaignSpec(
        name="race",
        template_id="hello",
        audience=AudienceSpec(everyone=True),
        send_at=FIRST,
        prepare_seconds=5,
    )
    made = await create_campaign(context, spec)
    await start(context, made.campaign_id)
    await engine.advance(to=FIRST - timedelta(seconds=1))
    async with engine.database.connection() as connection:
        rows = await connection.fetch(engine.database.sql("select id from sexton.messages"))
    everything = {encode_id("n", row["id"]) for row in rows}
    assert len(everything) == 1000
    changed = set(await race(context, engine, FIRST, list(everything), cancel_message))
    await engine.drain()
    sent = [message.key for _, message in outbox.sent]
    assert len(set(sent)) == len(sent)
    assert set(sent) == everything - changed
    statuses = {ref: (await get_message(context, ref)).status for ref in everything}
    assert statuses == {ref: "cancelled" if ref in changed else "sent" for ref in everything}
