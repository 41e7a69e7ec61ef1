"""`sexton targets`: test targets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from sexton.api.jobs import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.command import Ask, command
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import read_json_file
from sexton.errors import InvalidField


@command(routes.SEND_TEST, names={"timeout_seconds": "--timeout"}, without=("target",))
def send_test(
    ask: Ask,
    *,
    file: Annotated[Path | None, Parameter(help="A target as JSON; - for the standard input.")] = None,
) -> int:
    """Send a test: carry out a target once, and show the result.

    Ends with 0 if a run would have succeeded.
    """
    if (file is None) == ("job" not in ask.given):
        raise InvalidField(
            "bad_usage",
            "exactly one of --file and --job is required",
            field="file",
            hint="sexton targets test --file target.json, or --job JOB",
        )
    found = ask() if file is None else ask(target=read_json_file(file))
    if ask.json:
        write_json(found)
    else:
        out = console()
        for line in found["log"]:
            write(out, line, "dim")
        write(out, f"{found['outcome']} after {found['seconds'] * 1000:.0f} ms")
        if found["error"]:
            write(out, found["error"], "red")
        if found["result"] is not None:
            write_json(found["result"])
    return DONE if found["success"] else NOT_DONE
