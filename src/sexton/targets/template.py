"""Templates: text in which `{{name}}` stands for something of a run, its time or its payload."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from sexton.clock import iso
from sexton.errors import InvalidField
from sexton.schedules.zone import zone
from sexton.security.placeholder import PLACEHOLDER, secret_names

FIELD = "idempotency_key_template"
LONGEST = 500
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)

# What a template may name, as text; `at` is the scheduled time in the job's zone.
_TIMES: Mapping[str, Callable[[datetime], str]] = {
    "scheduled_at": iso,
    "unix": lambda at: str(int(at.timestamp())),
    "date": lambda at: f"{at:%Y-%m-%d}",
    "year": lambda at: f"{at:%Y}",
    "month": lambda at: f"{at:%m}",
    "week": lambda at: "{}-W{:02}".format(*at.isocalendar()),
    "day": lambda at: f"{at:%d}",
    "hour": lambda at: f"{at:%H}",
}
NAMES = ("job_id", "job_name", *_TIMES, "payload.…")
# What the templates of a target may name beside these: an attempt has more than its occurrence.
RUN_NAMES = ("run_id", "attempt", "trigger", "idempotency_key", *NAMES)


def fill(
    template: str,
    names: Mapping[str, str],
    *,
    scheduled_at: datetime,
    timezone: str,
    payload: Any,
    distinct: bool = False,
) -> str:
    """The template with its placeholders filled in: from `names`, the time and the payload. `distinct`: an
    hour that the clock shows twice carries its offset from UTC, so that the two differ."""
    local = scheduled_at.astimezone(zone(timezone).info)
    twice = local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()

    def put(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name == "hour" and distinct and twice:
            return f"{local:%H%z}"
        if name in _TIMES:
            return _TIMES[name](local)
        return names[name] if name in names else text_of(_lookup(payload, name))

    return _PLACEHOLDER.sub(put, template)


def names_wall_clock(template: str) -> bool:
    """Whether it takes the zone of the job to fill it in."""
    found = {match[1].strip() for match in _PLACEHOLDER.finditer(template)}
    return not found.isdisjoint(_TIMES.keys() - {"scheduled_at", "unix"})


def check_template(
    template: str, payload: Any, *, field: str = FIELD, names: tuple[str, ...] = NAMES
) -> None:
    """Refuse what could not be filled in when the job fires."""

    def refuse(message: str, hint: str) -> InvalidField:
        return _refuse(message, hint, field)

    if not template.strip():
        raise refuse("the template is empty", "leave it out for {job_id}:{unix}")
    if len(template) > LONGEST:
        raise refuse(f"the template is longer than {LONGEST} characters", "shorten it")
    for match in _PLACEHOLDER.finditer(template):
        name = match[1].strip()
        if name.startswith("payload."):
            _lookup(payload, name, field)
        elif name not in names[:-1]:
            raise refuse(f"{{{{{name}}}}} is not known", f"use one of: {', '.join(names)}")
    rest = _PLACEHOLDER.sub("", template)
    if "{{" in rest or "}}" in rest:
        raise refuse("a pair of braces is not closed", "write {{name}}")
    if any(not character.isprintable() for character in rest):
        raise refuse("the template has a control character", "remove it")


def check_run_template(template: str, payload: Any, field: str) -> None:
    """The same for a template that is filled in for each attempt, and may name secrets."""
    secret_names(template, field)
    check_template(PLACEHOLDER.sub("", template) or "x", payload, field=field, names=RUN_NAMES)


def _lookup(payload: Any, name: str, field: str = FIELD) -> Any:
    value = payload
    for part in name.split(".")[1:]:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise _refuse(
                f"{{{{{name}}}}} is not in the payload", "add it to the payload, or use another name", field
            )
    return value


def text_of(value: Any) -> str:
    """A text as it is; anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _refuse(message: str, hint: str, field: str) -> InvalidField:
    return InvalidField("bad_template", message, field=field, hint=hint)
