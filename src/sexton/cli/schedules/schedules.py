"""The commands on schedules: `sexton next` and `sexton diff`."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal
from zoneinfo import ZoneInfo

from cyclopts import Parameter

from sexton import clock
from sexton.cli import DONE, NOT_DONE
from sexton.cli.output import RefusedError, Table, console, distance, paragraph, wall, write, write_json
from sexton.cli.schedules import answers
from sexton.cli.schedules.answers import DEFAULT_COUNT, Loaded, Question, instant
from sexton.clock import iso
from sexton.errors import ScheduleError
from sexton.schedules.comparison import MOST_COMPARED, Comparison, compare

if TYPE_CHECKING:
    from sexton.schedules import Occurrence

DEFAULT_RANGE = timedelta(days=30)
DEFAULT_ROWS = 20


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ScheduleOptions:
    """The options of a schedule."""

    timezone: Annotated[
        str | None, Parameter(help="Zone of the wall clock, like Europe/Berlin. Default: UTC.")
    ] = None
    anchor: Annotated[
        str | None,
        Parameter(
            help="Where intervals and recurrences count from: an instant, or a local time in the zone."
        ),
    ] = None
    gap: Annotated[
        Literal["after", "shift", "skip"] | None,
        Parameter(
            help="For a local time that does not exist: fire after the gap, shift by its length, or skip."
        ),
    ] = None
    fold: Annotated[
        Literal["first", "second", "both"] | None,
        Parameter(help="For a local time that happens twice: which one fires."),
    ] = None
    kind: Annotated[
        Literal["cron", "recurrence", "interval", "once"] | None,
        Parameter(help="Kind of schedule. Default: recognised from its text."),
    ] = None
    starts_at: Annotated[str | None, Parameter(help="Nothing fires before this instant.")] = None
    ends_at: Annotated[str | None, Parameter(help="Nothing fires after this instant.")] = None
    exclude: Annotated[
        tuple[str, ...],
        Parameter(help="A date, or a range of dates A..B, on which nothing fires. Repeatable."),
    ] = ()
    key: Annotated[
        str | None, Parameter(help="What H in a cron line is computed from, like the job's name.")
    ] = None
    seconds: Annotated[
        Literal["first", "last"] | None,
        Parameter(help="Which of six cron fields holds the seconds. Default: first."),
    ] = None


DEFAULTS = ScheduleOptions()


def next_occurrences(
    schedule: Annotated[str | None, Parameter(help="Cron, RRULE, interval or instant.")] = None,
    /,
    *,
    after: Annotated[
        str | None,
        Parameter(help="Show what fires after this instant, like 2026-10-20T00:00:00Z. Default: now."),
    ] = None,
    count: Annotated[int | None, Parameter(help=f"How many occurrences. Default: {DEFAULT_COUNT}.")] = None,
    options: ScheduleOptions = DEFAULTS,
    json: Annotated[bool, Parameter(help="Answer with one JSON object.")] = False,
    jsonl: Annotated[
        bool,
        Parameter(
            help="Read one JSON object per line and answer each with one: schedule, timezone, after, …"
        ),
    ] = False,
) -> int:
    """Show when a schedule fires next, in words and as a table.

    Occurrences that a clock change or an excluded date takes away are dimmed
    and do not count.

    With --jsonl every line of the standard input is an object: schedule,
    timezone, after, count, anchor, gap, fold and the other options, with _ for -.
    Each is answered by one line: what --json prints, or {"error": {"code",
    "message", "position"}}.
    """
    if jsonl:
        if schedule is not None or after is not None or count is not None or json or options != DEFAULTS:
            raise RefusedError(
                ScheduleError(
                    "bad_usage",
                    "--jsonl is given with other options: it reads everything from its lines",
                    field="jsonl",
                ),
                None,
            )
        answers.answer_lines(sys.stdin.buffer, sys.stdout.buffer)
        return DONE
    if schedule is None:
        raise RefusedError(
            ScheduleError("bad_usage", "no schedule given", hint='like sexton next "0 9 * * 1-5"'), None
        )
    try:
        start = clock.now() if after is None else instant(after, "after")
        loaded = answers.load(_question(schedule, options), start)
        occurrences = answers.upcoming(loaded.schedule, start, DEFAULT_COUNT if count is None else count)
        if json:
            write_json(answers.answer(loaded.schedule, occurrences))
        else:
            _show_next(loaded, start, occurrences)
    except ScheduleError as error:
        raise RefusedError(error, schedule) from error
    return DONE


def diff(
    first: Annotated[str, Parameter(help="A schedule.")],
    second: Annotated[str, Parameter(help="The schedule to compare it with.")],
    /,
    *,
    from_: Annotated[
        str | None,
        Parameter(name="--from", help="Start of the range, an instant, exclusive. Default: now."),
    ] = None,
    to: Annotated[
        str | None, Parameter(help="End of the range, an instant, inclusive. Default: in 30 days.")
    ] = None,
    options: ScheduleOptions = DEFAULTS,
    rows: Annotated[int, Parameter(help="Show at most this many differences. Default: 20.")] = DEFAULT_ROWS,
    exit_code: Annotated[bool, Parameter(help="End with exit code 1 when they differ.")] = False,
    json: Annotated[bool, Parameter(help="Answer with one JSON object.")] = False,
) -> int:
    """Show where two schedules differ in a range of time.

    The options apply to both. A cron line can bring its own zone:
    "CRON_TZ=Asia/Tokyo 0 9 * * *".
    """
    try:
        start = clock.now().replace(microsecond=0) if from_ is None else instant(from_, "from")
        end = start + DEFAULT_RANGE if to is None else instant(to, "to")
        if end <= start:
            raise ScheduleError("bad_range", f"the range ends at {iso(end)}, before it starts", field="to")
        if rows < 0:
            raise ScheduleError("bad_count", f"rows is {rows}", field="rows", hint="give 0 or more")
    except ScheduleError as error:
        raise RefusedError(error, None) from error
    loaded = [_load(text, options, start) for text in (first, second)]
    comparison = compare(loaded[0].schedule, loaded[1].schedule, start, end, rows, MOST_COMPARED)
    if json:
        write_json(comparison.to_dict())
    else:
        for each in loaded:
            _tell(each)
        _show_diff(comparison)
    return NOT_DONE if exit_code and comparison.differs else DONE


def _question(text: str, options: ScheduleOptions) -> Question:
    return Question(schedule=text, **asdict(options))


def _load(text: str, options: ScheduleOptions, made_at: datetime) -> Loaded:
    try:
        return answers.load(_question(text, options), made_at)
    except ScheduleError as error:
        raise RefusedError(error, text) from error


def _show_next(loaded: Loaded, start: datetime, occurrences: list[Occurrence]) -> None:
    schedule, out = loaded.schedule, console()
    zone = ZoneInfo(schedule.timezone)
    _tell(loaded)
    paragraph(out, schedule.explain(), "bold")
    if not occurrences:
        write(out, f"Nothing fires after {iso(start)}.")
        return
    seconds = any(each.at.second for each in occurrences)
    table = Table("local time", "zone", "UTC", "distance")
    for each in _as_read(occurrences):
        if each.skipped:
            note = each.note or each.skipped
            table.add(wall(each.local, seconds=seconds), "-", "-", "skipped", note=note, style="dim")
            continue
        local = each.at.astimezone(zone)
        table.add(
            wall(local, seconds=seconds),
            local.tzname() or "",
            wall(each.at.astimezone(UTC), seconds=seconds)[4:] + "Z",
            distance(each.at - start),
            note=each.note,
        )
    write(out, "")
    table.print(out)


def _as_read(occurrences: list[Occurrence]) -> list[Occurrence]:
    """A local time skipped by a gap comes before the times after the gap, even if its instant is later."""
    rows: list[Occurrence] = []
    for each in occurrences:
        place = len(rows)
        if each.skipped == "dst_gap":
            local = each.local.replace(tzinfo=None)
            while (
                place and not rows[place - 1].skipped and rows[place - 1].local.replace(tzinfo=None) > local
            ):
                place -= 1
        rows.insert(place, each)
    return rows


def _show_diff(comparison: Comparison) -> None:
    out = console()
    styles, marks = ("red", "green"), "-+"
    for schedule, mark, style in zip(comparison.schedules, marks, styles, strict=True):
        paragraph(out, f"{mark} {schedule.explain()}", style)
    write(out, "")
    if comparison.differences:
        seconds = any(at.second for at, _ in comparison.differences)
        table = Table(" ", "local time", "zone", "UTC", "only in")
        for at, which in comparison.differences:
            local = comparison.local(at, which)
            table.add(
                marks[which],
                wall(local, seconds=seconds),
                local.tzname() or "",
                wall(at.astimezone(UTC), seconds=seconds)[4:] + "Z",
                ("the first", "the second")[which],
                style=styles[which],
            )
        table.print(out)
    if more := sum(comparison.only) - len(comparison.differences):
        write(out, f"… and {more} more; --rows shows more of them", "dim")
    if comparison.differs:
        write(out, "")
    paragraph(
        out,
        f"{comparison.common} in both, {comparison.only[0]} only in the first, {comparison.only[1]} only in "
        f"the second, after {iso(comparison.start)} up to {iso(comparison.compared_to)}.",
    )
    if comparison.compared_to < comparison.end:
        paragraph(out, f"Stopped after {MOST_COMPARED} occurrences, before {iso(comparison.end)}.", "yellow")


def _tell(loaded: Loaded) -> None:
    """Print the warnings to the standard error, and the anchor if none was given."""
    for warning in loaded.schedule.warnings:
        paragraph(console(error=True), f"warning: {warning}", "yellow")
    if loaded.assumed_anchor is not None:
        write(
            console(error=True),
            f"anchored at {iso(loaded.assumed_anchor)}, as for a job made then; --anchor sets another",
            "dim",
        )
