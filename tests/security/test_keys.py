"""API keys: their form, what is kept of them, how they end."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from sexton.errors import Conflict, InvalidField, NotFound
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security import secrets
from sexton.security.access_table import AccessTable
from sexton.security.key_spec import KeySpec
from sexton.security.keys import create_key, list_keys, new_key, revoke_key, rotate_key, well_formed
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.namespaces import create_namespace
from sexton.security.role import Role
from tests.seeding import Store

LATER = datetime(2100, 1, 1, tzinfo=UTC)


async def known(database: Database) -> AccessTable:
    """What a process that has just started knows."""
    table = AccessTable(database)
    await table.refresh()
    return table


def test_a_key_can_be_recognised() -> None:
    key = new_key()
    assert re.fullmatch(r"sxn_[0-9A-Za-z]{38}", key)
    assert well_formed(key)
    wrong = key[:-1] + ("a" if key[-1] != "a" else "b")
    assert not any(map(well_formed, (wrong, key[:-1], key + "a", "sxn_", "", key.upper(), "é" * 42)))


async def test_a_key_is_shown_once_and_kept_as_a_hash(database: Database) -> None:
    made = await create_key(Context(database, actor="root"), KeySpec(name="ci", role=Role.OPERATOR))
    [row] = await Store(database).fetch("select * from sexton.keys")
    assert made.key not in repr(dict(row))
    assert (row["beginning"], row["created_by"]) == (made.key[:10], "root")
    [listed] = await list_keys(Context(database))
    assert (listed.key_id, listed.role, listed.namespace) == (made.key_id, Role.OPERATOR, "default")
    assert not hasattr(listed, "key")


async def test_a_key_is_found_by_its_text_alone(database: Database) -> None:
    made = await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER))
    table = await known(database)
    found = table.find(made.key)
    assert found is not None
    assert (found.name, found.grants) == ("key:ci", {"default": Role.VIEWER})
    assert table.find(new_key()) is None


async def test_the_hash_depends_on_a_key_of_the_cluster(database: Database) -> None:
    made = await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER))
    await Store(database).fetch(
        "update sexton.settings set value = to_jsonb(repeat('00', 32)) where name = 'api_key_pepper'"
    )
    assert (await known(database)).find(made.key) is None


async def test_a_revoked_key_is_refused_at_the_next_look(database: Database) -> None:
    made = await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER))
    table = await known(database)
    revoked = await revoke_key(Context(database), made.key_id)
    assert revoked.revoked_at is not None
    assert await revoke_key(Context(database), made.key_id) == revoked
    table.forget()  # a second later
    await table.refresh()
    assert table.find(made.key) is None


async def test_a_key_that_is_made_is_known_at_the_next_look(database: Database) -> None:
    table = await known(database)
    made = await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER))
    assert table.find(made.key) is None
    table.forget()
    await table.refresh()
    assert table.find(made.key) is not None


async def test_a_key_ends_at_its_time(database: Database) -> None:
    made = await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER, expires_at=LATER))
    assert (await known(database)).find(made.key) is not None
    await Store(database).fetch("update sexton.keys set expires_at = now() - interval '1 second'")
    assert (await known(database)).find(made.key) is None
    with pytest.raises(InvalidField) as refused:
        await create_key(
            Context(database), KeySpec(name="ci", role=Role.VIEWER, expires_at=LATER - timedelta(days=40_000))
        )
    assert refused.value.field == "expires_at"


async def test_both_keys_are_good_while_one_is_rotated(database: Database) -> None:
    old = await create_key(Context(database), KeySpec(name="ci", role=Role.EDITOR))
    new = await rotate_key(Context(database), old.key_id, overlap_seconds=3600)
    assert (new.name, new.role, new.namespace) == (old.name, old.role, old.namespace)
    table = await known(database)
    assert table.find(old.key) is not None
    assert table.find(new.key) is not None
    await rotate_key(Context(database), new.key_id, overlap_seconds=0)
    assert (await known(database)).find(new.key) is None
    with pytest.raises(InvalidField, match="has ended"):
        await rotate_key(Context(database), new.key_id)


async def test_a_rotated_key_lasts_as_long_as_the_old_one_was_made_for(database: Database) -> None:
    made_at = datetime(2026, 6, 1, tzinfo=UTC)
    ends = KeySpec(name="ci", role=Role.EDITOR, expires_at=made_at + timedelta(days=30))
    old = await create_key(Context(database, now=made_at), ends)
    later = made_at + timedelta(days=20)
    new = await rotate_key(Context(database, now=later), old.key_id, overlap_seconds=3600)
    assert new.expires_at == later + timedelta(days=30)
    assert [key.expires_at for key in await list_keys(Context(database))] == [
        later + timedelta(hours=1), later + timedelta(days=30),
    ]  # fmt: skip


async def test_keys_of_another_namespace_are_not_there(database: Database) -> None:
    await create_namespace(Context(database), NamespaceSpec(name="billing"))
    theirs = await create_key(Context(database, "billing"), KeySpec(name="ci", role=Role.VIEWER))
    assert await list_keys(Context(database)) == []
    with pytest.raises(NotFound):
        await revoke_key(Context(database), theirs.key_id)
    assert [key.key_id for key in await list_keys(Context(database), cluster=True)] == [theirs.key_id]


async def test_a_key_needs_a_namespace_that_is_there(database: Database) -> None:
    with pytest.raises(NotFound) as refused:
        await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER, namespace="nowhere"))
    assert refused.value.code == "namespace_not_found"


async def test_the_last_use_is_noted(database: Database) -> None:
    made = await create_key(Context(database), KeySpec(name="ci", role=Role.VIEWER))
    table = await known(database)
    assert table.find(made.key) is not None
    table.forget()
    await table.refresh()
    [key] = await list_keys(Context(database))
    assert key.last_used_at is not None


async def test_the_key_of_the_hashes_is_encrypted_with_that_for_secrets(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = secrets.new_key(), secrets.new_key()
    context, spec = Context(database), KeySpec(name="ci", role=Role.VIEWER)
    made = await create_key(context, spec)
    assert "sealed" not in await Store(database).value(KEPT)
    # From the first process with a key on, it is encrypted; the keys stay good.
    for source in (first, first):
        assert await found_with(database, source, made.key)
        assert "sealed" in await Store(database).value(KEPT)
    assert not caplog.records
    for wrong in (None, second):
        assert not await found_with(database, wrong, made.key)
        assert "SEXTON_SECRET_KEY" in caplog.text
        with pytest.raises(Conflict) as refused:
            await create_key(context, spec, wrong)
        assert refused.value.code == "keys_unreadable"
        assert await secrets.unreadable(context, wrong) == ["api_key_pepper"]
    await secrets.rekey(context, first, second)
    assert await found_with(database, second, made.key)
    assert await secrets.unreadable(context, second) == []
    with pytest.raises(secrets.SecretError):
        await secrets.rekey(context, first, second)
    assert await secrets.rekey(context, None, first, forget=True) == (0, ["api_key_pepper"])
    assert not await found_with(database, first, made.key)
    assert await found_with(database, first, (await create_key(context, spec, first)).key)


KEPT = "select value::text from sexton.settings where name = 'api_key_pepper'"


async def found_with(database: Database, source: str | None, key: str) -> bool:
    """Whether a process with this key for secrets accepts an API key."""
    table = AccessTable(database, source)
    await table.refresh()
    return table.find(key) is not None
