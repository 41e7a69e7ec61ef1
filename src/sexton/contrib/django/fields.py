"""A model field for schedules: text in any form that Sexton reads, with the errors of Sexton.

class Report(models.Model):
    zone = models.CharField(max_length=64, default="Europe/Berlin")
    schedule = ScheduleField(timezone_field="zone")

report.get_schedule_parsed().next_after(now)
"""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from django.core.exceptions import ValidationError  # type: ignore[import-untyped]
from django.db import models  # type: ignore[import-untyped]
from django.utils.deconstruct import deconstructible  # type: ignore[import-untyped]

from sexton.errors import ScheduleError
from sexton.schedules.parse import parse, zone_in
from sexton.schedules.schedule import Schedule

UTC = "UTC"
ROWS = 2


@deconstructible
class ScheduleValidator:
    """Refuses text that is not a schedule, with what to write instead; also for forms without a model."""

    def __init__(self, timezone: str = UTC, kind: str | None = None) -> None:
        self.timezone = timezone
        self.kind = kind

    def __call__(self, text: str) -> None:
        read(text, self.timezone, self.kind)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScheduleValidator):
            return NotImplemented
        return (self.timezone, self.kind) == (other.timezone, other.kind)

    def __hash__(self) -> int:
        return hash((self.timezone, self.kind))


class ScheduleField(models.TextField):  # type: ignore[misc]
    """A schedule as text: cron, an RRULE or lines of RFC 5545, an interval, one time.

    Its zone is `timezone`, or what the field `timezone_field` of the same object holds; `kind` (cron,
    recurrence, interval, once) allows one kind alone.
    """

    description = "A schedule"

    def __init__(
        self,
        *given: Any,
        timezone: str = UTC,
        timezone_field: str | None = None,
        kind: str | None = None,
        **named: Any,
    ) -> None:
        self.timezone = timezone
        self.timezone_field = timezone_field
        self.kind = kind
        super().__init__(*given, **named)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, path, given, named = super().deconstruct()
        usual = {"timezone": UTC, "timezone_field": None, "kind": None}
        own = {each: getattr(self, each) for each in usual}
        return name, path, given, {**named, **{k: v for k, v in own.items() if v != usual[k]}}

    def contribute_to_class(self, cls: Any, name: str, private_only: bool = False) -> None:
        super().contribute_to_class(cls, name, private_only)
        method = f"get_{name}_parsed"
        if not cls._meta.abstract and method not in cls.__dict__:
            setattr(cls, method, partialmethod(_parsed, field=self))

    def validate(self, value: Any, model_instance: Any) -> None:
        super().validate(value, model_instance)
        if value not in self.empty_values:
            read(value, self.zone_of(model_instance), self.kind)

    def formfield(self, **named: Any) -> Any:
        """A text area, since a schedule of RFC 5545 may have several lines; a low one, since most have one
        line."""
        made = super().formfield(**named)
        if made is not None:
            made.widget.attrs["rows"] = ROWS
        return made

    def zone_of(self, instance: Any) -> str:
        """The zone of an object's schedule."""
        if self.timezone_field is None or instance is None:
            return self.timezone
        return str(getattr(instance, self.timezone_field) or self.timezone)


def read(text: str, timezone: str, kind: str | None = None) -> Schedule:
    """The schedule of a text. Raises `ValidationError` with what is wrong and what to write instead. A text
    that names its own zone (CRON_TZ=…, DTSTART;TZID=…) keeps it."""
    try:
        return parse(text, timezone=zone_in(text) or timezone, kind=kind)
    except ScheduleError as error:
        hint = f": {error.hint}" if error.hint else ""
        raise ValidationError(f"{error.message}{hint}", code=error.code) from error


def _parsed(instance: Any, *, field: ScheduleField) -> Schedule | None:
    """The schedule of an object; None if it has none."""
    text = getattr(instance, field.attname)
    return read(text, field.zone_of(instance), field.kind) if text else None
