"""Importing a file: it is sent in chunks of lines, each all or nothing."""

from __future__ import annotations

import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

from cyclopts import ArgumentCollection, Parameter, Token, UnknownOptionError

from sexton.api.route import Route
from sexton.cli import DONE, NOT_DONE
from sexton.cli.output import ProgressBar, console, write, write_json
from sexton.cli.remote import connect
from sexton.errors import InvalidField
from sexton.printable import counted

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from sexton.cli.client import Client

MOST_SHOWN = 20
# Errors that are kept; all are counted.
MOST_ERRORS = 1000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def file_argument(_: Any, tokens: Sequence[Token]) -> Path:
    """A file, or - for the standard input. Any other text with a hyphen is an unknown option."""
    [token] = tokens
    if token.value.startswith("-") and token.value != "-":
        known = ArgumentCollection()  # type: ignore[no-untyped-call]
        raise UnknownOptionError(token=token, argument_collection=known)
    return Path(token.value)


# A file of lines, as an argument.
LinesFile = Annotated[
    Path,
    Parameter(
        help="JSON lines or CSV; - is the standard input.", allow_leading_hyphen=True, converter=file_argument
    ),
]


@dataclass
class Imported:
    """The result of an import: `counts` of the accepted lines, and the refused lines."""

    counts: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)

    def shown(self, told: str, advice: str, *, json: bool) -> int:
        """Print the result, and what to do about refused lines; the exit code."""
        if json:
            write_json({"created": 0, **self.counts, "refused": self.refused, "errors": self.errors})
        else:
            write(console(), told + (f", {counted(self.refused, 'line')} refused" if self.refused else ""))
            show_errors(self.errors, self.refused, advice)
        return NOT_DONE if self.refused else DONE


def import_file(
    route: Route, file: Path, size: int, most: int, thing: str, done: str, *, reason: str | None, show: bool,
    **query: Any,
) -> Imported:  # fmt: skip
    """Send a file of JSON lines, or of CSV with a heading, in chunks of at most `size` lines."""
    check_size(size, most)
    imported, heading = Imported(), b""
    with connect() as client, open_file(file) as stream, import_progress(file, show=show) as progress:
        client.reason = reason
        for first, lines in chunks(stream, size):
            weight = sum(map(len, lines))
            if first == 1 and not is_json(lines[0]):
                heading, lines, first = lines[0], lines[1:], 2
            if lines:
                answer = send(client, route, first, lines, heading, **query)
                imported.counts.update(
                    {name: answer[name] for name in ("created", "changed") if name in answer}
                )
                imported.refused += len(answer["errors"])
                imported.errors += answer["errors"][: MOST_ERRORS - len(imported.errors)]
            progress.advance(weight, summary(imported.counts, imported.refused, thing, done))
    return imported


def check_size(size: int, most: int) -> None:
    if not 1 <= size <= most:
        raise InvalidField("out_of_range", f"chunk is {size}", field="chunk", hint=f"give 1 to {most}")


def is_json(line: bytes) -> bool:
    """Whether a file that begins with this line has JSON lines, not CSV."""
    return line.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{")


def send(
    client: Client, route: Route, first: int, lines: list[bytes], heading: bytes = b"", **query: Any
) -> dict[str, Any]:
    """Send a chunk; the answer, with the lines at fault as `errors`, numbered as in the file."""
    # The key is for this chunk alone: if the answer is lost, the client repeats the request.
    kind = "text/csv" if heading else "application/x-ndjson"
    answer, _ = client.request(
        "POST",
        route.path,
        heading + b"".join(lines),
        query={"chunk": len(lines) + bool(heading), **query},
        headers={"Content-Type": kind, "Idempotency-Key": str(uuid.uuid4())},
        accept=(422,),
    )
    if "created" not in answer:
        raise InvalidField(
            answer["code"], answer["detail"], field=answer.get("field", "file"), hint=answer.get("hint")
        )
    before = first - 1 - bool(heading)
    errors = [{**each, "line": each["line"] + before} for each in answer.get("errors", [])]
    return {**answer, "errors": errors}


def show_errors(errors: list[dict[str, Any]], refused: int, advice: str) -> None:
    beside = console(error=True)
    for error in errors[:MOST_SHOWN]:
        hint = f" ({error['hint']})" if error.get("hint") else ""
        write(beside, f"line {error['line']}: {error['detail']}{hint}", "yellow")
    if refused > MOST_SHOWN:
        write(beside, f"… and {refused - MOST_SHOWN:,} more; --json lists them", "dim")
    if refused:
        write(beside, advice)


def summary(counts: Counter[str], refused: int, noun: str = "job", verb: str = "made") -> str:
    """`2 jobs made, 1 changed, 3 unchanged, 1 line refused`."""
    found = [f"{counted(counts['created'], noun)} {verb}"]
    found += [f"{counts[each]:,} {each}" for each in ("changed", "unchanged") if counts[each]]
    return ", ".join(found + ([f"{counted(refused, 'line')} refused"] if refused else []))


def chunks(stream: IO[bytes], size: int) -> Iterator[tuple[int, list[bytes]]]:
    """(number of the first line, lines), every line with its end."""
    first = 1
    while lines := list(islice(stream, size)):
        if not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        yield first, lines
        first += len(lines)


def open_file(file: Path) -> IO[bytes]:
    if str(file) == "-":
        return sys.stdin.buffer
    try:
        return file.open("rb")
    except OSError as error:
        raise InvalidField("no_file", f"{file} cannot be read: {error.strerror}", field="file") from None


def import_progress(file: Path, *, show: bool) -> ProgressBar:
    size = None if str(file) == "-" else file.stat().st_size
    return ProgressBar(_columns, size, show=show)


def _columns() -> list[ProgressColumn]:
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    return [BarColumn(), DownloadColumn(), TimeRemainingColumn(), TextColumn("{task.description}")]
