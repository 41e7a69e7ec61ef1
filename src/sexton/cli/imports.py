"""`sexton import`: many jobs from a file, one JSON object per line."""

from __future__ import annotations

import json as json_
import re
import sys
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

from cyclopts import ArgumentCollection, Parameter, Token, UnknownOptionError

from sexton.api.jobs import routes
from sexton.cli import DONE, NOT_DONE
from sexton.cli.output import console, cut, paragraph, write, write_json
from sexton.cli.remote import Json, connect
from sexton.errors import InvalidField
from sexton.printable import counted

if TYPE_CHECKING:
    from sexton.cli.client import Client

CHUNK = 2000
MOST_SHOWN = 20
CRON_LINE = re.compile(rb"\s*(?:@[a-z]+|(?:[\d*][\w*/,#-]*\s+){4}[\w*][\w*/,#-]*)\s+\S")
WORDS = {"created": "made", "changed": "changed"}


def file_argument(_: Any, tokens: Sequence[Token]) -> Path:
    """A file, or - for the standard input. Anything else with a hyphen is an option that is not known."""
    [token] = tokens
    if token.value.startswith("-") and token.value != "-":
        known = ArgumentCollection()  # type: ignore[no-untyped-call]
        raise UnknownOptionError(token=token, argument_collection=known)
    return Path(token.value)


def import_jobs(
    file: Annotated[
        Path,
        Parameter(
            help="JSON lines; - is the standard input.", allow_leading_hyphen=True, converter=file_argument
        ),
    ],
    /,
    *,
    chunk: Annotated[int, Parameter(help="Lines made together, all or nothing. Default: 2000.")] = CHUNK,
    reason: Annotated[str | None, Parameter(help="Why, for the audit.")] = None,
    json: Json = False,
) -> int:
    """Make many jobs from a file with one JSON object per line.

    A job that is there already gets the definition of its line, so the same
    file can be imported again. Lines are made in chunks, each all or nothing;
    what is refused is listed by line number.
    """
    if not 1 <= chunk <= 20_000:
        raise InvalidField("out_of_range", f"chunk is {chunk}", field="chunk", hint="give 1 to 20000")
    counts = Counter[str]()
    jobs, errors = list[dict[str, Any]](), list[dict[str, Any]]()
    with connect() as client, open_file(file) as stream, ImportProgress(file, show=not json) as progress:
        client.reason = reason
        for first, lines in chunks(stream, chunk):
            if first == 1:
                _check_form(file, lines)
            done, refused = _send(client, first, lines)
            counts.update(each["result"] for each in done)
            jobs += done if json else [each for each in done if each["result"] != "unchanged"]
            errors += refused
            progress.advance(sum(map(len, lines)), counts, len(errors))
    if json:
        told = {each: counts[each] for each in ("created", "changed", "unchanged")}
        write_json({**told, "jobs": jobs, "errors": errors})
        return NOT_DONE if errors else DONE
    out, beside = console(), console(error=True)
    for job in jobs[:MOST_SHOWN]:
        write(out, f"{WORDS[job['result']]:<10}{job['name']} ({job['job_id']})")
    if len(jobs) > MOST_SHOWN:
        write(out, f"… and {len(jobs) - MOST_SHOWN:,} more; --json lists them all", "dim")
    write(out, _summary(counts, len(errors)))
    warnings = [f"warning: {job['name']}: {each}" for job in jobs for each in job.get("warnings", ())]
    for warning in warnings[:MOST_SHOWN]:
        paragraph(beside, warning, "yellow")
    if len(warnings) > MOST_SHOWN:
        write(beside, f"… and {len(warnings) - MOST_SHOWN:,} more warnings; --json lists them all", "dim")
    for error in errors[:MOST_SHOWN]:
        hint = f" ({error['hint']})" if error.get("hint") else ""
        write(beside, f"line {error['line']}: {error['detail']}{hint}", "yellow")
    if len(errors) > MOST_SHOWN:
        write(beside, f"… and {len(errors) - MOST_SHOWN} more; --json lists them all", "dim")
    if errors:
        write(
            beside,
            f"Of each {chunk:,} lines either all are made or none: correct these, and import it again.",
        )
    return NOT_DONE if errors else DONE


def _summary(counts: Counter[str], refused: int, noun: str = "job", verb: str = "made") -> str:
    """`2 jobs made, 1 changed, 3 unchanged, 1 line refused`."""
    found = [f"{counted(counts['created'], noun)} {verb}"]
    found += [f"{counts[each]:,} {each}" for each in ("changed", "unchanged") if counts[each]]
    return ", ".join(found + ([f"{counted(refused, 'line')} refused"] if refused else []))


def _send(
    client: Client, first: int, lines: list[bytes]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What became of each job, and the lines that were refused."""
    # The key is good for this chunk alone: if its answer is lost, the client asks for it again.
    headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": str(uuid.uuid4())}
    answer, _ = client.request(
        "POST",
        routes.CREATE_JOBS.path,
        b"".join(lines),
        query={"chunk": len(lines), "existing": "replace", "results": True},
        headers=headers,
        accept=(422,),
    )
    if "created" not in answer:
        raise InvalidField(
            answer["code"], answer["detail"], field=answer.get("field", "file"), hint=answer.get("hint")
        )
    jobs = [
        {**each, "line": each["line"] + first - 1, "name": json_.loads(lines[each["line"] - 1])["name"]}
        for each in answer["results"]
    ]
    return jobs, [{**error, "line": error["line"] + first - 1} for error in answer.get("errors", [])]


def _check_form(file: Path, lines: list[bytes]) -> None:
    """If the first line is no JSON object, the file is something else: say that once, not for every line."""
    text = next((line.strip().removeprefix(b"\xef\xbb\xbf") for line in lines if line.strip()), b"{")
    if text.startswith(b"{"):
        return
    accepted = 'one JSON object per line, such as {"name": "report", "schedule": "0 9 * * *"}'
    if text.startswith(b"["):
        what = "is a JSON list"
        accepted += "; jq -c '.[]' makes such lines"
    elif _is_crontab(lines):
        what = "is a crontab, not JSON"
        accepted += "; its times can stay: `sexton jobs add NAME --schedule '0 9 * * *' …` for each"
    else:
        what = f"is not JSON: it begins with {cut(text.decode('utf-8', 'replace'), 40)!r}"
    name = "the standard input" if str(file) == "-" else str(file)
    raise InvalidField("not_json_lines", f"{name} {what}", field="file", hint=f"import takes {accepted}")


def _is_crontab(lines: list[bytes]) -> bool:
    """Whether a line begins with five fields of cron, or with a word such as `@daily`."""
    return any(CRON_LINE.match(line) for line in lines)


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


class ImportProgress:
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

    def __enter__(self) -> ImportProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(
        self, size: int, counts: Counter[str], refused: int, noun: str = "job", verb: str = "made"
    ) -> None:
        if self._bar is not None:
            told = _summary(counts, refused, noun, verb)
            self._bar.update(self._task, advance=size, description=told)
