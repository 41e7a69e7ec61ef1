"""`sexton targets`: trying out what runs do."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sexton.cli import DONE, NOT_DONE
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import Json, connect, read_json_file
from sexton.errors import InvalidField


def send_test(
    *,
    file: Annotated[Path | None, Parameter(help="A target as JSON; - for the standard input.")] = None,
    job: Annotated[str | None, Parameter(help="Instead: the target of this job.")] = None,
    payload: Annotated[str | None, Parameter(help="What to send, as JSON. Default: the job's.")] = None,
    timeout: Annotated[float, Parameter(help="Seconds it may take. Default: 60.")] = 60,
    json: Json = False,
) -> int:
    """Send a test: carry a target out once, and say how it went.

    Ends with 0 if a run would have succeeded.
    """
    if (file is None) == (job is None):
        raise InvalidField(
            "bad_usage",
            "it takes either a file or a job",
            field="file",
            hint="sexton targets test --file target.json, or --job JOB",
        )
    body: dict[str, Any] = {"timeout_seconds": timeout}
    if file is not None:
        body["target"] = read_json_file(file)
    if job is not None:
        body["job"] = job
    if payload is not None:
        body["payload"] = _read(payload)
    with connect() as client:
        found = client.post("/targets/test", body)
    if json:
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


def _read(text: str) -> Any:
    try:
        return json_.loads(text)
    except ValueError as error:
        raise InvalidField(
            "bad_json", f"--payload is not JSON: {error}", field="payload", hint="quote it: '{\"n\": 1}'"
        ) from None
