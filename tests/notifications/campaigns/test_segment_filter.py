"""Filters on recipients, evaluated by PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.errors import InvalidField
from sexton.notifications.campaigns.audience import delete_segment, get_segment, list_segments, put_segment
from sexton.notifications.campaigns.segment_filter import compile_filter
from sexton.notifications.campaigns.spec import SegmentSpec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from tests.notifications.crowd import add_recipients

PEOPLE: dict[str, dict[str, Any]] = {
    "ann": {"country": "DE", "age": 30, "plan": {"name": "pro"}, "tags": ["vip", "beta"]},
    "bob": {"country": "US", "age": 17.5, "plan": {"name": "free"}},
    "eve": {"country": 'D"E', "vip": True, "note": "50% off. Really?"},
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"field": "country", "is": "DE"}, "ann"),
        ({"field": "fields.country", "is": 'D"E'}, "eve"),
        ({"field": "country", "is_not": "DE"}, "bob eve"),
        ({"field": "age", "is": None}, "eve"),
        ({"field": "country", "in": ["DE", "US"]}, "ann bob"),
        ({"field": "country", "not_in": ["DE", "US"]}, "eve"),
        ({"field": "age", "above": 17.5}, "ann"),
        ({"field": "age", "at_least": 17.5}, "ann bob"),
        ({"field": "age", "below": 30}, "bob"),
        ({"field": "age", "at_most": 30}, "ann bob"),
        ({"field": "plan.name", "begins_with": "pr"}, "ann"),
        ({"field": "note", "contains": "% off. R"}, "eve"),
        ({"field": "note", "contains": "..."}, ""),
        ({"field": "tags", "contains": "vip"}, "ann"),
        ({"field": "vip", "is": True}, "eve"),
        ({"field": "vip", "exists": True}, "eve"),
        ({"field": "vip", "exists": False}, "ann bob"),
        ({"has": "email"}, "ann bob eve"),
        ({"has": "phone"}, ""),
        ({"field": "timezone", "is": "UTC"}, "ann bob eve"),
        ({"field": "user_id", "is": "ann1"}, "ann"),
        ({"all": [{"field": "age", "above": 18}, {"not": {"field": "country", "is": "US"}}]}, "ann"),
        ({"any": [{"field": "age", "above": 18}, {"field": "vip", "is": True}]}, "ann eve"),
        ({"field": 'no "such" field', "is": 1}, ""),
    ],
)
async def test_conditions(database: Database, given: Any, expected: str) -> None:
    context = Context(database, actor="tester")
    for name, fields in PEOPLE.items():
        await add_recipients(database, 1, prefix=name, fields=fields)
    path = compile_filter(given)
    async with database.connection() as connection:
        rows = await connection.fetch(
            database.sql(
                """select user_id from sexton.recipients where jsonb_path_match(
                    jsonb_strip_nulls(jsonb_build_object(
                        'user_id', user_id, 'email', email, 'phone', phone, 'timezone', timezone
                    )) || jsonb_build_object('fields', coalesce(fields, '{}')), $1::text::jsonpath, '{}', true
                ) order by user_id"""
            ),
            path,
        )
    assert [row["user_id"] for row in rows] == [f"{name}1" for name in expected.split()]
    made = await put_segment(context, "some", SegmentSpec(filter=given))
    assert (made.recipients, made.filter) == (len(rows), given)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "filter"),
        ([], "filter"),
        ({"field": "a"}, "filter"),
        ({"field": "a", "is": 1, "above": 2}, "filter"),
        ({"field": "a", "equals": 1}, "filter"),
        ({"field": "", "is": 1}, "filter.field"),
        ({"field": "a..b", "is": 1}, "filter.field"),
        ({"field": "a", "in": []}, "filter.in"),
        ({"field": "a", "above": [1]}, "filter.above"),
        ({"all": []}, "filter.all"),
        ({"all": [{"field": "a", "is": 1}], "any": []}, "filter"),
        ({"all": [{"field": "a", "is": {}}]}, "filter.all[0].is"),
        (
            {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"has": "email"}}}}}}}}},
            "filter" + ".not" * 8,
        ),
    ],
)
def test_what_is_refused(given: Any, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        compile_filter(given)
    assert refused.value.field == field
    assert refused.value.hint


async def test_segments_are_kept_by_name(database: Database) -> None:
    context = Context(database, actor="ann")
    await put_segment(context, "b", SegmentSpec(filter={"has": "email"}))
    await put_segment(context, "a", SegmentSpec(filter={"has": "phone"}, description="by phone"))
    assert [each.name for each in (await list_segments(context, cursor=None, limit=10)).items] == ["a", "b"]
    page = await list_segments(context, cursor=None, limit=1)
    assert [each.name for each in (await list_segments(context, cursor=page.cursor, limit=1)).items] == ["b"]
    await delete_segment(context, "a")
    with pytest.raises(Exception, match="there is no segment a"):
        await get_segment(context, "a")
