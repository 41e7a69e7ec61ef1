"""Schedules as other programs write them, translated into a text of our own where the meaning is certain.

Read: `cron(…)`, `rate(…)` and `at(…)` of AWS, the repeating intervals of ISO 8601 (`R/start/PT15M`), a time
with the zone behind it, and the calendar expressions of systemd (in `systemd`). Refused, with the line to
write: a line of AWS without its `cron()`, a line of a crontab with its command, a line with a zone or a year
behind it, settings of crontabs and of systemd's timers, a key and a value of a YAML file, seconds since 1970,
a call of Celery, and a length of time without `every`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sexton.clock import iso
from sexton.errors import ScheduleError
from sexton.schedules import systemd
from sexton.schedules.cron import DAYS, MONTHS, Cron
from sexton.schedules.interval import read_seconds
from sexton.schedules.once import is_once, read_time
from sexton.schedules.systemd import refuse
from sexton.schedules.zone import zone_names

# The last field of a line of AWS.
YEAR = re.compile(r"(?:19|20|21)[0-9]{2}(?:[-,/][0-9]+)*")
YEARS = re.compile(rf"[*?]|\*/[0-9]+|{YEAR.pattern}")

# Settings that stand beside the times in a crontab.
SETTING = re.compile(
    r"(MAILTO|MAILFROM|SHELL|PATH|HOME|LOGNAME|RANDOM_DELAY|START_HOURS_RANGE|CONTENT_TYPE)\s*=",
    re.IGNORECASE,
)

# What stands before a schedule in the files of other programs.
KEY = re.compile(
    r"(?:-\s*)?(cron|schedule|cron_?expression|schedule_?expression)\s*[:=]\s*(\S.*)", re.IGNORECASE
)

# The arguments of Celery's crontab() in their order, and where each stands in a line.
CELERY = {"minute": 0, "hour": 1, "day_of_week": 4, "day_of_month": 2, "month_of_year": 3}

# What can be a field of a cron line; anything else after the fields is a user or a command.
FIELD = re.compile(rf"(?:[0-9*?/,#()LWH-]|{'|'.join([*DAYS, *MONTHS])})+", re.IGNORECASE)


# The frequency of each unit of a duration that is counted on a calendar.
FREQUENCIES = {"Y": "YEARLY", "M": "MONTHLY", "W": "WEEKLY", "D": "DAILY"}


@dataclass(frozen=True, slots=True)
class Native:
    """The same schedule in a form of our own, with the zone and the start that the text named."""

    text: str
    timezone: str | None = None
    start: datetime | None = None


def translate(text: str) -> Native | None:
    """What a foreign text says; None for a text in a form of our own."""
    text = text.strip()
    if call := re.fullmatch(r"(cron|rate|at)\s*\((.*)\)", text, re.IGNORECASE | re.DOTALL):
        name, inside = call[1].lower(), call[2].strip()
        return (
            _aws_cron(inside) if name == "cron" else _aws_rate(inside) if name == "rate" else Native(inside)
        )
    if re.match(r"R(?:-1|[0-9]*)/", text, re.IGNORECASE):
        return _repeating(text)
    if setting := SETTING.match(text):
        hint = "write the fields of the line alone, such as 0 9 * * 1-5"
        raise refuse(f"{setting[1]}= is a setting of a crontab, and says nothing about when", hint)
    if span := re.match(
        r"(On(?:Active|Boot|Startup|UnitActive|UnitInactive)Sec)\s*=\s*(.*)", text, re.IGNORECASE
    ):
        line = f"every {span[2]}"
        hint = f"write {line}" if _is_interval(line) else "write for example every 15m"
        raise refuse(f"{span[1]}= counts from an event, not by the clock", hint)
    if key := KEY.fullmatch(text):
        value = key[2].strip("\"' ")
        raise refuse(f"{key[1]} is a key of a file, not a part of the schedule", f"write {value}")
    if re.fullmatch(r"@?(?:[0-9]{10}|[0-9]{13})", text):
        at = datetime.fromtimestamp(int(text.lstrip("@")[:10]), UTC)
        raise refuse(f"{text} is a number of seconds since 1970", f"write {iso(at, 'seconds')}")
    if re.fullmatch(r"@[0-9]{1,9}", text):
        raise refuse(f"{text} is a number of seconds without a unit", f"write every {int(text[1:])}s")
    if re.match(r"@reboot\b", text, re.IGNORECASE):
        raise refuse(
            "@reboot is when a machine starts, and no time of a schedule",
            "let the machine start it; every day is @daily, every hour @hourly",
        )
    if call := re.fullmatch(r"crontab\((.*)\)", text, re.DOTALL):
        raise refuse("this is a call of Celery", _celery_cron(call[1]))
    if (local := re.fullmatch(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+)\s+(\S+)", text)) and local[
        2
    ] in zone_names():
        return Native(local[1], local[2])
    if systemd.is_calendar(text) and (not is_once(text) or text.split()[-1] in zone_names()):
        return Native(*systemd.read_calendar(text))
    return None


def refuse_lookalikes(text: str, *, seconds_last: bool) -> None:
    """Refuse cron lines that Sexton would read in another way than their author."""
    matches = list(re.finditer(r"[^ \t]+", text))
    tokens = [match.group() for match in matches]
    if len(tokens) < 5 and text[:1].isdigit() and _is_interval(f"every {text}"):
        hint = f"write every {text}, or in {text} for once"
        raise ScheduleError("bad_text", f"{text!r} is a length of time", position=0, hint=hint)
    if (
        len(tokens) == 6
        and not seconds_last
        and ("?" in tokens[2] or "?" in tokens[4])
        and YEARS.fullmatch(tokens[5])
    ):
        line = _aws_cron(" ".join(tokens)).text
        hint = f"write {line}" if _is_cron(line) else "write five fields, such as 0 9 * * 1-5"
        what = "these six fields are in the order of AWS, with the year last"
        raise _refuse_cron(what, matches[5].start(), hint)
    if len(tokens) == 6 and not seconds_last and YEAR.fullmatch(tokens[5]) and _is_cron(" ".join(tokens[:5])):
        hint = f"write {' '.join(tokens[:5])} and bound it with starts_at and ends_at"
        raise _refuse_cron(f"a year ({tokens[5]}) is not supported", matches[5].start(), hint)
    if len(tokens) == 7 and all(map(FIELD.fullmatch, tokens)):
        line = " ".join([*tokens[:5], weekdays_from_one(tokens[5]) or tokens[5]])
        wanted = f"write {line} and bound it" if _is_cron(line) else "bound the schedule"
        what = "seven fields, the last one a year as in Quartz: a year is not supported"
        raise _refuse_cron(what, matches[6].start(), f"{wanted} with starts_at and ends_at")
    if "\n" in text:
        raise _refuse_cron("more than one line", text.index("\n"), "make a job of each line")
    end = next((place for place, token in enumerate(tokens) if not FIELD.fullmatch(token)), 0)
    if end not in (5, 6) or not _is_cron(" ".join(tokens[:end])):
        return
    fields, place = " ".join(tokens[:end]), matches[end].start()
    if len(tokens) == end + 1 and (zone := tokens[end].strip("()[]")) in zone_names():
        hint = f"write CRON_TZ={zone} {fields}, or give timezone"
        raise _refuse_cron(f"the zone {zone} comes after the fields", place, hint)
    word = tokens[end].upper()
    if len(tokens) > 6 or not word.isalpha() or (len(word) > 3 and word[:2] not in {day[:2] for day in DAYS}):
        what = f"{tokens[end]!r} is no field: in a crontab, a user or a command follows the fields"
        raise _refuse_cron(what, place, f"write {fields} here, and the command as the job's target")


def reads_with_seconds_last(text: str) -> bool:
    """Whether a line of six fields can be read with the seconds last."""
    return len(text.split()) == 6 and _is_cron(text, seconds="last")


def weekdays_from_one(text: str) -> str | None:
    """Translate a day of week whose numbers count from 1 = Sunday, as in AWS and Quartz, into the numbers of
    cron. None if no day has one of its numbers."""
    if text.upper() == "L":
        return "SAT"
    numbers = re.compile(r"(?<![#/0-9])[0-9]+")
    if any(not 1 <= int(number) <= 7 for number in numbers.findall(text)):
        return None
    return numbers.sub(lambda number: str(int(number[0]) - 1), text)


def _is_cron(text: str, seconds: str = "first") -> bool:
    try:
        Cron.parse(text, key="", seconds=seconds)
    except ScheduleError:
        return False
    return True


def _is_interval(text: str) -> bool:
    try:
        read_seconds(text)
    except ScheduleError:
        return False
    return True


def _aws_cron(inside: str) -> Native:
    """Minute, hour, day of month, month, day of week, year; days of the week count from 1 = Sunday."""
    fields = inside.split()
    if len(fields) != 6:
        raise refuse(
            f"cron() has six fields, the last one the year, not {len(fields)}",
            f"write {inside} without cron()" if _is_cron(inside) else "write for example cron(0 9 * * ? *)",
        )
    *fields, year = fields
    weekday = weekdays_from_one(fields[4])
    if weekday is None:
        raise refuse(
            f"day of week {fields[4]}: AWS counts from 1 (Sunday) to 7 (Saturday)",
            "write names, such as cron(0 9 ? * MON *)",
        )
    line = " ".join([*fields[:2], fields[2].replace("?", "*"), fields[3], weekday.replace("?", "*")])
    if fields[2][0] not in "*?" and fields[4][0] not in "*?":
        raise refuse("AWS has ? in one of the two day fields", "write for example cron(0 9 ? * MON *)")
    if year != "*":
        raise refuse(
            f"a year ({year}) is not supported", f"write {line} and bound it with starts_at and ends_at"
        )
    return Native(line)


def _aws_rate(inside: str) -> Native:
    if not re.fullmatch(r"[0-9]+\s+(?:minute|hour|day)s?", inside, re.IGNORECASE):
        raise refuse(f"rate({inside}) is not understood", "write for example rate(5 minutes)")
    return Native(f"every {inside}")


def _repeating(text: str) -> Native:
    """`R/start/duration`. A number after R counts the first time in some programs, and not in others."""
    count, *pieces = (piece.strip() for piece in text.split("/"))
    if len(pieces) == 1 and _is_duration(pieces[0]):
        start, duration = None, pieces[0]
    elif len(pieces) == 2 and _is_duration(pieces[1]):
        start, duration = read_time(pieces[0]), pieces[1]
    else:
        raise refuse(f"{text!r} is not a start and a duration", f"write {_start_and_duration(pieces)}")
    if by_calendar := re.fullmatch(r"P([0-9]{1,6})([YMWD])", duration, re.IGNORECASE):
        number, unit = int(by_calendar[1]), by_calendar[2].upper()
        if unit in "YM" or start is None or not start.tzinfo:
            rule = f"FREQ={FREQUENCIES[unit]}{f';INTERVAL={number}' if number > 1 else ''}"
            line = rule if start is None else f"{_dtstart(start)} RRULE:{rule}"
            again = "/".join(["R", *pieces[:-1], f"PT{number * (168 if unit == 'W' else 24)}H"])
            hours = "" if unit in "YM" else f", or {again} for hours"
            raise refuse(
                f"{duration} is counted on a calendar, and clocks may change", f"write {line}{hours}"
            )
    try:
        seconds = read_seconds(duration)
    except ScheduleError as error:
        raise refuse(error.message, error.hint or "write for example R/PT15M") from None
    if re.search("[WD]", duration.upper().partition("T")[0][1:]) and (start is None or not start.tzinfo):
        raise refuse(
            f"{duration} has days on a clock that may change",
            f"write R/PT{seconds // 60}M" if seconds % 60 == 0 else f"write R/PT{seconds}S",
        )
    if count.upper() not in ("R", "R-1"):
        raise refuse(
            f"{count}: programs count repetitions differently",
            f"write {_counted(start, seconds, int(count[1:]))}"
            if start is not None and start.tzinfo
            else f"write R/{duration} and set an end with ends_at",
        )
    return Native(f"every {seconds}s", None, start)


def _celery_cron(inside: str) -> str:
    """What to write for a call. A day must match both day fields of a call; no cron line can say that."""
    fields = ["*"] * 5
    for number, argument in enumerate(re.findall(r"""(?:[^,"']|"[^"]*"|'[^']*')+""", inside)):
        name, _, value = argument.rpartition("=")
        place = CELERY.get(name.strip(), 5) if name else [*CELERY.values(), 5][min(number, 5)]
        if place < 5:
            fields[place] = value.strip(" \"'").replace(" ", "")
    line = " ".join(fields)
    both = fields[2] != "*" and fields[4] != "*"
    return f"write {line}" if _is_cron(line) and not both else "write a line such as 0 9 * * 1-5"


def _start_and_duration(pieces: list[str]) -> str:
    """What to write; for a start and an end, the start and the time between them."""
    try:
        start, end = map(read_time, pieces)
        seconds = (end - start) // timedelta(seconds=1)
    except (ScheduleError, ValueError, TypeError):
        seconds = 0
    return f"R/{pieces[0]}/PT{seconds}S" if seconds > 0 else "for example R/2026-01-01T09:00:00Z/PT15M"


def _dtstart(start: datetime) -> str:
    if start.tzinfo is None:
        return f"DTSTART:{start:%Y%m%dT%H%M%S}"
    return f"DTSTART:{start.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _counted(start: datetime, seconds: int, count: int) -> str:
    return f"{_dtstart(start)} RRULE:FREQ=SECONDLY;INTERVAL={seconds};COUNT={max(count, 1)}"


def _is_duration(text: str) -> bool:
    return bool(re.match("P[0-9T]", text, re.IGNORECASE))


def _refuse_cron(what: str, position: int, hint: str) -> ScheduleError:
    return ScheduleError("bad_cron", what, position=position, hint=hint)
