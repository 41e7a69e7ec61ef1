"""Whether runs may reach private addresses: one decision for the cluster, kept in the database.

A process with `allow` or `refuse` decides for all. With `auto`, an API that other machines can reach decides
to refuse, also against an earlier decision; any other API decides to allow, unless there is a decision.
A process without an API follows the decision. Without a decision it allows private addresses only if the
database is on its own machine. Processes read the decision when they start.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Collection
from urllib.parse import parse_qs, urlsplit

import msgspec

from sexton.config import Settings
from sexton.connections.loopback import is_loopback
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import Database
from sexton.postgres.migrate import require_migrated
from sexton.postgres.setting import set_setting
from sexton.postgres.transaction import Context

NAME = "egress_private"
ALLOW, REFUSE = "allow", "refuse"


async def decide_egress(database: Database, settings: Settings, roles: Collection[str]) -> Settings:
    """The settings with the decision of the cluster, for a process with these roles."""
    await require_migrated(database)
    wish = settings.egress_private
    if wish == "auto" and "api" in roles and settings.is_reachable():
        wish = REFUSE
    if wish != "auto":
        await set_setting(Context(database, source=Source("sexton", socket.gethostname())), NAME, wish)
    elif "api" in roles:
        wish = json.loads(await database.fetchval("cluster/keep_setting", name=NAME, value=json.dumps(ALLOW)))
    else:
        wish = await decided_egress(database) or (ALLOW if is_local(database.url) else REFUSE)
    return msgspec.structs.replace(settings, egress_private=wish)


async def decided_egress(database: Database) -> str | None:
    """`allow` or `refuse`; None: nothing was decided yet."""
    value = await database.fetchval("cluster/get_setting", name=NAME)
    return None if value is None else str(json.loads(value))


def is_local(url: str) -> bool:
    """Whether a PostgreSQL is on this machine: all its hosts are sockets or loopback."""
    parts = urlsplit(url)
    named = parse_qs(parts.query).get("host") or [parts.netloc.rpartition("@")[2]]
    hosts = [host for each in named for host in each.split(",")]
    return all(host.startswith("/") or is_loopback(urlsplit(f"//{host}").hostname or "") for host in hosts)
