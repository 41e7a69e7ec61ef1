"""Idempotency keys: the name under which a run's effect counts once, whoever carries it out and how often.

An occurrence has one key, `{job_id}:{unix}` unless the job has a template; retries, catch-up, backfill and
redrive keep it. A manual run is an effect of its own: its key ends with `manual:{run_id}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from sexton.clock import iso
from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.schedules.zone import zone

FIELD = "idempotency_key_template"
LONGEST = 500
_PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)

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


def occurrence_key(
    template: str | None,
    *,
    job_id: int,
    job_name: str,
    scheduled_at: datetime,
    timezone: str,
    payload: Any = None,
) -> str:
    """The key of an occurrence."""
    if template is None:
        return f"{encode_id('j', job_id)}:{int(scheduled_at.timestamp())}"
    names = {"job_id": encode_id("j", job_id), "job_name": job_name}
    return fill(template, names, scheduled_at=scheduled_at, timezone=timezone, payload=payload)


def manual_key(
    template: str | None,
    *,
    job_id: int,
    job_name: str,
    scheduled_at: datetime,
    timezone: str,
    run_id: int,
    payload: Any = None,
) -> str:
    """The key of a run that somebody asked for: never that of an occurrence."""
    suffix = f"manual:{encode_id('r', run_id)}"
    if template is None:
        return f"{encode_id('j', job_id)}:{suffix}"
    key = occurrence_key(
        template,
        job_id=job_id,
        job_name=job_name,
        scheduled_at=scheduled_at,
        timezone=timezone,
        payload=payload,
    )
    return f"{key}:{suffix}"


def fill(
    template: str, names: Mapping[str, str], *, scheduled_at: datetime, timezone: str, payload: Any
) -> str:
    """The template with `names`, times and what it takes from the payload in their places."""
    local = scheduled_at.astimezone(zone(timezone).info)

    def put(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name in _TIMES:
            return _TIMES[name](local)
        return names[name] if name in names else _text(_lookup(payload, name))

    return _PLACE.sub(put, template)


def names_wall_clock(template: str) -> bool:
    """Whether it takes the zone of the job to fill it in."""
    found = {match[1].strip() for match in _PLACE.finditer(template)}
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
    for match in _PLACE.finditer(template):
        name = match[1].strip()
        if name.startswith("payload."):
            _lookup(payload, name, field)
        elif name not in names[:-1]:
            raise refuse(f"{{{{{name}}}}} is not known", f"use one of: {', '.join(names)}")
    rest = _PLACE.sub("", template)
    if "{{" in rest or "}}" in rest:
        raise refuse("a pair of braces is not closed", "write {{name}}")
    if any(not character.isprintable() for character in rest):
        raise refuse("the template has a control character", "remove it")


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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _refuse(message: str, hint: str, field: str) -> InvalidField:
    return InvalidField("bad_template", message, field=field, hint=hint)
