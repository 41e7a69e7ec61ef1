"""What was tampered with in the audit is found, and told where."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as some

from sexton.errors import InvalidField
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.audit import AuditView, as_lines, exported, record, view
from sexton.security.audit_chain import (
    Link,
    Verified,
    Verifier,
    hash_of,
    remove_old,
    seal,
    sealed,
    verify,
    verify_lines,
)
from tests.seeding import NOW, Store


@pytest_asyncio.fixture
async def store(database: Database) -> Store:
    return Store(database)


async def fill(store: Store, rows: int = 5) -> Verified:
    """A chain of so many rows."""
    for number in range(rows):
        await record(
            Context(store.database, actor="key:a"), "job.paused", f"j_{number}", detail={"n": number}
        )
    assert await seal(Context(store.database)) == rows
    found = await verify(Context(store.database))
    assert (found.sound, found.rows) == (True, rows)
    return found


async def faults(store: Store, kept: Link | None = None) -> list[tuple[int, str]]:
    found = await verify(Context(store.database), kept)
    assert found.sound == (not found.faults)
    return [(fault.sequence, fault.problem) for fault in found.faults]


async def test_each_row_holds_the_hash_of_the_one_before(store: Store) -> None:
    found = await fill(store)
    rows = await store.fetch("select sequence, previous, hash from sexton.audit order by sequence")
    assert [row["sequence"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["previous"] for row in rows] == [b"", *(row["hash"] for row in rows[:-1])]
    assert len({row["hash"] for row in rows}) == 5
    assert found.head == Link(5, rows[-1]["hash"].hex())
    assert await store.value("select count(*) from sexton.audit_pending") == 0


@pytest.mark.parametrize(
    "column",
    [
        "actor = 'key:b'", "namespace = 'other'", "face = 'cli'", "address = '10.0.0.1'", "request_id = 'x'",
        "reason = 'x'", "action = 'job.resumed'", "object_id = 'j_9'", "object_name = 'x'", "job_id = 9",
        "jobs = '{[1,3)}'", "before = '{\"a\": 1}'", "after = '{}'", "detail = '{\"n\": 3}'",
        "at = at + interval '1 microsecond'", "id = id + 1000", "at = at - interval '1 year'",
        "detail = null",
    ],
)  # fmt: skip
async def test_a_changed_field_is_found(store: Store, column: str) -> None:
    await fill(store)
    await store.execute(f"update sexton.audit set {column} where sequence = 3")
    [(sequence, problem)] = await faults(store)
    assert sequence == 3
    assert "was changed after it was sealed" in problem


async def test_a_changed_row_with_a_hash_made_anew_is_found(store: Store) -> None:
    """Its own hash fits, but the next row holds the old one."""
    await fill(store)
    await store.execute("update sexton.audit set actor = 'key:b' where sequence = 3")
    await _make_anew(store, 3, 3)
    [(sequence, problem)] = await faults(store)
    assert (sequence, problem.startswith("it does not follow row 3")) == (4, True)


@pytest.mark.parametrize(
    ("gone", "problem"), [((2,), "row 2 is missing"), ((2, 3), "rows 2 to 3 are missing")]
)
async def test_removed_rows_are_found(store: Store, gone: tuple[int, ...], problem: str) -> None:
    await fill(store)
    await store.execute("delete from sexton.audit where sequence = any ($1)", list(gone))
    assert await faults(store) == [(2, problem)]


async def test_rows_that_are_removed_at_the_ends_are_found(store: Store) -> None:
    await fill(store)
    await store.execute("delete from sexton.audit where sequence in (1, 5)")
    assert await faults(store) == [(1, "row 1 is missing"), (5, "row 5 is missing")]
    await store.execute("delete from sexton.audit")
    assert await faults(store) == [(1, "rows 1 to 5 are missing")]


async def test_a_removed_row_whose_place_was_closed_is_found(store: Store) -> None:
    await fill(store)
    await store.execute("delete from sexton.audit where sequence = 2")
    for number in (3, 4, 5):
        await store.execute("update sexton.audit set sequence = sequence - 1 where sequence = $1", number)
    found = await faults(store)
    assert found[0][0] == 2


async def test_an_inserted_row_is_found(store: Store) -> None:
    await fill(store)
    for number in (5, 4, 3):
        await store.execute("update sexton.audit set sequence = sequence + 1 where sequence = $1", number)
    await store.execute(
        """insert into sexton.audit (sequence, previous, hash, at, id, namespace, actor, face, action)
        select 3, hash, hash, at, 999, 'default', 'key:b', 'api', 'job.deleted'
        from sexton.audit where sequence = 2"""
    )
    await _make_anew(store, 3, 3)
    found = await faults(store)
    assert found[0] == (4, "it does not follow row 3: one of the two was changed")


async def test_swapped_rows_are_found(store: Store) -> None:
    await fill(store)
    await store.execute("update sexton.audit set sequence = -2 where sequence = 2")
    await store.execute("update sexton.audit set sequence = 2 where sequence = 4")
    await store.execute("update sexton.audit set sequence = 4 where sequence = -2")
    assert {sequence for sequence, _ in await faults(store)} == {2, 3, 4, 5}


async def test_only_a_head_that_was_kept_tells_of_a_chain_that_was_made_anew(store: Store) -> None:
    kept = (await fill(store)).head
    assert await faults(store, kept) == []
    await store.execute("update sexton.audit set actor = 'key:b' where sequence = 3")
    await _make_anew(store, 3, 5)
    assert await faults(store) == []
    [(sequence, problem)] = await faults(store, kept)
    assert (sequence, "the chain was rewritten" in problem) == (5, True)
    await record(Context(store.database), "job.paused")
    await seal(Context(store.database))
    assert [sequence for sequence, _ in await faults(store, kept)] == [5]


async def test_a_chain_that_ends_before_the_head_that_was_kept_is_found(store: Store) -> None:
    """As after a backup was put back, or the newest rows and the end of the chain were removed."""
    kept = (await fill(store)).head
    await store.execute("delete from sexton.audit where sequence = 5")
    await store.execute(
        """update sexton.audit_head set sequence = 4,
        hash = (select hash from sexton.audit where sequence = 4)"""
    )
    assert await faults(store) == []
    assert await faults(store, kept) == [(5, "the chain ends at row 4, before the row of the given head")]


async def test_many_faults_are_counted_and_the_first_are_told(store: Store) -> None:
    await fill(store, 50)
    await store.execute("update sexton.audit set actor = 'key:b'")
    found = await verify(Context(store.database))
    assert (found.fault_count, len(found.faults), found.faults[0].sequence) == (50, 20, 1)


async def test_what_is_not_sealed_in_time_is_told(store: Store) -> None:
    await fill(store)
    at = datetime.now(UTC)
    await record(Context(store.database, now=at - timedelta(seconds=61)), "job.paused")
    await record(Context(store.database, now=at), "job.paused")
    found = await verify(Context(store.database))
    assert (found.sound, found.unsealed, found.unsealed_since) == (False, 1, at - timedelta(seconds=61))


async def test_a_rolled_back_change_leaves_no_row(store: Store) -> None:
    async with store.database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await record(Context(store.database, connection=connection), "job.paused")
        await transaction.rollback()
    assert await store.value("select count(*) from sexton.audit_entries") == 0


async def test_writers_do_not_wait_for_each_other_nor_for_the_sealer(store: Store) -> None:
    database = store.database
    async with database.transaction() as one, database.transaction() as other:
        for connection in (one, other):
            await connection.execute("set local lock_timeout = '1ms'")
            await record(Context(database, connection=connection), "job.paused")
        assert await seal(Context(database)) == 0, "nothing of them is committed"
        async with database.transaction() as third:
            await record(Context(database, connection=third), "job.resumed")
        assert await seal(Context(database)) == 1
    assert await seal(Context(database)) == 2
    rows = await store.fetch("select action from sexton.audit order by sequence")
    assert [row["action"] for row in rows] == ["job.resumed", "job.paused", "job.paused"]
    assert await faults(store) == []


async def test_a_sealer_that_finds_another_at_work_leaves_it_alone(store: Store) -> None:
    await record(Context(store.database), "job.paused")
    async with store.database.transaction() as other:
        await store.database.fetchrow("audit/lock_head", on=other)
        assert await seal(Context(store.database)) == 0
    assert await seal(Context(store.database)) == 1


async def test_sealers_at_the_same_time_make_one_chain(store: Store) -> None:
    for _ in range(30):
        await record(Context(store.database), "job.paused")
    for _ in range(10):
        await asyncio.gather(*(seal(Context(store.database), 7) for _ in range(3)))
    found = await verify(Context(store.database))
    assert (found.sound, found.rows) == (True, 30)


async def test_a_sealer_that_dies_before_its_commit_has_done_nothing(store: Store) -> None:
    await fill(store)
    await record(Context(store.database), "job.paused")
    async with store.database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        assert await seal(Context(store.database, connection=connection)) == 1
        await transaction.rollback()
    assert await faults(store) == []
    assert await store.value("select count(*) from sexton.audit_pending") == 1
    assert await seal(Context(store.database)) == 1
    assert (await verify(Context(store.database))).rows == 6


async def test_retention_removes_the_oldest_and_the_chain_still_holds(store: Store) -> None:
    for days in (100, 91, 90, 89, 1):
        await record(Context(store.database, now=NOW - timedelta(days=days)), "job.paused")
    await seal(Context(store.database))
    kept = (await verify(Context(store.database, now=NOW))).head
    context = Context(store.database, now=NOW)
    assert await remove_old(context, 90, 100) == 2
    assert await remove_old(context, 90, 100) == 0
    await seal(context)
    found = await verify(context, kept)
    assert (found.sound, found.first.sequence, found.rows, found.head.sequence) == (True, 2, 4, 6)
    [entry] = await store.fetch("select detail, actor from sexton.audit where action = 'audit.removed'")
    assert msgspec.json.decode(entry["detail"]) == {"keep_days": 90, "count": 2, "last": 2}
    # The place before the first row still stands for those that were removed.
    assert (await verify(context, found.first)).sound
    assert not (await verify(context, Link(2, "0" * 64))).sound
    await store.execute("delete from sexton.audit where sequence = 3")
    assert await faults(store) == [(3, "row 3 is missing")]


async def test_retention_stops_at_the_first_row_that_is_to_be_kept(store: Store) -> None:
    """Else there would be a gap: times need not be in the order of the chain."""
    for days in (100, 10, 100):
        await record(Context(store.database, now=NOW - timedelta(days=days)), "job.paused")
        await seal(Context(store.database))
    assert await remove_old(Context(store.database, now=NOW), 90, 100) == 1
    assert await remove_old(Context(store.database, now=NOW), 90, 100) == 0
    assert await faults(store) == []


async def test_all_may_go(store: Store) -> None:
    for _ in range(5):
        await record(Context(store.database, now=NOW - timedelta(days=100)), "job.paused")
    await seal(Context(store.database))
    assert await remove_old(Context(store.database, now=NOW), 90, 3) == 3
    assert await remove_old(Context(store.database, now=NOW), 90, 3) == 2
    assert (await verify(Context(store.database, now=NOW))).sound
    await seal(Context(store.database))
    found = await verify(Context(store.database, now=NOW))
    assert (found.sound, found.first.sequence, found.head.sequence) == (True, 5, 7)


async def test_what_retention_removes_meanwhile_is_not_missed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.security.audit_chain.READ_TOGETHER", 2)
    for days in (100, 100, 100, 100, 1, 1):
        await record(Context(store.database, now=NOW - timedelta(days=days)), "job.paused")
    context = Context(store.database, now=NOW)
    await seal(context)
    reads: list[str] = []

    class Removing(Context):
        """The first part of the chain is read before a removal, and the second one after it."""

        async def fetch(self, statement: str, /, **parameters: Any) -> list[asyncpg.Record]:
            reads.append(statement)
            if len(reads) == 2:
                assert await remove_old(context, 90, 4) == 4
            return await context.fetch(statement, **parameters)

    found = await verify(Removing(store.database, now=NOW))
    assert (found.faults, found.head.sequence) == ([], 6)


async def test_the_chain_begins_at_the_first_entry_of_an_empty_database(store: Store) -> None:
    found = await verify(Context(store.database))
    assert (found.sound, found.rows, str(found.head)) == (True, 0, "0:")


async def test_progress_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexton.security.audit_chain.READ_TOGETHER", 2)
    await fill(store)
    told: list[tuple[int, int]] = []
    await verify(Context(store.database), None, lambda done, total: told.append((done, total)))
    assert told == [(2, 5), (4, 5), (5, 5)]


async def test_an_export_can_be_verified_without_the_database(store: Store) -> None:
    context = Context(store.database, source=Source("cli", "host"), request_id="r", reason="because")
    await record(context, "job.paused", "j_1", "näme", detail={"payload": {"b": 1.5, "a": [1, None, "ü"]}})
    for number in range(4):
        await record(Context(store.database), "job.paused", f"j_{number}")
    await seal(context)
    head = (await verify(context)).head
    lines = [
        line
        async for part in exported(context, every=True)
        for line in as_lines(part).splitlines(keepends=True)
    ]
    found = await verify_lines(_each(lines), head)
    assert (found.sound, found.rows, found.head) == (True, 5, head)
    assert not (await verify_lines(_each(lines[:2] + lines[3:]))).sound
    assert not (await verify_lines(_each(lines[:-1]), head)).sound
    assert not (await verify_lines(_each([line.replace(b"because", b"by hand") for line in lines]))).sound
    assert not (await verify_lines(_each([*lines, b"{}\n"]))).sound
    # As another program writes it.
    rewritten = [msgspec.json.format(line, indent=-1).replace(b'":', b'": ') + b"\n" for line in lines]
    assert (await verify_lines(_each(rewritten), head)).sound


@pytest.mark.parametrize("text", ["", "5", "5:", "x:" + "0" * 64, "5:" + "g" * 64, "5:" + "0" * 63])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(InvalidField) as refused:
        Link.read(text)
    assert (refused.value.code, refused.value.field) == ("bad_head", "head")


def test_a_head_is_read_as_it_is_printed() -> None:
    link = Link(5, "0a" * 32)
    assert Link.read(f" {link}\n") == link


# Properties of the chain, whatever is in it.

TEXTS = some.text(max_size=10)
ENTRIES = some.lists(
    some.builds(
        AuditView,
        entry_id=TEXTS,
        at=some.datetimes(timezones=some.just(UTC)),
        namespace=TEXTS,
        actor=TEXTS,
        face=TEXTS,
        action=TEXTS,
        reason=some.none() | TEXTS,
        detail=some.none() | some.dictionaries(TEXTS, some.integers() | TEXTS | some.none(), max_size=3),
        sequence=some.none(),
        previous=some.none(),
        hash=some.none(),
        jobs=some.none(),
    ),
    min_size=2,
    max_size=8,
)


def chain_of(entries: list[AuditView]) -> list[AuditView]:
    last, rows = Link(), []
    for entry in entries:
        rows.append(sealed(entry, last))
        last = Link(rows[-1].sequence or 0, rows[-1].hash or "")
    return rows


def sound(rows: list[AuditView], head: Link) -> bool:
    verifier = Verifier(Link())
    for row in rows:
        verifier.add(row)
    return verifier.end(head).sound


@given(ENTRIES, some.data())
def test_every_way_of_tampering_is_found(entries: list[AuditView], data: some.DataObject) -> None:
    rows = chain_of(entries)
    head = Link(len(rows), rows[-1].hash or "")
    assert sound(rows, head)
    place = data.draw(some.integers(0, len(rows) - 1))
    other = data.draw(some.integers(0, len(rows) - 1).filter(lambda each: each != place))
    changed = msgspec.structs.replace(rows[place], actor=rows[place].actor + "x")
    moved = list(rows)
    moved[place], moved[other] = moved[other], moved[place]
    for tampered in (
        rows[:place] + rows[place + 1 :],
        [*rows[:place], changed, *rows[place + 1 :]],
        [*rows[:place], msgspec.structs.replace(changed, hash=hash_of(changed)), *rows[place + 1 :]],
        [*rows[:place], rows[other], *rows[place:]],
        moved,
    ):
        assert not sound(tampered, head)


async def _each(lines: list[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


async def _make_anew(store: Store, first: int, last: int) -> None:
    """Compute the hashes of rows again, as one who can write to the database could."""
    for number in range(first, last + 1):
        [row] = await store.database.fetch("audit/read_chain", after=number - 1, limit=1)
        before = await store.value(
            "select coalesce((select hash from sexton.audit where sequence = $1), '')", number - 1
        )
        entry = sealed(view(row), Link(number - 1, before.hex()))
        await store.execute(
            "update sexton.audit set previous = $2, hash = $3 where sequence = $1",
            number, before, bytes.fromhex(entry.hash or ""),
        )  # fmt: skip
    await store.execute(
        """update sexton.audit_head set hash = (select hash from sexton.audit
        where audit.sequence = audit_head.sequence)"""
    )
