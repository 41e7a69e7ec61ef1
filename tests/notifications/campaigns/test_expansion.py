"""From an audience to the ledger: every recipient once, at the time of her zone, in chunks that do not
overlap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import asyncpg
import pytest

from sexton.errors import NotFound
from sexton.notifications.campaigns import check, expansion
from sexton.notifications.campaigns.audience import upload
from sexton.notifications.campaigns.campaign import create_campaign
from sexton.notifications.campaigns.check import check_campaign, preview_campaign
from sexton.notifications.campaigns.expansion import ZoneTimes, expand, find_audience
from sexton.notifications.campaigns.spec import AudienceSpec, CampaignSpec, WhenPast
from sexton.notifications.campaigns.view import get_campaign
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context, command
from tests.notifications.crowd import ZONES, add_recipients, add_template

NOW = datetime(2027, 3, 13, 12, tzinfo=UTC)
EVERYONE = AudienceSpec(everyone=True)


@pytest.fixture
def context(database: Database) -> Context:
    return Context(database, actor="tester", now=NOW)


def campaign(**fields: Any) -> CampaignSpec:
    given: dict[str, Any] = {"name": "spring", "template_id": "hello", "audience": EVERYONE, "draft": True}
    return CampaignSpec(**{**given, **fields})


@command
async def _slice(context: Context, number: int) -> bool:
    row: Any = await context.fetchrow(
        "campaigns/lock", namespace=context.namespace, campaign_id=number, now=context.now
    )
    row = {**dict(row), "armed_at": row["armed_at"] or NOW}
    if not row["expanded_to"]:
        await find_audience(context, row)
        found = await context.fetchrow(
            "campaigns/lock", namespace=context.namespace, campaign_id=number, now=context.now
        )
        assert found is not None
        row = {**dict(found), "armed_at": row["armed_at"]}
    return await expand(context, row, ZoneTimes(row))


async def write(context: Context, spec: CampaignSpec) -> int:
    """Make a campaign and its whole ledger."""
    await create_campaign(context, spec, may_query=True)
    number: int = await fetchval(context, "select max(id) from sexton.campaigns")
    while not await _slice(context, number):
        pass
    return number


async def fetch(context: Context, sql: str, *arguments: Any) -> list[asyncpg.Record]:
    async with context.database.connection() as connection:
        return list(await connection.fetch(context.database.sql(sql), *arguments))


async def fetchval(context: Context, sql: str, *arguments: Any) -> Any:
    return (await fetch(context, sql, *arguments))[0][0]


async def test_each_recipient_has_one_row_at_the_time_of_her_zone(
    context: Context, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "SLICE", 100)
    monkeypatch.setattr(expansion, "CHUNK_SIZE", 7)
    await add_template(database)
    await add_recipients(database, 1000, zones=ZONES)
    await add_recipients(database, 10, namespace="other", prefix="x")
    number = await write(context, campaign(local_time="2027-03-14 02:30"))
    rows = await fetch(context, "select * from sexton.messages where campaign_id = $1 order by id", number)
    assert len({row["user_id"] for row in rows}) == len(rows) == 1000
    for row in rows:
        place = ZoneInfo(row["timezone"])
        wall = row["due_at"].astimezone(place).replace(tzinfo=None)
        if row["timezone"] in ("America/New_York", "America/St_Johns", "America/Los_Angeles"):
            # That night their clocks jump from 02:00 to 03:00.
            assert (wall, row["timing"]) == (datetime(2027, 3, 14, 3), '{"gap": "after"}')
        else:
            assert (wall, row["timing"]) == (datetime(2027, 3, 14, 2, 30), None)
        assert (row["status"], row["scheduled_at"], row["template_version"]) == ("pending", row["due_at"], 1)
    chunks = await fetch(context, "select * from sexton.campaign_chunks where campaign_id = $1", number)
    assert all(chunk["size"] <= 7 for chunk in chunks)
    owners: dict[int, list[int]] = {row["id"]: [] for row in rows}
    for chunk in chunks:
        for row in rows:
            if chunk["first_id"] <= row["id"] <= chunk["last_id"]:
                owners[row["id"]].append(chunk["number"])
                assert chunk["due_at"] == row["due_at"]
    assert all(len(numbers) == 1 for numbers in owners.values())
    shown = await get_campaign(context, f"k_{_base32(number)}")
    assert shown.check is not None
    assert (shown.check.whole, shown.check.recipients, len(shown.check.zones)) == (True, 1000, len(ZONES))
    assert shown.check.zones[0].timezone == "Pacific/Kiritimati"
    assert sum(zone.recipients for zone in shown.check.zones) == 1000
    assert shown.counts.left == shown.counts.total == 1000


def _base32(number: int) -> str:
    from sexton.model import encode_id

    return encode_id("k", number).partition("_")[2]


@pytest.mark.parametrize("rule", list(WhenPast))
async def test_zones_where_it_is_past(context: Context, database: Database, rule: WhenPast) -> None:
    """It is 12:00Z: 08:00 is past in Berlin and to come in New York."""
    await add_template(database)
    await add_recipients(database, 20, zones=("Europe/Berlin", "America/New_York"))
    number = await write(context, campaign(local_time="08:00", when_past=rule))
    rows = await fetch(
        context,
        "select distinct timezone, due_at, status from sexton.messages where campaign_id = $1 order by 1",
        number,
    )
    american, berlin = rows
    assert american["due_at"] == datetime(2027, 3, 13, 13, tzinfo=UTC)
    expected = {
        WhenPast.SEND_NOW: (NOW, "pending"),
        WhenPast.NEXT_DAY: (datetime(2027, 3, 14, 7, tzinfo=UTC), "pending"),
        WhenPast.SKIP: (None, "suppressed"),
    }[rule]
    assert (berlin["due_at"], berlin["status"]) == expected
    shown = await get_campaign(context, f"k_{_base32(number)}")
    assert shown.check is not None
    assert shown.check.skipped == shown.counts.suppressed == (10 if rule is WhenPast.SKIP else 0)
    checked = await check_campaign(context, number)
    assert checked == shown.check


async def test_a_check_before_finds_what_the_ledger_has_after(context: Context, database: Database) -> None:
    await add_template(
        database,
        variables={"country": {"type": "string"}, "shop": {"type": "string"}, "tip": {"required": False}},
    )
    await add_recipients(database, 60, zones=ZONES)
    await add_recipients(database, 5, prefix="bare", fields={})
    await add_recipients(database, 5, prefix="out", opt_outs=[{"channel": "email"}], fields={"country": "DE"})
    await add_recipients(database, 5, prefix="topic", opt_outs=[{"topic": "news"}], fields={"country": "DE"})
    spec = campaign(local_time="2027-03-20 08:00", topic="news", template_vars={"shop": "here"})
    preview = await preview_campaign(context, spec)
    assert await fetchval(context, "select count(*) from sexton.campaigns") == 0
    await create_campaign(context, spec)
    number = await fetchval(context, "select max(id) from sexton.campaigns")
    before = await check_campaign(context, number)
    while not await _slice(context, number):
        pass
    assert preview == await check_campaign(context, number) == before
    assert (before.recipients, before.incomplete, before.unreachable) == (75, 5, 10)
    assert before.missing_variables == ["country"]
    # The values of the campaign and of its recipients are where they are; a row has only what is its own.
    [row] = await fetch(context, "select vars from sexton.messages where user_id = 'u2'")
    assert row["vars"] is None


async def test_a_preview_ends_after_a_while(
    context: Context, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter may take long for each recipient: what was examined by then is told."""
    await add_template(database)
    await add_recipients(database, 60, zones=ZONES)
    monkeypatch.setattr(check, "SLICE", 20)
    assert (await preview_campaign(context, campaign(send_at=NOW))).whole
    monkeypatch.setattr(check, "LOOK_SECONDS", 0.0)
    found = await preview_campaign(context, campaign(send_at=NOW))
    assert (found.recipients, found.whole) == (20, False)


async def test_a_preview_of_recipients_by_name_keeps_no_list(context: Context, database: Database) -> None:
    await add_template(database)
    await add_recipients(database, 4, zones=("Europe/Berlin",))
    named = AudienceSpec(user_ids=["u1", "u2", "u2", "stranger"])
    found = await preview_campaign(context, campaign(audience=named, send_at=NOW))
    assert (found.recipients, found.duplicates, found.unknown) == (2, 1, 1)
    [zone] = found.zones
    assert (zone.timezone, zone.send_at_utc, zone.recipients) == ("Europe/Berlin", NOW, 2)
    assert await fetchval(context, "select count(*) from sexton.audiences") == 0
    with pytest.raises(NotFound) as refused:
        await preview_campaign(context, campaign(audience=AudienceSpec(segment="nothing")))
    assert refused.value.code == "segment_not_found"


async def test_a_list_with_variables_strangers_and_doubles(context: Context, database: Database) -> None:
    async def members() -> Any:
        yield [("u1", {"seat": "1A"}), ("u2", None), ("nemo", None)]
        yield [("u1", {"seat": "2B"}), ("u3", {"seat": "3C"})]

    await add_template(database)
    await add_recipients(database, 5)
    uploaded = await upload(context, "guests", members())
    assert uploaded.size == 5
    spec = campaign(audience=AudienceSpec(list="guests"), send_at=NOW + timedelta(hours=1))
    number = await write(context, spec)
    rows = await fetch(
        context, "select user_id, vars from sexton.messages where campaign_id = $1 order by user_id", number
    )
    assert [(row["user_id"], row["vars"]) for row in rows] == [
        ("u1", '{"seat": "1A"}'),
        ("u2", None),
        ("u3", '{"seat": "3C"}'),
    ]
    shown = await get_campaign(context, f"k_{_base32(number)}")
    assert shown.check is not None
    assert (shown.check.unknown, shown.check.duplicates) == (1, 1)


async def test_an_upload_that_breaks_off_leaves_the_list_as_it_was(context: Context) -> None:
    async def whole() -> Any:
        yield [("u1", None)]

    async def broken() -> Any:
        yield [("u1", None), ("u2", None)]
        raise ConnectionResetError

    await upload(context, "guests", whole())
    with pytest.raises(ConnectionResetError):
        await upload(context, "guests", broken())
    assert await fetchval(context, "select size from sexton.audiences where current") == 1
    assert await fetchval(context, "select count(*) from sexton.audience_members") == 1


async def test_a_query_of_an_admin(context: Context, database: Database) -> None:
    await add_template(database)
    await add_recipients(database, 10)
    sql = "select user_id, fields->>'country' as country from sexton.recipients where user_id like 'u1%'"
    number = await write(context, campaign(audience=AudienceSpec(sql=sql), send_at=NOW))
    rows = await fetch(
        context, "select user_id, vars from sexton.messages where campaign_id = $1 order by 1", number
    )
    assert [(row["user_id"], row["vars"]) for row in rows] == [
        ("u1", '{"country": "US"}'),
        ("u10", '{"country": "DE"}'),
    ]


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("delete from sexton.recipients returning user_id", "does not begin with SELECT"),
        (
            "with gone as (delete from sexton.recipients returning user_id) select user_id from gone",
            "read-only",
        ),
        ("select user_id from nowhere", "nowhere"),
        ("select 1 as id", "none is user_id"),
        ("select 'a' as user_id; select 'b' as user_id", "multiple commands"),
        ("select pg_read_file('/etc/passwd') as user_id", "permission denied"),
        ("select null as user_id", "is null"),
    ],
)
async def test_a_query_only_reads(context: Context, database: Database, sql: str, why: str) -> None:
    await add_template(database)
    await add_recipients(database, 1)
    with pytest.raises(Exception, match=why):
        await write(context, campaign(audience=AudienceSpec(sql=sql), send_at=NOW))
    assert await fetchval(context, "select count(*) from sexton.recipients") == 1
