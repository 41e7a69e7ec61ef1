"""`sexton audit`: show, export and verify the audit."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.security import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.command import Ask, command
from sexton.cli.imports import open_file
from sexton.cli.output import StatusLine, Table, console, paragraph, write, write_json
from sexton.cli.remote import Json, short_time

Head = Annotated[
    str | None,
    Parameter(help="A head that you kept elsewhere, NUMBER:HASH. The chain must contain it."),
]
DatabaseUrl = Annotated[str | None, Parameter(help="The PostgreSQL. Default: SEXTON_DATABASE_URL.")]
Data = Annotated[Path | None, Parameter(help="Directory of the private PostgreSQL.")]


@command(routes.LIST_AUDIT, defaults={"limit": 20})
def list_(ask: Ask) -> int:
    """List changes, the latest first."""
    return ask.shown(_show)


@command(routes.EXPORT_AUDIT)
def export(ask: Ask) -> int:
    """Write all changes to the standard output.

    As JSON lines or CSV, in the order of the chain. An export of everything (--every) can be
    checked without the database: sexton audit verify --file FILE.
    """
    for part in ask.client.parts(routes.EXPORT_AUDIT.template, **ask.given):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    return DONE


def verify(
    *,
    head: Head = None,
    file: Annotated[
        Path | None, Parameter(help="Check an export, as JSON lines, instead of the database; - is stdin.")
    ] = None,
    database_url: DatabaseUrl = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Check that the audit is complete and was not changed.

    Every row has the hash of the one before. What is changed, removed, inserted or moved breaks the
    chain there. A program that can write to the database can compute all hashes anew: keep the head that
    is printed elsewhere, and give it next time (--head).
    """
    import asyncio

    from sexton.cli.local import with_context
    from sexton.security.audit_chain import Link, Verified, verify_lines
    from sexton.security.audit_chain import verify as check

    kept = None if head is None else Link.read(head)
    line = StatusLine(console(error=True))

    def progress(done: int, total: int) -> None:
        line.show(f"{done:,} of {total:,} rows")

    if file is not None:
        found: Verified = asyncio.run(verify_lines(_lines(file), kept))
    else:
        found = with_context(database_url, data, lambda context, _: check(context, kept, progress))
    line.clear()
    if json:
        write_json(
            {
                "sound": found.sound,
                "rows": found.rows,
                "first": str(found.first),
                "head": str(found.head),
                "faults": [{"sequence": each.sequence, "problem": each.problem} for each in found.faults],
                "fault_count": found.fault_count,
                "unsealed": found.unsealed,
                "unsealed_since": found.unsealed_since,
            }
        )
    else:
        _tell(found)
    return DONE if found.sound else NOT_DONE


async def _lines(file: Path) -> AsyncIterator[bytes]:
    with open_file(file) as stream:
        for line in stream:
            yield line


def _tell(found: Any) -> None:
    out, beside = console(), console(error=True)
    for fault in found.faults:
        paragraph(beside, f"row {fault.sequence}: {fault.problem}", "red")
    if found.fault_count > len(found.faults):
        write(beside, f"… and {found.fault_count - len(found.faults):,} more", "red")
    if found.unsealed:
        since = f"{found.unsealed_since:%Y-%m-%d %H:%M:%SZ}"
        paragraph(
            beside,
            f"{found.unsealed:,} are not sealed, the oldest since {since}: does a scheduler run?",
            "yellow",
        )
    rows = f"{found.rows:,} rows from {found.first.sequence + 1} to {found.head.sequence}"
    state = f"{rows} are sound" if found.sound else f"{rows}: the audit was changed"
    write(out, f"{state if found.rows else 'The audit is empty'}")
    write(out, f"head  {found.head}")


def _show(found: list[dict[str, Any]]) -> None:
    table = Table("at", "actor", "from", "action", "what", elastic=("actor", "what"), spare=("from",))
    for each in found:
        what = each["object_name"] or each["object_id"] or ""
        if each["namespace"] not in ("default", "*"):
            what = f"{each['namespace']}: {what}"
        table.add(short_time(each["at"]), each["actor"], each["face"], each["action"], what, note=_note(each))
    table.print(none="No changes.")


def _note(entry: dict[str, Any]) -> str | None:
    """The changes, and the reason."""
    before, after = entry["before"] or {}, entry["after"] or {}
    parts = [
        f"{name}: {_brief(before[name])} → {_brief(after[name])}" if name in before and name in after
        else f"{name}: {_brief(after.get(name, before.get(name)))}"
        for name in {**before, **after}
    ]  # fmt: skip
    parts += [f"{name}: {_brief(value)}" for name, value in (entry["detail"] or {}).items()]
    if entry["reason"] and entry["reason"] not in (after.get("paused_reason"),):
        parts.append(f"because: {entry['reason']}")
    return "; ".join(parts) or None


def _brief(value: Any) -> str:
    import json

    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:59]}…"
