"""Recipients: made, changed, imported, exported, and erased without a trace."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sexton.errors import InvalidField, NotFound, RefusedLines
from sexton.notifications.message import create_message
from sexton.notifications.recipients.csv_file import RecipientCsv
from sexton.notifications.recipients.export import export_recipient
from sexton.notifications.recipients.recipient import (
    change_recipient,
    erase_recipient,
    get_recipient,
    import_recipients,
    list_recipients,
    put_recipient,
)
from sexton.notifications.spec import FrequencyCap, NotificationSpec, OptOut, QuietRange, RecipientSpec
from sexton.postgres.transaction import Context
from sexton.security.audit import AuditFilter, list_entries
from sexton.testing import Engine
from tests.notifications.outbox import Outbox

AT = datetime(2027, 3, 1, 12, 20, tzinfo=UTC)


async def test_put_replaces_and_patch_changes(context: Context) -> None:
    await put_recipient(
        context,
        "ann",
        RecipientSpec(email="ann@example.org", phone="+49 (151) 123", locale="pt_BR", fields={"name": "Ann"}),
    )
    found = await get_recipient(context, "ann")
    assert (found.phone, found.locale, found.fields) == ("+49151123", "pt-br", {"name": "Ann"})
    changed = await change_recipient(context, "ann", {"timezone": "Asia/Tokyo", "phone": None})
    assert (changed.timezone, changed.phone, changed.email) == ("Asia/Tokyo", None, "ann@example.org")
    replaced = await put_recipient(context, "ann", RecipientSpec())
    assert (replaced.email, replaced.fields) == (None, {})
    with pytest.raises(InvalidField):
        await change_recipient(context, "ann", {"timezon": "UTC"})
    with pytest.raises(NotFound):
        await change_recipient(context, "eve", {"timezone": "UTC"})


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (RecipientSpec(email="ann"), "email"),
        (RecipientSpec(email="ann@example.org\r\nBcc: eve@example.org"), "email"),
        (RecipientSpec(phone="call me"), "phone"),
        (RecipientSpec(timezone="Europe/Berlim"), "timezone"),
        (RecipientSpec(locale="german!"), "locale"),
        (RecipientSpec(quiet_hours=QuietRange(start="9", end="10")), "quiet_hours.start"),
        (RecipientSpec(opt_outs=[OptOut()]), "opt_outs[0]"),
        (RecipientSpec(caps=[FrequencyCap(n=1, per="year")]), "caps[0].per"),
    ],
)
async def test_what_cannot_be_used_is_refused(context: Context, spec: RecipientSpec, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        await put_recipient(context, "ann", spec)
    assert refused.value.field == field


async def test_an_import_adds_and_changes_and_leaves_out_what_it_does_not_name(context: Context) -> None:
    first = [b'{"user_id": "a", "email": "a@example.org", "fields": {"x": 1}}', b'{"user_id": "b"}']
    assert await import_recipients(context, first) == 2
    again = [b'{"user_id": "a", "timezone": "UTC", "fields": {"y": 2}}', b'{"user_id": "c"}']
    assert await import_recipients(context, again) == 1
    found = await get_recipient(context, "a")
    assert (found.email, found.timezone, found.fields) == ("a@example.org", "UTC", {"x": 1, "y": 2})
    with pytest.raises(RefusedLines) as refused:
        await import_recipients(context, [b'{"user_id": "d"}', b'{"email": "x@y"}', b"{", b'{"user_id": 1}'])
    assert [line for line, _ in refused.value.errors] == [2, 3, 4]
    page = await list_recipients(context, limit=2)
    assert [each.user_id for each in page.items] == ["a", "b"]
    rest = await list_recipients(context, limit=2, cursor=page.cursor)
    assert ([each.user_id for each in rest.items], rest.cursor) == (["c"], None)


async def test_recipients_are_found_by_the_beginning_of_their_id(context: Context) -> None:
    lines = [f'{{"user_id": "{each}"}}'.encode() for each in ("an", "ann", "ann-2", "annä", "anö", "bob")]
    await import_recipients(context, lines)
    page = await list_recipients(context, search="ann", limit=2)
    assert [each.user_id for each in page.items] == ["ann", "ann-2"]
    rest = await list_recipients(context, search="ann", limit=2, cursor=page.cursor)
    assert ([each.user_id for each in rest.items], rest.cursor) == (["annä"], None)
    assert (await list_recipients(context, search="zoe")).items == []


def test_csv_names_its_columns() -> None:
    reader = RecipientCsv(b"\xef\xbb\xbfuser_id,email,quiet_start,quiet_end,field.name\r\n")
    line = reader.read(b'7,a@example.org,22:00,07:00,"Ann, Dr."\r\n')
    assert (line.user_id, line.email, line.fields) == ("7", "a@example.org", {"name": "Ann, Dr."})
    assert line.quiet_hours == QuietRange(start="22:00", end="07:00")
    with pytest.raises(InvalidField, match="no column 'mail'"):
        RecipientCsv(b"user_id,mail")
    with pytest.raises(InvalidField, match="3 cells"):
        RecipientCsv(b"user_id,email").read(b"1,2,3")
    for bad, code in ((b'1,"a"b', "bad_csv"), (b"1,\xff", "bad_text")):
        with pytest.raises(InvalidField) as refused:
            RecipientCsv(b"user_id,email").read(bad)
        assert refused.value.code == code


async def test_all_traces_of_a_person_are_erased_and_the_audit_certifies_it(
    context: Context, engine: Engine, outbox: Outbox
) -> None:
    await put_recipient(
        context, "ann", RecipientSpec(email="ann@example.org", caps=[FrequencyCap(n=9, per="day")])
    )
    await put_recipient(context, "ben", RecipientSpec(email="ben@example.org"))
    for send_at in (AT, AT.replace(hour=13)):
        for user in ("ann", "ben"):
            await create_message(
                context,
                NotificationSpec(
                    template_id="hello", channel="email", user_id=user, send_at=send_at,
                    template_vars={"name": "ann the person"},
                ),
            )  # fmt: skip
    async with engine.database.connection() as connection:
        await connection.execute(
            "insert into sexton.suppressions values ('default', 'sms', 'ann@example.org', 'x', now())"
        )
    await engine.advance(to=AT)
    assert len((await export_recipient(context, "ann")).notifications) == 2
    erased = await erase_recipient(context, "ann")
    assert erased.rows == {
        "recipients": 1, "messages": 2, "message_timers": 1, "recipient_counts": 1, "suppressions": 1,
    }  # fmt: skip
    await engine.advance(to=AT.replace(hour=14))
    assert outbox.users == ["ann", "ben", "ben"]
    async with engine.database.connection() as connection:
        for table in (
            "recipients",
            "messages",
            "message_events",
            "suppressions",
            "recipient_counts",
            "audit",
        ):
            dump = await connection.fetchval(
                f"select string_agg(each::text, ' ') from sexton.{table} as each"
            )
            assert "ann@example.org" not in (dump or ""), table
    entries = (await list_entries(context, AuditFilter(action="recipient.erased"))).items
    assert [entry.object_id for entry in entries] == ["ann"]
    with pytest.raises(NotFound):
        await erase_recipient(context, "ann")
