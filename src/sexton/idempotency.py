"""Idempotency keys: the name under which a run's effect counts once, whoever carries it out and how often.

An occurrence has one key, `{job_id}:{unix}` unless the job has a template; retries, catch-up, backfill and
redrive keep it. A manual run is an effect of its own: its key ends with `manual:{run_id}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.schedules.zone import zone

FIELD = "idempotency_key_template"
LONGEST = 500
_PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)

# What a template may name, as text; `at` is the scheduled time in the job's zone.
_TIMES: Mapping[str, Callable[[datetime], str]] = {
    "scheduled_at": lambda at: at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    "unix": lambda at: str(int(at.timestamp())),
    "date": lambda at: f"{at:%Y-%m-%d}",
    "year": lambda at: f"{at:%Y}",
    "month": lambda at: f"{at:%m}",
    "week": lambda at: "{}-W{:02}".format(*at.isocalendar()),
    "day": lambda at: f"{at:%d}",
    "hour": lambda at: f"{at:%H}",
}
NAMES = ("job_id", "job_name", *_TIMES, "payload.…")


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
    local = scheduled_at.astimezone(zone(timezone).info)

    def fill(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name in _TIMES:
            return _TIMES[name](local)
        if name == "job_id":
            return encode_id("j", job_id)
        return job_name if name == "job_name" else _text(_lookup(payload, name))

    return _PLACE.sub(fill, template)


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


def check_template(template: str, payload: Any) -> None:
    """Refuse what could not be filled in when the job fires."""
    if not template.strip():
        raise _refuse("the template is empty", "leave it out for {job_id}:{unix}")
    if len(template) > LONGEST:
        raise _refuse(f"the template is longer than {LONGEST} characters", "shorten it")
    for match in _PLACE.finditer(template):
        name = match[1].strip()
        if name.startswith("payload."):
            _lookup(payload, name)
        elif name not in NAMES[:-1]:
            raise _refuse(f"{{{{{name}}}}} is not known", f"use one of: {', '.join(NAMES)}")
    rest = _PLACE.sub("", template)
    if "{{" in rest or "}}" in rest:
        raise _refuse("a pair of braces is not closed", "write {{name}}")
    if any(not character.isprintable() for character in rest):
        raise _refuse("the template has a control character", "remove it")


def _lookup(payload: Any, name: str) -> Any:
    value = payload
    for part in name.split(".")[1:]:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise _refuse(
                f"{{{{{name}}}}} is not in the payload", "add it to the payload, or use another name"
            )
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _refuse(message: str, hint: str) -> InvalidField:
    return InvalidField("bad_template", message, field=FIELD, hint=hint)
