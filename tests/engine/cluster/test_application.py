"""Whether two programs that have one name for their application may run at the same time."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from sexton.engine.cluster.application import Application
from sexton.engine.cluster.membership import Membership
from sexton.errors import Conflict
from sexton.postgres.database import Database
from tests.scheduling import execute, fetch

HERE = socket.gethostname()


def worker(
    file: str, *, name: str = "main", given: bool = False, host: str = HERE, process: int = 1
) -> Membership:
    return Membership(
        roles=["worker"],
        lease_seconds=15,
        name=f"{host}:{process}:abc",
        app=Application(name, file, given=given),
    )


async def test_another_file_of_this_machine_is_another_program(database: Database) -> None:
    await worker("/a/main.py", process=7).join(database)
    second = worker("/b/main.py")
    with pytest.raises(Conflict) as caught:
        await second.join(database)
    assert caught.value.code == "application_taken"
    assert "is the application main: /a/main.py, process 7; this one is /b/main.py" in caught.value.message
    assert "Sexton(name=" in str(caught.value.hint)
    assert second.node is None
    assert len(await fetch(database, "select from sexton.nodes")) == 1


@pytest.mark.parametrize(
    "other",
    [
        worker("/a/main.py", process=2),
        worker("/releases/2/main.py", given=True),
        worker("/b/main.py", name="other"),
        worker("/b/main.py", host="elsewhere"),
    ],
    ids=["the same file", "a version of what has a name", "another name", "another machine"],
)
async def test_what_may_run_beside_it(database: Database, other: Membership) -> None:
    await worker("/a/main.py").join(database)
    assert await other.join(database) == other.node


async def test_a_name_that_was_given_is_not_for_a_file_of_that_name(database: Database) -> None:
    await worker("/srv/shop/jobs.py", name="main", given=True).join(database)
    with pytest.raises(Conflict, match=r"/srv/shop/jobs\.py"):
        await worker("/b/main.py").join(database)


@pytest.mark.parametrize(
    "end", ["update sexton.nodes set state = 'dead'", "update sexton.nodes set lease_until = now()"]
)
async def test_one_that_is_gone_does_not_block_the_name(database: Database, end: str) -> None:
    await worker("/a/main.py").join(database)
    await execute(database, end)
    assert await worker("/b/main.py").join(database)


async def test_of_two_that_start_at_once_one_is_refused(database: Database) -> None:
    ends = await asyncio.gather(
        *(worker(f"/{each}/main.py", process=each).join(database) for each in range(4)),
        return_exceptions=True,
    )
    assert sorted(type(end).__name__ for end in ends) == ["Conflict", "Conflict", "Conflict", "int"]


async def test_the_same_name_on_another_machine_is_told(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    await worker("/a/main.py", host="web-1").join(database)
    with caplog.at_level(logging.WARNING, "sexton"):
        await worker("/b/main.py", host="web-2").join(database)
    assert "the application main runs from /a/main.py on web-1, too, and from /b/main.py here" in caplog.text
    caplog.clear()
    await worker("/b/main.py", host="web-3", given=True).join(database)
    assert caplog.text == ""
