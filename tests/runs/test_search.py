"""Search finds jobs by words and beginnings, runs and jobs by their ids, and nothing of another namespace."""

from __future__ import annotations

import msgspec
import pytest

from sexton.jobs.create import create
from sexton.jobs.filter import JobFilter, words_query
from sexton.jobs.read import count_jobs, list_jobs
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import delete
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.search import search
from tests.plans import nodes
from tests.seeding import Store

YEARLY = "0 0 1 1 *"
NAMES = ("billing/send-report", "billing-close", "reports nightly", "sendBill", "été à la mer", "job-0012345")


async def make(database: Database, name: str, **fields: str) -> str:
    return (await create(Context(database), JobSpec(name=name, schedule=YEARLY, **fields))).job_id  # type: ignore[arg-type]


async def found(database: Database, text: str) -> list[str]:
    shown, _ = await search(Context(database), text, 20)
    return [each.title for each in shown]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bill", {"billing/send-report", "billing-close"}),
        ("rep", {"billing/send-report", "reports nightly"}),
        ("REPORT send", {"billing/send-report"}),
        ("billing/send", {"billing/send-report"}),
        ("sendb", {"sendBill"}),
        ("mer", {"été à la mer"}),
        ("été", {"été à la mer"}),
        ("0012", {"job-0012345"}),
        ("ann", {"billing-close"}),
        ("invoices", {"billing-close"}),
        ("%", set()),
        ("'!&|:*", set()),
        ("zebra", set()),
    ],
)
async def test_jobs_are_found_by_words_and_beginnings(database: Database, text: str, names: set[str]) -> None:
    for name in NAMES:
        more = {"owner": "ann", "description": "Closes the invoices."} if name == "billing-close" else {}
        await make(database, name, **more)
    assert set(await found(database, text)) == names


async def test_runs_and_jobs_are_found_by_their_ids(database: Database) -> None:
    store = Store(database)
    job = await make(database, "a")
    run = await store.run(await store.value("select id from sexton.jobs"))
    [shown], _ = await search(Context(database), encode_id("r", run), 20)
    assert (shown.kind, shown.status, shown.subtitle) == ("run", "pending", "a")
    [shown], _ = await search(Context(database), job, 20)
    assert (shown.kind, shown.title, shown.id) == ("job", "a", job)
    everything, _ = await search(Context(database), "def", 20)
    queues = [each for each in everything if each.kind == "queue"]
    assert [each.id for each in queues] == ["default"]


async def test_deleted_jobs_and_those_of_others_are_not_found(database: Database) -> None:
    store = Store(database)
    await store.execute("insert into sexton.namespaces (name) values ('other')")
    job = await make(database, "mine")
    other = Context(database, "other")
    assert await search(other, "mine", 20) == await search(other, job, 20) == ([], [])
    run = await store.run(await store.value("select id from sexton.jobs"))
    assert await search(other, encode_id("r", run), 20) == ([], [])
    await delete(Context(database), "mine")
    assert await found(database, "mine") == []


async def test_a_list_is_searched_counted_and_sorted(database: Database) -> None:
    for name in NAMES:
        await make(database, name)
    context = Context(database)
    chosen = JobFilter(search="bill")
    assert (await count_jobs(context, chosen)).count == 2
    for sort, names in {
        "name": ["billing-close", "billing/send-report"],
        "-name": ["billing/send-report", "billing-close"],
        "created_at": ["billing/send-report", "billing-close"],
        "-created_at": ["billing-close", "billing/send-report"],
    }.items():
        first = await list_jobs(context, chosen, sort=sort, limit=1)
        second = await list_jobs(context, chosen, sort=sort, limit=1, cursor=first.cursor)
        assert [job.name for job in first.items + second.items] == names
        assert second.cursor is None


@pytest.mark.parametrize("text", ["con", "nightly"])
async def test_very_many_jobs_of_a_product_hide_no_other(database: Database, text: str) -> None:
    await Store(database).execute(
        """insert into sexton.jobs (name, kind, schedule, timezone, timing_key, target, description)
        select 'content/' || n, 'cron', '* * * * *', 'UTC', gen_random_uuid(), '{"content": {}}', 'nightly'
        from generate_series(1, 100) as n"""
    )
    own = await make(database, "contracts", description="nightly")
    shown, carrying = await search(Context(database), text, 20, ["content"])
    assert [each.id for each in shown] == [own]
    assert {each.title[:8] for each in carrying} == {"content/"}


async def test_words_are_found_by_their_index(database: Database) -> None:
    store = Store(database)
    await store.execute(
        """insert into sexton.jobs (name, kind, schedule, timezone, timing_key, target)
        select 'job-' || n || case when n % 5000 = 0 then '-rare' else '' end, 'cron', '* * * * *', 'UTC',
            gen_random_uuid(), '{}'
        from generate_series(1, 20000) as n"""
    )
    await store.execute("analyze sexton.jobs")
    async with database.connection() as connection:
        text, arguments = database.prepared(
            "jobs/search",
            namespace="default",
            pattern="rare%",
            words=words_query("rare"),
            look=500,
            limit=20,
            products=[],
        )
        plan = await connection.fetchval(f"explain (format json) {text}", *arguments)
    used = {node.get("Index Name") for node in nodes(msgspec.json.decode(plan)[0]["Plan"])}
    assert {"jobs_name", "jobs_words"} <= used
    assert len(await found(database, "rare")) == 4
