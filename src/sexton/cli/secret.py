"""`sexton secret`: what the signatures of webhooks are made with."""

from __future__ import annotations

from typing import Any

import msgspec

from sexton.cli import DONE, NOT_DONE
from sexton.cli.local import Data, DatabaseUrl, with_database
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import Json, Yes, confirm
from sexton.config import Settings
from sexton.postgres.database import Database
from sexton.postgres.migrate import require_migrated
from sexton.targets.http import new_secret, signing_secret


def show(*, database_url: DatabaseUrl = None, data: Data = None, json: Json = False) -> int:
    """Show the secret that webhooks are signed with.

    Give it to the services that verify them. While it is being rotated there
    are two: requests are signed with both, the newer one first.
    """

    async def work(database: Database, _: Settings) -> list[str]:
        await require_migrated(database)
        return _listed(await signing_secret(database))

    return _show(with_database(database_url, data, work), json)


def rotate(
    *, yes: Yes = False, database_url: DatabaseUrl = None, data: Data = None, json: Json = False
) -> int:
    """Make a new secret; the old one stays valid beside it.

    Give the new one to your services, then rotate again to retire the old one
    for good: the one before last is forgotten.
    """
    if not confirm("Make a new secret, and forget the one before the present one?", yes):
        return NOT_DONE

    async def work(database: Database, _: Settings) -> list[str]:
        await require_migrated(database)
        present = _listed(await signing_secret(database))
        both = [new_secret(), present[0]]
        async with database.connection() as connection:
            await connection.execute(
                database.sql("update sexton.settings set value = $1::jsonb where name = 'webhook_secret'"),
                msgspec.json.encode(both).decode(),
            )
        return both

    return _show(with_database(database_url, data, work), json)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _show(secrets: list[str], as_json: bool) -> int:
    if as_json:
        write_json({"secret": secrets[0], "previous": secrets[1] if len(secrets) > 1 else None})
    else:
        write(console(), secrets[0])
        if len(secrets) > 1:
            write(console(error=True), f"still valid: {secrets[1]}", "dim")
    return DONE
