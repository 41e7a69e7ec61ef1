"""What a namespace may use: how many jobs and live runs, how many firings per second, how large payloads.

Most namespaces have no quota, and Sexton counts nothing for them. A namespace with a quota has a row in
`meters`. A transaction that makes jobs or runs adds their number to `taken` there; nothing is subtracted when
they end. A count, together with `taken` at that moment, bounds how many there can be now:

    counted + (taken - counted_taken)

So no transaction exceeds the quota, however many run at once, and a new count is needed only when the bound
is reached. The transaction that makes jobs counts jobs. Live runs are counted beside the firing
(`firing/count_live.sql`), because nothing else must wait for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple

import msgspec
from asyncpg import Record
from msgspec import UNSET

from sexton.errors import Conflict
from sexton.postgres.transaction import SHARED, Context, command
from sexton.refusal import about, check_ranges, check_text, not_found
from sexton.security.quota_spec import RANGES, QuotaChanges, Quotas

MOST_COUNTED = 100_000


class QuotaExceeded(Conflict):
    """A namespace has used up one of its quotas."""

    def __init__(self, namespace: str, quota: str, message: str, hint: str) -> None:
        super().__init__("quota_exceeded", f"the namespace {namespace} {message}", hint=hint)
        self.quota = quota

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "quota": self.quota}


class NamespaceUse(msgspec.Struct, frozen=True, kw_only=True):
    """How much a namespace uses."""

    jobs: Annotated[int, about(f"Jobs that are not deleted, counted up to {MOST_COUNTED}.")]
    live_runs: Annotated[int, about(f"Runs that have not ended, counted up to {MOST_COUNTED}.")]
    firings_wait_seconds: Annotated[
        float, about("How long a run that is made now waits for `firings_per_second`.")
    ]


def quotas_of(row: Mapping[str, Any] | Record) -> Quotas:
    return Quotas(**{name: row[name] for name in RANGES})


async def get_use(context: Context, namespace: str) -> NamespaceUse:
    row = await context.fetchrow("quotas/count_use", namespace=namespace, most=MOST_COUNTED, now=context.now)
    assert row is not None
    return NamespaceUse(**row)


@command
async def change_quotas(context: Context, namespace: str, changes: QuotaChanges) -> None:
    """Change some quotas of a namespace; None removes one. They hold within seconds; what there is stays."""
    row = await context.fetchrow("quotas/lock", namespace=namespace)
    if row is None:
        raise not_found("namespace", namespace)
    given = {
        name: value for name in changes.__struct_fields__ if (value := getattr(changes, name)) is not UNSET
    }
    if given.get("description"):
        check_text(given["description"], "description", 1000)
    wanted = {name: given.get(name, row[name]) for name in ("description", *RANGES)}
    check_ranges(wanted, RANGES, "no quota")
    await context.execute("quotas/set", namespace=namespace, **wanted)
    before = {name: row[name] for name in wanted}
    context.changed("namespace.changed", namespace, namespace, before=before, after=wanted, namespace=SHARED)


# Jobs.


async def take_jobs(context: Context, count: int) -> None:
    """Take so many of the namespace's jobs, or raise `QuotaExceeded`. Other transactions that make jobs there
    wait for the end of this one."""
    where = {"namespace": context.namespace}
    taking = {**where, "count": count}
    if await context.fetchval("quotas/take_jobs", **taking) is not None:
        return
    # The rest is rare: the count is used up. Another transaction may have counted while this one waited.
    quota = await context.fetchval("quotas/lock_jobs", **where)
    if quota is None or await context.fetchval("quotas/take_jobs", **taking) is not None:
        return
    there = await context.fetchval("quotas/count_jobs", **where, now=context.now)
    if await context.fetchval("quotas/take_jobs", **taking) is None:
        has = f"{min(there, quota):,} of {quota:,} jobs"
        raise QuotaExceeded(
            context.namespace,
            "jobs",
            f"has {has}" + (f", and {count:,} more do not fit" if count > 1 else ""),
            hint="delete some, or ask an admin for more: sexton namespaces set "
            f"{context.namespace} --jobs {quota + count}",
        )


# Runs.


class Grant(NamedTuple):
    """How many runs a namespace may make, when each of them may start at the earliest (None: at any time),
    and, if they are fewer than wanted, why."""

    runs: int
    starts: list[datetime] | None = None
    refusal: QuotaExceeded | None = None

    def starts_of(self, wanted: list[datetime]) -> list[datetime]:
        """When runs may start that wanted to start at these times."""
        if self.starts is None:
            return wanted
        return [max(pair) for pair in zip(wanted, self.starts, strict=False)]


async def take_runs(context: Context, count: int, now: datetime) -> Grant:
    """Take as many of the namespace's live runs as are left, up to `count`."""
    where = {"namespace": context.namespace}
    row = await context.fetchrow("quotas/lock_runs", **where, now=context.now)
    if row is None or not count:
        return Grant(count)
    if row["room"] is not None and (row["uncounted"] or (row["room"] < count and row["stale"])):
        await context.execute("firing/count_live", namespaces=[context.namespace], now=context.now)
        row = await context.fetchrow("quotas/lock_runs", **where, now=context.now)
        assert row is not None
    granted = count if row["room"] is None else min(count, row["room"])
    starts, free_at = None, None
    if row["rate"] is not None:
        step, at_once = timedelta(seconds=1 / row["rate"]), timedelta(seconds=max(1, 1 / row["rate"]))
        starts = [max(now, row["next_at"] + (place + 1) * step - at_once) for place in range(granted)]
        free_at = row["next_at"] + granted * step
    await context.execute("quotas/charge_runs", **where, runs=granted, free_at=free_at)
    return Grant(granted, starts, _refusal(context, row, count) if granted < count else None)


def _refusal(context: Context, row: Record, count: int) -> QuotaExceeded:
    quota, more = row["live_runs"], f", and {count:,} more do not fit" if count > 1 else ""
    return QuotaExceeded(
        context.namespace,
        "live_runs",
        f"has {quota - row['room']:,} of {quota:,} live runs{more}",
        hint="wait until some have ended, or ask an admin for more: sexton namespaces set "
        f"{context.namespace} --live-runs {quota + count}",
    )
