"""Statements include what they share."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import asyncpg
import pytest

from sexton.postgres.database import Database
from sexton.postgres.statement import INCLUDE, STATEMENTS, load


def names(folder: str = "") -> set[str]:
    """The statements, or the parts."""
    files = STATEMENTS.joinpath(folder).iterdir()
    return {file.name.removesuffix(".sql") for file in files if file.name.endswith(".sql")}


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
    assert load("get", folder) == f"select\n{part}\nunion all select\n{part}\nfrom runs as run\n"


def test_a_statement_without_parts_stays_as_it_is(folder: Path) -> None:
    text = "-- Those that include: columns are not meant.\nselect 1 -- include: columns\n"
    (folder / "get.sql").write_text(text)
    assert load("get", folder) == text


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
    texts = (STATEMENTS.joinpath(f"{name}.sql").read_text("utf-8") for name in names())
    included = {part for text in texts for part in INCLUDE.findall(text)}
    assert included == names("parts")
    for part in sorted(included):
        lines = STATEMENTS.joinpath("parts", f"{part}.sql").read_text("utf-8").splitlines()
        head = list(takewhile(lambda line: line.startswith("-- "), lines))
        assert any("Expects " in line for line in head), part


async def test_postgresql_understands_every_statement(database: Database) -> None:
    refused = {}
    async with database.connection() as connection:
        for name in sorted(names()):
            try:
                await connection.prepare(database.statement(name))
            except asyncpg.PostgresError as error:
                refused[name] = str(error)
    assert refused == {}
