"""Which tables a change touches: what the audit must tell of."""

from __future__ import annotations

from typing import Any

from tests.seeding import Store

# Not what people change: answers to repeated requests, counters, the audit itself, the life of nodes.
APART = {
    "requests": "answers that are kept for their repetition",
    "access_version": "counts changes of what is audited",
    "audit": "the audit itself",
    "audit_pending": "the audit itself",
    "audit_head": "the audit itself",
    "lanes": "made with the first job that needs one",
    "zones": "made with the first job in one",
    "migrations": "tells itself what was applied, and when",
}


async def tables(store: Store) -> dict[str, str]:
    """What every table holds, as a hash; partitions count as their table."""
    names = await store.fetch(
        """select relname as name from pg_class
        where relnamespace = 'sexton'::regnamespace and relkind in ('r', 'p') and not relispartition"""
    )
    return {
        row["name"]: await store.value(
            f"""select coalesce(md5(string_agg(md5(each::text), '' order by md5(each::text))), '')
            from sexton.{row["name"]} as each"""
        )
        for row in names
        if row["name"] not in APART
    }


async def entries(store: Store) -> list[dict[str, Any]]:
    """The audit, the oldest first."""
    rows = await store.fetch("select * from sexton.audit_entries order by at, id")
    return [dict(row) for row in rows]
