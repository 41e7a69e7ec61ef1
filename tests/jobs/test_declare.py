"""Jobs in code: only those of the application, only when their declaration changed."""

from __future__ import annotations

import asyncio
import os
import socket
from datetime import datetime
from typing import Any

import pytest

from sexton.errors import Conflict
from sexton.jobs import declare as declaring
from sexton.jobs.declare import check_names, declare, fingerprint, pause_vanished, vanished
from sexton.jobs.edit import edit
from sexton.jobs.read import get
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import delete, pause
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.jobs.making import HOUR, MINUTE, NOW, make, rows, spec, value


def jobs(*names: str, **fields: Any) -> dict[str, JobSpec]:
    return {name: spec(name=name, **fields) for name in names}


async def live_node(
    database: Database, name: str, *handlers: str, app: str = "shop", until: datetime
) -> None:
    async with database.connection() as connection:
        await connection.execute(
            database.sql(
                """insert into sexton.nodes (name, roles, app, namespace, handlers, lease_until, version)
                values ($1, '{worker}', $2, 'default', $3, $4, '0')"""
            ),
            name, app, list(handlers), until,
        )  # fmt: skip


async def test_declared_jobs_are_made_once_and_left_alone(database: Database) -> None:
    done = await declare(Context(database, now=NOW), "shop", jobs("a", "b"))
    assert done.created == ["a", "b"]
    assert {job.app for job in (await get(Context(database), "a"), await get(Context(database), "b"))} == {
        "shop"
    }
    await edit(Context(database, now=NOW), "a", {"priority": 0})
    again = await declare(Context(database, now=NOW + MINUTE / 2), "shop", jobs("a", "b"))
    assert (again.created, again.changed, again.paused) == ([], [], [])
    # What was changed by hand stays.
    assert (await get(Context(database), "a")).priority == 0


async def test_other_readings_of_a_declared_schedule_are_logged(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Once for each declaration; not that no worker has its handler, which is about to start."""
    for _ in range(2):
        await declare(Context(database, now=NOW), "shop", jobs("a", schedule="0 9 * * * 0"))
    await declare(Context(database, now=NOW), "shop", jobs("a", schedule="*/90 * * * *"))
    seconds_last, step = [record.getMessage() for record in caplog.records]
    assert seconds_last.startswith("the job a of shop: the first of the six fields")
    assert step.startswith("the job a of shop: */90 in the field minute matches 0 only")


async def test_a_changed_declaration_is_carried_over(database: Database) -> None:
    await declare(Context(database, now=NOW), "shop", jobs("a"))
    done = await declare(Context(database, now=NOW), "shop", jobs("a", payload={"n": 1}))
    assert done.changed == ["a"]
    shown = await get(Context(database), "a")
    assert (shown.payload, shown.revision, shown.app) == ({"n": 1}, 2, "shop")
    assert (await declare(Context(database, now=NOW), "shop", jobs("a", payload={"n": 1}))).changed == []


async def test_a_name_that_belongs_to_another_job_is_refused_and_nothing_is_done(database: Database) -> None:
    context = Context(database, now=NOW)
    made = await make(database, name="a", priority=0)
    await declare(context, "other", jobs("b", priority=0))
    for names, message, hint in (
        ("ac", f"the name a belongs to a job that no application declares, {made.job_id}", "jobs delete a"),
        ("bc", "the name b belongs to a job of the application other", 'Sexton(name="other")'),
        ("abc", ", and 1 more", "another name="),
    ):
        for refuse in (check_names, declare):
            with pytest.raises(Conflict) as caught:
                await refuse(context, "shop", jobs(*names))
            assert caught.value.code == "name_taken"
            assert message in caught.value.message
            assert caught.value.hint is not None
            assert hint in caught.value.hint
    assert [row["name"] for row in await rows(database, "select name from sexton.jobs")] == ["a", "b"]
    assert (await declare(context, "shop", jobs("c"))).created == ["c"]
    assert [(await get(Context(database), name)).priority for name in ("a", "b")] == [0, 0]
    assert (await declare(context, "other", {})).paused == ["b"]
    assert (await get(Context(database), "c")).status == "active"


async def test_a_name_that_another_application_takes_meanwhile_is_refused_too(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen that it is free."""
    context = Context(database, now=NOW)
    looked = asyncio.Barrier(2)
    read = declaring._rows

    async def read_together(*given: Any) -> Any:
        found = await read(*given)
        if not found:
            await looked.wait()
        return found

    monkeypatch.setattr(declaring, "_rows", read_together)
    ends = await asyncio.gather(
        declare(context, "shop", jobs("a")), declare(context, "other", jobs("a")), return_exceptions=True
    )
    assert sorted(type(end).__name__ for end in ends) == ["Conflict", "Declared"]
    assert len(await rows(database, "select * from sexton.jobs")) == 1


async def test_a_declared_job_names_the_handler_of_its_own_application(database: Database) -> None:
    declared = {
        **jobs("a"),
        **jobs("b", target={"handler": "a"}),
        **jobs("c", target={"handler": "beside"}),
        **jobs("d", target={"handler": "foreign"}),
        **jobs("e", target={"handler": "other:a"}),
        **jobs("f", target={"handler": "sexton.noop"}),
    }
    await declare(Context(database, now=NOW), "shop", declared, ["beside"])
    shown = [(await get(Context(database), name)).target for name in "abcdef"]
    assert [target and target["handler"] for target in shown] == [
        "shop:a", "shop:a", "shop:beside", "foreign", "other:a", "sexton.noop",
    ]  # fmt: skip


async def test_a_vanished_job_is_paused_with_the_reason_and_comes_back(database: Database) -> None:
    await declare(Context(database, now=NOW), "shop", jobs("a", "b"))
    done = await declare(Context(database, now=NOW), "shop", jobs("a"))
    assert done.paused == ["b"]
    gone = await get(Context(database), "b")
    assert (gone.status, gone.paused_reason) == ("paused", vanished("shop"))
    done = await declare(Context(database, now=NOW), "shop", jobs("a", "b"))
    assert done.resumed == ["b"]
    assert (await get(Context(database), "b")).status == "active"


async def test_a_job_that_a_person_paused_stays_paused(database: Database) -> None:
    await declare(Context(database, now=NOW), "shop", jobs("a"))
    await pause(Context(database, now=NOW), "a", reason="freeze")
    done = await declare(Context(database, now=NOW), "shop", jobs("a", payload=1))
    assert (done.changed, done.resumed) == (["a"], [])
    assert (await get(Context(database), "a")).status == "paused"


async def test_what_another_live_node_declares_is_not_paused(database: Database) -> None:
    await declare(Context(database, now=NOW), "shop", jobs("a", "b", "c"))
    mine = f"{socket.gethostname()}:{os.getpid()}:abc"
    await live_node(database, mine, "c", until=NOW + HOUR)
    await live_node(database, "elsewhere:1:abc", "a", "b", until=NOW + HOUR)
    await live_node(database, "elsewhere:2:abc", "c", app="another", until=NOW + HOUR)
    assert (await declare(Context(database, now=NOW), "shop", jobs("a"))).paused == ["c"]
    assert await pause_vanished(Context(database, now=NOW + 2 * HOUR), "shop", jobs("a")) == ["b"]


async def test_a_single_time_that_was_removed_after_its_end_is_not_made_again(database: Database) -> None:
    once = jobs("a", schedule="2026-06-03T13:00:00Z", missed_window="RUN_ONCE")
    await declare(Context(database, now=NOW), "shop", once)
    await delete(Context(database, now=NOW + HOUR), "a")
    assert (await declare(Context(database, now=NOW + HOUR), "shop", once)).created == []
    later = jobs("a", schedule="2026-06-03T15:00:00Z", missed_window="RUN_ONCE")
    assert (await declare(Context(database, now=NOW + HOUR), "shop", later)).created == ["a"]
    assert await value(database, "select count(*) from sexton.timers") == 1


async def test_a_single_time_in_the_past_is_told_and_does_not_stop_the_others(database: Database) -> None:
    declared = {**jobs("a", schedule="2026-06-01T00:00:00Z"), **jobs("b")}
    done = await declare(Context(database, now=NOW), "shop", declared)
    assert done.created == ["b"]
    assert "is over" in done.refused["a"]


async def test_processes_that_start_at_once_make_one_of_each(database: Database) -> None:
    await asyncio.gather(
        *(declare(Context(database, now=NOW), "shop", jobs("a", "b", "c")) for _ in range(4))
    )
    assert len(await rows(database, "select * from sexton.jobs")) == 3
    await asyncio.gather(
        *(declare(Context(database, now=NOW), "shop", jobs("a", payload=1)) for _ in range(4))
    )
    assert (await get(Context(database), "a")).revision == 2


@pytest.mark.parametrize("fields", [{"payload": 1}, {"schedule": "every 1m"}, {"labels": {"a": "b"}}])
def test_every_field_is_part_of_the_declaration(fields: dict[str, Any]) -> None:
    assert fingerprint(spec(**fields)) != fingerprint(spec())
    assert fingerprint(spec(payload={"a": 1, "b": 2})) == fingerprint(spec(payload={"b": 2, "a": 1}))
