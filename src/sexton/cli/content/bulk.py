"""`sexton content import`: many planned actions from a file, JSON lines or CSV."""

from __future__ import annotations

import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sexton.api.content import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.imports import MOST_SHOWN, ImportProgress, chunks, file_argument, open_file
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import Json, connect
from sexton.errors import InvalidField
from sexton.printable import counted

if TYPE_CHECKING:
    from sexton.cli.client import Client

CHUNK = 1000
# Of the errors that are kept; all are counted.
MOST_ERRORS = 1000


def import_content(
    file: Annotated[
        Path,
        Parameter(
            help="JSON lines or CSV; - is the standard input.",
            allow_leading_hyphen=True,
            converter=file_argument,
        ),
    ],
    /,
    *,
    chunk: Annotated[int, Parameter(help="Lines planned together, all or nothing. Default: 1000.")] = CHUNK,
    force: Annotated[bool, Parameter(help="Plan them though they contradict other plans.")] = False,
    reason: Annotated[str | None, Parameter(help="Why, for the audit.")] = None,
    json: Json = False,
) -> int:
    """Plan many actions from JSON lines or CSV.

    Either one JSON object per line, or CSV whose first line names the columns,
    such as entity_type,entity_id,action,local_time,timezone,created_by. Lines are
    planned in chunks, each all or nothing; what is refused is listed by line.
    """
    if not 1 <= chunk <= 2000:
        raise InvalidField("out_of_range", f"chunk is {chunk}", field="chunk", hint="give 1 to 2000")
    planned, refused, errors = 0, 0, list[dict[str, Any]]()
    heading: bytes | None = None
    with connect() as client, open_file(file) as stream, ImportProgress(file, show=not json) as progress:
        client.reason = reason
        for first, lines in chunks(stream, chunk):
            size = sum(map(len, lines))
            if first == 1 and not lines[0].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
                heading, lines, first = lines[0], lines[1:], 2
            if lines:
                made, wrong = _send(client, first, lines, heading, force)
                planned += made
                refused += len(wrong)
                errors += wrong[: MOST_ERRORS - len(errors)]
            progress.advance(size, Counter(created=planned), refused, "action", "planned")
    if json:
        write_json({"created": planned, "refused": refused, "errors": errors})
        return NOT_DONE if errors else DONE
    told = f"{counted(planned, 'action')} planned"
    write(console(), told + (f", {counted(refused, 'line')} refused" if refused else ""))
    beside = console(error=True)
    for error in errors[:MOST_SHOWN]:
        hint = f" ({error['hint']})" if error.get("hint") else ""
        write(beside, f"line {error['line']}: {error['detail']}{hint}", "yellow")
    if refused > MOST_SHOWN:
        write(beside, f"… and {refused - MOST_SHOWN:,} more; --json lists them", "dim")
    if refused:
        told = f"Of each {chunk:,} lines either all are planned or none: import those that were not again."
        write(beside, told)
    return NOT_DONE if errors else DONE


def _send(
    client: Client, first: int, lines: list[bytes], heading: bytes | None, force: bool
) -> tuple[int, list[dict[str, Any]]]:
    """How many were planned, and the lines that were refused."""
    # The key is good for this chunk alone: if its answer is lost, the client asks for it again.
    kind = "application/x-ndjson" if heading is None else "text/csv"
    headers = {"Content-Type": kind, "Idempotency-Key": str(uuid.uuid4())}
    answer, _ = client.request(
        "POST",
        routes.IMPORT_SCHEDULES.path,
        (heading or b"") + b"".join(lines),
        query={"chunk": len(lines) + (heading is not None), "force": force},
        headers=headers,
        accept=(422,),
    )
    if "created" not in answer:
        raise InvalidField(
            answer["code"], answer["detail"], field=answer.get("field", "file"), hint=answer.get("hint")
        )
    before = first - 1 - (heading is not None)
    return answer["created"], [{**each, "line": each["line"] + before} for each in answer.get("errors", [])]
