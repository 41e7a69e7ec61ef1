"""Claims under limits: how many at a time, of one key, per second."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from sexton.engine.worker.queue import CLAIM_DEFAULTS, Limited, RunQueue
from sexton.engine.worker.share import Stretch, share_out
from sexton.postgres.database import Database
from sexton.runs.outcomes import Successes
from tests.plans import explain, rows_read
from tests.seeding import NOW, Store

BEGAN = NOW.timestamp()


async def limit(store: Store, name: str = "default", **limits: Any) -> int:
    """Put limits on a queue; a bucket is full."""
    columns = {"refilled_at": NOW, "tokens": limits.get("burst") or limits.get("rate") or 0, **limits}
    names = ", ".join(columns)
    places = ", ".join(f"${place}" for place in range(2, len(columns) + 2))
    number: int = await store.value(
        f"insert into sexton.queues (name, {names}) values ($1, {places}) returning id",
        name,
        *columns.values(),
    )
    return number


def done(*runs: int) -> Successes:
    """First claims that succeeded."""
    ones, times = [1] * len(runs), [BEGAN] * len(runs)
    return Successes(list(runs), ones, ones, times, times, [None] * len(runs))


class Claims:
    """One node that claims from some lanes."""

    def __init__(self, queue: RunQueue, node: int, lanes: list[int]) -> None:
        self.queue, self.node, self.lanes = queue, node, lanes

    async def take(self, most: int = 100, *, at: datetime = NOW, company: int | None = None) -> Limited:
        return await self.queue.claim_limited(self.node, self.lanes, most, company=company, now=at)

    async def ids(self, most: int = 100, *, at: datetime = NOW) -> list[int]:
        return [row["id"] for row in (await self.take(most, at=at)).rows]


@pytest_asyncio.fixture
async def claims(store: Store, queue: RunQueue) -> Claims:
    return Claims(queue, await store.node(), [await store.lane(), await store.lane(keyed=True)])


async def keyed(store: Store, key: str, **columns: Any) -> int:
    return await store.run(lane=await store.lane(keyed=True), concurrency_key=key, **columns)


async def test_no_more_than_the_limit_at_a_time(store: Store, claims: Claims) -> None:
    limited = await limit(store, concurrency=2)
    runs = [await store.run() for _ in range(5)]
    taken = await claims.take()
    assert {row["id"] for row in taken.rows} == set(runs[:2])
    assert (taken.remaining, taken.seconds) == (True, None)
    row = taken.rows[0]
    assert (row["claim"], row["attempt"], row["target"], row["options"]) == (
        1,
        1,
        '{"handler": "work"}',
        "{}",
    )
    live = await store.live(runs[0])
    assert (live["state"], live["node"], live["limited_by"]) == ("running", claims.node, limited)
    assert await claims.ids() == []
    await claims.queue.finish(claims.node, done(runs[0]), now=NOW)
    assert await claims.ids() == [runs[2]]
    assert await claims.ids() == []


@pytest.mark.parametrize("how", ["finish", "end", "retry", "snooze", "release", "unknown", "reap", "gone"])
async def test_a_place_is_free_again_in_whatever_way_a_run_stops(
    store: Store, claims: Claims, how: str
) -> None:
    await limit(store, concurrency=1, key_concurrency=1)
    first, second = await keyed(store, "a"), await keyed(store, "a", available_at=NOW + timedelta(seconds=1))
    later = NOW + timedelta(seconds=5)
    assert await claims.ids(at=later) == [first]
    assert await claims.ids(at=later) == []
    queue, node = claims.queue, claims.node
    match how:
        case "finish":
            await queue.finish(node, done(first), now=later)
        case "end":
            end = (first, 1, BEGAN, BEGAN, "dead", "exhausted", "failed", "boom", "boom")
            await queue.end(node, [end], now=later)
        case "retry":
            await queue.retry(node, [(first, 1, BEGAN, BEGAN, 60.0, "failed", "boom")], now=later)
        case "snooze":
            await queue.retry(node, [(first, 1, BEGAN, BEGAN, 60.0, "snoozed", None)], now=later)
        case "release":
            await store.execute("update sexton.runs set expires_at = $2 where id = $1", first, later)
            await queue.release(node, [(first, 1, None)], now=later)
        case "unknown":
            await store.execute("update sexton.runs set expires_at = $2 where id = $1", first, later)
            assert await queue.release_unknown(node, [], now=later) == 1
        case "reap":
            await store.execute("update sexton.nodes set state = 'dead', running = 1 where id = $1", node)
            await store.database.fetch("recording/reap", now=later, limit=100, harmless=[])
            await store.execute("update sexton.runs set expires_at = $2 where id = $1", first, later)
            claims.node = await store.node()
        case "gone":
            await store.execute("delete from sexton.runs where id = $1", first)
    assert await claims.ids(at=later) == [second]


async def test_a_run_that_waits_for_a_report_keeps_its_place(store: Store, claims: Claims) -> None:
    await limit(store, concurrency=1)
    first, second = await store.run(), await store.run()
    assert await claims.ids() == [first]
    await store.execute("update sexton.runs set state = 'waiting', node = null where id = $1", first)
    assert await claims.ids() == []
    await store.execute("delete from sexton.runs where id = $1", first)
    assert await claims.ids() == [second]


async def test_the_lanes_of_a_queue_share_its_limit(store: Store, claims: Claims) -> None:
    await limit(store, concurrency=3)
    for _ in range(5):
        await store.run()
        await store.run(handler="other")
    other = Claims(claims.queue, await store.node(), [await store.lane("other")])
    assert len(await claims.ids(2)) == 2
    assert len(await other.ids()) == 1
    assert await claims.ids() == []


async def test_queues_do_not_share_theirs(store: Store, claims: Claims) -> None:
    await limit(store, concurrency=1)
    await limit(store, "other", concurrency=2)
    there = await store.lane(queue="other")
    for _ in range(5):
        await store.run()
        await store.run(lane=there)
    claims.lanes.append(there)
    assert len(await claims.ids()) == 3
    await store.execute("update sexton.queues set concurrency = 100")
    assert len(await claims.ids(4)) == 4


async def test_the_highest_priority_and_the_oldest_come_first(store: Store, claims: Claims) -> None:
    await limit(store, concurrency=4)
    low, late, early, high = [
        await store.run(priority=priority, available_at=NOW - timedelta(seconds=age))
        for priority, age in ((3, 9), (2, 1), (2, 2), (0, 0))
    ]
    assert [await claims.ids(1) for _ in range(4)] == [[high], [early], [late], [low]]


async def test_no_more_than_the_limit_of_each_key(store: Store, claims: Claims) -> None:
    await limit(store, key_concurrency=2)
    runs = {key: [await keyed(store, key) for _ in range(4)] for key in ("a", "b", "c")}
    free = await store.run()
    taken = set(await claims.ids())
    assert taken == {free, *runs["a"][:2], *runs["b"][:2], *runs["c"][:2]}
    await claims.queue.finish(claims.node, done(runs["b"][0]), now=NOW)
    assert await claims.ids() == [runs["b"][2]]


async def test_the_limit_of_a_key_holds_across_lanes_and_priorities(store: Store, claims: Claims) -> None:
    await limit(store, key_concurrency=1)
    other = await store.lane("other", keyed=True)
    claims.lanes.append(other)
    for priority in range(4):
        await keyed(store, "a", priority=priority)
        await store.run(lane=other, concurrency_key="a", priority=priority)
    rows = (await claims.take()).rows
    assert [(await store.live(row["id"]))["priority"] for row in rows] == [0]
    assert await claims.ids() == []


async def test_keys_take_turns(store: Store, claims: Claims) -> None:
    """Each claim goes on after the key that was served last, and comes round."""
    await limit(store, concurrency=2, key_concurrency=1)
    for key in "abcde":
        for _ in range(4):
            await keyed(store, key)
    served = []
    for _ in range(5):
        ids = await claims.ids()
        served += [(await store.live(run))["concurrency_key"] for run in ids]
        await claims.queue.finish(claims.node, done(*ids), now=NOW)
    assert "".join(served[:10]) == "abcde" * 2


async def test_keys_that_only_wait_for_later_are_stepped_over(store: Store, claims: Claims) -> None:
    await limit(store, key_concurrency=1)
    await keyed(store, "a", available_at=NOW + timedelta(seconds=1))
    ready = await keyed(store, "b")
    assert await claims.ids() == [ready]


async def test_a_claim_looks_at_a_thousand_keys_and_the_next_goes_on(store: Store, claims: Claims) -> None:
    await limit(store, key_concurrency=1)
    job, lane = await store.job(), await store.lane(keyed=True)
    await store.execute(
        """insert into sexton.runs
            (job_id, lane, priority, available_at, scheduled_at, due_at, revision, concurrency_key)
        select $1, $2, 2, $3::timestamptz + interval '1 hour', $3, $3, 1, 'k' || to_char(n, 'FM0000')
        from generate_series(1, 2500) as n""",
        job,
        lane,
        NOW,
    )
    ready = await keyed(store, "z")
    looked = [await claims.take() for _ in range(3)]
    assert [[row["id"] for row in each.rows] for each in looked] == [[], [], [ready]]
    assert [each.seconds for each in looked[:2]] == [0.1, 0.1]


async def test_a_bucket_fills_by_the_clock(store: Store, claims: Claims) -> None:
    await limit(store, rate=2, burst=3)
    for _ in range(20):
        await store.run()

    async def taken(seconds: float) -> int:
        return len(await claims.ids(at=NOW + timedelta(seconds=seconds)))

    assert [await taken(at) for at in (0, 0, 0.4, 0.5, 0.9, 1.0, 60, 60.4)] == [3, 0, 0, 1, 0, 1, 3, 0]
    first = await claims.take(at=NOW + timedelta(seconds=60.4))
    assert first.remaining
    assert first.seconds == pytest.approx(0.1)


async def test_a_high_rate_is_not_claimed_one_by_one(store: Store, claims: Claims) -> None:
    await limit(store, rate=1000, tokens=0.0)
    await limit(store, "single", rate=1000, burst=1, tokens=0.0)
    await store.run()
    assert (await claims.take()).seconds == pytest.approx(0.02)
    lane = await store.lane(queue="single")
    await store.run(lane=lane)
    claims.lanes = [lane]
    assert (await claims.take()).seconds == pytest.approx(0.001)


async def test_a_clock_that_goes_back_takes_nothing_away_and_gives_nothing(
    store: Store, claims: Claims
) -> None:
    await limit(store, rate=1, burst=2)
    for _ in range(9):
        await store.run(available_at=NOW - timedelta(hours=1))
    ends = [len(await claims.ids(1, at=NOW + timedelta(seconds=at))) for at in (0, -100, -50, 0, 1)]
    assert ends == [1, 1, 0, 0, 1]


async def test_a_slow_rate_lets_the_first_one_go(store: Store, claims: Claims) -> None:
    await limit(store, rate=0.1, tokens=1.0)
    first, second = await store.run(), await store.run()
    assert await claims.ids() == [first]
    assert (await claims.take(at=NOW + timedelta(seconds=5))).seconds == pytest.approx(5)
    assert await claims.ids(at=NOW + timedelta(seconds=10)) == [second]
    assert (await claims.take(at=NOW + timedelta(seconds=10))).seconds is None


async def test_what_has_expired_or_is_cancelled_takes_no_place(store: Store, claims: Claims) -> None:
    await limit(store, concurrency=1, key_concurrency=1)
    await store.run(expires_at=NOW)
    await keyed(store, "a", cancel_requested_at=NOW)
    await store.run(available_at=NOW + timedelta(seconds=1))
    await store.run(company=1)
    good = await keyed(store, "a")
    assert await claims.ids() == [good]


async def test_a_paused_queue_and_a_dead_node_get_nothing(store: Store, claims: Claims) -> None:
    await limit(store, concurrency=5)
    await store.run()
    await store.execute("update sexton.queues set paused_at = $1", NOW)
    assert await claims.take() == Limited([], False, None)
    await store.execute("update sexton.queues set paused_at = null")
    await store.execute("update sexton.nodes set state = 'draining'")
    assert await claims.ids() == []


async def test_a_twice_crashed_run_is_claimed_only_alone_and_within_the_limits(
    store: Store, claims: Claims
) -> None:
    await limit(store, concurrency=2, key_concurrency=1)
    suspect, busy = await keyed(store, "a", company=1), await keyed(store, "a")
    assert await claims.ids() == [busy]
    assert (await claims.take(company=1)).rows == []
    await claims.queue.finish(claims.node, done(busy), now=NOW)
    other = await store.run(company=1)
    [row] = (await claims.take(company=1)).rows
    assert row["id"] in (suspect, other)
    [row] = (await claims.take(company=1)).rows
    assert (await claims.take(company=1)).rows == []


async def test_the_first_claim_fixes_the_revision(store: Store, claims: Claims) -> None:
    await limit(store, concurrency=1)
    job = await store.job(timeout_seconds=7)
    run = await store.run(job)
    await store.execute("update sexton.jobs set revision = 2, payload = '{\"n\": 2}' where id = $1", job)
    [row] = (await claims.take()).rows
    assert (row["revision"], row["payload"]) == (2, '{"n": 2}')
    live = await store.live(run)
    assert (live["revision"], live["deadline_at"]) == (2, NOW + timedelta(seconds=7))


async def test_runs_claimed_before_there_was_a_limit_count(store: Store, claims: Claims) -> None:
    first, second = await store.run(), await store.run()
    await claims.queue.claim(claims.node, claims.lanes, 1, now=NOW)
    await limit(store, concurrency=1)
    await claims.queue.count_in(claims.node, [first, second])
    assert await claims.ids() == []
    await claims.queue.finish(claims.node, done(first), now=NOW)
    assert await claims.ids() == [second]


async def test_who_waited_for_the_queue_counts_what_was_taken_meanwhile(
    store: Store, claims: Claims, queue: RunQueue
) -> None:
    """A statement sees what was there when it began: the count must not be in the one that waits."""
    await limit(store, concurrency=3)
    for _ in range(9):
        await store.run()
    others = [Claims(queue, await store.node(), claims.lanes) for _ in range(4)]
    taken = await asyncio.gather(*(each.take(2) for each in (claims, *others)))
    assert sum(len(each.rows) for each in taken) == 3
    assert all(each.remaining for each in taken)


async def test_a_locked_queue_is_left_for_later(store: Store, claims: Claims, database: Database) -> None:
    await limit(store, concurrency=3)
    run = await store.run()
    async with database.transaction() as holding:
        await database.fetch("claiming/lock_queues", on=holding, lanes=claims.lanes)
        assert await claims.take() == Limited([], True, 0.1)
    assert await claims.ids() == [run]


CROWD = """
insert into sexton.runs
    (job_id, lane, priority, available_at, scheduled_at, due_at, revision, concurrency_key, limited_by, state)
select $1, $2, 2, $3, $3, $3, 1, $4 || n % $5::int, $6, $7 from generate_series(1, $8::int) as n
"""


async def rows_of(
    database: Database, queue: RunQueue, node: int, lanes: list[int], most: int
) -> dict[str, int]:
    """The rows that the statements of a claim read, by index."""
    look = database.prepared(
        "claiming/read_limited", node=node, lanes=lanes, limit=most, now=NOW, company=None
    )
    async with queue.connection() as connection:
        ways = rows_read(await explain(connection, *look))
        found = await connection.fetch(look[0], *look[1])
        share = share_out([Stretch(*row) for row in found], most)
        chosen = database.prepared(
            "claiming/claim_chosen",
            node=node,
            now=NOW,
            runs=share.runs,
            queues=share.run_queues,
            noted=list(share.queues),
            tokens=[each.tokens for each in share.queues.values()],
            keys=[each.key for each in share.queues.values()],
            **CLAIM_DEFAULTS,
        )
        for way, rows in rows_read(await explain(connection, *chosen)).items():
            ways[way] = ways.get(way, 0) + rows
    return ways


@pytest.mark.parametrize("analyze_first", [True, False])
async def test_a_saturated_key_with_many_runs_costs_nothing(
    store: Store, claims: Claims, database: Database, analyze_first: bool
) -> None:
    limited = await limit(store, concurrency=50, key_concurrency=1)
    job, lane = await store.job(), await store.lane(keyed=True)
    if analyze_first:
        await store.execute("analyze sexton.runs")
    await store.execute(CROWD, job, lane, NOW, "big", 1, None, "pending", 20_000)
    await store.execute(CROWD, job, lane, NOW, "small", 30, None, "pending", 300)
    await store.execute(CROWD, job, lane, NOW, "big", 1, limited, "running", 1)
    if not analyze_first:
        await store.execute("analyze sexton.runs")
    ways = await rows_of(database, claims.queue, claims.node, [lane], 10)
    assert set(ways) <= {"runs_keyed", "runs_limited", "runs_claimable", "runs_pkey", "Tid Scan"}, ways
    assert sum(ways.values()) < 400, ways


@pytest.mark.parametrize("analyze_first", [True, False])
async def test_a_claim_under_limits_reads_what_it_takes(
    store: Store, claims: Claims, database: Database, analyze_first: bool
) -> None:
    limited = await limit(store, concurrency=25, rate=1000)
    job, lane = await store.job(), await store.lane()
    if analyze_first:
        await store.execute("analyze sexton.runs")
    await store.execute(CROWD, job, lane, NOW, None, 1, None, "pending", 20_000)
    await store.execute(CROWD, job, lane, NOW, None, 1, limited, "running", 15)
    if not analyze_first:
        await store.execute("analyze sexton.runs")
    ways = await rows_of(database, claims.queue, claims.node, [lane], 100)
    assert set(ways) <= {"runs_keyed", "runs_limited", "runs_claimable", "runs_pkey", "Tid Scan"}, ways
    assert ways["runs_limited"] == 15
    assert sum(ways.values()) < 200, ways
