"""Scratch databases: migrated, empty, with a manual clock, and dropped afterwards.

The first one on a server makes a template; further ones are copies of it, which takes a few hundredths of a
second.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from sexton import __version__
from sexton.postgres import locks
from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate, migrations
from sexton.postgres.server import PrivateServer
from sexton.testing.manual import INSTALL, SEARCH_PATH

SHARDS = 4

# Data on a scratch server need not survive a crash: without these settings it is faster.
CARELESS = ("fsync", "synchronous_commit", "full_page_writes", "autovacuum")


@asynccontextmanager
async def scratch_server() -> AsyncIterator[str]:
    """A private PostgreSQL in a temporary directory; its address."""
    with tempfile.TemporaryDirectory(prefix="sexton-", ignore_cleanup_errors=True) as directory:
        server = PrivateServer(Path(directory))
        url = await asyncio.to_thread(server.start)
        try:
            await administer(url, *(f"alter system set {setting} = off" for setting in CARELESS))
            await administer(url, "select pg_reload_conf()")
            yield url
        finally:
            await asyncio.to_thread(server.release)


@asynccontextmanager
async def scratch_database(server: str) -> AsyncIterator[str]:
    """A database of its own on a server (the user needs CREATEDB); its address."""
    url = await make_database(server)
    try:
        yield url
    finally:
        await drop_database(server, url)


async def make_database(server: str) -> str:
    template, name = _template(), f"sexton_scratch_{secrets.token_hex(6)}"
    connection = await asyncpg.connect(server)
    try:
        # Only one process may make the template, and only one at a time can copy it.
        await connection.execute("select pg_advisory_lock($1)", locks.SCRATCH_TEMPLATE)
        if not await connection.fetchval("select true from pg_database where datname = $1", template):
            await connection.execute(f"drop database if exists {template}_raw with (force)")
            await connection.execute(f"create database {template}_raw")
            await _prepare(_address(server, f"{template}_raw"))
            await connection.execute(f"alter database {template}_raw rename to {template}")
        await connection.execute(f"create database {name} template {template}")
    finally:
        await connection.close()
    return _address(server, name)


async def drop_database(server: str, url: str) -> None:
    await administer(server, f"drop database {urlsplit(url).path.lstrip('/')} with (force)")


async def administer(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _template() -> str:
    digest = sha256("".join([__version__, INSTALL, *(each.checksum for each in migrations())]).encode())
    return f"sexton_template_{digest.hexdigest()[:12]}"


async def _prepare(url: str) -> None:
    """Install the clock first: the defaults of the tables must use it."""
    await administer(url, INSTALL)
    database = await Database.open(url, size=1)
    try:
        await migrate(database, shards=SHARDS)
    finally:
        await database.close()


def _address(server: str, name: str) -> str:
    parts = urlsplit(server)
    query = {**dict(parse_qsl(parts.query)), "search_path": SEARCH_PATH}
    return urlunsplit(parts._replace(path=f"/{name}", query=urlencode(query)))
