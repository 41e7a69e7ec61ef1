"""What sends a batch reads that batch, however many messages of other campaigns there are; also in a ledger
that has grown by thousands since it was analyzed, as that of a campaign which begins."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.postgres.database import Database, array_text
from tests.notifications.crowd import add_recipients
from tests.plans import explain, rows_read

pytestmark = pytest.mark.asyncio

NOW = datetime(2020, 3, 13, 12, tzinfo=UTC)
NAMESPACE = "default"
# Twenty campaigns of a thousand messages each in turns: the chunk of campaign 7 has ids of others among them.
FILL = """
insert into sexton.messages (
    id, namespace, campaign_id, user_id, channels, template_id, template_version, scheduled_at, due_at,
    created_at, created_by
)
select n, 'default', n / 1000 + 1, 'u' || n % 1000, '{email}', 'hello', 1, $1, $1, $1, 'x'
from generate_series(1, 20000) as n
"""
CHUNK = """
insert into sexton.campaign_chunks (
    campaign_id, number, namespace, first_id, last_id, size, due_at, state, run_id, next_at, changed_at,
    marked_run, marked_after, marked_to, marked_at
)
values (7, 0, 'default', 6000, 6999, 1000, $1, 'open', 5, $1, $1, 5, 5999, 6099, $1)
"""
SINGLE = """
insert into sexton.messages (
    id, namespace, user_id, channels, template_id, template_version, scheduled_at, due_at, status, run_id,
    submitted_at, created_at, created_by
)
select n, 'default', 'u' || n % 1000, '{email}', 'hello', 1, $1, $1, 'processing', 5, $1, $1, 'x'
from generate_series(30001, 50000) as n
"""
TIMERS = """
insert into sexton.message_timers (namespace, message_id, due_at, run_id)
select 'default', n, $1, case when n <= 30500 then 5 end from generate_series(30001, 50000) as n
"""


@pytest.fixture(params=["analyzed", "never analyzed"])
async def ledger(request: pytest.FixtureRequest, database: Database) -> Database:
    await add_recipients(database, 1000)
    async with database.connection() as connection:
        for statement in (FILL, CHUNK, SINGLE, TIMERS):
            await connection.execute(database.sql(statement), NOW)
        await connection.execute(database.sql("select setval('sexton.message_ids', 100000)"))
        if request.param == "analyzed":
            await connection.execute(database.sql("analyze sexton.messages, sexton.message_timers"))
    return database


# Statements that are planned for each call.
PLANNED_ANEW = {"messages/list", "messages/list_oldest"}


async def read(database: Database, name: str, table: str = "messages", **parameters: Any) -> int:
    async with database.connection() as connection:
        # As after many calls, when PostgreSQL plans without looking at the arguments.
        mode = "force_custom_plan" if name in PLANNED_ANEW else "force_generic_plan"
        await connection.execute(f"set plan_cache_mode = {mode}")
        plan = await explain(connection, *database.prepared(name, namespace=NAMESPACE, **parameters))
    return sum(rows_read(plan, table).values())


async def test_a_batch_of_a_chunk_is_claimed_by_its_ids(ledger: Database) -> None:
    claim: dict[str, Any] = {"campaign_id": 7, "first_id": 6000, "last_id": 6999, "after": 6099, "limit": 100}
    assert await read(ledger, "campaigns/claim_chunk", **claim) <= 110
    assert await read(ledger, "campaigns/claim_chunk", "recipients", **claim) <= 110


async def test_a_batch_of_a_chunk_is_settled_by_its_ids(ledger: Database) -> None:
    ids = array_text(list(range(6000, 6100)))
    settled: dict[str, Any] = {
        "campaign_id": 7,
        "ids": ids,
        "run_id": 5,
        "submitted_at": NOW,
        "now": NOW,
        "provider": "p",
    }
    assert await read(ledger, "campaigns/settle_sent", **settled) == 100


async def test_what_a_chunk_has_marked_is_found_by_the_mark(ledger: Database) -> None:
    assert await read(ledger, "campaigns/lock_submitted", campaign_id=7, number=0, run_id=5) == 100


async def test_closing_a_chunk_reads_the_chunk(ledger: Database) -> None:
    closed: dict[str, Any] = {
        "campaign_id": 7,
        "number": 0,
        "run_id": 5,
        "wait_reason": None,
        "not_before": None,
        "now": NOW,
    }
    assert await read(ledger, "campaigns/close_chunk", **closed) == 1000


async def test_single_messages_are_claimed_by_their_timers(ledger: Database) -> None:
    assert await read(ledger, "messages/claim_due", limit=100) <= 110
    assert await read(ledger, "messages/claim_due", "message_timers", limit=100) <= 110


async def test_single_messages_are_marked_and_settled_by_their_ids(ledger: Database) -> None:
    ids = array_text(list(range(30001, 30101)))
    marked: dict[str, Any] = {"ids": ids, "run_id": 6, "now": NOW}
    assert await read(ledger, "messages/mark", **marked) == 100
    settled: dict[str, Any] = {"ids": ids, "run_id": 5, "submitted_at": NOW, "now": NOW, "provider": "p"}
    assert await read(ledger, "messages/settle_sent", **settled) == 100
    assert await read(ledger, "messages/settle_sent", "message_timers", **settled) <= 110


async def test_a_slice_reads_a_slice_of_the_recipients(ledger: Database) -> None:
    expanded: dict[str, Any] = {
        "campaign_id": 99, "after": 0, "limit": 100, "timezone": "UTC", "needed": [], "channels": ["email"],
        "topic": None, "urgency": None, "template_id": "hello", "template_version": 1, "vars": None,
        "armed_at": NOW, "local_time": None, "expires_seconds": None, "max_retries": 3, "retry_seconds": 300,
        "created_by": "x", "chunk_size": 50, "first_number": 0, "now": NOW, "filter": None, "zones": ["UTC"],
        "due": [NOW], "timings": [None],
    }  # fmt: skip
    assert await read(ledger, "campaigns/expand_filter", "recipients", **expanded) <= 110
    assert await read(ledger, "campaigns/expand_filter", **expanded) == 0


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("list", {"campaign_id": None, "user_id": None, "place": 2**63 - 1}),
        ("list_oldest", {"campaign_id": None, "user_id": None, "place": 0}),
        ("list", {"campaign_id": None, "user_id": "u7", "place": 2**63 - 1}),
        ("list_oldest", {"campaign_id": None, "user_id": "u7", "place": 0}),
        ("list_of_campaign", {"campaign_id": 7, "place": ""}),
        ("list_of_campaign_last", {"campaign_id": 7, "place": "z"}),
    ],
)
async def test_a_page_of_a_list_reads_a_page(ledger: Database, name: str, of: dict[str, Any]) -> None:
    meant: dict[str, Any] = {"statuses": None, "template_id": None, **of}
    assert await read(ledger, f"messages/{name}", most=21, limit=21, **meant) <= 22
    # Of a filter that no message passes, what it may read.
    searched = {**meant, "statuses": ["bounced"]}
    assert await read(ledger, f"messages/{name}", most=30, limit=21, **searched) <= 31


async def test_messages_that_are_cancelled_are_found_by_their_ids(ledger: Database) -> None:
    ids: dict[str, Any] = {"message_ids": [*range(6050, 6150)]}
    for name in ("messages/view", "messages/lock_many", "messages/find_marked", "campaigns/lock_chunks_of"):
        assert await read(ledger, name, **ids) <= 110
    assert await read(ledger, "messages/cancel", detail="{}", now=NOW, **ids) <= 210
