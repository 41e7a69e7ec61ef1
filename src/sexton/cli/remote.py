"""Commands that use a server: the connection, and how jobs and runs are shown."""

from __future__ import annotations

import contextlib
import json as json_
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sexton import clock
from sexton.cli.client import Client
from sexton.errors import InvalidField
from sexton.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

Json = Annotated[bool, Parameter(help="Answer with JSON.")]
Yes = Annotated[bool, Parameter(name=["--yes", "-y"], help="Do not ask for confirmation.")]

STYLES = {
    "active": "green", "success": "green", "running": "cyan", "pending": "", "waiting": "", "fired": "green",
    "failed": "yellow", "paused": "yellow", "skipped": "dim", "expired": "dim", "cancelled": "dim",
    "completed": "dim", "deleted": "dim", "dead": "red", "upcoming": "",
}  # fmt: skip

POLL_SECONDS = 0.5


def connect() -> Client:
    return Client()


def listed(client: Client, path: str, limit: int, narrow: str, **query: Any) -> list[Any]:
    """Up to `limit` items of a list. If there are more, say so on the standard error, and how to see them;
    `narrow` names the options that filter the list, if any."""
    if limit < 1:
        raise InvalidField(
            "out_of_range", f"--limit is {limit}", field="limit", hint="give 1 or more: --limit 1000"
        )
    found = list(client.pages(path, most=limit + 1, **query))
    if len(found) > limit:
        more = f"There are more than these {limit:,}: add --limit {limit * 10}"
        print(f"{more}, or narrow with {narrow}." if narrow else f"{more}.", file=sys.stderr)
    return found[:limit]


def read_json_file(file: Path) -> Any:
    """The JSON value of a file, or of the standard input."""
    try:
        return json_.loads(sys.stdin.read() if str(file) == "-" else file.read_text("utf-8"))
    except OSError as error:
        raise InvalidField("no_file", f"{file} cannot be read: {error.strerror}", field="file") from None
    except ValueError as error:
        raise InvalidField(
            "bad_json", f"{file} cannot be read as JSON: {error}", field="file", hint="give a file with JSON"
        ) from None


def moment(text: str | None) -> datetime | None:
    """An instant of the API."""
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def instant(text: str, field: str) -> str:
    """A time as people type it, for the API: an instant, `now`, or `-2h`, `+30m` from now."""
    if text == "now":
        text = "+0s"
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
    if text[:1] in "+-" and text[-1:] in unit and text[1:-1].isdecimal():
        with contextlib.suppress(OverflowError):  # no year is so far away
            shift = timedelta(seconds=int(text[1:-1]) * unit[text[-1]])
            return clock.iso(clock.now() + (shift if text[0] == "+" else -shift))
    try:
        read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise InvalidField(
            "bad_time",
            f"{text!r} is not an instant",
            field=field,
            hint="write 2026-06-08T13:00:00Z, or a distance from now: -2h, +30m",
        )
    return clock.iso(read)


def read_text(text: str, field: str) -> str:
    """A text as people type it, or that of `@FILE`."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    raise InvalidField("no_file", f"{text[1:]} cannot be read: {why}", field=field, hint="give another file")


def read_json(text: str, field: str) -> Any:
    """JSON as people type it, or `@FILE`."""
    given = read_text(text, field)
    try:
        return json_.loads(given)
    except ValueError as error:
        raise InvalidField(
            "bad_json", f"--{field} is not JSON: {error}", field=field, hint="""such as '{"n": 1}'"""
        ) from None


def read_object(text: str | None, field: str) -> dict[str, Any]:
    """An object of JSON as people type it, or `@FILE`; an empty one without a text."""
    found = {} if text is None else read_json(text, field)
    if not isinstance(found, dict):
        raise InvalidField(
            "bad_value", f"{field} is not a JSON object", field=field, hint="""such as '{"name": "Ann"}'"""
        )
    return found


def pair(text: str, mark: str, option: str, example: str) -> tuple[str, str]:
    """A name and a value with a mark between them."""
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise InvalidField("bad_value", f"--{option} is {text!r}", field=option, hint=f"such as {example!r}")
    return name.strip(), value.strip()


def short_time(text: str | None) -> str:
    """An instant for a table: to the second, and without the date if it is today."""
    at = moment(text)
    if at is None:
        return "-"
    at = at.astimezone(UTC)
    day = "" if at.date() == clock.now().date() else f"{at:%Y-%m-%d} "
    return f"{day}{at:%H:%M:%S}Z"


def show_fields(out: Console, fields: Iterable[tuple[str, Any]]) -> None:
    """Names and values, one line each; what is empty is left out."""
    from sexton.cli.output import write

    rows = [(name, value) for name, value in fields if value not in (None, [], {}, "")]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        text = value if isinstance(value, str) else json_.dumps(value, ensure_ascii=False)
        write(out, f"{name.ljust(width)}  {text}", STYLES.get(text, "") if name == "status" else "")


def warn(found: dict[str, Any]) -> None:
    """Write the warnings of an answer to the standard error."""
    from sexton.cli.output import console, paragraph

    for warning in found.get("warnings", []):
        paragraph(console(error=True), f"warning: {warning}", "yellow")


def show_runs(out: Console, runs: list[dict[str, Any]], *, with_job: bool) -> None:
    from sexton.cli.output import Table

    headings = ["run", *(["job"] if with_job else []), "scheduled", "status", "late", "took", "try"]
    table = Table(*headings, elastic=("job",) if with_job else ())
    for run in runs:
        cells = [
            run["run_id"] or "-",
            *([run["job_name"] or run["job_id"]] if with_job else []),
            short_time(run["scheduled_at"]),
            run["status"],
            seconds(run["late_seconds"]),
            seconds(took(run)),
            str(run["attempt"] or "-"),
        ]
        table.add(*cells, note=note_of(run), style=STYLES.get(run["status"], ""))
    table.print(out)


def note_of(run: dict[str, Any]) -> str | None:
    if run["status"] == "skipped":
        if not run.get("until_at"):
            return str(run["reason"])
        return f"{run['reason']}, {run['occurrences']:,} times up to {short_time(run['until_at'])}"
    if run["status"] == "failed":
        return f"{first_line(run['error'])}; next attempt at {short_time(run['next_attempt_at'])}"
    return first_line(run["error"]) if run["error"] else None


def first_line(text: str | None) -> str:
    """The first line of an error; its traceback follows."""
    lines = (text or "").strip().splitlines()
    return lines[0] if lines else "no error recorded"


def took(run: dict[str, Any]) -> float | None:
    started, finished = moment(run["started_at"]), moment(run["finished_at"])
    return (finished - started).total_seconds() if started and finished else None


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 100:
        return f"{value:.1f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.0f} h"


def confirm(question: str, yes: bool) -> bool:
    """Ask for confirmation; without a terminal, --yes is required."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidField("not_confirmed", question, field="yes", hint="add --yes")
    print(printable(f"{question} [y/N] "), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
