"""A view of a row takes each field from the column of its name, and misses none."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from sexton.postgres.database import Database
from sexton.postgres.row import from_row


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str | None = None
    count: int = 0


def test_fields_are_given_or_come_from_columns() -> None:
    row = {"id": 7, "name": "a", "count": 2, "other": 3}
    assert from_row(Shown, row, id="j_7") == Shown(id="j_7", name="a", count=2)


@pytest.mark.parametrize("row", [{"name": "a"}, {"id": 1, "name": "a", "cuont": 2}])
def test_a_column_that_is_missing_is_refused_though_its_field_has_a_default(
    row: Mapping[str, object],
) -> None:
    with pytest.raises(TypeError, match="no column for count of Shown"):
        from_row(Shown, row, id="j_7")


async def test_each_statement_is_checked_by_itself(database: Database) -> None:
    async with database.connection() as connection:
        whole = await connection.fetchrow("select 'a' as name, 2 as count")
        partly = await connection.fetchrow("select 'a' as name")
    assert whole is not None
    assert partly is not None
    assert from_row(Shown, whole, id="j_7") == Shown(id="j_7", name="a", count=2)
    with pytest.raises(TypeError, match="no column for count"):
        from_row(Shown, partly, id="j_7")
