"""Many actions at once: all of a chunk or none, errors by line, one entry of the audit."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sexton.content.bulk import CsvReader, create_many
from sexton.content.entity import get_entity, put_entity
from sexton.content.model import Entity
from sexton.content.read import list_schedules, view
from sexton.content.spec import EntitySpec
from sexton.errors import InvalidField, RefusedLines
from sexton.model import decode_id
from sexton.postgres.transaction import Context
from sexton.testing import Engine


def line(number: int = 1, **fields: Any) -> bytes:
    given: dict[str, Any] = {
        "entity_type": "post",
        "entity_id": number,
        "action": "publish",
        "created_by": "ann",
        "local_time": "2027-03-02 09:00",
        "timezone": "Europe/Berlin",
    }
    return msgspec.json.encode({**given, **fields})


async def errors_of(context: Context, *lines: bytes, **more: Any) -> list[tuple[int, str]]:
    with pytest.raises(RefusedLines) as refused:
        await create_many(context, lines, **more)
    return [(number, error.message) for number, error in refused.value.errors]


async def test_what_is_imported_is_as_if_it_was_planned_one_by_one(context: Context, engine: Engine) -> None:
    await put_entity(context, Entity("post", "1"), EntitySpec(body={}))
    single, series = await create_many(
        context, [line(), line(2, recurrence_rule="FREQ=WEEKLY", max_retries=1, note="weekly", version=3)]
    )
    shown = await view(context, decode_id("c", series) or 0)
    assert (shown.status, shown.max_retries, shown.note, shown.version) == ("pending", 1, "weekly", 3)
    assert len(shown.next_times) == 5
    assert shown.scheduled_at_utc == shown.next_times[0]
    await engine.advance(days=1)
    assert (await view(context, decode_id("c", single) or 0)).status == "done"
    assert (await get_entity(context, Entity("post", "1"))).state == "published"


async def test_a_chunk_is_planned_whole_or_not_at_all(context: Context, engine: Engine) -> None:
    errors = await errors_of(
        context,
        line(),
        line(2, timezone="Mars/Base"),
        b"{",
        line(3, action="burn"),
        line(4, local_time="soon"),
    )
    assert [number for number, _ in errors] == [2, 3, 4, 5]
    assert (await list_schedules(context)).items == []


async def test_times_that_are_over_are_refused_by_line(context: Context, engine: Engine) -> None:
    [(number, message)] = await errors_of(context, line(), line(2, local_time="2020-01-01 09:00"))
    assert number == 2
    assert "2020" in message


async def test_contradictions_are_told_by_line(context: Context, engine: Engine) -> None:
    await put_entity(context, Entity("post", "9"), EntitySpec(body={}))
    [there] = await create_many(context, [line()])
    errors = await errors_of(
        context, line(), line(2), line(2), line(9, action="unpublish"), line(7, action="unpublish")
    )
    assert [number for number, _ in errors] == [1, 3, 4]
    assert [text.rpartition("(")[2] for _, text in errors[:2]] == [f"{there})", "line 2)"]
    assert len(await create_many(context, [line(), line(2), line(2)], force=True)) == 3
    assert len(await create_many(context, [line(force=True)])) == 1


async def test_series_are_followed_as_if_they_were_planned_one_by_one(
    context: Context, engine: Engine
) -> None:
    [daily] = await create_many(context, [line(recurrence_rule="FREQ=DAILY")])
    errors = await errors_of(
        context,
        line(local_time="2027-03-20 09:00"),
        line(2, recurrence_rule="FREQ=WEEKLY"),
        line(2, local_time="2027-03-16 09:00"),
        line(3, local_time="2027-04-01 09:00", action="archive"),
        line(3, recurrence_rule="FREQ=MONTHLY"),
    )
    assert [number for number, _ in errors] == [1, 3, 5]
    assert [text.rpartition("(")[2] for _, text in errors] == [f"{daily})", "line 2)", "line 4)"]


async def test_a_chunk_has_one_entry_in_the_audit(context: Context, engine: Engine) -> None:
    await create_many(context, [line(number) for number in range(300)])
    async with context.database.connection() as connection:
        rows = await connection.fetch(
            "select action, detail from sexton.audit_entries where action like 'content.%'"
        )
    [entry] = rows
    assert entry["action"] == "content.imported"
    assert msgspec.json.decode(entry["detail"])["count"] == 300


async def test_a_chunk_has_its_bound(context: Context, engine: Engine) -> None:
    with pytest.raises(InvalidField, match="2001 actions"):
        await create_many(context, [line()] * 2001)
    assert await create_many(context, []) == []


async def test_csv(context: Context, engine: Engine) -> None:
    reader = CsvReader(b"\xef\xbb\xbfentity_type,entity_id,action,created_by,at,version,force,note")
    row = reader.read(b'post,007,publish,ann,2027-03-02T08:00:00Z,2,true,"a, b"\r')
    [made] = await create_many(context, [row])
    shown = await view(context, decode_id("c", made) or 0)
    assert (shown.entity_id, shown.version, shown.note) == ("007", 2, "a, b")
    empty = reader.read("post,é,publish,ann,2027-03-02T08:00:00Z,,,".encode())
    assert "version" not in empty
    for bad in (b'post,"1', b",".join([b"x"] * 9), b"\xff"):
        with pytest.raises(InvalidField):
            reader.read(bad)
    with pytest.raises(InvalidField, match="no column 'color'"):
        CsvReader(b"entity_type,color")
