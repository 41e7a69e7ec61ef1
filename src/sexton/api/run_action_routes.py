"""What can be asked over HTTP of many runs at once; see `routes`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton.api.route import Route
from sexton.api.routes import RunChoice
from sexton.security.role import Role

MOST_IDS = 200


class RunActionFilter(RunChoice, frozen=True, kw_only=True):
    """Which runs are meant. At least one of the fields, or `all`."""

    all: Annotated[bool, Meta(description="Say that every run is meant.")] = False
    ids: Annotated[
        Annotated[list[str], Meta(max_length=MOST_IDS)] | None,
        Meta(description="These runs, by their ids; goes with no other field."),
    ] = None


class RunActionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which runs."""

    action: Annotated[
        Literal["cancel", "again"],
        Meta(description="cancel those that have not ended, or run those that have ended again."),
    ]
    filter: Annotated[RunActionFilter, Meta(description="To which runs.")]
    reason: Annotated[
        Annotated[str, Meta(max_length=1000)] | None, Meta(description="With `cancel`: kept with the runs.")
    ] = None
    dry_run: Annotated[bool, Meta(description="Only say how many runs are meant, and show some.")] = False
    expected: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Refuse with 409 if more runs than these are meant."),
    ] = None
    after: Annotated[
        str | None, Meta(description="Go on after this place: the `cursor` of the answer before.")
    ] = None
    limit: Annotated[
        int, Meta(ge=1, le=200, description="How many runs at most, in this call: they are changed together.")
    ] = 200


ACT_ON_RUNS = Route("POST", "/runs/actions", "runs", "Act on many runs", Role.OPERATOR, body=RunActionRequest)
