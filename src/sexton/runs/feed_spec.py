"""The specification of a calendar feed."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from sexton.refusal import about

Kind = Literal["jobs", "content", "campaigns"]
KINDS: tuple[Kind, ...] = ("jobs", "content", "campaigns")


class CalendarFeedSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A calendar for people's own programs."""

    name: Annotated[str, Meta(min_length=1, max_length=200, description="The name of the calendar.")] = (
        "Sexton"
    )
    kinds: Annotated[
        list[Kind], Meta(min_length=1, max_length=3, description="What it shows: jobs, content, campaigns.")
    ] = field(default_factory=lambda: list(KINDS))
    label: Annotated[
        Annotated[str, Meta(max_length=500)] | None,
        about("Only jobs with this label: `name` or `name=value`."),
    ] = None
    timezone: Annotated[
        Annotated[str, Meta(max_length=64)],
        about("The zone of the days: jobs that fire often are counted by the day."),
    ] = "UTC"
