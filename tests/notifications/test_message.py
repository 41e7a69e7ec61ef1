"""Single messages: sent at their time, in the recipient's zone; cancelled and moved until submitted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sexton.errors import Conflict, InvalidField, NotFound, RefusedLines
from sexton.jobs.moment import UnclearTime
from sexton.notifications.message import cancel_message, create_message, create_messages, move_message
from sexton.notifications.read import get_message, list_messages
from sexton.notifications.recipients.recipient import put_recipient
from sexton.notifications.settings import set_settings
from sexton.notifications.spec import (
    EmailParts,
    NotificationMove,
    NotificationSettings,
    NotificationSpec,
    RecipientSpec,
    TemplateSpec,
)
from sexton.notifications.templates.template import put_template
from sexton.postgres.transaction import Context
from sexton.testing import Engine
from tests.notifications.outbox import Outbox

AT = datetime(2027, 3, 1, 12, 20, tzinfo=UTC)


async def ann(context: Context, **fields: object) -> None:
    given = {"email": "ann@example.org", **fields}
    await put_recipient(context, "ann", RecipientSpec(**given))  # type: ignore[arg-type]


async def test_a_message_goes_out_at_its_time_and_not_before(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    made = await create_message(
        context,
        NotificationSpec(
            template_id="hello", channel="email", user_id="ann", send_at=AT, template_vars={"name": "Ann"}
        ),
    )
    assert (made.status, made.send_at_utc, made.retry_count) == ("pending", AT, 0)
    await engine.advance(to=AT - timedelta(seconds=1))
    assert outbox.sent == []
    await engine.advance(to=AT)
    [(channel, message)] = outbox.sent
    assert (channel, message.address, message.key) == ("email", "ann@example.org", made.notification_id)
    assert message.parts == {"subject": "Hello", "text": "Hello Ann"}
    shown = await get_message(context, made.notification_id)
    assert (shown.status, shown.sent_at, shown.provider, shown.next_at) == ("sent", AT, "email-1", None)


async def test_a_message_without_a_time_goes_out_at_once(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await create_message(
        context, NotificationSpec(template_id="hello", channel="email", address="eve@example.org")
    )
    await engine.drain()
    assert outbox.texts == ["Hello you"]


async def test_a_hundred_messages_of_one_second_are_one_job(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    items = [
        {
            "template_id": "hello",
            "channel": "email",
            "address": f"u{number}@example.org",
            "send_at": AT.isoformat(),
        }
        for number in range(100)
    ]
    ids = await create_messages(context, items)
    assert len(set(ids)) == 100
    runs = await engine.advance(to=AT)
    assert len(outbox.sent) == 100
    assert [run.job_name for run in runs if "/at/" in str(run.job_name)] == [
        "notifications/at/2027-03-01T12:20:00Z"
    ]


NINE_O_CLOCK = {
    "Pacific/Kiritimati": -5, "Pacific/Auckland": -4, "Australia/Lord_Howe": -2, "Asia/Tokyo": 0,
    "Asia/Kathmandu": 3.25, "Asia/Kolkata": 3.5, "Africa/Cairo": 7, "Europe/Berlin": 8, "UTC": 9,
    "America/St_Johns": 12.5, "America/New_York": 14, "America/Los_Angeles": 17, "Pacific/Pago_Pago": 20,
}  # fmt: skip


async def test_a_local_time_is_that_of_the_recipient(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    for zone, hour in NINE_O_CLOCK.items():
        await put_recipient(context, zone, RecipientSpec(email="a@example.org", timezone=zone))
        made = await create_message(
            context,
            NotificationSpec(
                template_id="hello", channel="email", user_id=zone, local_time="2027-03-02 09:00"
            ),
        )
        expected = datetime(2027, 3, 2, tzinfo=UTC) + timedelta(hours=hour)
        assert (made.send_at_utc, made.timezone, made.local_time) == (expected, zone, "2027-03-02 09:00")
    for count, hour in enumerate(NINE_O_CLOCK.values()):
        at = datetime(2027, 3, 2, tzinfo=UTC) + timedelta(hours=hour)
        await engine.advance(to=at - timedelta(seconds=1))
        assert len(outbox.sent) == count
        await engine.advance(to=at)
        assert outbox.users == list(NINE_O_CLOCK)[: count + 1]


async def test_the_zone_is_the_recipients_else_the_namespaces_else_utc(
    context: Context, engine: Engine
) -> None:
    await ann(context)
    spec = NotificationSpec(
        template_id="hello", channel="email", user_id="ann", local_time="2027-03-02 09:00"
    )
    assert (await create_message(context, spec)).timezone == "UTC"
    await set_settings(context, NotificationSettings(timezone="Asia/Tokyo"))
    assert (await create_message(context, spec)).timezone == "Asia/Tokyo"
    await ann(context, timezone="Europe/Berlin")
    assert (await create_message(context, spec)).timezone == "Europe/Berlin"


async def test_a_local_time_that_happens_twice_or_not_at_all_is_refused_with_its_candidates(
    context: Context,
) -> None:
    await ann(context, timezone="Europe/Berlin")
    for local, code, utc in (
        ("2027-10-31 02:30", "ambiguous_time", ["2027-10-31T00:30:00Z", "2027-10-31T01:30:00Z"]),
        ("2027-03-28 02:30", "nonexistent_time", ["2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"]),
    ):
        spec = NotificationSpec(template_id="hello", channel="email", user_id="ann", local_time=local)
        with pytest.raises(UnclearTime) as refused:
            await create_message(context, spec)
        assert refused.value.code == code
        assert [each["utc"] for each in refused.value.candidates] == utc
    chosen = NotificationSpec(
        template_id="hello", channel="email", user_id="ann", local_time="2027-10-31 02:30", fold="second"
    )
    assert (await create_message(context, chosen)).send_at_utc == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)


async def test_a_message_can_be_cancelled_until_it_is_submitted(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    spec = NotificationSpec(template_id="hello", channel="email", user_id="ann", send_at=AT)
    first, second = await create_message(context, spec), await create_message(context, spec)
    assert (await cancel_message(context, first.notification_id)).status == "cancelled"
    await engine.advance(to=AT)
    assert [message.key for _, message in outbox.sent] == [second.notification_id]
    for ref in (first, second):
        with pytest.raises(Conflict):
            await cancel_message(context, ref.notification_id)
    with pytest.raises(NotFound):
        await cancel_message(context, "n_zzz")


async def test_a_message_can_be_moved_until_it_is_submitted(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context, timezone="America/New_York")
    spec = NotificationSpec(
        template_id="hello", channel="email", user_id="ann", send_at=AT, expires_seconds=600
    )
    made = await create_message(context, spec)
    later = await move_message(context, made.notification_id, NotificationMove(local_time="2027-03-01 09:00"))
    at = datetime(2027, 3, 1, 14, tzinfo=UTC)
    assert (later.send_at_utc, later.expires_at) == (at, at + timedelta(minutes=10))
    await engine.advance(to=at - timedelta(seconds=1))
    assert outbox.sent == []
    await engine.advance(to=at)
    assert len(outbox.sent) == 1
    with pytest.raises(Conflict):
        await move_message(context, made.notification_id, NotificationMove(send_at=at))


async def test_a_pending_message_keeps_the_version_that_it_was_made_with(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await ann(context)
    spec = NotificationSpec(template_id="hello", channel="email", user_id="ann", send_at=AT)
    await create_message(context, spec)
    await create_message(
        context,
        NotificationSpec(
            template_id="hello", channel="email", user_id="ann", send_at=AT, template_version="latest"
        ),
    )
    await put_template(context, "hello", TemplateSpec(email=EmailParts(subject="New", text="New text")))
    await engine.advance(to=AT)
    assert outbox.texts == ["Hello you", "New text"]


async def test_what_cannot_be_sent_is_refused_when_it_is_scheduled(context: Context) -> None:
    await ann(context)
    await put_template(
        context, "bye", TemplateSpec(email=EmailParts(subject="Bye", text="Bye {{ name }}, {{ when }}"))
    )
    for fields, code, field in (
        ({"template_id": "nothing"}, "template_not_found", "template_id"),
        ({"user_id": "eve"}, "recipient_not_found", "user_id"),
        ({"user_id": None}, "missing_field", "user_id"),
        ({"channel": "push"}, "no_texts", "channel"),
        ({"channel": ["email", "email"]}, "bad_value", "channel"),
        ({"template_id": "bye", "template_vars": {"name": "x"}}, "missing_variable", "template_vars.when"),
        ({"address": "no address"}, "bad_address", "address"),
        ({"local_time": "2027-03-03 09:00", "timezone": "Europe/Berlim"}, "unknown_timezone", "timezone"),
        ({"template_version": "newest"}, "bad_value", "template_version"),
        ({"template_version": 7}, "template_not_found", "template_id"),
    ):
        given = {"template_id": "hello", "channel": "email", "user_id": "ann", **fields}
        with pytest.raises(InvalidField) as refused:
            await create_message(context, NotificationSpec(**given))  # type: ignore[arg-type]
        assert (refused.value.code, refused.value.field) == (code, field)


async def test_of_many_all_are_scheduled_or_none(context: Context, engine: Engine, outbox: Outbox) -> None:
    good = b'{"template_id": "hello", "channel": "email", "address": "a@example.org"}'
    with pytest.raises(RefusedLines) as refused:
        await create_messages(context, [good, b'{"template_id": "hello"', b'{"template_id": "hello"}'])
    assert [line for line, _ in refused.value.errors] == [2, 3]
    with pytest.raises(RefusedLines) as refused:
        await create_messages(context, [good, good.replace(b"hello", b"none")])
    assert [(line, error.code) for line, error in refused.value.errors] == [(2, "template_not_found")]
    await engine.drain()
    assert outbox.sent == []
    assert (await list_messages(context)).items == []
