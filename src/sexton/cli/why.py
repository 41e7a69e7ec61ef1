"""`sexton why`: what became of a job's occurrences, one line each."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from sexton.cli import DONE
from sexton.cli.client import place
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import STYLES, Json, Ref, connect, instant, short_time


def why(
    job: Ref,
    /,
    *,
    at: Annotated[
        str | None,
        Parameter(help="The occurrence at this instant, or those around it.", allow_leading_hyphen=True),
    ] = None,
    past: Annotated[int, Parameter(help="How many of the latest. Default: 10.")] = 10,
    ahead: Annotated[int, Parameter(help="How many of the next. Default: 3.")] = 3,
    json: Json = False,
) -> int:
    """Say what became of each occurrence of a job, and why."""
    moment = None if at is None else instant(at, "at")
    with connect() as client:
        lines = client.get(f"{place('jobs', job)}/why", at=moment, past=past, ahead=ahead)
    if json:
        write_json(lines)
        return DONE
    out = console()
    if not lines:
        none = "It has had no occurrences, and none are to come."
        write(out, none if moment is None else f"It has no occurrences around {short_time(moment)}.")
    width = max((len(short_time(line["scheduled_at"])) for line in lines), default=0)
    runs = max((len(line["run_id"] or "") for line in lines), default=0)
    for line in lines:
        style = STYLES.get(line["status"] or line["disposition"], "")
        run = f"{(line['run_id'] or '').ljust(runs)}  " if runs else ""
        write(out, f"{short_time(line['scheduled_at']).ljust(width)}  {run}{line['text']}", style)
    return DONE
