"""Writing to a terminal, to a pipe and as JSON. On a terminal tables are as wide as it is, at most."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any

import msgspec

from sexton.printable import printable, printable_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime, timedelta

    from rich.console import Console
    from rich.progress import ProgressColumn

    from sexton.errors import ScheduleError, SextonError

WIDTH = 80
NARROWEST = 8  # the least width of a column


class RefusedError(Exception):
    """A schedule or an option was refused; `text` is the schedule, for showing where."""

    def __init__(self, error: ScheduleError, text: str | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.text = text


class Table:
    """Left-aligned columns; a row may be dimmed and may have a note below it.

    If the terminal is too narrow, the `elastic` columns are cut, the widest one first. If that is not enough,
    the `spare` columns are left out, the last one first. A pipe gets all columns.
    """

    def __init__(self, *headings: str, elastic: Sequence[str] = (), spare: Sequence[str] = ()) -> None:
        self._rows: list[tuple[Sequence[str], str | None, str]] = [(headings, None, "bold")]
        self._elastic = [headings.index(heading) for heading in elastic]
        self._spare = [headings.index(heading) for heading in spare]

    def add(self, *cells: str, note: str | None = None, style: str = "") -> None:
        self._rows.append(([" ".join(cell.splitlines()) for cell in cells], note, style))

    def print(self, out: Console | None = None, *, none: str = "") -> None:
        """Print to a console; by default, to the standard output. Without rows, print `none` instead."""
        out = out or console()
        if none and len(self._rows) == 1:
            write(out, none, "dim")
            return
        widths = [
            max(map(len, column)) for column in zip(*(cells for cells, _, _ in self._rows), strict=True)
        ]
        if out.is_terminal:
            self._fit(widths, width(out))
        for cells, note, style in self._rows:
            columns = [(cell, width) for cell, width in zip(cells, widths, strict=True) if width]
            line = "  ".join(cut(cell, width).ljust(width) for cell, width in columns)
            write(out, line.rstrip(), style)
            for part in textwrap.wrap(note or "", WIDTH - 4):
                write(out, f"    {part}", style or "yellow")

    def _fit(self, widths: list[int], room: int) -> None:
        """Make the widths fit; a column that is left out has none."""
        spare = list(self._spare)
        while sum(widths) + 2 * (sum(map(bool, widths)) - 1) > room:
            widest = max(self._elastic, key=widths.__getitem__, default=None)
            if widest is not None and widths[widest] > NARROWEST:
                widths[widest] -= 1
            elif spare:
                widths[spare.pop()] = 0
            else:
                return


class ProgressBar:
    """A bar on the standard error with these columns of rich, if that is a terminal."""

    def __init__(
        self, columns: Callable[[], Iterable[ProgressColumn]], total: int | None, *, show: bool
    ) -> None:
        self._bar: Any = None
        if show and sys.stderr.isatty():
            from rich.progress import Progress

            self._bar = Progress(*columns(), console=console(error=True), transient=True)
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> ProgressBar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def advance(self, steps: int, description: str = "") -> None:
        if self._bar is not None:
            self._bar.update(self._task, advance=steps, description=description)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()


class StatusLine:
    """A status: on a terminal one line that changes, elsewhere a line for each change."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._changes = console.is_terminal and not console.is_dumb_terminal
        self._told = ""

    def show(self, text: str, countdown: str = "") -> None:
        """Show a status. A countdown after it is no change: only a line that changes shows it."""
        text = text + countdown if self._changes else text
        if text == self._told:
            return
        self.clear()
        self._told = text
        if self._changes:
            self._console.file.write(cut(_printable(text), width(self._console) - 1))
            self._console.file.flush()
        else:
            write(self._console, text, "dim")

    def clear(self) -> None:
        if self._told and self._changes:
            self._console.file.write("\r\x1b[2K")  # clear the line
            self._console.file.flush()
        self._told = ""


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def console(*, error: bool = False) -> Console:
    """Colours only on a terminal that wants them; rich is loaded only for people."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1; `main` handles it

    return Pipe(stderr=error, highlight=False, markup=False, emoji=False)


def width(console: Console) -> int:
    """The width of the console in characters."""
    return console.width


def write(console: Console, line: str, style: str = "") -> None:
    console.print(printable(line), style=style or None, soft_wrap=True)


def paragraph(console: Console, text: str, style: str = "") -> None:
    for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False) or [""]:
        write(console, line, style)


def write_json(value: Any) -> None:
    """One value on one line, in UTF-8 whatever the encoding of the terminal."""
    sys.stdout.flush()
    # Arguments that are not UTF-8 arrive as lone surrogates, which JSON cannot carry.
    text = msgspec.json.encode(_without_surrogates(value)).decode()
    sys.stdout.buffer.write(printable_json(text).encode() + b"\n")
    sys.stdout.buffer.flush()


def show_refusal(refused: RefusedError, *, as_json: bool) -> None:
    """Print what is wrong, where, and what to do about it."""
    error, text = refused.error, refused.text
    if as_json:
        write_json({"error": error.to_dict()})
    lines = [f"sexton: {_printable(error.message)}"]
    if text is not None and error.position is not None and error.field == "schedule":
        lines += _pointed_at(text, error.position)
    lines += _hinted(error)
    _complain(lines)


def show_error(error: SextonError, *, as_json: bool) -> None:
    """Print what failed, and what to do next."""
    if as_json:
        write_json({"error": error.to_dict()})
    lines = [f"sexton: {_printable(error.message)}"]
    _complain(lines + _hinted(error))


def show_usage_error(message: str, hint: str, *, as_json: bool) -> None:
    if as_json:
        write_json(
            {
                "error": {
                    "code": "bad_usage",
                    "message": message,
                    "hint": hint,
                    "position": None,
                    "field": None,
                }
            }
        )
    _complain([f"sexton: {_printable(message)}", f"  {hint}"])


def wall(moment: datetime, *, seconds: bool) -> str:
    """`Tue 2026-10-20 09:00`."""
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    return f"{day} {moment.replace(tzinfo=None).isoformat(' ', 'seconds' if seconds else 'minutes')}"


def distance(ahead: timedelta) -> str:
    """`in 3 h 20 min`: the two largest units."""
    minutes, seconds = divmod(ahead.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    units = [(ahead.days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    while len(units) > 1 and units[0][0] == 0:
        units.pop(0)
    (large, unit), *rest = units
    small = f" {rest[0][0]} {rest[0][1]}" if rest and rest[0][0] else ""
    return f"in {large} {unit}{small}"


def _hinted(error: SextonError) -> list[str]:
    return [f"  {_printable(line.strip())}" for line in (error.hint or "").splitlines()]


def _pointed_at(text: str, position: int) -> list[str]:
    """The line of `text` that holds `position`, cut to fit, and a caret under it."""
    position = min(position, len(text))
    start = text.rfind("\n", 0, position) + 1
    line, column = text[start:].split("\n", 1)[0], position - start
    room = WIDTH - 4
    shift = max(0, min(column - room // 2, len(line) - room))
    return [f"  {_printable(line[shift : shift + room])}", f"  {' ' * (column - shift)}^"]


def _printable(text: str) -> str:
    """Replace every character that is not printable, such as those that move the cursor."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {key: _without_surrogates(each) for key, each in value.items()}
        case list():
            return [_without_surrogates(each) for each in value]
        case _:
            return value


def _complain(lines: Iterable[str]) -> None:
    print(printable("\n".join(lines)), file=sys.stderr)
