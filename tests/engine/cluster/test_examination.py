"""What `sexton doctor` says of schedules: jobs that are set aside, and zone databases that differ."""

from __future__ import annotations

from typing import Any

from sexton.engine.cluster.examination import _judge_schedules
from sexton.postgres.database import Database
from sexton.schedules.zone import zone_version
from tests.engine.upkeep.test_replanner import (
    ZONE,
    record,
    replanner,
    shifted,
    under_old_rules,
)
from tests.scheduling import Stage, add_job, execute


async def judged(database: Database) -> tuple[str, list[tuple[str, bool]]]:
    facts: dict[str, Any] = {}
    found = await _judge_schedules(database, facts)
    return facts["zone database"], [(each.what, each.serious) for each in found]


async def test_nothing_to_say(database: Database) -> None:
    await add_job(database, timezone=ZONE)
    await replanner(database).tick()
    assert await judged(database) == (f"{zone_version()} here, {zone_version()} in the database", [])


async def test_jobs_that_are_set_aside_are_named_with_the_reason(database: Database) -> None:
    job = await add_job(database, name="broken")
    await execute(database, "insert into sexton.problems values ($1, 1, 'no such zone')", job)
    _, [(what, serious)] = await judged(database)
    assert serious
    assert what.endswith("1 job is set aside, because the schedule cannot be computed: broken: no such zone")


async def test_due_times_that_were_moved_are_told(database: Database) -> None:
    await record(database, shifted(1))
    await under_old_rules(database)
    await replanner(database).tick()
    _, [(what, serious)] = await judged(database)
    assert not serious
    assert f"{ZONE} (1 job)" in what


async def test_a_node_that_is_behind_is_named(database: Database) -> None:
    await record(database, shifted(0), version="2999z")
    assert [serious for _, serious in (await judged(database))[1]] == [True]
    await Stage(database).lead()
    await replanner(database).tick()
    fact, [(what, serious)] = await judged(database)
    assert fact == f"{zone_version()} here, 2999z in the database"
    assert serious
    assert what.endswith("older ones are in use: test:1:aaaaaa")
    await Stage.close_all()
