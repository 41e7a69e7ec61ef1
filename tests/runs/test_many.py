"""Many jobs at once: what becomes of each is what would have become of it alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from sexton.errors import Conflict, InvalidField, SextonError, Unavailable
from sexton.jobs.edit import edit, relabel_all
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import get, list_jobs
from sexton.jobs.state import delete, delete_all, pause, pause_all, resume, resume_all
from sexton.model import decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.many import Work, act, act_on_all, check_filter, count
from sexton.runs.trigger import run_all, run_now
from tests.engine.test_lock_order import blocked_by
from tests.jobs.making import HOUR, MINUTE, NOW, at, history, make, number, rows, runs, timer

LATER = NOW + 10 * MINUTE

# Jobs of every sort: what is due, missed, paused, over, must not overlap, or is counted.
SORTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "far": {"schedule": "0 0 1 1 *"},
    "all": {"missed_window": "RUN_ALL", "grace_seconds": 0},
    "none": {"missed_window": "SKIP", "grace_seconds": 0},
    "skip": {"overlap": "SKIP"},
    "queue": {"overlap": "QUEUE_ONE", "missed_window": "RUN_ALL", "max_missed": 3},
    "cancel": {"overlap": "CANCEL_RUNNING"},
    "counted": {"max_runs": 3},
    "last": {"max_runs": 1},
    "once": {"schedule": "2026-06-03T12:40:00Z"},
    "once-skip": {"schedule": "2026-06-03T12:40:00Z", "missed_window": "SKIP", "grace_seconds": 0},
    "keyed": {"idempotency_key_template": "{{job_name}}-{{date}}", "expires_seconds": 300},
    "paused": {},
    "paused-until": {},
    "paused-over": {},
    "completed": {"schedule": "2026-06-03T12:35:00Z"},
    "running": {"overlap": "SKIP"},
    "labelled": {"labels": {"team": "billing", "old": "1"}},
}

Alone = Callable[[Context, str], Awaitable[object]]
ACTIONS: dict[str, tuple[Work, Alone]] = {
    "pause": (
        partial(pause_all, reason="moves", until=LATER + HOUR),
        partial(pause, reason="moves", until=LATER + HOUR),
    ),
    "resume": (resume_all, resume),
    "delete": (delete_all, delete),
    "stop": (partial(delete_all, cancel_running=True), partial(delete, cancel_running=True)),
    "run": (run_all, run_now),
    "payload": (partial(run_all, payload={"n": 1}), partial(run_now, payload={"n": 1})),
    "label": (
        partial(relabel_all, labels={"team": "sales", "old": None}),
        partial(edit, changes={"labels": {"team": "sales"}}),
    ),
}


async def made_each(database: Database, prefix: str) -> dict[str, str]:
    """One job of each sort, by its sort."""
    context = Context(database, now=NOW)
    found = {}
    for sort, fields in SORTS.items():
        job = await make(database, **{"name": f"{prefix}-{sort}", "target": {"handler": "work"}, **fields})
        found[sort] = job.job_id
    await pause(context, found["paused"], reason="moves", until=LATER + HOUR)
    await pause(context, found["paused-until"], until=NOW + HOUR)
    await pause(context, found["paused-over"], until=NOW + 5 * MINUTE)
    await pause(replace(context, now=at(2)), found["completed"])
    await run_now(context, found["running"])
    await database_execute(
        database,
        "update sexton.runs set state = 'running', node = 1, claim = 1, attempt = 1 where job_id = $1",
        number(found["running"]),
    )
    return found


async def database_execute(database: Database, text: str, *arguments: Any) -> None:
    async with database.connection() as connection:
        await connection.execute(database.sql(text), *arguments)


# What differs between two jobs alike, and when missed runs may start: that is shared out.
OWN = {
    "id", "job_id", "name", "shard", "fired_at", "recorded_at", "idempotency_key", "concurrency_key",
    "available_at", "not_before", "cancel_requested_at",
}  # fmt: skip


async def stands(database: Database, job_id: str) -> dict[str, Any]:
    """All that can be told of a job, but for what differs between two jobs alike."""

    async def told(text: str) -> list[dict[str, Any]]:
        found = await rows(database, text, number(job_id))
        return [{name: value for name, value in each.items() if name not in OWN} for each in found]

    return {
        "job": await told("select * from sexton.jobs where id = $1"),
        "timer": await told("select * from sexton.timers where job_id = $1"),
        "revisions": await told(
            "select revision, valid_until from sexton.job_revisions where job_id = $1 order by revision"
        ),
        "runs": await told(
            """select *, available_at = 'infinity' as waits, cancel_requested_at is null as wanted
            from sexton.runs where job_id = $1 order by scheduled_at, trigger"""
        ),
        "history": await history(database, job_id),
    }


@pytest.mark.parametrize("action", ACTIONS)
async def test_each_job_becomes_what_it_would_have_become_alone(database: Database, action: str) -> None:
    work, alone = ACTIONS[action]
    ours, theirs = await made_each(database, "many"), await made_each(database, "one")
    context = Context(database, now=LATER)
    refused: dict[str, list[str]] = {}
    for sort, job_id in theirs.items():
        try:
            await alone(context, job_id)
        except SextonError as error:
            refused.setdefault(error.code, []).append(ours[sort])
    done = await act(context, work, JobFilter(name="many-*"))
    assert {each.code: each.sample for each in done.refused} == refused
    assert (done.matched, done.cursor) == (len(SORTS), None)
    assert done.done + done.unchanged + done.refusals == done.matched
    for sort in SORTS:
        assert await stands(database, ours[sort]) == await stands(database, theirs[sort]), sort


async def test_what_happened_is_told_by_outcome(database: Database) -> None:
    jobs = await made_each(database, "many")
    done = await act(Context(database, now=NOW), ACTIONS["pause"][0], JobFilter(name="many-*"))
    assert (done.done, done.unchanged, done.refusals) == (len(SORTS) - 2, 1, 1)
    [refusal] = done.refused
    assert (refusal.code, refusal.jobs, refusal.sample) == ("job_completed", 1, [jobs["completed"]])
    assert refusal.message.startswith(f"job {jobs['completed']} is completed")
    again = await act(Context(database, now=NOW), ACTIONS["pause"][0], JobFilter(name="many-*"))
    assert (again.done, again.unchanged, again.refusals) == (0, len(SORTS) - 1, 1)


async def make_some(database: Database, most: int, **fields: Any) -> list[str]:
    return [(await make(database, name=f"bulk-{n:02}", **fields)).job_id for n in range(most)]


async def test_runs_are_told_by_their_ids(database: Database) -> None:
    jobs = await make_some(database, 3)
    done = await act(Context(database, now=NOW), run_all, JobFilter(name="bulk-*"))
    live = [(await runs(database, job))[0]["id"] for job in jobs]
    assert [decode_id("r", run_id) for run_id in done.run_ids] == live
    assert (done.done, done.unchanged) == (3, 0)


async def test_a_dry_run_counts_and_shows_some(database: Database) -> None:
    jobs = await make_some(database, 12, labels={"team": "sales"})
    await make(database, name="other")
    counted = await count(Context(database, now=NOW), JobFilter(label="team=sales"))
    assert (counted.dry_run, counted.matched, counted.through) == (True, 12, jobs[-1])
    assert [each.name for each in counted.sample] == [f"bulk-{n:02}" for n in range(10)]
    assert (counted.done, counted.cursor) == (0, None)
    nothing = await count(Context(database, now=NOW), JobFilter(label="team=nobody"))
    assert (nothing.matched, nothing.sample, nothing.through) == (0, [], None)


async def test_chunks_follow_each_other_up_to_the_last_job_that_was_counted(database: Database) -> None:
    jobs = await make_some(database, 5)
    context, chosen = Context(database, now=NOW), JobFilter(name="bulk-*")
    through = (await count(context, chosen)).through
    await make(database, name="bulk-later")
    first = await act(context, pause_all, chosen, through=through, limit=2)
    assert (first.matched, first.cursor) == (2, jobs[1])
    second = await act(context, pause_all, chosen, after=first.cursor, through=through, limit=2)
    third = await act(context, pause_all, chosen, after=second.cursor, through=through, limit=2)
    assert (second.cursor, third.matched, third.cursor) == (jobs[3], 1, None)
    assert (await get(context, "bulk-later")).status == "active"
    assert {(await get(context, job)).status for job in jobs} == {"paused"}


async def test_more_jobs_than_were_confirmed_are_refused(database: Database) -> None:
    await make_some(database, 3)
    context, chosen = Context(database, now=NOW), JobFilter(name="bulk-*")
    with pytest.raises(Conflict) as refused:
        await act(context, pause_all, chosen, expected=2)
    assert refused.value.code == "count_changed"
    assert "3 jobs match now, and 2 were expected" in refused.value.message
    assert (await get(context, "bulk-00")).status == "active"
    assert (await act(context, pause_all, chosen, expected=4)).done == 3


async def test_what_was_cut_off_goes_on(database: Database) -> None:
    """A chunk is whole or not done at all; the same command then does the rest."""
    jobs = await make_some(database, 6)
    context, chosen = Context(database, now=NOW), JobFilter(name="bulk-*")
    chunks = 0

    async def broken(context: Context, held: Any) -> Any:
        nonlocal chunks
        chunks += 1
        done = await delete_all(context, held)
        if chunks == 3:
            raise Unavailable("database_unavailable", "the database is away")
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sexton.runs.many.act", partial(act, limit=2))
        with pytest.raises(Unavailable) as stopped:
            await act_on_all(context, broken, chosen)
    assert stopped.value.__notes__ == [f"4 jobs before it stay done; continue with after={jobs[3]!r}"]
    assert [(await get(context, job)).status for job in jobs] == ["deleted"] * 4 + ["active"] * 2
    done = await act_on_all(context, delete_all, chosen)
    assert (done.matched, done.done) == (2, 2)
    assert (await list_jobs(context, chosen)).items == []


async def test_a_job_that_changes_meanwhile_is_looked_at_again(database: Database) -> None:
    """One that no longer is what was asked for, when its lock is granted, is left alone."""
    [first, second] = await make_some(database, 2, labels={"team": "sales"})
    context, chosen = Context(database, now=NOW), JobFilter(label="team=sales")
    async with database.transaction() as other:
        await edit(replace(context, connection=other), second, {"labels": {"team": "billing"}})
        task = asyncio.create_task(act(context, delete_all, chosen))
        await blocked_by(database, other)
    assert (await task).matched == 1
    assert [(await get(context, job)).status for job in (first, second)] == ["deleted", "active"]


async def test_other_namespaces_are_left_alone(database: Database) -> None:
    await make_some(database, 2)
    async with database.connection() as connection:
        await connection.execute("update sexton.jobs set namespace = 'billing' where name = 'bulk-01'")
    context = Context(database, now=NOW)
    assert (await count(context, JobFilter())).matched == 1
    assert (await act(context, delete_all, JobFilter())).done == 1
    other = await get(replace(context, namespace="billing"), "bulk-01")
    assert other.status == "active"


async def test_a_job_that_cannot_be_read_does_not_keep_the_others(database: Database) -> None:
    jobs = await make_some(database, 3)
    await database_execute(
        database, """update sexton.jobs set options = '{"priority": "high"}' where id = $1""", number(jobs[1])
    )
    done = await act(Context(database, now=NOW), run_all, JobFilter(name="bulk-*"))
    assert (done.done, [(each.code, each.sample) for each in done.refused]) == (
        2,
        [("unreadable_job", [jobs[1]])],
    )


async def test_a_chunk_takes_a_few_statements_however_many_jobs_it_has(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    prepared = Database.prepared

    def counting(self: Database, name: str, /, **parameters: Any) -> Any:
        asked.append(name)
        return prepared(self, name, **parameters)

    await make_some(database, 40, overlap="QUEUE_ONE", missed_window="RUN_ALL", grace_seconds=0)
    monkeypatch.setattr(Database, "prepared", counting)
    for action in ("pause", "resume", "run", "label", "delete"):
        asked.clear()
        done = await act(Context(database, now=LATER), ACTIONS[action][0], JobFilter(name="bulk-*"))
        assert done.done == 40
        assert len(asked) <= 8, (action, asked)


@pytest.mark.parametrize(
    ("chosen", "field"),
    [
        (JobFilter(), "filter"),
        (JobFilter(name="*"), "filter"),
        (JobFilter(status="deleted"), "filter.status"),
    ],
    ids=str,
)
def test_a_filter_that_says_too_little_is_refused(chosen: JobFilter, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        check_filter(chosen, every=False)
    assert refused.value.field == field


def test_every_job_is_meant_if_that_is_said() -> None:
    assert check_filter(JobFilter(), every=True) == JobFilter()
    assert check_filter(JobFilter(name="*"), every=True) == JobFilter(name="*")
    for chosen in (JobFilter(name="a*"), JobFilter(name="*", app="x"), JobFilter(name="**")):
        assert check_filter(chosen, every=False) == chosen


@pytest.mark.parametrize("field", ["label", "name", "target", "app"])
async def test_an_empty_text_does_not_mean_every_job(database: Database, field: str) -> None:
    """Such as that of a variable of the shell which is not set."""
    await make_some(database, 1)
    empty: Any = {field: ""}
    with pytest.raises(InvalidField) as refused:
        await act(Context(database, now=NOW), delete_all, JobFilter(**empty))
    assert (refused.value.code, refused.value.field) == ("empty", field)


@pytest.mark.parametrize("field", ["after", "through"])
async def test_where_to_go_on_is_the_id_of_a_job(database: Database, field: str) -> None:
    place: Any = {field: "bulk-01"}
    with pytest.raises(InvalidField) as refused:
        await act(Context(database, now=NOW), pause_all, JobFilter(name="a*"), **place)
    assert refused.value.field == field


async def test_labels_are_given_and_taken_away(database: Database) -> None:
    [first, second] = await make_some(database, 2, labels={"team": "sales", "tier": "1"})
    await edit(Context(database, now=NOW), second, {"labels": {f"label-{n}": "" for n in range(64)}})
    work = partial(relabel_all, labels={"team": "billing", "tier": None})
    done = await act(Context(database, now=LATER), work, JobFilter(name="bulk-*"))
    assert (done.done, [each.code for each in done.refused]) == (1, ["too_many"])
    shown = await get(Context(database, now=LATER), first)
    assert (shown.labels, shown.revision, (await timer(database, first))["revision"]) == (
        {"team": "billing"},
        2,
        2,
    )
    with pytest.raises(InvalidField) as refused:
        await act(Context(database, now=LATER), partial(relabel_all, labels={" ": "x"}), JobFilter(name="b*"))
    assert refused.value.field == "labels"


async def test_an_end_that_is_over_refuses_the_chunk(database: Database) -> None:
    await make_some(database, 2)
    with pytest.raises(InvalidField) as refused:
        await act(
            Context(database, now=NOW),
            partial(pause_all, until=NOW - timedelta(days=1)),
            JobFilter(name="b*"),
        )
    assert refused.value.field == "until"
