"""What a process knows of keys and namespaces while they change."""

from __future__ import annotations

from typing import Any

import pytest

from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.access_table import AccessTable
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.namespaces import create_namespace


async def test_what_is_made_while_the_table_is_read_is_found_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request is reading the table, and has its number already."""
    table, fetchval = AccessTable(database), database.fetchval

    async def changed_meanwhile(*arguments: Any, **named: Any) -> Any:
        version = await fetchval(*arguments, **named)
        monkeypatch.undo()
        await create_namespace(Context(database), NamespaceSpec(name="billing"))
        table.forget()
        return version

    await table.refresh()
    table.forget()
    monkeypatch.setattr(database, "fetchval", changed_meanwhile)
    await table.refresh()
    await table.refresh()
    assert "billing" in table.namespaces
