"""`sexton content import`: many planned actions from a file, JSON lines or CSV."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from sexton.api.content import routes
from sexton.cli.imports import LinesFile, import_file
from sexton.cli.remote import Json
from sexton.printable import counted

CHUNK, MOST_LINES = 1000, 2000


def import_content(
    file: LinesFile,
    /,
    *,
    chunk: Annotated[int, Parameter(help="Lines planned in one transaction. Default: 1000.")] = CHUNK,
    force: Annotated[bool, Parameter(help="Plan actions even if they contradict other plans.")] = False,
    reason: Annotated[str | None, Parameter(help="The reason, for the audit.")] = None,
    json: Json = False,
) -> int:
    """Plan many actions from JSON lines or CSV.

    Either one JSON object per line, or CSV whose first line names the columns,
    such as entity_type,entity_id,action,local_time,timezone,created_by. Lines are
    planned in chunks, each all or nothing; refused lines are listed.
    """
    imported = import_file(
        routes.IMPORT_SCHEDULES, file, chunk, MOST_LINES, "action", "planned", reason=reason, show=not json,
        force=force,
    )  # fmt: skip
    return imported.shown(
        f"{counted(imported.counts['created'], 'action')} planned",
        f"Of each {chunk:,} lines either all are planned or none: import the others again.",
        json=json,
    )
