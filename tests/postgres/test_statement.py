"""Statements include what they share."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import asyncpg
import pytest

from sexton.postgres.database import Database
from sexton.postgres.statement import INCLUDE, PARTS, STATEMENTS, Statement, load, names


def parts() -> set[str]:
    return {file.name.removesuffix(".sql") for file in STATEMENTS.joinpath(PARTS).iterdir()}


def source(name: str) -> str:
    return STATEMENTS.joinpath(*f"{name}.sql".split("/")).read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "columns.sql").write_text("-- Expects run.\nrun.id, run.claim\n")
    return tmp_path


def test_a_part_stands_where_it_is_included(folder: Path) -> None:
    (folder / "get.sql").write_text(
        "select\n-- include: columns\nunion all select\n    -- include: columns\nfrom runs as run\n"
    )
    part = "-- Expects run.\nrun.id, run.claim"
    assert load("get", folder).text == f"select\n{part}\nunion all select\n{part}\nfrom runs as run\n"


def test_a_statement_without_parts_stays_as_it_is(folder: Path) -> None:
    text = "-- Those that include: columns are not meant.\nselect 1 -- include: columns\n"
    (folder / "get.sql").write_text(text)
    assert load("get", folder).text == text


def test_a_part_that_is_missing_is_named_with_who_wants_it(folder: Path) -> None:
    (folder / "get.sql").write_text("select\n-- include: colums\n")
    with pytest.raises(
        LookupError, match=r"statements/get\.sql includes colums, .* no statements/parts/colums\.sql"
    ):
        load("get", folder)


def test_a_part_includes_no_other(folder: Path) -> None:
    (folder / "parts" / "all.sql").write_text("-- include: columns\n")
    (folder / "get.sql").write_text("select\n-- include: all\n")
    with pytest.raises(
        LookupError, match=r"parts/all\.sql includes columns, .* in statements/get\.sql itself"
    ):
        load("get", folder)


def test_every_part_is_included_somewhere_and_says_what_it_expects() -> None:
    included = {part for name in names() for part in INCLUDE.findall(source(name))}
    assert included == parts()
    for part in sorted(included):
        lines = STATEMENTS.joinpath("parts", f"{part}.sql").read_text("utf-8").splitlines()
        head = list(takewhile(lambda line: line.startswith("-- "), lines))
        assert any("Expects " in line for line in head), part


def test_named_parameters_become_positions() -> None:
    read = Statement.read("get", "select :job_id::bigint, :name, ':text' -- :comment\nwhere id = :job_id")
    assert read.text == "select $1::bigint, $2, ':text' -- :comment\nwhere id = $1"
    assert read.parameters == ("job_id", "name")
    assert read.arguments({"name": "a", "job_id": 7}) == [7, "a"]


@pytest.mark.parametrize("given", [{}, {"job_id": 7}, {"job_id": 7, "name": "a", "limit": 1}])
def test_parameters_that_do_not_fit_are_named(given: dict[str, object]) -> None:
    read = Statement.read("jobs/get", "select :job_id, :name")
    with pytest.raises(TypeError, match=r"statements/jobs/get\.sql lacks .* does not take"):
        read.arguments(given)


def test_every_statement_names_its_parameters() -> None:
    texts = {name: source(name) for name in [*names(), *(f"{PARTS}/{part}" for part in parts())]}
    assert [name for name, text in texts.items() if re.search(r"\$\d", text)] == []


async def test_postgresql_understands_every_statement(database: Database) -> None:
    refused = {}
    async with database.connection() as connection:
        for name in sorted(names()):
            try:
                await connection.prepare(load(name).text)
            except asyncpg.PostgresError as error:
                refused[name] = str(error)
    assert refused == {}
