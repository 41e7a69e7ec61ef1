"""`sexton import`: many jobs from a file, one JSON object per line."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sexton.api import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.output import console, write, write_json
from sexton.cli.remote import Json, connect
from sexton.errors import InvalidField

if TYPE_CHECKING:
    from sexton.cli.client import Client

CHUNK = 2000
MOST_SHOWN = 20


def import_jobs(
    file: Annotated[Path, Parameter(help="JSON lines; - is the standard input.", allow_leading_hyphen=True)],
    /,
    *,
    chunk: Annotated[int, Parameter(help="Lines made together, all or nothing. Default: 2000.")] = CHUNK,
    json: Json = False,
) -> int:
    """Make many jobs from a file with one JSON object per line.

    Lines are made in chunks, each all or nothing; what is refused is listed by
    line number. The same file again goes on where it broke off, for 24 hours.
    """
    if not 1 <= chunk <= 20_000:
        raise InvalidField("out_of_range", f"chunk is {chunk}", field="chunk", hint="give 1 to 20000")
    created, errors = 0, list[dict[str, Any]]()
    with connect() as client, _open(file) as stream, _Progress(file, show=not json) as progress:
        for first, lines in _chunks(stream, chunk):
            made, refused = _send(client, first, lines)
            created += made
            errors += refused
            progress.advance(sum(map(len, lines)), created, len(errors))
    if json:
        write_json({"created": created, "errors": errors})
    else:
        write(console(), f"{created:,} jobs made" + (f", {len(errors)} lines refused" if errors else ""))
        for error in errors[:MOST_SHOWN]:
            hint = f" ({error['hint']})" if error.get("hint") else ""
            write(console(error=True), f"line {error['line']}: {error['detail']}{hint}", "yellow")
        if len(errors) > MOST_SHOWN:
            write(console(error=True), f"… and {len(errors) - MOST_SHOWN} more; --json lists them all", "dim")
        if errors:
            told = f"Of each {chunk:,} lines either all are made or none: correct these, and import it again."
            write(console(error=True), told)
    return NOT_DONE if errors else DONE


def _send(client: Client, first: int, lines: list[bytes]) -> tuple[int, list[dict[str, Any]]]:
    # The key is the content: a chunk whose answer was lost is not made twice.
    key = hashlib.sha256(b"".join(lines)).hexdigest()
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": f"import-{key}"}
    answer, _ = client.request(
        "POST",
        routes.CREATE_JOBS.path,
        b"".join(lines),
        query={"chunk": len(lines)},
        headers=headers,
        accept=(422,),
    )
    errors = [{**error, "line": error["line"] + first - 1} for error in answer.get("errors", [])]
    if "created" not in answer:
        raise InvalidField(
            answer["code"], answer["detail"], field=answer.get("field", "file"), hint=answer.get("hint")
        )
    return answer["created"], errors


def _chunks(stream: IO[bytes], size: int) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the first line, lines), every line with its end."""
    first = 1
    while lines := list(islice(stream, size)):
        if not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        yield first, lines
        first += len(lines)


def _open(file: Path) -> IO[bytes]:
    if str(file) == "-":
        return sys.stdin.buffer
    try:
        return file.open("rb")
    except OSError as error:
        raise InvalidField("no_file", f"{file} cannot be read: {error.strerror}", field="file") from None


class _Progress:
    """A bar on the standard error, if that is a terminal."""

    def __init__(self, file: Path, *, show: bool) -> None:
        self._bar: Any = None
        if show and sys.stderr.isatty():
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            size = None if str(file) == "-" else file.stat().st_size
            self._bar = Progress(
                BarColumn(), DownloadColumn(), TimeRemainingColumn(), TextColumn("{task.description}"),
                console=console(error=True), transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("", total=size)

    def __enter__(self) -> _Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, size: int, created: int, refused: int) -> None:
        if self._bar is not None:
            told = f"{created:,} made" + (f", {refused} refused" if refused else "")
            self._bar.update(self._task, advance=size, description=told)
