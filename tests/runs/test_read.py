"""Lists of runs, and one run with everything that is known of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from sexton.errors import InvalidField, NotFound
from sexton.jobs.change import find
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs import read
from sexton.runs.filter import RunFilter
from sexton.runs.read import (
    get_run,
    list_log,
    list_runs,
    run_number,
)
from tests.runs.rows import (
    HOUR,
    MINUTE,
    NOON,
    insert,
    make_ended,
    make_job,
    make_live,
    make_node,
)
from tests.seeding import Store

pytestmark = pytest.mark.asyncio

RETRY = "the retry is at 2026-06-01T13:00:00Z, in 1 h"
REPORT = "its service has not reported yet; its time is over at 2026-06-01T13:00:00Z, in 1 h"


async def test_live_runs_come_first_then_the_latest_ended(database: Database) -> None:
    job = await make_job(database)
    for hour in range(3):
        await make_ended(database, job, 10 + hour, NOON - (4 - hour) * HOUR)
    await make_live(database, job, 20, NOON - HOUR)
    await make_live(database, job, 21, NOON)
    page = await list_runs(Context(database), RunFilter(job=job))
    assert [each.run_id for each in page.items] == [encode_id("r", run) for run in (21, 20, 12, 11, 10)]
    assert [each.status for each in page.items] == ["pending"] * 2 + ["success"] * 3
    assert page.cursor is None


@pytest.mark.parametrize("of_one_job", [True, False])
async def test_pages_lose_and_repeat_nothing(database: Database, of_one_job: bool) -> None:
    job = await make_job(database)
    for index in range(6):
        await make_live(database, job, 100 + index, NOON)
    for index in range(9):
        # Recorded in the same instant, as a batch is.
        await make_ended(database, job, 10 + index, NOON - HOUR)
    for index in range(4):
        await make_ended(
            database, job, None, NOON - 2 * HOUR - index * MINUTE, reason="paused", recorded_at=NOON
        )
    seen: list[object] = []
    cursor = None
    for _ in range(20):
        page = await list_runs(
            Context(database, now=NOON + HOUR),
            RunFilter(job=job if of_one_job else None, skipped=True),
            cursor=cursor,
            limit=4,
        )
        seen += [(each.run_id, each.scheduled_at) for each in page.items]
        assert len(page.items) <= 4
        cursor = page.cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 19


@pytest.mark.parametrize("limit", [1, 2, 50])
async def test_a_run_that_ends_while_it_is_listed_is_listed_once(
    database: Database, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    job = await make_job(database)
    await make_ended(database, job, 1, NOON - HOUR)
    await make_live(database, job, 2, NOON)
    live_rows = read._live_rows

    async def ends_afterwards(*arguments: Any) -> Any:
        rows = await live_rows(*arguments)
        await make_ended(database, job, 2, NOON)
        await Store(database).execute("delete from sexton.runs where id = 2")
        return rows

    monkeypatch.setattr(read, "_live_rows", ends_afterwards)
    page = await list_runs(Context(database), limit=limit)
    assert [(each.run_id, each.status) for each in page.items] == [("r_2", "success"), ("r_1", "success")][
        :limit
    ]
    assert (page.cursor is None) == (limit > 1)


async def test_skipped_occurrences_are_listed_only_when_asked_for(database: Database) -> None:
    job = await make_job(database)
    await make_ended(database, job, None, NOON, reason="overlap")
    await make_ended(database, job, 5, NOON - HOUR)
    assert [each.status for each in (await list_runs(Context(database), RunFilter(job=job))).items] == [
        "success"
    ]
    both = (await list_runs(Context(database), RunFilter(job=job, skipped=True))).items
    assert (both[0].run_id, both[0].status, both[0].reason) == (None, "skipped", "overlap")


@pytest.mark.parametrize(
    ("filters", "runs"),
    [
        ({"statuses": ["running"]}, [3]),
        ({"statuses": ["dead", "pending"]}, [2, 1]),
        ({"statuses": ["skipped"]}, [0]),
        ({"triggers": ["manual"]}, [2]),
    ],
)
async def test_filters(database: Database, filters: dict[str, Any], runs: list[int]) -> None:
    job = await make_job(database)
    await make_ended(database, job, 1, NOON - HOUR, status="dead")
    await make_live(database, job, 2, NOON, trigger="manual")
    await make_live(database, job, 3, NOON, state="running", attempt=1, claimed_at=NOON)
    await make_ended(database, job, None, NOON, reason="paused")
    found = (await list_runs(Context(database), RunFilter(job=job, **filters))).items
    assert [run_number(each.run_id) if each.run_id else 0 for each in found] == runs


async def test_a_cursor_of_another_list_is_refused(database: Database) -> None:
    for cursor in ("nonsense", "WzEsMl0", "eyJhIjoxfQ", "%%"):
        with pytest.raises(InvalidField) as refused:
            await list_runs(Context(database), cursor=cursor)
        assert refused.value.code == "bad_cursor"


async def test_a_running_run_shows_who_holds_it(database: Database) -> None:
    job = await make_job(database)
    await make_node(database, 7)
    await make_live(
        database, job, 1, NOON, state="running", attempt=1, claim=1, node=7,
        claimed_at=NOON + timedelta(seconds=1.5), progress='{"fraction": 0.5, "text": "half"}',
    )  # fmt: skip
    found = await get_run(Context(database, now=NOON), 1)
    assert found.worker_id == "host:7:abc"
    assert found.lease_until == NOON + MINUTE
    assert found.late_seconds == 1.5
    assert found.progress == {"fraction": 0.5, "text": "half"}
    assert found.idempotency_key == f"{encode_id('j', job)}:{int(NOON.timestamp())}"
    assert found.waiting_for is None
    assert [(each.attempt, each.outcome) for each in found.attempts] == [(1, "running")]


async def test_an_ended_run_shows_attempts_log_and_result(database: Database) -> None:
    job = await make_job(database, payload={"n": 1})
    await make_ended(database, job, 1, NOON, attempt=2, result='{"sent": 3}', idempotency_key="mine")
    await insert(database, "attempts", run_id=1, attempt=1, outcome="failed", error="boom", started_at=NOON)
    for second in range(3):
        at = NOON + timedelta(seconds=second)
        await insert(database, "run_logs", run_id=1, attempt=2, at=at, message=f"line {second}")
    found = await get_run(Context(database), 1)
    assert (found.status, found.result, found.payload) == ("success", {"sent": 3}, {"n": 1})
    assert found.idempotency_key == "mine"
    assert [(each.attempt, each.outcome, each.error) for each in found.attempts] == [
        (1, "failed", "boom"),
        (2, "success", None),
    ]
    assert [line.message for line in found.log] == ["line 0", "line 1", "line 2"]
    later = await list_log(Context(database), 1, after=NOON + timedelta(seconds=1))
    assert [line.message for line in later] == ["line 2"]


async def test_a_log_is_followed_without_losing_lines_of_one_instant(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines of a report without times of their own are all of one instant."""
    for number in range(9):
        at = NOON + MINUTE * (number // 4)
        await insert(database, "run_logs", run_id=1, attempt=1, at=at, message=f"line {number}")

    async def followed(**bounds: int) -> list[list[str]]:
        pages: list[list[str]] = []
        after = None
        while lines := await list_log(Context(database), 1, after=after, **bounds):
            after = lines[-1].at
            pages.append([line.message for line in lines])
        return pages

    wanted = [f"line {number}" for number in range(9)]
    assert await followed(limit=2) == [wanted[:4], wanted[4:8], wanted[8:]]
    assert await followed(limit=5) == [wanted[:8], wanted[8:]]
    assert await followed() == [wanted]
    monkeypatch.setattr(read, "MOST_BYTES", 600)
    assert [line for page in await followed() for line in page] == wanted


async def test_a_run_that_ends_while_it_is_read_is_shown_as_ended(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await make_job(database)
    await make_live(database, job, 1, NOON, state="running", attempt=1, claim=1, claimed_at=NOON, node=7)
    fetch = Context.fetch

    async def overtaken(context: Context, statement: str, **given: Any) -> Any:
        if statement == "reading/list_attempts":
            monkeypatch.setattr(Context, "fetch", fetch)
            async with database.connection() as connection:
                await connection.execute(database.sql("delete from sexton.runs"))
            ended = {"status": "cancelled", "finished_at": NOON + MINUTE}
            await make_ended(database, job, 1, NOON, **ended)
            await insert(
                database, "attempts", run_id=1, attempt=1, outcome="cancelled",
                started_at=NOON, finished_at=NOON + MINUTE,
            )  # fmt: skip
        return await fetch(context, statement, **given)

    monkeypatch.setattr(Context, "fetch", overtaken)
    found = await get_run(Context(database), 1)
    assert (found.status, [each.outcome for each in found.attempts]) == ("cancelled", ["cancelled"])


async def test_a_template_is_filled_in_for_a_live_run(database: Database) -> None:
    job = await make_job(database, idempotency_key_template="report-{{week}}-{{payload.n}}", payload={"n": 4})
    await make_live(database, job, 1, NOON)
    assert (await get_run(Context(database), 1)).idempotency_key == "report-2026-W23-4"


async def test_what_is_not_there(database: Database) -> None:
    for wrong in ("j_1", "1", "r_", "r_!", "r_" + "z" * 13):
        with pytest.raises(NotFound):
            run_number(wrong)
    with pytest.raises(NotFound) as missing:
        await get_run(Context(database), 12345)
    assert missing.value.code == "run_not_found"
    with pytest.raises(NotFound) as missing:
        await find(Context(database), "nobody")
    assert missing.value.code == "job_not_found"


async def test_a_job_is_found_by_id_and_by_name(database: Database) -> None:
    job = await make_job(database)
    assert await find(Context(database), "hourly") == job
    assert await find(Context(database), encode_id("j", job)) == job


@pytest.mark.parametrize(
    ("run", "nodes", "expected"),
    [
        ({}, {}, "no worker is running"),
        ({}, {"handlers": ["other"]}, "no worker has the handler hourly"),
        ({}, {"handlers": ["other"], "app": "shop"}, "no worker has the handler hourly"),
        ({}, {"handlers": ["hourly"], "queues": ["mail"]}, "no worker serves queue default"),
        ({}, {"handlers": ["hourly"]}, "a worker is about to claim it"),
        ({"available_at": NOON - MINUTE}, {"handlers": ["hourly"]}, "all workers are busy"),
        ({"state": "failed", "available_at": NOON + HOUR}, {}, RETRY),
        ({"available_at": NOON + 2 * HOUR}, {}, "its turn comes at 2026-06-01T14:00:00Z, in 2 h"),
        ({"state": "waiting", "deadline_at": NOON + HOUR}, {}, REPORT),
        ({"slot": 1}, {}, "it is queued behind r_2"),
    ],
)  # fmt: skip
async def test_what_a_run_waits_for(
    database: Database, run: dict[str, Any], nodes: dict[str, Any], expected: str
) -> None:
    job = await make_job(database)
    if nodes:
        await make_node(database, 7, **nodes)
    if "slot" in run:
        await make_live(database, job, 2, NOON - HOUR, slot=0)
    await make_live(database, job, 1, NOON, **run)
    assert (await get_run(Context(database, now=NOON), 1)).waiting_for == expected


@pytest.mark.parametrize("chosen", [RunFilter(error="away"), RunFilter(triggers=["manual"]), RunFilter()])
async def test_each_filter_has_a_plan_of_its_own(
    database: Database, monkeypatch: pytest.MonkeyPatch, chosen: RunFilter
) -> None:
    """A plan for any filter, which PostgreSQL makes after some calls, read a hundred times as much."""
    modes: dict[str, str] = {}
    real = Database.fetch

    async def noted(self: Database, statement: str, **given: Any) -> Any:
        modes[statement] = await given["on"].fetchval("show plan_cache_mode")
        return await real(self, statement, **given)

    monkeypatch.setattr(Database, "fetch", noted)
    await list_runs(Context(database), chosen)
    ended = [mode for statement, mode in modes.items() if "unusual" in statement or "ended" in statement]
    assert set(ended) == {"force_custom_plan"}
