"""The audit as it is read: who changed what, from where, on which request and why; listed and exported.

Commands write it (`Context.changed`), in the transaction of what they change. An entry belongs to the
namespace of what was changed, or to `*`: queues, nodes, shards and all else that namespaces share.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple

import asyncpg
import msgspec

from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.postgres.audit_entry import State
from sexton.postgres.estimate import MOST_EXACT, Total, expected, figures
from sexton.postgres.page import MOST_ROWS, Number, Page, decode_cursor, encode_cursor, make_page
from sexton.postgres.transaction import SHARED, Context, command, query
from sexton.printable import cell_text
from sexton.refusal import about

# Entries that a page looks at: however few match, it costs little.
LOOKED_AT = 10_000
AuditSort = Literal["at", "-at"]
LISTS: Mapping[AuditSort, str] = {"-at": "audit/list", "at": "audit/list_oldest"}
EXPORTED_TOGETHER = 2000
RANGE = re.compile(r"\[(\d+),(\d+)\)")


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    """One change. Its hash is made of all the other fields, and of the hash of the row before."""

    entry_id: Annotated[str, about("The id of the entry, `a_…`.")]
    sequence: Annotated[
        int | None, about("The place in the chain; null until the entry is sealed, about a second.")
    ] = None
    at: Annotated[datetime, about("When the change was made.")]
    namespace: Annotated[str, about("The namespace of what was changed; `*`: all namespaces share it.")]
    actor: Annotated[str, about("Who made the change: `key:…`, `user:…`, `app:…`, or `sexton` itself.")]
    face: Annotated[str, about("The way in: api, cli, console, python or sexton.")]
    address: Annotated[str | None, about("The caller's address; of Sexton itself, the node.")] = None
    request_id: Annotated[str | None, about("The `X-Request-Id` of the call.")] = None
    reason: Annotated[str | None, about("The reason that the caller gave.")] = None
    action: Annotated[str, about("What was done, such as `job.paused`.")]
    object_id: Annotated[str | None, about("The id of what was changed.")] = None
    object_name: Annotated[str | None, about("The name of what was changed.")] = None
    job_id: Annotated[str | None, about("The job that was changed, or whose run was changed.")] = None
    jobs: Annotated[
        list[list[str]] | None,
        about("If many jobs were changed at once: their ids, as ranges of first and last."),
    ] = None
    before: Annotated[Any, about("The changed fields before the change.")] = None
    after: Annotated[Any, about("The changed fields after the change.")] = None
    detail: Annotated[Any, about("Further details of the change.")] = None
    previous: Annotated[str | None, about("The hash of the entry before.")] = None
    hash: Annotated[str | None, about("The SHA-256 hash of this entry.")] = None


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a job."""

    entry_id: Annotated[str, about("Its id in the audit, `a_…`.")]
    at: Annotated[datetime, about("When the change was made.")]
    actor: Annotated[str, about("Who made the change.")]
    face: Annotated[str, about("The way in: api, cli, console, python or sexton.")]
    reason: Annotated[str | None, about("The reason that the caller gave.")] = None
    action: Annotated[str, about("What was done, such as `job.paused`.")]
    before: Annotated[Any, about("The changed fields before the change.")] = None
    after: Annotated[Any, about("The changed fields after the change.")] = None
    detail: Annotated[Any, about("Further details of the change.")] = None


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries. `action` may end in `*`; `object` is an id or a name; `until` is not included."""

    actor: str | None = None
    action: str | None = None
    object: str | None = None
    request_id: str | None = None
    job_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None

    def parameters(self) -> dict[str, Any]:
        open_ = self.action is not None and self.action.endswith("*")
        return {
            "actor": self.actor,
            "action": None if open_ else self.action,
            "action_begins": (self.action or "")[:-1] if open_ else None,
            "object": self.object,
            "request_id": self.request_id,
        }

    @property
    def searching(self) -> bool:
        """Whether there is a filter that no index serves."""
        return any(value is not None for value in self.parameters().values())


EVERY_ENTRY = AuditFilter()


def seen_by(context: Context, *, shared: bool, every: bool) -> list[str] | None:
    """The namespaces whose entries are shown; None: all. `shared`: the caller may also see what all
    namespaces share."""
    return None if every else [context.namespace, *([SHARED] if shared else [])]


@query
async def list_entries(
    context: Context,
    chosen: AuditFilter = EVERY_ENTRY,
    *,
    shared: bool = False,
    every: bool = False,
    sort: AuditSort = "-at",
    cursor: str | None = None,
    limit: int = 100,
) -> Page[AuditView]:
    """The latest first, or the oldest with `at`. `shared`: also what all namespaces share; `every`: the
    entries of all namespaces. A page may have fewer than `limit` entries although there are more: then it has
    a cursor."""
    if not 1 <= limit <= MOST_ROWS:
        raise InvalidField("out_of_range", f"limit is {limit}", field="limit", hint=f"give 1 to {MOST_ROWS}")
    statement, asked = _listed(context, chosen, sort, shared=shared, every=every)
    if cursor is not None:
        asked["at"], asked["id"] = decode_cursor(cursor, tuple[datetime, Number])
    async with context.planned_anew():
        rows = await context.fetch(statement, look=LOOKED_AT, limit=limit + 1, **asked)
    page = make_page([(_cursor(row), view(row)) for row in rows if row["matches"]], limit)
    if page.cursor is None and rows and rows[-1]["place"] == LOOKED_AT:
        return Page(page.items, _cursor(rows[-1]))
    return page


@query
async def count_entries(
    context: Context, chosen: AuditFilter = EVERY_ENTRY, *, shared: bool = False, every: bool = False
) -> Total | None:
    """How many there are of those that a list with these filters shows, if 10,000 are enough to tell. Beyond
    that, the estimate of PostgreSQL's planner; None with a filter that no index serves."""
    statement, asked = _listed(context, chosen, "-at", shared=shared, every=every)
    # Each namespace by itself: then its index serves, and the planner knows how many entries it has.
    namespaces = asked["namespaces"] or [asked["namespace"]]
    found, estimated = 0, False
    async with context.planned_anew():
        for namespace in namespaces:
            alone = {**asked, "namespace": namespace, "namespaces": None}
            one = await _count(context, statement, alone, searching=chosen.searching)
            if one is None:
                return None
            found, estimated = found + one.count, estimated or one.estimated
    return Total(found, estimated)


async def _count(
    context: Context, statement: str, asked: Mapping[str, Any], *, searching: bool
) -> Total | None:
    columns = "count(*) filter (where matches) as found, coalesce(max(place), 0) as looked"
    row = await figures(context, columns, statement, look=MOST_EXACT + 1, limit=None, **asked)
    if row["looked"] <= MOST_EXACT:
        return Total(row["found"])
    if searching:
        return None
    rows = await expected(context, statement, look=None, limit=None, **asked)
    return Total(max(row["found"], rows), estimated=True)


def _listed(
    context: Context, chosen: AuditFilter, sort: AuditSort, *, shared: bool, every: bool
) -> tuple[str, dict[str, Any]]:
    """The statement that lists these entries, and its parameters for the first page."""
    # The place where the list begins, and the instant where it ends.
    start, end = ("since", "until") if sort == "at" else ("until", "since")
    several = (shared or every) and chosen.job_id is None
    return LISTS[sort], {
        "namespace": None if several else context.namespace,
        "namespaces": seen_by(context, shared=shared, every=every) if several else None,
        "job_id": chosen.job_id,
        "at": getattr(chosen, start),
        "id": 0,
        end: getattr(chosen, end),
        **chosen.parameters(),
    }


async def list_changes(
    context: Context, job_id: int, *, cursor: str | None = None, limit: int = 100
) -> Page[JobChange]:
    """What was changed of a job, the latest first."""
    page = await list_entries(context, AuditFilter(job_id=job_id), cursor=cursor, limit=limit)
    return Page([msgspec.convert(each, JobChange, from_attributes=True) for each in page.items], page.cursor)


async def exported(
    context: Context, chosen: AuditFilter = EVERY_ENTRY, *, shared: bool = False, every: bool = False
) -> AsyncIterator[list[AuditView]]:
    """All sealed entries, in the order of the chain, in parts."""
    after = 0
    namespaces = seen_by(context, shared=shared, every=every)
    while True:
        rows = await context.fetch(
            "audit/export",
            namespaces=namespaces,
            job_id=chosen.job_id,
            since=chosen.since,
            until=chosen.until,
            after=after,
            **chosen.parameters(),
        )
        yield [view(row) for row in rows if row["matches"]]
        if len(rows) < EXPORTED_TOGETHER:
            return
        after = rows[-1]["sequence"]


@command
async def record(
    context: Context,
    action: str,
    object_id: str | None = None,
    object_name: str | None = None,
    *,
    job_id: int | None = None,
    namespace: str | None = None,
    detail: State | None = None,
) -> None:
    """Write an entry about something that changes nothing else in the database, such as a sign-in."""
    context.changed(action, object_id, object_name, job_id=job_id, namespace=namespace, detail=detail)


def view(row: asyncpg.Record) -> AuditView:
    fields: dict[str, Any] = {name: row[name] for name in AuditView.__struct_fields__ if name in row}
    fields["entry_id"] = encode_id("a", row["id"])
    if row["job_id"] is not None:
        fields["job_id"] = encode_id("j", row["job_id"])
    if row["jobs"] is not None:
        ranges = RANGE.findall(row["jobs"])
        fields["jobs"] = [[encode_id("j", int(first)), encode_id("j", int(end) - 1)] for first, end in ranges]
    for name in ("before", "after", "detail"):
        if row[name] is not None:
            fields[name] = msgspec.json.decode(row[name])
    return AuditView(**fields)


def _cursor(row: asyncpg.Record) -> str:
    return encode_cursor(row["at"], row["id"])


# Exports.

LineFormat = Literal["jsonl", "csv"]
Format = Literal["jsonl", "json", "csv"]


def as_lines(entries: list[AuditView]) -> bytes:
    return b"".join(msgspec.json.encode(each) + b"\n" for each in entries)


def as_csv(entries: list[AuditView]) -> bytes:
    """A cell that a spreadsheet would take for a formula begins with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for each in entries:
        cells = msgspec.to_builtins(each)
        writer.writerow([_cell(cells[name]) for name in AuditView.__struct_fields__])
    return out.getvalue().encode()


def csv_head() -> bytes:
    return (",".join(AuditView.__struct_fields__) + "\n").encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return cell_text(value if isinstance(value, str) else msgspec.json.encode(value).decode())


class Exporting(NamedTuple):
    """How entries are written: each part, what stands before the first, and what it is called in HTTP."""

    encode: Callable[[list[AuditView]], bytes]
    head: bytes
    media_type: str


FORMATS: Mapping[LineFormat, Exporting] = {
    "jsonl": Exporting(as_lines, b"", "application/x-ndjson"),
    "csv": Exporting(as_csv, csv_head(), "text/csv"),
}
