"""Commands that open the database directly: which one, and how."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from cyclopts import Parameter

from sexton.config import Settings, load
from sexton.errors import Unavailable
from sexton.postgres.audit_entry import LONGEST_REASON, Source
from sexton.postgres.database import Database
from sexton.postgres.migrate import require_migrated
from sexton.postgres.transaction import NAMESPACE, Context
from sexton.refusal import check_text
from sexton.security.access import own_name
from sexton.security.namespaces import require_namespace
from sexton.targets.table import load_kinds

T = TypeVar("T")

DatabaseUrl = Annotated[str | None, Parameter(help="The PostgreSQL. Default: SEXTON_DATABASE_URL.")]
Data = Annotated[Path | None, Parameter(help="Directory of the private PostgreSQL.")]


def with_database(
    database_url: str | None,
    data: Path | None,
    work: Callable[[Database, Settings], Awaitable[T]],
    **given: Any,
) -> T:
    """Call `work` with the configured database, or with this user's private one, which is started if
    necessary."""
    settings = load({"database_url": database_url, "data": data.absolute() if data else None, **given})
    load_kinds(settings)
    if settings.database_url is not None:
        return asyncio.run(_on(settings.database_url, settings, work))
    from sexton.postgres.server import default_data_directory, private_server

    directory = settings.data or default_data_directory()
    if not directory.exists():
        raise Unavailable(
            "no_database",
            f"there is no database: none is configured, and {directory} does not exist",
            hint="start one with: sexton up    or name yours: --database-url postgresql://…",
        )
    with private_server(directory) as url:
        return asyncio.run(_on(url, settings, work))


Reason = Annotated[str | None, Parameter(help="The reason, for the audit.")]


def with_context(
    database_url: str | None,
    data: Path | None,
    work: Callable[[Context, Settings], Awaitable[T]],
    *,
    reason: str | None = None,
) -> T:
    """Call `work` with a context in the namespace of the settings; the database must be migrated."""
    if reason is not None:
        check_text(reason, "reason", LONGEST_REASON)

    async def run(database: Database, settings: Settings) -> T:
        await require_migrated(database)
        context = Context(
            database,
            settings.namespace or NAMESPACE,
            actor=f"user:{own_name()}",
            source=Source("cli", socket.gethostname()),
            reason=reason,
        )
        await require_namespace(context)
        return await work(context, settings)

    return with_database(database_url, data, run)


async def _on(url: str, settings: Settings, work: Callable[[Database, Settings], Awaitable[T]]) -> T:
    try:
        database = await Database.open(url, schema=settings.schema, size=2, name="sexton command")
    except Unavailable as error:
        if error.code == "database_unavailable":  # unlike a node, a command does not wait for it
            error.hint = "check that PostgreSQL runs there, or give another one with --database-url"
        raise
    try:
        return await work(database, settings)
    finally:
        await database.close()
