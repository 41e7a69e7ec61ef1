"""What an application changes is in the audit, in the name of the application or of its caller."""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sexton import Sexton
from sexton.app.commands import Commands
from sexton.errors import InvalidField
from sexton.postgres.database import Database
from tests.changes import entries, tables
from tests.seeding import Store

FAR = datetime(2100, 1, 1, tzinfo=UTC)
PAST = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def app(database_url: str) -> Sexton:
    return Sexton(database_url, name="shop")


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database)


Work = Callable[[Sexton], Awaitable[Any]]


async def _cancel(app: Sexton) -> None:
    await app.cancel_run(await app.run_now("there"))


CHANGING: dict[str, tuple[Work, str]] = {
    "schedule": (lambda app: app.schedule("work", at=FAR), "job.created"),
    "schedule_many": (lambda app: app.schedule_many("work", [{"at": FAR}]), "job.created"),
    "edit": (lambda app: app.edit("there", owner="ada"), "job.edited"),
    "pause": (lambda app: app.pause("there"), "job.paused"),
    "resume": (lambda app: app.resume("paused"), "job.resumed"),
    "reschedule": (lambda app: app.reschedule("there", after="10m"), "job.rescheduled"),
    "run_now": (lambda app: app.run_now("there"), "job.run"),
    "backfill": (
        lambda app: app.backfill("there", PAST, PAST.replace(hour=3)),
        "job.backfilled",
    ),
    "delete": (lambda app: app.delete("there"), "job.deleted"),
    "restore": (lambda app: app.restore("gone"), "job.restored"),
    "cancel_run": (_cancel, "run.cancelled"),
    "pause_many": (lambda app: app.pause_many(status="active"), "job.paused"),
    "resume_many": (lambda app: app.resume_many(status="paused"), "job.resumed"),
    "run_many": (lambda app: app.run_many(status="active"), "job.run"),
    "label_many": (lambda app: app.label_many({"team": "billing"}, status="active"), "job.edited"),
    "delete_many": (lambda app: app.delete_many(status="active"), "job.deleted"),
}
READING = {"get", "list", "history", "why", "result"}


def test_every_command_of_an_application_has_a_case() -> None:
    commands = {
        name for name, each in vars(Commands).items() if inspect.iscoroutinefunction(each) and name[0] != "_"
    }
    assert commands == {*CHANGING, *READING}


@pytest.mark.parametrize("name", CHANGING)
async def test_every_change_is_in_the_audit(app: Sexton, store: Store, name: str) -> None:
    work, action = CHANGING[name]
    async with app.connected():
        await app.schedule("work", schedule="@hourly", name="there")
        await app.schedule("work", schedule="@hourly", name="paused")
        await app.pause("paused")
        await app.schedule("work", schedule="@hourly", name="gone")
        await app.delete("gone")
        before, told = await tables(store), len(await entries(store))
        await work(app)
    assert await tables(store) != before
    entry = (await entries(store))[told:][-1]
    assert entry["action"] == action
    assert (entry["actor"], entry["face"], entry["address"]) == ("app:shop", "python", socket.gethostname())


async def test_in_the_name_of_a_caller(app: Sexton, store: Store) -> None:
    async with app.connected():
        with app.acting("ada@example.com", reason="a ticket", request_id="r-1"):
            await app.schedule("work", schedule="@hourly", name="a")
            with app.acting(reason="another"):
                await app.pause("a", reason="mail server moves")
        await app.resume("a")
    found = [(each["actor"], each["reason"], each["request_id"]) for each in await entries(store)]
    assert found == [
        ("ada@example.com", "a ticket", "r-1"),
        ("app:shop", "mail server moves", None),
        ("app:shop", None, None),
    ]


async def test_callers_at_the_same_time_are_told_apart(app: Sexton, store: Store) -> None:
    async def make(name: str) -> None:
        with app.acting(f"user:{name}"):
            await app.schedule("work", schedule="@hourly", name=name)

    async with app.connected():
        await asyncio.gather(*(make(f"n{number}") for number in range(5)))
    found = await entries(store)
    assert {(each["actor"], each["object_name"]) for each in found} == {
        (f"user:n{number}", f"n{number}") for number in range(5)
    }


def test_in_the_name_of_a_caller_without_an_event_loop(app: Sexton, database_url: str) -> None:
    with app.acting("ada"):
        app.sync.schedule("work", schedule="@hourly", name="a")
    app.sync.close()

    async def read() -> list[dict[str, Any]]:
        database = await Database.open(database_url)
        try:
            return await entries(Store(database))
        finally:
            await database.close()

    assert [each["actor"] for each in asyncio.run(read())] == ["ada"]


@pytest.mark.parametrize("actor", ["", "a\0b", "x" * 1001])
def test_a_bad_name_is_refused(app: Sexton, actor: str) -> None:
    with pytest.raises(InvalidField, match="actor"), app.acting(actor):
        pass


async def test_declared_jobs_are_the_applications_own(app: Sexton, store: Store, database: Database) -> None:
    @app.job("@hourly")
    async def tick() -> None: ...

    await app._declare(database)
    [entry] = await entries(store)
    assert (entry["action"], entry["actor"], entry["object_name"]) == ("job.created", "app:shop", "tick")
