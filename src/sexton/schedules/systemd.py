"""Calendar expressions of systemd (OnCalendar=) in our own forms: `Mon..Fri 09:00`, `*-*-01 00:00:00`.

A day must match both the weekdays and the date. A cron line can say that where one of the two is open;
where both are given, a recurrence says it.
"""

from __future__ import annotations

import re

from sexton.errors import ScheduleError
from sexton.schedules.words import DAY_NAMES
from sexton.schedules.zone import zone_names

WORDS = {
    "minutely": "* * * * *",
    "hourly": "0 * * * *",
    "daily": "0 0 * * *",
    "weekly": "0 0 * * MON",
    "monthly": "0 0 1 * *",
    "quarterly": "0 0 1 1,4,7,10 *",
    "semiannually": "0 0 1 1,7 *",
    "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}

NUMBERS = r"[0-9*][0-9*,./]*"
DATE = re.compile(rf"(?:({NUMBERS})-)?({NUMBERS})([-~])({NUMBERS})")
TIME = re.compile(rf"({NUMBERS}):({NUMBERS})(?::({NUMBERS}))?")
DAY = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in DAY_NAMES) + ")"
WEEKDAYS = re.compile(rf"{DAY}(?:(?:\.\.|-|,){DAY})*,?", re.IGNORECASE)

#: The first and the last number of month, day, hour, minute and second.
RANGES = {"month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}


def is_calendar(text: str) -> bool:
    """Whether a text is a calendar expression: all of it, and not also a time or a cron line."""
    if re.match("OnCalendar\\s*=", text, re.IGNORECASE) or text.casefold() in WORDS:
        return True
    tokens = text.split()
    if len(tokens) > 4:
        return False
    if tokens and tokens[-1] in zone_names():
        tokens.pop()
    kinds = [
        "weekdays" if WEEKDAYS.fullmatch(token) else "date" if DATE.fullmatch(token) else
        "time" if TIME.fullmatch(token) else "" for token in tokens
    ]  # fmt: skip
    order = [kind for kind in ("weekdays", "date", "time") if kind in kinds]
    return bool(order) and kinds == order and (len(order) > 1 or not re.fullmatch("[0-9]+-[0-9]+", tokens[0]))


def read_calendar(text: str) -> tuple[str, str | None]:
    """The schedule in a form of our own, and the zone that the text names."""
    prefix = re.match("OnCalendar\\s*=\\s*", text, re.IGNORECASE)
    body = text[prefix.end() :] if prefix else text
    tokens = body.split()
    timezone = tokens.pop() if len(tokens) > 1 and tokens[-1] in zone_names() else None
    if len(tokens) == 1 and (word := tokens[0].casefold()) in WORDS:
        if word == "weekly" and not prefix:  # @weekly of cron is another day
            raise refuse("weekly is Monday in systemd and Sunday in cron", "write 0 0 * * MON or @weekly")
        return WORDS[word], timezone
    weekdays, date, time = "", ("*", "*", "-", "*"), ("0", "0", "0")
    for token in tokens:
        if WEEKDAYS.fullmatch(token) and not weekdays:
            weekdays = _weekdays(token)
        elif match := DATE.fullmatch(token):
            date = (match[1] or "*", match[2], match[3], match[4])
        elif match := TIME.fullmatch(token):
            time = (match[1], match[2], match[3] or "0")
        else:
            raise refuse(
                f"{token!r} is not understood in a calendar expression of systemd",
                "write for example OnCalendar=Mon..Fri 09:00",
            )
    if not tokens:
        raise refuse("OnCalendar= is empty", "write for example OnCalendar=Mon..Fri 09:00")
    return _native(weekdays, date, time), timezone


def _native(weekdays: str, date: tuple[str, str, str, str], time: tuple[str, str, str]) -> str:
    year, month, sign, day = date
    numbers = (year, month, day, *time)
    if all(each.isdigit() for each in numbers) and sign == "-" and not weekdays:
        return "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*map(int, numbers))
    fields = dict(zip(RANGES, (month, day, *time), strict=True))
    for name, field in fields.items():
        _check(name, field)
    if weekdays and day != "*":
        text = _recurrence(weekdays, sign, fields)
    else:
        days = _last_days(day) if sign == "~" else _cron_field("day", day)
        cron = {name: _cron_field(name, field) for name, field in fields.items()}
        second = "" if cron["second"] == "0" else f"{cron['second']} "
        text = f"{second}{cron['minute']} {cron['hour']} {days} {cron['month']} {weekdays or '*'}"
    if year != "*":
        raise refuse(
            f"a year ({year}) is not supported", f"write {text} and bound it with starts_at and ends_at"
        )
    return text


def _check(name: str, field: str) -> None:
    number = r"(?:\*|[0-9]+(?:\.\.[0-9]+)?)(?:/[0-9]+)?"
    if not re.fullmatch(rf"{number}(?:,{number})*", field):
        raise refuse(
            f"{name} {field!r} is not understood", "use whole numbers, lists, ranges (1..5) and steps (0/15)"
        )


def _weekdays(token: str) -> str:
    names = re.sub("[A-Za-z]+", lambda name: name[0][:3].upper(), token.rstrip(","))
    return names.replace("..", "-")


def _cron_field(name: str, field: str) -> str:
    """A step from the first number on is written with `*`, so that it follows the clock when that changes."""
    items = []
    for item in field.split(","):
        first, slash, step = item.partition("/")
        if slash and first.isdigit() and int(first) == RANGES[name][0]:
            first = "*"
        items.append(f"{int(first) if first.isdigit() else first.replace('..', '-')}{slash}{step}")
    return ",".join(items)


def _last_days(day: str) -> str:
    """`~01` is the last day of the month, `~03` the third-to-last."""
    return ",".join(f"L-{number - 1}" if number > 1 else "L" for number in _numbers("day", day, -1))


def _recurrence(weekdays: str, sign: str, fields: dict[str, str]) -> str:
    names = [name[:2] for name in weekdays.split(",")]
    if "-" in weekdays:
        every = [name[:2].upper() for name in DAY_NAMES]
        names = []
        for item in weekdays.split(","):
            first, _, last = item.partition("-")
            start, end = every.index(first[:2]), every.index((last or first)[:2])
            names += [every[place % 7] for place in range(start, end + 1 + 7 * (end < start))]
    numbers = {name: _numbers(name, field) for name, field in fields.items() if name != "day"}
    back = sign == "~"
    days = [-number if back else number for number in _numbers("day", fields["day"], -1 if back else 1)]
    parts = [
        "FREQ=MONTHLY",
        "" if fields["month"] == "*" else f"BYMONTH={_joined(numbers['month'])}",
        f"BYMONTHDAY={_joined(days)}",
        f"BYDAY={','.join(dict.fromkeys(names))}",
        f"BYHOUR={_joined(numbers['hour'])}",
        f"BYMINUTE={_joined(numbers['minute'])}",
        f"BYSECOND={_joined(numbers['second'])}",
    ]
    return ";".join(part for part in parts if part)


def _numbers(name: str, field: str, direction: int = 1) -> list[int]:
    """The numbers of a field. Days from the end of the month (`~07/1`) step towards the last one."""
    low, high = RANGES[name]
    found: set[int] = set()
    for item in field.split(","):
        body, slash, step_text = item.partition("/")
        first, dots, last_text = body.partition("..")
        start = low if first == "*" else int(first)
        last = high if direction > 0 else low
        if not slash and first != "*":
            last = start
        last, step = int(last_text) if dots else last, int(step_text or 1)
        if not (low <= start <= high and low <= last <= high and step):
            raise refuse(f"{name} {item} is not from {low} to {high}", f"use numbers from {low} to {high}")
        found.update(range(start, last + direction, step * direction))
    return sorted(found)


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


def refuse(what: str, hint: str) -> ScheduleError:
    return ScheduleError("bad_text", what, position=0, hint=hint)
