"""The audit as it is written by commands, listed, filtered and exported."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from sexton.errors import Conflict, InvalidField
from sexton.jobs.bulk import create_many, put_many
from sexton.jobs.create import create
from sexton.jobs.edit import edit, replace, reschedule
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import delete, pause, resume
from sexton.model import decode_id
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import Database
from sexton.postgres.estimate import Total
from sexton.postgres.transaction import SHARED, Context, command
from sexton.runs.trigger import run_now
from sexton.security.audit import (
    FORMATS,
    AuditFilter,
    AuditSort,
    AuditView,
    count_entries,
    exported,
    list_changes,
    list_entries,
    record,
)
from sexton.security.audit_chain import seal
from tests.plans import nodes
from tests.seeding import NOW, Store

HOURLY = JobSpec(name="hourly", schedule="0 * * * *")


@pytest_asyncio.fixture
async def context(database: Database) -> Context:
    return Context(
        database,
        actor="key:deploy",
        source=Source("api", "10.0.0.7"),
        request_id="request-1",
        reason="they said so",
    )


async def entries(context: Context, **chosen: Any) -> list[AuditView]:
    return (await list_entries(context, AuditFilter(**chosen), every=True)).items


async def only(context: Context, action: str) -> AuditView:
    [found] = await entries(context, action=action)
    return found


# What commands write.


async def test_who_from_where_what_and_why(context: Context) -> None:
    job = await create(context, HOURLY)
    made = await only(context, "job.created")
    assert (made.actor, made.face, made.address) == ("key:deploy", "api", "10.0.0.7")
    assert (made.request_id, made.reason, made.namespace) == ("request-1", "they said so", "default")
    assert (made.object_id, made.object_name, made.job_id) == (job.job_id, "hourly", job.job_id)
    assert (made.before, made.after) == (None, {"name": "hourly", "schedule": "0 * * * *"})
    assert made.entry_id.startswith("a_")


async def test_an_edit_keeps_what_differs(context: Context) -> None:
    job = await create(context, HOURLY)
    await edit(context, job.job_id, {"max_retries": 7, "labels": {"team": "billing"}})
    found = await only(context, "job.edited")
    assert (found.before, found.after) == (
        {"max_retries": job.max_retries, "labels": {}},
        {"max_retries": 7, "labels": {"team": "billing"}},
    )
    assert found.detail == {"revision": 2}
    await edit(context, job.job_id, {"max_retries": 7})
    assert len(await entries(context, action="job.edited")) == 1, "nothing was changed"


async def test_replacing_tells_the_same(context: Context) -> None:
    await replace(context, "hourly", HOURLY)
    await replace(context, "hourly", HOURLY)
    await replace(context, "hourly", msgspec.structs.replace(HOURLY, description="new"))
    assert [each.action for each in await entries(context)] == ["job.replaced", "job.created"]
    found = await only(context, "job.replaced")
    assert (found.before, found.after) == ({"description": None}, {"description": "new"})


async def test_a_moved_run_is_kept_with_both_times(context: Context) -> None:
    job = await create(context, HOURLY)
    assert job.next_run_at is not None
    to = job.next_run_at + timedelta(minutes=7)
    await reschedule(context, job.job_id, to)
    found = await only(context, "job.rescheduled")
    times = [msgspec.convert(state["next_run_at"], type=type(to)) for state in (found.before, found.after)]
    assert times == [job.next_run_at, to]


async def test_pause_resume_and_delete(context: Context) -> None:
    job = await create(context, HOURLY)
    await pause(context, job.job_id, reason="mail server moves")
    await pause(context, job.job_id, reason="mail server moves")
    await resume(context, job.job_id)
    await resume(context, job.job_id)
    await run_now(context, job.job_id)
    await delete(context, job.job_id)
    await delete(context, job.job_id)
    found = await entries(context)
    assert [each.action for each in found] == [
        "job.deleted", "job.run", "job.resumed", "job.paused", "job.created",
    ]  # fmt: skip
    paused = found[3]
    assert (paused.reason, paused.before, paused.after) == (
        "mail server moves",
        {"status": "active", "paused_reason": None},
        {"status": "paused", "paused_reason": "mail server moves"},
    )
    assert (found[0].before, found[0].after) == ({"status": "active"}, {"status": "deleted"})
    assert found[0].detail == {"runs_cancelled": 1, "runs_asked_to_stop": 0}


async def test_a_chunk_is_one_entry_and_each_of_its_jobs_finds_it(context: Context) -> None:
    made = await create_many(context, [{"name": f"job-{n}", "schedule": "every 1h"} for n in range(30)])
    found = await only(context, "job.created")
    assert found.detail == {"count": 30, "names": [f"job-{n}" for n in range(10)], "app": None}
    numbers = [decode_id("j", each.job_id) or 0 for each in made]
    assert found.jobs is not None
    told = [
        number
        for first, last in found.jobs
        for number in range(decode_id("j", first) or 0, (decode_id("j", last) or 0) + 1)
    ]
    assert sorted(told) == sorted(numbers)
    other = await create(context, HOURLY)
    for number, actions in ((numbers[7], ["job.created"]), (decode_id("j", other.job_id), ["job.created"])):
        assert number is not None
        assert [each.action for each in (await list_changes(context, number)).items] == actions


async def test_jobs_that_a_chunk_changes_have_entries_of_their_own(context: Context) -> None:
    lines = [{"name": f"job-{n}", "schedule": "every 1h"} for n in range(3)]
    await create_many(context, lines)
    await put_many(context, [{**lines[0], "owner": "ada"}, lines[1], {"name": "new", "schedule": "every 1h"}])
    found = await entries(context)
    assert sorted(each.action for each in found) == ["job.created", "job.created", "job.replaced"]
    [changed] = [each for each in found if each.action == "job.replaced"]
    assert (changed.object_name, changed.after) == ("job-0", {"owner": "ada"})


async def test_secrets_in_a_job_are_not_kept(context: Context, database: Database) -> None:
    target = {
        "http": {"url": "https://u:hunter2@a.example/x", "headers": {"Authorization": "Bearer hunter2"}}
    }
    spec = JobSpec(name="a", schedule="every 1h", target=target, payload={"password": "hunter2"})
    job = await create(context, spec)
    await edit(context, job.job_id, {"payload": {"password": "hunter22"}})
    texts = await Store(database).fetch("select (entry.*)::text as text from sexton.audit_entries as entry")
    assert len(texts) == 2
    assert not any("hunter2" in row["text"] for row in texts)


async def test_a_command_that_raises_writes_nothing(context: Context) -> None:
    await create(context, HOURLY)
    with pytest.raises(Conflict):
        await create(context, HOURLY)
    assert len(await entries(context)) == 1


async def test_what_an_inner_command_changed_goes_with_it(context: Context) -> None:
    """An outer command that catches the error of an inner one keeps its own changes only."""

    @command
    async def inner(context: Context, fail: bool) -> None:
        context.changed("thing.inner", detail={"fail": fail})
        if fail:
            raise Conflict("no", "no")

    @command
    async def outer(context: Context) -> None:
        context.changed("thing.outer", detail={"n": 1})
        await inner(context, fail=False)
        with pytest.raises(Conflict):
            await inner(context, fail=True)

    await outer(context)
    assert {(each.action, str(each.detail)) for each in await entries(context)} == {
        ("thing.outer", "{'n': 1}"),
        ("thing.inner", "{'fail': False}"),
    }


async def test_changes_need_a_command(context: Context) -> None:
    with pytest.raises(RuntimeError, match="@command"):
        context.changed("thing.changed")


# What is read.


async def test_filters(context: Context) -> None:
    for number, (actor, action, request) in enumerate(
        [("key:a", "job.paused", "r1"), ("key:b", "job.resumed", "r2"), ("key:a", "queue.paused", "r2")]
    ):
        at = NOW + timedelta(minutes=number)
        other = Context(context.database, actor=actor, request_id=request, now=at)
        await record(other, action, f"x_{number}", f"name-{number}")
    await seal(context)

    async def ids(**chosen: Any) -> list[str | None]:
        return [each.object_id for each in await entries(context, **chosen)]

    assert await ids() == ["x_2", "x_1", "x_0"]
    assert await ids(actor="key:a") == ["x_2", "x_0"]
    assert await ids(action="job.paused") == ["x_0"]
    assert await ids(action="job.*") == ["x_1", "x_0"]
    assert await ids(action="*") == ["x_2", "x_1", "x_0"]
    assert await ids(request_id="r2") == ["x_2", "x_1"]
    assert await ids(object="x_1") == ["x_1"]
    assert await ids(object="name-1") == ["x_1"]
    assert await ids(since=NOW + timedelta(minutes=1)) == ["x_2", "x_1"]
    assert await ids(until=NOW + timedelta(minutes=1)) == ["x_0"]
    assert await ids(actor="key:a", action="queue.*", request_id="r1") == []


@pytest.mark.parametrize("sort", ["at", "-at"])
@pytest.mark.parametrize("every", [False, True])
async def test_pages_follow_each_other(context: Context, every: bool, sort: AuditSort) -> None:
    """What is sealed meanwhile, or added, moves nothing."""
    for number in range(25):
        await record(context, "thing.done", f"x_{number}")
        if number == 12:
            await seal(context)
    seen, cursor, pages = list[str | None](), None, 0
    while pages == 0 or cursor is not None:
        page = await list_entries(context, every=every, sort=sort, cursor=cursor, limit=10)
        seen += [each.object_id for each in page.items]
        cursor, pages = page.cursor, pages + 1
        await record(context, "thing.done", "later")
        await seal(context)
    wanted = [f"x_{number}" for number in range(25)]
    if sort == "at":
        wanted += ["later"] * 2
    else:
        wanted.reverse()
    assert seen == wanted
    assert pages == 3


async def test_a_page_that_finds_little_ends_and_goes_on(
    context: Context, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few match, a page looks at so many and no more."""
    await record(context, "thing.rare")
    await Store(database).execute(
        """insert into sexton.audit_pending (namespace, actor, face, action)
        select 'default', 'key:a', 'api', 'thing.common' from generate_series(1, 10500)"""
    )
    await record(context, "thing.rare")
    chosen = AuditFilter(action="thing.rare")
    first = await list_entries(context, chosen)
    assert (len(first.items), first.cursor is None) == (1, False)
    rest = await list_entries(context, chosen, cursor=first.cursor)
    assert (len(rest.items), rest.cursor) == (1, None)
    assert await count_entries(context, chosen) is None
    every = await count_entries(context)
    assert every is not None
    assert every.estimated
    assert every.count > 10_000


async def test_entries_are_counted(context: Context) -> None:
    for number in range(5):
        at = NOW + timedelta(minutes=number)
        await record(Context(context.database, now=at), "thing.done" if number % 2 else "thing.left")
    assert await count_entries(context) == Total(5)
    assert await count_entries(context, AuditFilter(action="thing.left")) == Total(3)
    assert await count_entries(context, AuditFilter(since=NOW + timedelta(minutes=1)), shared=True) == Total(
        4
    )
    assert await count_entries(context, AuditFilter(job_id=7)) == Total(0)


async def test_entries_of_a_namespace_and_shared_ones_are_counted_among_very_many(context: Context) -> None:
    store = Store(context.database)
    await store.execute(
        """insert into sexton.audit (sequence, previous, hash, at, id, namespace, actor, face, action)
        select n, '', '', now(), n, case when n % 1000 = 0 then '*' else 'default' end, 'a', 'api', 'done'
        from generate_series(1, 20000) as n"""
    )
    await store.execute("analyze sexton.audit")
    many = await count_entries(context, shared=True)
    assert many is not None
    assert many.estimated
    assert many.count == pytest.approx(20_000, rel=0.05)
    few = Context(context.database, "billing")
    await record(few, "thing.done")
    # What others have does not keep these from being counted, nor a filter.
    assert await count_entries(few, shared=True) == Total(21)
    assert await count_entries(few, AuditFilter(action="thing.done"), shared=True) == Total(1)


@pytest.mark.parametrize("cursor", ["x", "AAAA"])
async def test_a_cursor_of_others_is_refused(context: Context, cursor: str) -> None:
    with pytest.raises(InvalidField, match="cursor"):
        await list_entries(context, cursor=cursor)


async def test_a_namespace_sees_its_own(context: Context, database: Database) -> None:
    await record(context, "thing.done", "ours")
    await record(context, "thing.done", "shared", namespace=SHARED)
    await record(context, "thing.done", "theirs", namespace="billing")
    billing = Context(database, "billing")

    async def seen(who: Context, **more: Any) -> set[str | None]:
        await seal(context)
        listed = {each.object_id for each in (await list_entries(who, **more)).items}
        assert {each.object_id async for part in exported(who, **more) for each in part} == listed
        return listed

    assert await seen(context) == {"ours"}
    assert await seen(context, shared=True) == {"ours", "shared"}
    assert await seen(context, every=True) == {"ours", "shared", "theirs"}
    assert await seen(billing) == {"theirs"}


async def test_the_job_of_another_namespace_has_no_changes(context: Context, database: Database) -> None:
    job = decode_id("j", (await create(context, HOURLY)).job_id)
    assert job is not None
    assert len((await list_changes(context, job)).items) == 1
    assert (await list_changes(Context(database, "billing"), job)).items == []


async def test_an_export_has_everything_in_the_order_of_the_chain(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await record(context, "thing.done" if number % 2 else "thing.left", f"x_{number}")
    await seal(context)
    await record(context, "thing.done", "not sealed yet")
    found = [each async for part in exported(context) for each in part]
    assert [(each.sequence, each.object_id) for each in found] == [(n + 1, f"x_{n}") for n in range(5)]
    chosen = AuditFilter(action="thing.done")
    assert [each.object_id async for part in exported(context, chosen) for each in part] == ["x_1", "x_3"]


async def test_a_spreadsheet_takes_nothing_for_a_formula(context: Context) -> None:
    await record(context, "thing.done", "=cmd()", 'a "quoted", text\nof two lines', detail={"a": [1, "ü"]})
    [entry] = await entries(context)
    form = FORMATS["csv"]
    [head, row] = csv.reader(io.StringIO((form.head + form.encode([entry])).decode()))
    cells = dict(zip(head, row, strict=True))
    assert cells["object_id"] == "'=cmd()"
    assert cells["object_name"] == 'a "quoted", text\nof two lines'
    assert cells["detail"] == '{"a":[1,"ü"]}'
    assert cells["job_id"] == ""


@pytest.mark.parametrize(
    ("statement", "index", "more"),
    [
        ("audit/list", "audit_namespace", {"namespace": "default"}),
        ("audit/list", "audit_at", {}),
        ("audit/list", "audit_job", {"namespace": "default", "job_id": 7}),
        ("audit/list_oldest", "audit_namespace", {"namespace": "default"}),
        ("audit/list_oldest", "audit_at", {}),
        ("audit/list_oldest", "audit_job", {"namespace": "default", "job_id": 7}),
    ],
)
async def test_lists_are_read_by_their_index(
    database: Database, statement: str, index: str, more: dict[str, Any]
) -> None:
    store = Store(database)
    await store.execute(
        """insert into sexton.audit (
            sequence, previous, hash, at, id, namespace, actor, face, action, job_id
        )
        select n, '', '', now() - n * interval '1 second', n,
            case when n % 2 = 0 then 'default' else 'other' end,
            'key:a', 'api', 'job.paused', n % 1000
        from generate_series(1, 30000) as n"""
    )
    await store.execute("analyze sexton.audit")
    end = "until" if statement.endswith("oldest") else "since"
    asked = {"look": 10_000, "limit": 10, **AuditFilter().parameters()}
    place = {"at": None, "id": 0, end: None, **asked}
    chosen = {"namespace": None, "namespaces": None, "job_id": None, **more}
    text, arguments = database.prepared(statement, **chosen, **place)
    [plan] = await store.fetch(f"explain (analyze, timing off, format json) {text}", *arguments)
    used = {each.get("Index Name"): each for each in nodes(msgspec.json.decode(plan[0])[0]["Plan"])}
    assert index in used
    assert used[index]["Actual Rows"] <= 100
