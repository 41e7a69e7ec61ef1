"""`sexton why`: what became of a job's occurrences, one line each."""

from __future__ import annotations

from functools import partial
from typing import Any

from sexton.api.jobs import routes
from sexton.cli.command import Ask, command
from sexton.cli.output import console, write
from sexton.cli.remote import STYLES, short_time


@command(routes.EXPLAIN_JOB)
def why(ask: Ask) -> int:
    """Say what happened to each occurrence of a job, and why."""
    return ask.shown(partial(_show, at=ask.given.get("at")))


def _show(lines: list[dict[str, Any]], at: str | None) -> None:
    out = console()
    if not lines:
        none = "It has had no occurrences, and none are due."
        write(out, none if at is None else f"It has no occurrences around {short_time(at)}.")
    width = max((len(short_time(line["scheduled_at"])) for line in lines), default=0)
    runs = max((len(line["run_id"] or "") for line in lines), default=0)
    for line in lines:
        style = STYLES.get(line["status"] or line["disposition"], "")
        run = f"{(line['run_id'] or '').ljust(runs)}  " if runs else ""
        write(out, f"{short_time(line['scheduled_at']).ljust(width)}  {run}{line['text']}", style)
