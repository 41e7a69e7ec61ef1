"""`sexton import`: many jobs from a file, one JSON object per line."""

from __future__ import annotations

import json as json_
import re
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.api.jobs import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.imports import (
    BYTE_ORDER_MARK,
    MOST_SHOWN,
    check_size,
    chunks,
    file_argument,
    import_progress,
    open_file,
    send,
    show_errors,
    summary,
)
from sexton.cli.output import console, cut, paragraph, write, write_json
from sexton.cli.remote import Json, connect
from sexton.errors import InvalidField

CHUNK, MOST_LINES = 2000, 20_000
CRON_LINE = re.compile(rb"\s*(?:@[a-z]+|(?:[\d*][\w*/,#-]*\s+){4}[\w*][\w*/,#-]*)\s+\S")
WORDS = {"created": "made", "changed": "changed"}


def import_jobs(
    file: Annotated[
        Path,
        Parameter(
            help="JSON lines; - is the standard input.", allow_leading_hyphen=True, converter=file_argument
        ),
    ],
    /,
    *,
    chunk: Annotated[int, Parameter(help="Lines created in one transaction. Default: 2000.")] = CHUNK,
    reason: Annotated[str | None, Parameter(help="The reason, for the audit.")] = None,
    json: Json = False,
) -> int:
    """Make many jobs from a file with one JSON object per line.

    An existing job gets the definition of its line, so the same file can be
    imported again. Lines are made in chunks, each all or nothing; refused lines
    are listed by number.
    """
    check_size(chunk, MOST_LINES)
    counts = Counter[str]()
    jobs, errors = list[dict[str, Any]](), list[dict[str, Any]]()
    with connect() as client, open_file(file) as stream, import_progress(file, show=not json) as progress:
        client.reason = reason
        for first, lines in chunks(stream, chunk):
            if first == 1:
                _check_form(file, lines)
            answer = send(client, routes.CREATE_JOBS, first, lines, existing="replace", results=True)
            done = [
                {**each, "line": each["line"] + first - 1, "name": _name(lines[each["line"] - 1])}
                for each in answer["results"]
            ]
            counts.update(each["result"] for each in done)
            jobs += done if json else [each for each in done if each["result"] != "unchanged"]
            errors += answer["errors"]
            progress.advance(sum(map(len, lines)), summary(counts, len(errors)))
    if json:
        told = {each: counts[each] for each in ("created", "changed", "unchanged")}
        write_json({**told, "jobs": jobs, "errors": errors})
        return NOT_DONE if errors else DONE
    out, beside = console(), console(error=True)
    for job in jobs[:MOST_SHOWN]:
        write(out, f"{WORDS[job['result']]:<10}{job['name']} ({job['job_id']})")
    if len(jobs) > MOST_SHOWN:
        write(out, f"… and {len(jobs) - MOST_SHOWN:,} more; --json lists them all", "dim")
    write(out, summary(counts, len(errors)))
    warnings = [f"warning: {job['name']}: {each}" for job in jobs for each in job.get("warnings", ())]
    for warning in warnings[:MOST_SHOWN]:
        paragraph(beside, warning, "yellow")
    if len(warnings) > MOST_SHOWN:
        write(beside, f"… and {len(warnings) - MOST_SHOWN:,} more warnings; --json lists them all", "dim")
    advice = f"Of each {chunk:,} lines either all are made or none: correct these, and import it again."
    show_errors(errors, len(errors), advice)
    return NOT_DONE if errors else DONE


def _name(line: bytes) -> str:
    name: str = json_.loads(line)["name"]
    return name


def _check_form(file: Path, lines: list[bytes]) -> None:
    """If the first line is not a JSON object, refuse the file once, instead of every line."""
    text = next((line.strip().removeprefix(BYTE_ORDER_MARK) for line in lines if line.strip()), b"{")
    if text.startswith(b"{"):
        return
    accepted = 'one JSON object per line, such as {"name": "report", "schedule": "0 9 * * *"}'
    if text.startswith(b"["):
        what = "is a JSON list"
        accepted += "; jq -c '.[]' makes such lines"
    elif _is_crontab(lines):
        what = "is a crontab, not JSON"
        accepted += "; or add each line: `sexton jobs add NAME --schedule '0 9 * * *' …`"
    else:
        what = f"is not JSON: it begins with {cut(text.decode('utf-8', 'replace'), 40)!r}"
    name = "the standard input" if str(file) == "-" else str(file)
    raise InvalidField("not_json_lines", f"{name} {what}", field="file", hint=f"import takes {accepted}")


def _is_crontab(lines: list[bytes]) -> bool:
    """Whether a line begins with five cron fields, or with a word such as `@daily`."""
    return any(CRON_LINE.match(line) for line in lines)
