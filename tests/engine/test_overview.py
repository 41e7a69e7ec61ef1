"""The overview of a namespace: figures, what needs attention, and what only callers of the cluster see."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sexton.engine.overview import OverviewReader
from sexton.postgres import estimate
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.seeding import Store


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


async def test_an_empty_namespace_has_nothing_wrong_with_it(database: Database) -> None:
    shown = await OverviewReader().read(Context(database), sees_cluster=False)
    assert (shown.attention, shown.nodes, shown.shards, shown.first_job_fired) == ([], None, None, False)
    assert shown.hour.fired == shown.day.fired == 0
    assert len(shown.lateness) == 60
    assert shown.at - shown.lateness[-1].at < timedelta(minutes=1)


async def test_what_is_live_what_waits_and_what_has_died(store: Store) -> None:
    job = await store.job()
    past = await store.value("select clock_timestamp() - interval '1 minute'")
    lane = await store.lane()
    for state in ("pending", "pending", "running", "failed"):
        later = {"available_at": past if state != "failed" else past + timedelta(hours=1)}
        await store.run(job, lane=lane, state=state, **later)
    await store.execute(
        """insert into sexton.dead (run_id, job_id, reason, error_group, lane, priority, scheduled_at, due_at,
            revision, trigger, missed, attempt)
        values (99, $1, 'exhausted', 'boom', $2, 2, now(), now(), 1, 'schedule', false, 3)""",
        job,
        lane,
    )
    await store.execute("insert into sexton.queues (name, paused_at) values ('mail', now())")
    await store.execute(
        "insert into sexton.problems (job_id, revision, problem) values ($1, 1, 'broken')", job
    )
    shown = await OverviewReader().read(Context(store.database), sees_cluster=True)
    assert (shown.live, shown.queue_depth, shown.queues) == (
        {"pending": 2, "running": 1, "failed": 1},
        2,
        {"default": 2},
    )
    assert (shown.running, shown.dead, shown.problems, shown.oldest_waiting_at) == (1, 1, 1, past)
    assert (shown.hour.fired, shown.hour.failed, shown.first_job_fired) == (4, 1, True)
    assert shown.jobs == {"active": 1}
    codes = {each.code: each for each in shown.attention}
    assert set(codes) == {
        "shards_without_leader", "no_workers", "problem_jobs", "unserved", "dead_growing", "queues_paused",
    }  # fmt: skip
    assert codes["unserved"].count == 2
    assert codes["problem_jobs"].link == {"problem": "true"}
    assert [each.severity for each in shown.attention][-1] == "info"


async def test_an_overdue_timer_is_an_error(store: Store) -> None:
    job, lane = await store.job(), await store.lane()
    due = await store.value("select clock_timestamp() - interval '5 minutes'")
    await store.execute(
        """insert into sexton.timers
            (job_id, shard, revision, timing_key, scheduled_at, due_at, lane, priority)
        values ($1, 3, 1, gen_random_uuid(), $2, $2, $3, 2)""",
        job,
        due,
        lane,
    )
    shown = await OverviewReader().read(Context(store.database), sees_cluster=False)
    assert shown.oldest_due_at == due
    assert [(each.code, each.severity) for each in shown.attention] == [("overdue", "error")]
    assert "5 min" in shown.attention[0].text


async def test_nothing_of_another_namespace_is_shown(store: Store) -> None:
    await store.execute("insert into sexton.namespaces (name) values ('other')")
    job = await store.job(namespace="other")
    await store.run(job, namespace="other")
    await store.execute(
        "insert into sexton.queues (namespace, name, paused_at) values ('other', 'mail', now())"
    )
    shown = await OverviewReader().read(Context(store.database), sees_cluster=False)
    assert (shown.live, shown.jobs, shown.attention, shown.first_job_fired) == ({}, {}, [], False)
    other = await OverviewReader().read(Context(store.database, "other"), sees_cluster=False)
    assert (other.live, other.jobs) == ({"pending": 1}, {"active": 1})


async def test_many_jobs_are_estimated_and_it_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "MOST_EXACT", 5)
    monkeypatch.setattr("sexton.engine.overview.MOST_EXACT", 5)
    for _ in range(20):
        await store.job()
    await store.execute("analyze sexton.jobs")
    shown = await OverviewReader().read(Context(store.database), sees_cluster=False)
    assert shown.jobs_estimated
    assert 10 <= shown.jobs["active"] <= 30
