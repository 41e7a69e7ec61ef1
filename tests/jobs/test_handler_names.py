"""Handlers of several applications, by name: what a job may say, what is refused, and what is warned of."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from sexton.errors import InvalidField, RefusedLines
from sexton.jobs.bulk import create_many, put_many
from sexton.jobs.create import create
from sexton.jobs.edit import edit, replace
from sexton.jobs.filter import JobFilter
from sexton.jobs.read import get, list_jobs
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.jobs.making import HOUR, NOW, rows, spec

SEVERAL = "several applications have a handler tick (one, two)"


@pytest_asyncio.fixture
async def context(database: Database) -> Context:
    """Two applications live; both have a handler `tick`."""
    async with database.connection() as connection:
        for number, app, handlers in (
            (1, "one", ["tick", "own"]),
            (2, "one", ["tick"]),
            (3, "two", ["tick", "sexton.noop"]),
            (4, "old", ["gone"]),
        ):
            await connection.execute(
                database.sql(
                    """insert into sexton.nodes (name, roles, app, handlers, lease_until, version)
                    values ('host:' || $1, '{worker}', $2, $3, $4, '0')"""
                ),
                str(number), app, handlers, NOW + (HOUR if app != "old" else -HOUR),
            )  # fmt: skip
    return Context(database, now=NOW)


def job(handler: str, name: str = "a", **fields: Any) -> Any:
    return spec(name=name, target={"handler": handler}, **fields)


async def test_a_name_that_several_applications_have_is_refused(context: Context) -> None:
    for make in (create(context, job("tick")), create(context, spec(name="tick", target=None))):
        with pytest.raises(InvalidField) as caught:
            await make
        assert caught.value.to_dict() == {
            "code": "ambiguous_handler",
            "message": SEVERAL,
            "field": "target.handler",
            "hint": "write one:tick or two:tick",
        }
    assert await rows(context.database, "select from sexton.jobs") == []


@pytest.mark.parametrize("handler", ["one:tick", "two:tick", "own", "gone", "unknown", "sexton.noop"])
async def test_what_says_which_one_is_meant_is_made_as_it_stands(context: Context, handler: str) -> None:
    assert (await create(context, job(handler))).target == {"handler": handler}
    [lane] = await rows(context.database, "select handler from sexton.lanes")
    assert lane["handler"] == handler


async def test_many_at_once_are_refused_by_line(context: Context) -> None:
    for make in (create_many, put_many):
        items = [job("one:tick", "a"), job("tick", "b"), job("own", "c"), job("tick", "d")]
        with pytest.raises(RefusedLines) as caught:
            await make(context, items)
        assert [(line, error.message) for line, error in caught.value.errors] == [(2, SEVERAL), (4, SEVERAL)]
    bad = {"name": "e", "schedule": "every 1h", "priority": 9}
    with pytest.raises(RefusedLines) as caught:
        await create_many(context, [bad, job("tick", "b")])
    assert [line for line, _ in caught.value.errors] == [1, 2]
    assert await rows(context.database, "select from sexton.jobs") == []


async def test_an_edit_is_refused_only_where_it_names_the_handler(context: Context) -> None:
    await create(context, job("own"))
    for change in (
        edit(context, "a", {"target": {"handler": "tick"}}),
        replace(context, "a", job("tick")),
    ):
        with pytest.raises(InvalidField, match="several applications"):
            await change
    assert (await edit(context, "a", {"target": {"handler": "two:tick"}})).revision == 2
    # Made while there was one application; the other came later.
    before = Context(context.database, now=NOW + 2 * HOUR)
    await create(before, job("tick", "b"))
    changed = await edit(context, "b", {"priority": 0})
    assert changed.warnings == [f"{SEVERAL}: runs stay pending until the target names one, one:tick"]
    assert [each.result for each in await put_many(context, [job("tick", "b", priority=0)])] == ["unchanged"]


@pytest.mark.parametrize(
    ("handler", "warning"),
    [
        ("one:tick", None),
        ("own", None),
        ("sexton.noop", None),
        (
            "two:own",
            "no live worker of the application two has the handler own: runs stay pending until one does",
        ),
        ("gone", "no live worker has the handler gone: runs stay pending until one does"),
    ],
)
async def test_the_warning_names_the_application(context: Context, handler: str, warning: str | None) -> None:
    assert (await create(context, job(handler))).warnings == ([] if warning is None else [warning])


async def test_without_any_worker_the_warning_names_the_application(database: Database) -> None:
    made = await create(Context(database, now=NOW), job("one:tick"))
    assert made.warnings == [
        "no worker is running: runs stay pending until one of the application one with the handler tick is"
    ]


@pytest.mark.parametrize("handler", [":tick", "one:", " :tick", "one: ", "x" * 201, "x" * 201 + ":tick"])
async def test_what_is_no_name_is_refused(context: Context, handler: str) -> None:
    with pytest.raises(InvalidField) as caught:
        await create(context, job(handler))
    assert caught.value.field == "target.handler"


async def test_jobs_are_listed_by_handler_with_or_without_its_application(context: Context) -> None:
    for name, handler in (("a", "one:tick"), ("b", "two:tick"), ("c", "own"), ("d", "one:own")):
        await create(context, job(handler, name))
    for target, names in (
        ("tick", "ab"), ("one:tick", "a"), ("own", "cd"), ("two:own", ""), ("handler", "abcd"), ("http", ""),
    ):  # fmt: skip
        page = await list_jobs(context, JobFilter(target=target))
        assert "".join(each.name for each in page.items) == names
    assert (await get(context, "a")).target == {"handler": "one:tick"}
