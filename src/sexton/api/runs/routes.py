"""The routes of runs, dead letters, and reports about runs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sexton.api.route import Cursor, Limit, Query, Route
from sexton.runs.dead_letters import DeadSort
from sexton.security.role import Role

Rate = Annotated[
    Annotated[float, Meta(ge=0.001, le=100_000)] | None,
    Meta(description="How many start per second. Default: all at once."),
]
Statuses = Annotated[
    str | None,
    Meta(description="Only these: pending, running, failed, waiting, success, dead, cancelled, expired, "
         "skipped; several with commas."),
]  # fmt: skip
Triggers = Annotated[
    str | None,
    Meta(description="Only these: schedule, catch_up, manual, backfill, redrive; several with commas."),
]
Skipped = Annotated[Literal["skipped"] | None, Meta(description="List skipped occurrences too.")]
DeadReason = Literal["exhausted", "permanent", "poison"]


class RunRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the run gets."""

    payload: Annotated[Any | UnsetType, Meta(description="Instead of the job's own payload.")] = UNSET


class RunChoice(Query, frozen=True, kw_only=True):
    """Which runs."""

    job: Annotated[str | None, Meta(description="Only runs of this job: its id or name.")] = None
    status: Statuses = None
    trigger: Triggers = None
    include: Skipped = None
    queue: Annotated[str | None, Meta(description="Only live runs in this queue.")] = None
    since: Annotated[
        datetime | None, Meta(description="Only what is live, or was recorded at or after this instant.")
    ] = None
    until: Annotated[datetime | None, Meta(description="Only what was recorded before this instant.")] = None
    late: Annotated[
        bool, Meta(description="Only runs of a schedule that started a second or more after they were due.")
    ] = False
    error: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="Only runs with this text in their last error."),
    ] = None
    worker: Annotated[str | None, Meta(description="Only runs of this worker: `host:pid:random`.")] = None


class RunsQuery(RunChoice, frozen=True, kw_only=True):
    limit: Limit = 50
    cursor: Cursor = None


class LogQuery(Query, frozen=True, kw_only=True):
    after: Annotated[datetime | None, Meta(description="Only lines after this instant.")] = None
    limit: Limit = 1000


class CancelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a run is cancelled."""

    reason: Annotated[
        Annotated[str, Meta(max_length=1000)] | None, Meta(description="Kept with the run.")
    ] = None


LIST_RUNS = Route("GET", "/runs", "runs", "List runs", Role.VIEWER, query=RunsQuery)
COUNT_RUNS = Route("GET", "/runs/counts", "runs", "Count runs", Role.VIEWER, query=RunChoice)
GET_RUN = Route("GET", "/runs/{run}", "runs", "Show a run", Role.VIEWER)
GET_RUN_LOG = Route("GET", "/runs/{run}/log", "runs", "Read a run's log", Role.VIEWER, query=LogQuery)
REPEAT_RUN = Route(
    "POST", "/runs/{run}/again", "runs", "Run it again", Role.OPERATOR, body=RunRequest, body_optional=True
)
CANCEL_RUN = Route(
    "POST", "/runs/{run}/cancel", "runs", "Cancel a run", Role.OPERATOR, body=CancelRequest,
    body_optional=True,
)  # fmt: skip


# Many runs

MOST_IDS = 200


class RunActionFilter(RunChoice, frozen=True, kw_only=True):
    """Which runs. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, Meta(description="Select every run.")] = False
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
    dry_run: Annotated[bool, Meta(description="Only count the selected runs, and show some.")] = False
    expected: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Refuse if more runs than this are selected."),
    ] = None
    after: Annotated[
        str | None, Meta(description="Continue after this row: the `cursor` of the previous answer.")
    ] = None
    limit: Annotated[
        int, Meta(ge=1, le=200, description="How many runs at most in this call, all in one transaction.")
    ] = 200


ACT_ON_RUNS = Route("POST", "/runs/actions", "runs", "Act on many runs", Role.OPERATOR, body=RunActionRequest)


# Dead letters


class GroupsQuery(Query, frozen=True, kw_only=True):
    job: Annotated[str | None, Meta(description="Only letters of this job: its id or name.")] = None
    limit: Limit = 100


class DeadQuery(Query, frozen=True, kw_only=True):
    job: Annotated[str | None, Meta(description="Only letters of this job: its id or name.")] = None
    error_group: Annotated[str | None, Meta(description="Only letters with this cause.")] = None
    reason: Annotated[DeadReason | None, Meta(description="Only letters that died like this.")] = None
    sort: Annotated[
        DeadSort, Meta(description="The order: the latest first, or with `died_at` the oldest.")
    ] = "-died_at"
    limit: Limit = 50
    cursor: Cursor = None


class DeadFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which dead letters. Needs at least one of the fields, or `all`."""

    job: Annotated[str | None, Meta(description="Those of this job: its id or name.")] = None
    error_group: Annotated[
        str | None, Meta(description="Those with this cause: the `error_group` of a letter.")
    ] = None
    reason: Annotated[DeadReason | None, Meta(description="Those that died like this.")] = None
    before: Annotated[datetime | None, Meta(description="Those that died before this instant.")] = None
    all: Annotated[bool, Meta(description="Select every dead letter.")] = False
    dry_run: Annotated[bool, Meta(description="Only count the selected letters, and show some.")] = False
    expected: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Refuse if more letters than this are selected."),
    ] = None


class RedriveRequest(DeadFilter, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which dead letters to run again, and how fast."""

    rate: Rate = None


class RedriveOneRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the new run gets."""

    payload: Annotated[Any | UnsetType, Meta(description="Instead of the letter's own payload.")] = UNSET


class DeadTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where dead letters are sent in addition."""

    target: Annotated[dict[str, Any] | None, Meta(description="An http or message target; null: nowhere.")]


LIST_DEAD = Route("GET", "/dead", "dead letters", "List dead letters", Role.VIEWER, query=DeadQuery)
LIST_DEAD_GROUPS = Route(
    "GET", "/dead/groups", "dead letters", "Group dead letters by cause", Role.VIEWER, query=GroupsQuery
)
GET_DEAD_TARGET = Route("GET", "/dead/target", "dead letters", "Show where dead letters go", Role.VIEWER)
SET_DEAD_TARGET = Route(
    "PUT", "/dead/target", "dead letters", "Set where dead letters go", Role.EDITOR, body=DeadTarget
)
GET_DEAD = Route("GET", "/dead/{run}", "dead letters", "Show a dead letter", Role.VIEWER)
REDRIVE_DEAD = Route(
    "POST", "/dead/{run}/redrive", "dead letters", "Run a dead letter again", Role.OPERATOR,
    body=RedriveOneRequest, body_optional=True,
)  # fmt: skip
DISCARD_DEAD = Route("POST", "/dead/{run}/discard", "dead letters", "Discard a dead letter", Role.OPERATOR)
REDRIVE_MANY = Route(
    "POST", "/dead/redrive", "dead letters", "Run many dead letters again", Role.OPERATOR, body=RedriveRequest
)
DISCARD_MANY = Route(
    "POST", "/dead/discard", "dead letters", "Discard many dead letters", Role.OPERATOR, body=DeadFilter
)


# Reports of a run, by the service that carries it out

Seconds = Annotated[float, Meta(ge=0, le=366 * 86_400)]


class CompleteRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run ended well."""

    result: Annotated[Any, Meta(description="Kept with the run: any JSON up to 64 KiB.")] = None


class FailRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an attempt failed."""

    error: Annotated[
        Annotated[str, Meta(min_length=1, max_length=8000)], Meta(description="What went wrong.")
    ]
    permanent: Annotated[bool, Meta(description="Do not retry: the run becomes dead.")] = False
    retry_after: Annotated[
        Seconds | None, Meta(description="Seconds until the next attempt. Default: the job's back-off.")
    ] = None


class HeartbeatRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sign that the service still works on a run."""

    seconds: Annotated[
        Seconds | None,
        Meta(description="How much longer it may take from now on. Default: the job's timeout_seconds."),
    ] = None
    fraction: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None, Meta(description="How far it is, from 0 to 1.")
    ] = None
    text: Annotated[
        Annotated[str, Meta(max_length=1000)] | None, Meta(description="How far it is, in words.")
    ] = None


COMPLETE_RUN = Route(
    "POST", "/runs/{run}/complete", "reports", "Report success", Role.WORKER, body=CompleteRequest,
    body_optional=True,
)  # fmt: skip
FAIL_RUN = Route("POST", "/runs/{run}/fail", "reports", "Report a failure", Role.WORKER, body=FailRequest)
RUN_HEARTBEAT = Route(
    "POST", "/runs/{run}/heartbeat", "reports", "Report progress", Role.WORKER, body=HeartbeatRequest,
    body_optional=True,
)  # fmt: skip
