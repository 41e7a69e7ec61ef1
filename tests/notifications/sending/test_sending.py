"""The way of a message whose time has come: held, passed on, tried again, too late, in doubt."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sexton.engine import crash
from sexton.errors import LeaseLost
from sexton.notifications.campaigns.unconfirmed import resend_message
from sexton.notifications.channels.base import Accepted, Deferred, Failed, Rejected, Unclear
from sexton.notifications.message import create_message, create_messages
from sexton.notifications.model import Urgency
from sexton.notifications.read import NotificationView, get_message
from sexton.notifications.recipients.export import export_recipient
from sexton.notifications.recipients.recipient import (
    erase_recipient,
    put_recipient,
    suppress_recipient,
    unsuppress_recipient,
)
from sexton.notifications.recipients.suppression import SuppressionSpec, put_suppression
from sexton.notifications.sending.due import find_suppressed
from sexton.notifications.sending.hold import DueMessage
from sexton.notifications.spec import (
    ChannelStep,
    FrequencyCap,
    NotificationSpec,
    OptOut,
    QuietRange,
    RecipientSpec,
)
from sexton.notifications.why import why
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.outbox import Outbox

AT = datetime(2027, 3, 1, 12, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


async def ann(context: Context, **fields: Any) -> None:
    given: dict[str, Any] = {"email": "ann@example.org", "phone": "+4915112345678", **fields}
    await put_recipient(context, "ann", RecipientSpec(**given))


async def send(context: Context, **fields: Any) -> str:
    given: dict[str, Any] = {"template_id": "hello", "channel": "email", "user_id": "ann", "send_at": AT}
    made = await create_message(context, NotificationSpec(**{**given, **fields}))
    return made.notification_id


async def shown(context: Context, ref: str) -> NotificationView:
    return await get_message(context, ref)


async def kinds(context: Context, ref: str) -> list[str]:
    return [line.kind for line in (await why(context, ref)).lines]


async def test_what_is_suppressed_of_a_channel_of_ones_own_is_found_exported_and_erased(
    context: Context,
) -> None:
    await ann(context, addresses={"chat": "U02ABC"})
    for channel, address in (("chat", "U02ABC"), ("email", "Ann@Example.org")):
        await put_suppression(context, channel, address, SuppressionSpec(reason="asked"))
    due = DueMessage(
        ["chat", "email"], 0, None, None, AT, None, "ann", None, None, None, None,
        {"chat": "U02ABC", "email": "Ann@example.org"},
    )  # fmt: skip
    found = await find_suppressed(context, [due])
    assert set(found) == {("chat", "U02ABC"), ("email", "ann@example.org")}
    shown = (await export_recipient(context, "ann")).suppressions
    assert sorted(each["channel"] for each in shown) == ["chat", "email"]
    assert (await erase_recipient(context, "ann")).rows["suppressions"] == 2


async def test_a_suppressed_recipient_gets_nothing_on_any_channel(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    ref = await send(context, channel=["email", "sms"])
    by_address = await send(context, address="other@example.org")
    await suppress_recipient(replace(context, reason="asked by phone"), "ann")
    await engine.advance(to=AT + MINUTE)
    for each in (ref, by_address):
        found = await shown(context, each)
        assert (found.status, found.failure_reason) == (
            "suppressed",
            "the recipient is suppressed: asked by phone",
        )
    assert outbox.sent == []
    await unsuppress_recipient(context, "ann")
    again = await send(context, send_at=AT + 2 * MINUTE)
    await engine.advance(to=AT + 3 * MINUTE)
    assert (await shown(context, again)).status == "sent"


async def test_quiet_hours_hold_a_message_until_they_end(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context, timezone="Europe/Berlin", quiet_hours=QuietRange(start="13:00", end="14:00"))
    ref = await send(context)
    urgent = await send(context, urgency=Urgency.ASAP)
    await engine.advance(to=AT)
    held = await shown(context, ref)
    ends = datetime(2027, 3, 1, 13, tzinfo=UTC)
    assert (held.status, held.hold_reason, held.next_at) == ("held", "quiet hours", ends)
    assert (await shown(context, urgent)).status == "sent"
    await engine.advance(to=ends - timedelta(seconds=1))
    assert len(outbox.sent) == 1
    await engine.advance(to=ends)
    told = await why(context, ref)
    assert [line.kind for line in told.lines] == ["scheduled", "held", "sent"]
    assert "held by quiet hours until 2027-03-01 14:00 CET (Europe/Berlin)" in told.summary


async def test_caps_let_the_rest_wait_for_the_recipients_next_day(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context, timezone="Asia/Tokyo", caps=[FrequencyCap(channel="email", n=2, per="day")])
    refs = [await send(context) for _ in range(3)]
    await engine.advance(to=AT)
    assert Counter([(await shown(context, ref)).status for ref in refs]) == {"sent": 2, "held": 1}
    held = await shown(context, refs[2])
    assert held.next_at == datetime(2027, 3, 1, 15, tzinfo=UTC)  # midnight in Tokyo
    assert held.hold_reason == "the cap of 2 email messages a day"
    await engine.advance(to=datetime(2027, 3, 1, 15, tzinfo=UTC))
    assert (await shown(context, refs[2])).status == "sent"


async def test_a_message_that_was_not_sent_uses_up_no_cap(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context, caps=[FrequencyCap(n=1, per="week")])
    outbox.answers["email"] = [Rejected("no such mailbox")]
    first = await send(context)
    await engine.advance(to=AT)
    assert (await shown(context, first)).status == "failed"
    second = await send(context, send_at=AT + MINUTE)
    await engine.advance(to=AT + MINUTE)
    assert (await shown(context, second)).status == "sent"


async def test_opt_outs_and_missing_addresses_suppress_or_pass_to_the_next_channel(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context, email=None, opt_outs=[OptOut(topic="news"), OptOut(channel="sms", topic="offers")])
    news = await send(context, topic="news")
    passed = await send(context, channel=["email", "sms"])
    offers = await send(context, channel=["email", "sms"], topic="offers")
    await engine.advance(to=AT)
    assert (await shown(context, news)).failure_reason == "the recipient has opted out of news"
    assert [(channel, message.key) for channel, message in outbox.sent] == [("sms", passed)]
    assert await kinds(context, passed) == ["scheduled", "fell_back", "sent"]
    ended = await shown(context, offers)
    assert (ended.status, ended.failure_reason) == (
        "suppressed",
        "the recipient has opted out of offers by sms",
    )


async def test_what_failed_is_tried_again_after_five_minutes_three_times(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    outbox.answers["email"] = [Failed("busy")] * 4
    ref = await send(context)
    for count in (1, 2, 3):
        await engine.advance(to=AT + (count - 1) * 5 * MINUTE)
        waits = await shown(context, ref)
        assert (waits.status, waits.retry_count, waits.failure_reason) == ("pending", count, "busy")
        assert waits.next_at == AT + count * 5 * MINUTE
    await engine.advance(to=AT + 15 * MINUTE)
    ended = await shown(context, ref)
    assert (ended.status, ended.retry_count, ended.next_at) == ("failed", 3, None)
    assert await kinds(context, ref) == ["scheduled", "retry", "retry", "retry", "failed"]
    assert len(outbox.tried) == 4
    assert len({message.key for _, message in outbox.tried}) == 1


async def test_a_permanent_error_is_not_tried_again(context: Context, engine: Engine, outbox: Outbox) -> None:
    await ann(context)
    outbox.answers["email"] = [Rejected("550 no such user")]
    ref = await send(context)
    await engine.advance(to=AT + 20 * MINUTE)
    ended = await shown(context, ref)
    assert (ended.status, ended.failure_reason, len(outbox.tried)) == ("failed", "550 no such user", 1)


async def test_asap_is_tried_again_at_once(context: Context, engine: Engine, outbox: Outbox) -> None:
    await ann(context)
    outbox.answers["email"] = [Failed("busy"), Failed("busy")]
    ref = await send(context, urgency=Urgency.ASAP)
    await engine.advance(to=AT)
    assert ((await shown(context, ref)).status, len(outbox.tried)) == ("sent", 3)


async def test_a_rate_or_an_open_circuit_charges_no_attempt(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    outbox.answers["email"] = [Deferred("the circuit is open", 30)] * 3
    ref = await send(context, max_retries=0)
    await engine.advance(to=AT + 2 * MINUTE)
    ended = await shown(context, ref)
    assert (ended.status, ended.retry_count) == ("sent", 0)
    assert ended.sent_at == AT + timedelta(seconds=90)
    assert await kinds(context, ref) == ["scheduled", "deferred", "sent"]


async def test_a_channel_that_fails_is_left_after_its_time(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    outbox.answers["email"] = [Failed("busy")] * 9
    steps: list[str | ChannelStep] = [ChannelStep(channel="email", after_seconds=120), "sms"]
    ref = await send(context, channel=steps, retry_seconds=60)
    await engine.advance(to=AT + MINUTE)
    assert (await shown(context, ref)).channel == "sms"
    assert outbox.sent == []
    await engine.advance(to=AT + 2 * MINUTE)
    assert [channel for channel, _ in outbox.sent] == ["sms"]
    assert await kinds(context, ref) == ["scheduled", "retry", "fell_back", "sent"]


async def test_a_message_that_was_not_delivered_in_time_goes_to_the_next_channel(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    steps: list[str | ChannelStep] = [
        ChannelStep(channel="email", after_seconds=600, unless="delivered"), "sms",
    ]  # fmt: skip
    lost, delivered = await send(context, channel=steps), await send(context, channel=steps)
    await engine.advance(to=AT)
    assert (await shown(context, lost)).status == "sent"
    async with engine.database.connection() as connection:
        await connection.execute(
            "update sexton.messages set status = 'delivered' where id = (select max(id) from sexton.messages)"
        )
    await engine.advance(to=AT + 10 * MINUTE)
    sent = [(channel, message.key) for channel, message in outbox.sent]
    # The two of one instant go out in any order.
    assert (sorted(sent[:2]), sent[2:]) == (sorted([("email", lost), ("email", delivered)]), [("sms", lost)])
    assert (await shown(context, delivered)).next_at is None


async def test_after_an_outage_the_oldest_goes_first_unless_it_is_stale(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    late = [await send(context, send_at=AT + count * MINUTE) for count in (3, 1, 2)]
    stale = await send(context, urgency=Urgency.TIME_SENSITIVE)
    await engine.outage(hours=2)
    assert [message.key for _, message in outbox.sent] == [late[1], late[2], late[0]]
    ended = await shown(context, stale)
    assert (ended.status, ended.failure_reason) == ("expired", "it was 6000 s late")
    assert "expired 14:00 UTC, 1 h 40 min late" in (await why(context, stale)).summary


@pytest.mark.parametrize("point", ["step.begun", "step.acted"])
@pytest.mark.parametrize("known", [True, False])
async def test_what_a_crash_leaves_in_between_is_sent_again_only_where_the_provider_knows_the_key(
    context: Context, engine: Engine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch, point: str, known: bool
) -> None:
    await ann(context)
    outbox.known = {"email"} if known else set()
    points: list[str] = []

    def die(name: str) -> None:
        points.append(name)
        if name == point and points.count(name) == 1:
            raise LeaseLost("r_1")

    monkeypatch.setattr(crash, "point", die)
    ref = await send(context)
    await engine.advance(to=AT)
    ended = await shown(context, ref)
    assert len({message.key for _, message in outbox.tried}) <= 1
    if known:
        assert (ended.status, await kinds(context, ref)) == ("sent", ["scheduled", "resent", "sent"])
        return
    assert (ended.status, await kinds(context, ref)) == ("unconfirmed", ["scheduled", "unconfirmed"])
    assert len(outbox.tried) == (point == "step.acted")
    await resend_message(context, ref)
    await engine.drain()
    assert (await shown(context, ref)).status == "sent"


async def test_a_crash_after_all_is_settled_sends_nothing_again(
    context: Context, engine: Engine, outbox: Outbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ann(context)
    died: list[str] = []

    def die(name: str) -> None:
        if name == "step.noted" and not died:
            died.append(name)
            raise LeaseLost("r_1")

    monkeypatch.setattr(crash, "point", die)
    ref = await send(context)
    await engine.advance(to=AT)
    assert (died, (await shown(context, ref)).status, len(outbox.tried)) == (["step.noted"], "sent", 1)


async def test_an_answer_that_was_lost_leaves_a_message_unconfirmed(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    outbox.answers["email"] = [Unclear("the connection broke")]
    ref = await send(context)
    await engine.advance(to=AT)
    assert (await shown(context, ref)).status == "unconfirmed"
    outbox.known = {"email"}
    outbox.answers["email"] = [Unclear("the connection broke")]
    again = await send(context, send_at=AT + MINUTE)
    await engine.advance(to=AT + 7 * MINUTE)
    assert (await shown(context, again)).status == "sent"


async def test_a_message_that_was_committed_after_its_wave_ran_is_swept_up(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    ref = await send(context)
    async with engine.database.connection() as connection:
        await connection.execute("delete from sexton.timers where job_id in (select id from sexton.jobs "
                                 "where name like 'notifications/at/%')")  # fmt: skip
    await engine.advance(to=AT + 5 * MINUTE)
    assert (await shown(context, ref)).status == "sent"


async def test_a_wave_of_thousands_is_shared_and_each_message_goes_out_once(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    item = {"template_id": "hello", "channel": "email", "send_at": AT.isoformat()}
    items = [{**item, "address": f"u{number}@example.org"} for number in range(4500)]
    await create_messages(context, items)
    runs = await engine.advance(to=AT)
    assert len(runs) >= 3
    assert Counter(message.key for _, message in outbox.sent).most_common(1)[0][1] == 1
    assert len(outbox.sent) == 4500
    assert max(outbox.batches) == 500


async def test_a_provider_is_remembered_by_what_it_calls_the_message(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    outbox.answers["email"] = [Accepted("SM1")]
    ref = await send(context)
    await engine.advance(to=AT)
    async with engine.database.connection() as connection:
        row = await connection.fetchrow("select provider, provider_id from sexton.message_receipts")
        left = await connection.fetchval("select count(*) from sexton.message_timers")
    assert row is not None
    assert (row["provider"], row["provider_id"], left) == ("email-1", "SM1", 0)
    assert (await shown(context, ref)).status == "sent"
