"""`sexton content calendar`: a month or a week of what is planned and what happened, in the terminal."""

from __future__ import annotations

import calendar as months
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from sexton import clock
from sexton.api.content import routes
from sexton.cli import DONE
from sexton.cli.command import Ask, command
from sexton.cli.output import console, cut, write, write_json
from sexton.cli.remote import first_line, moment
from sexton.errors import InvalidField
from sexton.jobs.moment import find_zone
from sexton.printable import printable
from sexton.schedules.zone import Zone

# Seven days side by side in 80 columns.
CELL = 10
# Entries of a day that fit into a month.
ROWS = 4
MOST = 5000
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MARKS = {"pending": " ", "processing": "…", "done": "✓", "failed": "✗", "skipped": "–", "cancelled": "–"}
COLOURS = {"publish": "green", "unpublish": "yellow", "archive": "magenta"}
LETTERS = {"publish": "+", "unpublish": "-", "archive": "×"}
LEGEND = "+ publish  - unpublish  × archive    ✓ done  ✗ failed  – skipped  … under way"

Entry = dict[str, Any]


@command(
    routes.CALENDAR,
    without=("start", "end", "entity_id", "limit", "timezone"),
    names={"entity_type": "--type"},
)
def calendar(
    ask: Ask,
    *,
    month: Annotated[
        str | None, Parameter(help="The month to show, such as 2027-03. Default: this month.")
    ] = None,
    week: Annotated[
        str | None, Parameter(help="Show the week of this day instead: 2027-03-14, or today.")
    ] = None,
    timezone: Annotated[str, Parameter(help="The zone of the days and times. Default: UTC.")] = "UTC",
) -> int:
    """Show a month or a week: what is planned, and what happened.

    sexton content calendar --month 2027-03 --timezone Europe/Berlin
    """
    place = find_zone(timezone)
    today = clock.now().astimezone(place.info).date()
    first, last = _month(month, today) if week is None else _week(week, today)
    asked = {"start": first.isoformat(), "end": last.isoformat(), "timezone": timezone, **ask.given}
    found: list[Entry] = list(ask.client.pages(routes.CALENDAR.path, most=MOST + 1, **asked))
    if len(found) > MOST:
        more = f"There are more than these {MOST:,}: narrow with --week, --type or --created-by."
        write(console(error=True), more, "yellow")
        found = found[:MOST]
    if ask.json:
        write_json(found)
        return DONE
    out = console()
    days = _by_day(found, place)
    if week is None:
        _show_month(out, first, days, place, today)
    else:
        _show_week(out, first, days, place, today)
    return DONE


def _month(text: str | None, today: date) -> tuple[date, date]:
    """The first day of a month, and of the next month."""
    try:
        first = today.replace(day=1) if text is None else date.fromisoformat(f"{text}-01")
    except ValueError:
        raise InvalidField(
            "bad_time", f"{text!r} is not a month", field="month", hint="such as --month 2027-03"
        ) from None
    return first, (first + timedelta(days=31)).replace(day=1)


def _week(text: str, today: date) -> tuple[date, date]:
    """The Monday of a week, and of the next week."""
    try:
        day = today if text == "today" else date.fromisoformat(text)
    except ValueError:
        raise InvalidField(
            "bad_time", f"{text!r} is not a day", field="week", hint="such as --week 2027-03-14"
        ) from None
    first = day - timedelta(days=day.weekday())
    return first, first + timedelta(days=7)


def _by_day(found: Iterable[Entry], place: Zone) -> dict[date, list[tuple[datetime, Entry]]]:
    days: dict[date, list[tuple[datetime, Entry]]] = {}
    for each in found:
        at = moment(each["scheduled_at_utc"])
        assert at is not None
        local = at.astimezone(place.info)
        days.setdefault(local.date(), []).append((local, each))
    return days


def _heading(out: Console, title: str, first: date, place: Zone) -> None:
    """The title, with the zone and its abbreviations in that month."""
    noon = datetime(first.year, first.month, first.day, 12, tzinfo=place.info)
    names = dict.fromkeys((noon + timedelta(days=day)).strftime("%Z") for day in range(31))
    called = "" if list(names) == [place.name] else f" ({', '.join(names)})"
    write(out, f"{title}   {place.name}{called}", "bold")


def _show_month(
    out: Console,
    first: date,
    days: dict[date, list[tuple[datetime, Entry]]],
    place: Zone,
    today: date,
) -> None:
    _heading(out, f"{months.month_name[first.month]} {first.year}", first, place)
    line = "+" + "+".join(["-" * CELL] * 7) + "+"
    write(out, line, "dim")
    _row(out, [Text(day, style="bold") for day in DAYS])
    write(out, line, "dim")
    start = first - timedelta(days=first.weekday())
    while start.month == first.month or start < first:
        week = [start + timedelta(days=day) for day in range(7)]
        cells = [
            _cell(day, days.get(day, []), day == today) if day.month == first.month else [] for day in week
        ]
        for number in range(max(2, *map(len, cells))):
            _row(out, [cell[number] if number < len(cell) else Text() for cell in cells])
        write(out, line, "dim")
        start += timedelta(days=7)
    write(out, LEGEND, "dim")


def _cell(day: date, entries: list[tuple[datetime, Entry]], today: bool) -> list[Text]:
    """A day: its number, and as many entries as fit."""
    lines = [Text(str(day.day), style="reverse" if today else "")]
    shown = entries if len(entries) <= ROWS else entries[: ROWS - 1]
    for local, each in shown:
        mark = MARKS[each["status"]].strip()
        room = CELL - len(mark)
        when = f"{local:%H%M}{LETTERS[each['action']]}"
        # With the type of the entity, if it fits.
        fits = len(when) + len(each["content_id"]) <= room
        text = cut(when + printable(each["content_id" if fits else "entity_id"]), room)
        lines.append(Text(text.ljust(room) + mark, style=_style(each)))
    if len(shown) < len(entries):
        lines.append(Text(f"{len(entries) - len(shown)} more", style="dim"))
    return lines


def _row(out: Console, cells: list[Text]) -> None:
    row = Text("|", style="dim")
    for cell in cells:
        part = cell.copy()
        part.truncate(CELL, pad=True)
        row.append_text(part)
        row.append("|", style="dim")
    out.print(row, soft_wrap=True)


def _show_week(
    out: Console,
    first: date,
    days: dict[date, list[tuple[datetime, Entry]]],
    place: Zone,
    today: date,
) -> None:
    last = first + timedelta(days=6)
    _heading(out, f"{first:%d %B} to {last:%d %B %Y}", first, place)
    for number in range(7):
        day = first + timedelta(days=number)
        write(out, f"\n{DAYS[number]} {day:%d %B}", "reverse" if day == today else "bold")
        for local, each in days.get(day, []):
            entity, by = cut(each["content_id"], 32), cut(each["created_by"], 12)
            again = "↻" if each["recurrence_rule"] else " "
            line = f"  {local:%H:%M} {again} {each['action']:<9} {entity:<32} {each['status']:<10} {by}"
            write(out, cut(line.rstrip(), 79), _style(each))
            if each["last_error"]:
                write(out, cut(f"          {first_line(each['last_error'])}", 79), "red")
        if not days.get(day):
            write(out, "  nothing", "dim")


def _style(entry: Entry) -> str:
    if entry["status"] == "failed":
        return "red"
    if entry["status"] in ("skipped", "cancelled"):
        return "dim"
    return COLOURS[entry["action"]]
