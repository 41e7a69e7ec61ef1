"""Settings of the whole cluster, kept in the database."""

from __future__ import annotations

from typing import Any

import msgspec

from sexton.postgres.transaction import SHARED, Context, command


@command
async def set_setting(
    context: Context, name: str, value: Any, *, namespace: str = SHARED, called: str | None = None
) -> None:
    """Change a setting, if it has another value. In the audit it belongs to `namespace`, under the name
    `called`."""
    kept = await context.fetchval("cluster/get_setting", name=name)
    before = None if kept is None else msgspec.json.decode(kept)
    if kept is None or before != value:
        text = msgspec.json.encode(value).decode()
        await context.execute("cluster/set_setting", name=name, value=text)
        field = called or name
        context.changed(
            "setting.changed", field, before={field: before}, after={field: value}, namespace=namespace
        )
