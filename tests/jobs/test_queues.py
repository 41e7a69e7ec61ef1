"""Queues: what people say about them, and that workers keep to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from sexton.engine.worker.claimer import rotated
from sexton.engine.worker.worker import Worker
from sexton.errors import InvalidField, NotFound
from sexton.jobs.bulk import create_many
from sexton.jobs.create import create
from sexton.jobs.edit import edit
from sexton.jobs.queues import (
    change_limits,
    get_queue,
    list_queues,
    pause_queue,
    resume_queue,
    set_limits,
)
from sexton.jobs.spec import LimitChanges, Limits
from sexton.jobs.validation import read_spec
from sexton.model import Retry, decode_id, encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.read import get_run
from sexton.runs.redrive import redrive
from sexton.runs.trigger import backfill, run_now
from sexton.runs.why import why
from sexton.targets.face import Run
from tests.scheduling import Stage, hour_before, now
from tests.seeding import (
    NOW,
    Store,
    settled,
    turn,
    working,
)
from tests.waiting import PATIENCE

PAST = datetime(2020, 5, 1, 12, 0, tzinfo=UTC)
CROWD = """
insert into sexton.runs
    (job_id, lane, priority, available_at, scheduled_at, due_at, revision, concurrency_key)
select $1, $2, 2, $3, $3, $3, 1, case when $4::int > 0 then 'key' || n % $4 end
from generate_series(1, $5::int) as n
"""


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def crowd(store: Store, count: int, *, keys: int = 0, at: datetime = NOW) -> int:
    """Many runs at once; their lane."""
    lane = await store.lane(keyed=keys > 0)
    await store.execute(CROWD, await store.job(), lane, at, keys, count)
    return lane


class Meter:
    """What runs at the same time, as the handlers see it."""

    def __init__(self, name: Callable[[Run], str] = lambda run: "") -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.total = 0
        self._name = name

    @contextmanager
    def running(self, run: Run) -> Iterator[None]:
        self.total += 1
        for name in {"all", self._name(run)}:
            self.now[name] += 1
            self.most[name] = max(self.most[name], self.now[name])
        try:
            yield
        finally:
            for name in {"all", self._name(run)}:
                self.now[name] -= 1


@asynccontextmanager
async def several(
    database: Database, count: int, handler: Any, **changes: Any
) -> AsyncIterator[list[Worker]]:
    """Workers that work by themselves."""
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(
                working(
                    database,
                    {"work": handler, "other": handler},
                    by_itself=True,
                    **{"poll_seconds": 0.05, "concurrency": 20, **changes},
                )
            )
            for _ in range(count)
        ]
        yield workers


async def empty(store: Store) -> None:
    async with asyncio.timeout(PATIENCE):
        while await store.value("select count(*) from sexton.runs"):
            await store.fetch("select pg_sleep(0.01)")


async def test_limits_are_set_changed_and_removed(database: Database) -> None:
    made = await set_limits(Context(database), "mail", Limits(concurrency=5, rate=2.5))
    assert (made.concurrency, made.key_concurrency, made.rate, made.burst) == (5, None, 2.5, None)
    assert made.warnings == ["no job has used the queue mail yet: check its name"]
    changed = await change_limits(Context(database), "mail", LimitChanges(key_concurrency=1, rate=None))
    assert (changed.concurrency, changed.key_concurrency, changed.rate) == (5, 1, None)
    assert await get_queue(Context(database), "mail") == changed
    replaced = await set_limits(Context(database), "mail", Limits(burst=3, rate=1))
    assert (replaced.concurrency, replaced.key_concurrency, replaced.rate, replaced.burst) == (
        None,
        None,
        1,
        3,
    )
    free = await set_limits(Context(database), "mail", Limits())
    assert (free.rate, free.running) == (None, 0)


@pytest.mark.parametrize(
    ("limits", "field", "code"),
    [
        ({"concurrency": 0}, "concurrency", "out_of_range"),
        ({"concurrency": -1}, "concurrency", "out_of_range"),
        ({"concurrency": 1_000_001}, "concurrency", "out_of_range"),
        ({"key_concurrency": 0}, "key_concurrency", "out_of_range"),
        ({"rate": 0}, "rate", "out_of_range"),
        ({"rate": -3}, "rate", "out_of_range"),
        ({"rate": float("nan")}, "rate", "out_of_range"),
        ({"rate": 1, "burst": 0}, "burst", "out_of_range"),
        ({"burst": 5}, "burst", "needs_rate"),
    ],
)
async def test_limits_that_mean_nothing_are_refused(
    database: Database, limits: dict[str, Any], field: str, code: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        await change_limits(Context(database), "mail", limits)
    assert (refused.value.field, refused.value.code) == (field, code)
    assert refused.value.hint
    assert await list_queues(Context(database)) == []


async def test_a_queue_needs_a_name(database: Database) -> None:
    for name in ("", "x" * 101, "a\0b"):
        with pytest.raises(InvalidField):
            await pause_queue(Context(database), name)
        with pytest.raises(InvalidField):
            await set_limits(Context(database), name, Limits(rate=1))
    with pytest.raises(NotFound, match="nobody"):
        await get_queue(Context(database), "nobody")


async def test_a_burst_must_not_outlive_its_rate(database: Database) -> None:
    await set_limits(Context(database), "mail", Limits(rate=5, burst=10))
    with pytest.raises(InvalidField):
        await change_limits(Context(database), "mail", {"rate": None})
    shown = await change_limits(Context(database), "mail", {"rate": None, "burst": None})
    assert (shown.rate, shown.burst) == (None, None)


async def test_another_rate_keeps_what_is_in_the_bucket(store: Store, database: Database) -> None:
    async def tokens() -> float:
        return float(await store.value("select tokens from sexton.queues"))

    await set_limits(Context(database, now=NOW), "mail", Limits(rate=10))
    assert await tokens() == 10
    await store.execute("update sexton.queues set tokens = 1")
    await change_limits(Context(database, now=NOW + timedelta(seconds=0.2)), "mail", {"rate": 100})
    assert await tokens() == pytest.approx(3)
    await change_limits(Context(database, now=NOW + timedelta(seconds=0.2)), "mail", {"burst": 2})
    assert await tokens() == 2


async def test_queues_are_listed_with_what_waits(store: Store, database: Database) -> None:
    await store.run()
    await store.run(lane=await store.lane(keyed=True), concurrency_key="a")
    await store.run(available_at=NOW + timedelta(hours=1))
    await set_limits(Context(database), "mail", Limits(concurrency=1))
    first, second = await list_queues(Context(database, now=NOW))
    assert (first.name, first.waiting, first.oldest_available_at, first.running) == ("default", 2, NOW, 0)
    assert (second.name, second.waiting, second.running) == ("mail", 0, 0)


async def test_what_runs_without_limits_is_what_workers_say(store: Store, database: Database) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def work(run: Run) -> None:
        begun.set()
        await go_on.wait()

    async def until(running: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while (await get_queue(Context(database), "default")).running != running:
                worker.heartbeat.poke()
                await store.fetch("select pg_sleep(0.01)")

    await store.run()
    async with working(database, {"work": work}, by_itself=True) as worker:
        await begun.wait()
        await until(1)
        # Another namespace has a queue of the same name, and nothing runs in it.
        await store.lane(namespace="shop")
        [other] = await list_queues(Context(database, "shop"))
        assert (other.name, other.running) == ("default", 0)
        go_on.set()
        await until(0)


async def test_what_waits_for_a_report_and_what_workers_elsewhere_hold_runs_too(
    store: Store, database: Database
) -> None:
    await store.run(state="waiting", deadline_at=NOW + timedelta(hours=1))
    held, other = await store.run(), await store.run()
    [[node]] = await store.fetch(
        "insert into sexton.nodes (name, roles, lease_until, version, credential, begun) "
        "values ('elsewhere', '{worker}', clock_timestamp() + interval '1 hour', '1', 'key', $1) "
        "returning id",
        [held, other],
    )
    await store.execute("update sexton.runs set state = 'running', node = $1 where id = $2", node, held)
    [found] = await list_queues(Context(database, now=NOW))
    assert (found.running, found.waiting) == (2, 1)
    await store.execute("update sexton.nodes set lease_until = clock_timestamp() where id = $1", node)
    assert (await get_queue(Context(database), "default")).running == 1


async def test_a_paused_queue_keeps_its_runs(store: Store, database: Database) -> None:
    run = await store.run()

    async def work(run: Run) -> None:
        """Returns nothing."""

    paused = await pause_queue(Context(database, now=NOW), "default", reason="the mail server moves")
    assert (paused.paused, paused.paused_at, paused.paused_reason) == (True, NOW, "the mail server moves")
    again = await pause_queue(Context(database, now=NOW + timedelta(hours=1)), "default")
    assert (again.paused_at, again.paused_reason) == (NOW, None)
    await pause_queue(Context(database), "default", reason="the mail server moves")
    async with working(database, {"work": work}) as worker:
        await worker.joined()
        await worker.claimer.tick()
        assert worker.state.in_hand == 0
        shown = await get_run(Context(database, now=NOW), run)
        assert shown.waiting_for == "the queue default is paused (the mail server moves)"
        resumed = await resume_queue(Context(database), "default")
        assert (resumed.paused, resumed.paused_at, resumed.paused_reason) == (False, None, None)
        await worker.claimer.find_lanes()
        await worker.claimer.tick()
        await settled(worker)
    assert await store.statuses() == {run: "success"}


async def test_workers_hear_of_a_pause_and_of_its_end(store: Store, database: Database) -> None:
    """They look by themselves only every thousand seconds here."""
    lane = await store.lane()

    async def work(run: Run) -> None:
        """Returns nothing."""

    async with several(database, 1, work, poll_seconds=1000) as [worker]:
        async with asyncio.timeout(PATIENCE):
            await worker.joined()
            while worker.state.lanes != [lane]:
                await turn(worker)
            await pause_queue(Context(database), "default")
            while worker.state.lanes:
                await turn(worker)
            run = await store.run()
            await store.execute("select pg_notify('sexton_runs', '')")
            assert (await store.live(run))["state"] == "pending"
            await resume_queue(Context(database), "default")
            while run not in await store.statuses():
                await turn(worker)


@pytest.mark.parametrize("keys", [0, 7])
async def test_never_more_than_the_limit_in_all_workers(store: Store, database: Database, keys: int) -> None:
    """With retries in between."""
    await crowd(store, 300, keys=keys)
    await set_limits(Context(database), "default", Limits(concurrency=5, key_concurrency=2 if keys else None))
    names = {
        row["id"]: row["concurrency_key"] or "" for row in await store.fetch("select * from sexton.runs")
    }
    meter = Meter(lambda run: names[run._attempt.id])
    failed: set[int] = set()

    async def work(run: Run) -> Retry | None:
        with meter.running(run):
            await asyncio.sleep(0)
            async with database.connection() as connection:
                await connection.execute("select pg_sleep(0.001)")
            if run._attempt.id % 10 == 0 and run._attempt.id not in failed:
                failed.add(run._attempt.id)
                return Retry(after=0)
        return None

    async with several(database, 4, work):
        await empty(store)
    assert meter.most.pop("all") == 5
    if keys:
        assert max(meter.most.values()) == 2
    assert meter.total >= 300
    assert set((await store.statuses()).values()) == {"success"}


async def test_the_runs_of_a_dead_worker_hold_their_places_until_they_are_taken_back(
    store: Store, database: Database
) -> None:
    await crowd(store, 6)
    await set_limits(Context(database), "default", Limits(concurrency=2))
    gone = await store.node()
    async with working(database, {"work": _nothing}) as other:
        await other.joined()
        claimed = await other.queue.claim_limited(gone, [await store.lane()], 10, now=NOW)
        assert len(claimed.rows) == 2
        await other.claimer.find_lanes()
        await other.claimer.tick()
        assert other.state.in_hand == 0
        await store.execute("update sexton.nodes set state = 'dead', running = 2 where id = $1", gone)
        await database.fetch("recording/reap", now=NOW, limit=100, harmless=[])
        await other.claimer.tick()
        assert other.state.in_hand == 2
        await settled(other)


async def _nothing(run: Run) -> None:
    """Returns nothing."""


async def test_a_limit_counts_what_was_claimed_before_it(store: Store, database: Database) -> None:
    lane = await crowd(store, 6)
    go = asyncio.Event()

    async def work(run: Run) -> None:
        await go.wait()

    async with working(database, {"work": work}, concurrency=4) as worker:
        await worker.joined()
        await worker.claimer.tick()
        assert worker.state.in_hand == 4
        await set_limits(Context(database), "default", Limits(concurrency=5))
        await worker.claimer.find_lanes()
        assert (worker.state.lanes, worker.state.limited) == ([], [lane])
        assert (await get_queue(Context(database), "default")).running == 4
        worker.state.concurrency = 10
        await worker.claimer.tick()
        assert worker.state.in_hand == 5
        await set_limits(Context(database), "default", Limits())
        await worker.claimer.find_lanes()
        assert (worker.state.lanes, worker.state.limited) == ([lane], [])
        await worker.claimer.tick()
        assert worker.state.in_hand == 6
        go.set()
        await settled(worker)


async def test_the_end_of_a_run_lets_the_next_one_go(store: Store, database: Database) -> None:
    """Without waiting for the next look."""
    await crowd(store, 20)
    await set_limits(Context(database), "default", Limits(concurrency=1))
    meter = Meter()

    async def work(run: Run) -> None:
        with meter.running(run):
            await asyncio.sleep(0)

    async with several(database, 1, work, poll_seconds=1000):
        await empty(store)
    assert meter.most["all"] == 1


async def test_a_rate_is_kept_without_waiting_for_the_next_look(store: Store, database: Database) -> None:
    """The workers look by themselves only every thousand seconds here."""
    await crowd(store, 30, at=PAST)
    await set_limits(Context(database), "default", Limits(rate=100, burst=1))
    async with several(database, 2, _nothing, poll_seconds=1000, now=lambda: None):
        await empty(store)
    assert Counter((await store.statuses()).values()) == {"success": 30}


async def test_no_limit_keeps_the_others_waiting(store: Store, database: Database) -> None:
    """A worker takes turns: from what is limited, and from what is not."""
    await crowd(store, 5000)
    limited = await store.lane("other", queue="slow")
    await store.execute(CROWD, await store.job("other"), limited, NOW, 0, 1000)
    await set_limits(Context(database), "slow", Limits(concurrency=1000))
    order: list[str] = []

    async def work(run: Run) -> None:
        order.append("free")

    async def other(run: Run) -> None:
        order.append("limited")

    async with working(database, {"work": work, "other": other}, concurrency=50, claim_size=50) as worker:
        await worker.joined()
        for _ in range(6):
            await worker.claimer.tick()
            await settled(worker)
    assert Counter(order) == {"free": 150, "limited": 150}


async def test_a_queue_with_many_waiting_runs_does_not_make_another_late(
    store: Store, database: Database
) -> None:
    """A run of another queue waits for about two claims, not for the 200,000 before it."""
    await crowd(store, 200_000)
    small = await store.lane("other", queue="small")
    for number in range(20):  # queues beside it change nothing
        await store.lane("other", queue=f"idle-{number}")
    job = await store.job("other")
    claims = 0
    waited: list[int] = []

    async with working(
        database, {"work": _nothing, "other": _nothing}, concurrency=100, claim_size=100
    ) as worker:
        node = await worker.joined()
        await worker.claimer.find_lanes()
        for _ in range(40):
            run = await store.run(job, lane=small)
            claims = 0
            while True:
                claims += 1
                rows = await worker.queue.claim(
                    node, rotated(worker.state.lanes), 100, now=worker.state.now()
                )
                if run in [row["id"] for row in rows]:
                    break
                assert claims < 60
            waited.append(claims)
    # Each claim finds it with probability one half: 40 waits add up to 80 claims, and hardly ever to 160.
    assert sum(waited) < 160
    assert len(set(waited)) > 1


async def test_a_key_with_many_waiting_runs_does_not_make_another_late(
    store: Store, database: Database
) -> None:
    lane = await crowd(store, 50_000, keys=1)
    await set_limits(Context(database), "default", Limits(concurrency=10, key_concurrency=3))
    job = await store.job()
    late = [await store.run(job, lane=lane, concurrency_key=f"small{n}", available_at=NOW) for n in range(7)]
    node = await store.node()
    async with working(database, {"work": _nothing}) as worker:
        await worker.joined()
        claimed = await worker.queue.claim_limited(node, [lane], 100, now=NOW)
    assert set(late) < {row["id"] for row in claimed.rows}
    assert len(claimed.rows) == 10


async def test_a_run_says_which_limit_it_waits_for(store: Store, database: Database) -> None:
    lane = await store.lane(keyed=True)
    job = await store.job()
    first, second = [
        await store.run(job, lane=lane, concurrency_key="acme", available_at=PAST) for _ in range(2)
    ]
    async with working(database, {"work": _wait}, now=lambda: None) as worker:
        await worker.joined()

        async def wait_for(**limits: Any) -> str | None:
            await set_limits(Context(database), "default", Limits(**limits))
            await worker.claimer.find_lanes()
            await worker.claimer.tick()
            return (await get_run(Context(database), second)).waiting_for

        slow = await wait_for(rate=0.001, burst=1)
        assert slow == "the queue default starts 0.001 per second"
        assert await wait_for(key_concurrency=1) == "the queue default runs 1 of acme at a time"
        assert await wait_for(concurrency=1) == "the queue default runs 1 at a time"
        shown = await get_run(Context(database), first)
        assert (shown.status, shown.concurrency_key) == ("running", "acme")
        assert await wait_for(concurrency=2) is None


async def _wait(run: Run) -> None:
    await asyncio.Event().wait()


# From the job to the run.


async def keys_of(store: Store) -> list[tuple[str | None, bool]]:
    rows = await store.fetch(
        """select run.concurrency_key, lane.keyed from sexton.runs as run
        join sexton.lanes as lane on lane.id = run.lane order by run.id"""
    )
    return [tuple(row) for row in rows]


SPEC = {
    "name": "mail",
    "schedule": "@daily",
    "target": {"handler": "work"},
    "payload": {"customer": "acme"},
    "concurrency_key": "{{payload.customer}}",
}


async def test_runs_get_the_key_of_their_payload(store: Store, database: Database) -> None:
    job = await create(Context(database), read_spec(SPEC))
    assert job.concurrency_key == "{{payload.customer}}"
    assert any("no key_concurrency" in warning for warning in job.warnings)
    timer = await store.row("select concurrency_key from sexton.timers")
    assert timer["concurrency_key"] == "acme"
    await run_now(Context(database), "mail")
    await run_now(Context(database), "mail", payload={"customer": "other"})
    with pytest.raises(InvalidField, match="customer") as refused:
        await run_now(Context(database), "mail", payload={})
    assert refused.value.field == "concurrency_key"
    assert await keys_of(store) == [("acme", True), ("other", True)]
    await set_limits(Context(database), "default", Limits(key_concurrency=1))
    edited = await edit(Context(database), "mail", {"description": "still"})
    assert not any("no key_concurrency" in warning for warning in edited.warnings)


@pytest.mark.parametrize("hours", [0, 5])
async def test_firing_and_catching_up_give_the_key(store: Store, database: Database, hours: int) -> None:
    """On time, or hours late: then the missed ones are run."""
    spec = {**SPEC, "schedule": "0 * * * *", "missed_window": "RUN_ALL"}
    jobs = [
        await create(Context(database), read_spec(spec)),
        await create(Context(database), read_spec({**spec, "name": "alone", "overlap": "QUEUE_ONE"})),
    ]
    await create_many(Context(database), [{**spec, "name": "from-bulk", "payload": {"customer": "other"}}])
    stage = await Stage(database).lead()
    try:
        moment = hour_before(await now(database), hours)
        await store.execute("update sexton.timers set scheduled_at = $1, due_at = $1", moment)
        await stage.round()
    finally:
        await Stage.close_all()
    keys = await keys_of(store)
    assert len(keys) >= len(jobs) + 1
    assert set(keys) == {("acme", True), ("other", True)}


async def test_why_says_that_the_queue_is_paused(store: Store, database: Database) -> None:
    job = decode_id(
        "j", (await create(Context(database), read_spec({**SPEC, "schedule": "0 * * * *"}))).job_id
    )
    assert job is not None
    await pause_queue(Context(database), "default", reason="it moves")
    stage = await Stage(database).lead()
    try:
        await store.execute(
            "update sexton.timers set scheduled_at = $1, due_at = $1", hour_before(await now(database))
        )
        await stage.round()
    finally:
        await Stage.close_all()
    [text] = [each.text for each in await why(Context(database), job, ahead=0)]
    assert text.endswith("waiting because the queue default is paused (it moves)")


async def test_backfilled_runs_have_the_key(store: Store, database: Database) -> None:
    await create(Context(database), read_spec({**SPEC, "schedule": "0 * * * *"}))
    moment = hour_before(await now(database), 1)
    await backfill(Context(database), "mail", moment - timedelta(hours=2), moment)
    assert await keys_of(store) == [("acme", True)] * 3


async def test_what_was_due_at_an_edit_has_the_key(store: Store, database: Database) -> None:
    await create(Context(database), read_spec({**SPEC, "schedule": "0 * * * *", "missed_window": "RUN_ALL"}))
    moment = hour_before(await now(database), 2)
    await store.execute("update sexton.timers set scheduled_at = $1, due_at = $1", moment)
    await edit(Context(database), "mail", {"description": "other words"})
    keys = await keys_of(store)
    assert len(keys) >= 2
    assert set(keys) == {("acme", True)}


async def test_waiting_runs_follow_an_edit(store: Store, database: Database) -> None:
    await create(Context(database), read_spec(SPEC))
    await run_now(Context(database), "mail")
    await run_now(Context(database), "mail", payload={"customer": "other", "region": "eu"})
    await run_now(Context(database), "mail", payload={"customer": "lacks"})
    changes = {"concurrency_key": "{{payload.region}}", "payload": {"customer": "acme", "region": "us"}}
    await edit(Context(database), "mail", changes)
    assert await keys_of(store) == [("us", True), ("eu", True), ("us", True)]
    await edit(Context(database), "mail", {"concurrency_key": None})
    assert await keys_of(store) == [(None, False)] * 3
    assert await store.value("select concurrency_key from sexton.timers") is None


async def test_a_redriven_run_has_a_key_again(store: Store, database: Database) -> None:
    job = await create(Context(database), read_spec(SPEC))
    number = decode_id("j", job.job_id)
    lane = await store.lane(keyed=True)
    dead = []
    for payload in (None, '{"customer": "other"}', '{"n": 1}'):
        run = await store.run(number, lane=lane, concurrency_key="x", payload=payload)
        dead.append(encode_id("r", run))
    await store.execute(
        """with gone as (delete from sexton.runs returning *)
        insert into sexton.dead (run_id, job_id, reason, error_group, lane, priority, scheduled_at, due_at,
            revision, trigger, missed, attempt, payload)
        select id, job_id, 'exhausted', '', lane, priority, scheduled_at, due_at, revision, trigger, missed,
            attempt, payload from gone"""
    )
    for run_id in dead:
        await redrive(Context(database), run_id)
    assert await keys_of(store) == [("acme", True), ("other", True), ("acme", True)]
