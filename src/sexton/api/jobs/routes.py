"""The routes of jobs, queues and targets: method, path, query and body of every operation.

The command line takes the paths and options of its commands from these tables. So these modules must not
import the server or the database: that takes longer than a command may.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sexton.api.route import Cursor, Limit, Query, Route
from sexton.api.runs.routes import Rate, RunRequest, Skipped, Statuses, Triggers
from sexton.jobs.spec import JobSpec, LimitChanges, Limits
from sexton.security.role import Role
from sexton.targets.base import LONGEST_TRIAL

Count = Annotated[int, Meta(ge=1, le=1000, description="How many occurrences.")]


class JobChoice(Query, frozen=True, kw_only=True):
    """Which jobs."""

    status: Annotated[
        Literal["active", "paused", "completed", "deleted"] | None,
        Meta(description="Only jobs in this status."),
    ] = None
    label: Annotated[str | None, Meta(description="Only jobs with this label: `name` or `name=value`.")] = (
        None
    )
    name: Annotated[
        str | None, Meta(description="Only the job of this name, or those that begin with it: `report-*`.")
    ] = None
    target: Annotated[
        str | None,
        Meta(description="Only jobs with this target: `http`, …, or a handler: `name` or `app:name`."),
    ] = None
    app: Annotated[str | None, Meta(description="Only jobs that this application declared.")] = None
    problem: Annotated[
        bool, Meta(description="Only jobs that are set aside: their schedule cannot be computed.")
    ] = False
    search: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Meta(
            description="Only jobs with these words, or beginnings of words, in name, owner or description."
        ),
    ] = None


class JobsQuery(JobChoice, frozen=True, kw_only=True):
    sort: Annotated[
        Literal["created_at", "-created_at", "name", "-name", "next_run_at"],
        Meta(description="In which order: as they were made, by name, the reverse of either, or as they fire "
             "next."),
    ] = "created_at"  # fmt: skip
    expand: Annotated[
        Literal["strip"] | None,
        Meta(description="Also show the latest runs of each job, and its schedule in words."),
    ] = None
    limit: Limit = 100
    cursor: Cursor = None


class BulkQuery(Query, frozen=True, kw_only=True):
    chunk: Annotated[
        int, Meta(ge=1, le=20_000, description="How many lines are made together, all or nothing.")
    ] = 2000
    ids: Annotated[bool, Meta(description="Answer with the ids of the jobs, in order.")] = False
    existing: Annotated[
        Literal["refuse", "replace"],
        Meta(description="What to do with a line whose name a job has already: refuse it, or give that job "
             "the definition of the line."),
    ] = "refuse"  # fmt: skip
    results: Annotated[bool, Meta(description="Answer with the result of each job.")] = False


class DeleteQuery(Query, frozen=True, kw_only=True):
    cancel_running: Annotated[bool, Meta(description="Stop its running runs too.")] = False


class PauseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why, and until when."""

    reason: Annotated[str | None, Meta(description="Shown with the job.")] = None
    until: Annotated[datetime | None, Meta(description="When it resumes automatically.")] = None


class RescheduleRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When it runs next."""

    at: Annotated[
        str, Meta(description="An instant, a local time in the job's zone, or a while from now: `in 10m`.")
    ]


class SkipRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which occurrence to skip."""

    at: Annotated[
        datetime | None,
        Meta(description="Skip only if this is the next one, so that a repeated call skips one."),
    ] = None


class ActionFilter(JobChoice, frozen=True, kw_only=True):
    """Which jobs. Needs at least one of the fields, or `all`."""

    all: Annotated[bool, Meta(description="Select every job.")] = False
    ids: Annotated[
        Annotated[list[str], Meta(max_length=1000)] | None, Meta(description="Only these jobs, by their ids.")
    ] = None


ActionName = Literal["pause", "resume", "run", "delete", "restore", "label"]
# The role that each action needs, as for a single job.
ACTION_ROLES: dict[ActionName, Role] = {
    "pause": Role.OPERATOR,
    "resume": Role.OPERATOR,
    "run": Role.OPERATOR,
    "delete": Role.EDITOR,
    "restore": Role.EDITOR,
    "label": Role.EDITOR,
}


class ActionRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to do, and to which jobs."""

    action: Annotated[ActionName, Meta(description="What to do.")]
    filter: Annotated[ActionFilter, Meta(description="To which jobs.")]
    reason: Annotated[str | None, Meta(description="With `pause`: shown with the jobs.")] = None
    until: Annotated[datetime | None, Meta(description="With `pause`: when they resume automatically.")] = (
        None
    )
    cancel_running: Annotated[bool, Meta(description="With `delete`: stop their running runs too.")] = False
    payload: Annotated[
        Any | UnsetType, Meta(description="With `run`: instead of the jobs' own payloads.")
    ] = UNSET
    labels: Annotated[
        dict[str, str | None] | None,
        Meta(description="With `label`: labels to set; one that is null is taken away."),
    ] = None
    dry_run: Annotated[bool, Meta(description="Only count the selected jobs, and show some.")] = False
    expected: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="Refuse if more jobs than this are selected."),
    ] = None
    after: Annotated[
        str | None, Meta(description="Continue after this job: the `cursor` of the previous answer.")
    ] = None
    through: Annotated[
        str | None,
        Meta(description="Stop after this job: `through` of the dry run. Later jobs are not changed."),
    ] = None
    limit: Annotated[
        int,
        Meta(ge=1, le=1000, description="How many jobs at most in this call, all in one transaction."),
    ] = 1000


class BackfillRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which past occurrences to run."""

    start: Annotated[datetime, Meta(description="The first instant of the range.")]
    end: Annotated[datetime, Meta(description="The last instant of the range; not in the future.")]
    dry_run: Annotated[bool, Meta(description="Only list what would run.")] = False
    rate: Rate = None


class PreviewQuery(Query, frozen=True, kw_only=True):
    count: Count = 10


class JobRunsQuery(Query, frozen=True, kw_only=True):
    status: Statuses = None
    trigger: Triggers = None
    include: Skipped = None
    limit: Limit = 50
    cursor: Cursor = None


class OccurrencesQuery(Query, frozen=True, kw_only=True):
    start: Annotated[
        datetime | None, Meta(description="The first instant of the range. Default: a day ago.")
    ] = None
    end: Annotated[datetime | None, Meta(description="The last instant of the range. Default: in a day.")] = (
        None
    )
    limit: Limit = 100


class WhyQuery(Query, frozen=True, kw_only=True):
    at: Annotated[
        datetime | None, Meta(description="The occurrence at this instant, or those on both sides of it.")
    ] = None
    past: Annotated[int, Meta(ge=0, le=200, description="How many of the latest occurrences.")] = 10
    ahead: Annotated[int, Meta(ge=0, le=200, description="How many of the next ones.")] = 3


CREATE_JOB = Route("POST", "/jobs", "jobs", "Make a job", Role.EDITOR, body=JobSpec)
LIST_JOBS = Route("GET", "/jobs", "jobs", "List jobs", Role.VIEWER, query=JobsQuery)
CREATE_JOBS = Route(
    "POST", "/jobs/bulk", "jobs", "Make many jobs", Role.EDITOR, query=BulkQuery, body=JobSpec
)
ACT_ON_JOBS = Route("POST", "/jobs/actions", "jobs", "Act on many jobs", Role.OPERATOR, body=ActionRequest)
GET_JOB = Route("GET", "/jobs/{job}", "jobs", "Show a job", Role.VIEWER)
EDIT_JOB = Route("PATCH", "/jobs/{job}", "jobs", "Edit a job", Role.EDITOR, body=dict[str, Any])
PUT_JOB = Route(
    "PUT", "/jobs/by-name/{name}", "jobs", "Create or replace a job by its name", Role.EDITOR, body=JobSpec
)
DELETE_JOB = Route("DELETE", "/jobs/{job}", "jobs", "Delete a job", Role.EDITOR, query=DeleteQuery)
RESTORE_JOB = Route("POST", "/jobs/{job}/restore", "jobs", "Restore a deleted job", Role.EDITOR)
PAUSE_JOB = Route(
    "POST", "/jobs/{job}/pause", "jobs", "Pause a job", Role.OPERATOR, body=PauseRequest, body_optional=True
)
RESUME_JOB = Route("POST", "/jobs/{job}/resume", "jobs", "Resume a job", Role.OPERATOR)
RESCHEDULE_JOB = Route(
    "POST", "/jobs/{job}/reschedule", "jobs", "Move a job's next run", Role.OPERATOR, body=RescheduleRequest
)
SKIP_NEXT = Route(
    "POST", "/jobs/{job}/skip-next", "jobs", "Skip the next occurrence", Role.OPERATOR, body=SkipRequest,
    body_optional=True,
)  # fmt: skip
RUN_JOB = Route(
    "POST", "/jobs/{job}/run", "jobs", "Run a job now", Role.OPERATOR, body=RunRequest, body_optional=True
)
BACKFILL_JOB = Route(
    "POST", "/jobs/{job}/backfill", "jobs", "Run past occurrences", Role.OPERATOR, body=BackfillRequest
)
PREVIEW_JOB = Route("GET", "/jobs/{job}/preview", "jobs", "Preview a job", Role.VIEWER, query=PreviewQuery)
PREVIEW_SPEC = Route(
    "POST", "/preview", "jobs", "Preview a job that is not saved", Role.VIEWER, query=PreviewQuery,
    body=JobSpec,
)  # fmt: skip
LIST_JOB_RUNS = Route("GET", "/jobs/{job}/runs", "jobs", "List a job's runs", Role.VIEWER, query=JobRunsQuery)
LIST_JOB_OCCURRENCES = Route(
    "GET", "/jobs/{job}/occurrences", "jobs", "List a job's occurrences", Role.VIEWER, query=OccurrencesQuery
)
EXPLAIN_JOB = Route("GET", "/jobs/{job}/why", "jobs", "Explain occurrences", Role.VIEWER, query=WhyQuery)


# Queues


class QueuePauseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why."""

    reason: Annotated[
        str | None, Meta(description="Shown with the queue, and with every run that waits.")
    ] = None


class QueuesQuery(Query, frozen=True, kw_only=True):
    drain_seconds: Annotated[
        int,
        Meta(
            ge=1, le=86_400, description="In how many seconds the messages of notifications should be sent."
        ),
    ] = 300
    expand: Annotated[
        Literal["hour"] | None, Meta(description="Also show arrivals and ends in the last hour, by minute.")
    ] = None


LIST_QUEUES = Route("GET", "/queues", "queues", "List queues", Role.VIEWER, query=QueuesQuery)
GET_QUEUE = Route("GET", "/queues/{queue}", "queues", "Show a queue", Role.VIEWER, query=QueuesQuery)
PUT_QUEUE = Route("PUT", "/queues/{queue}", "queues", "Set the limits of a queue", Role.EDITOR, body=Limits)
CHANGE_QUEUE = Route(
    "PATCH", "/queues/{queue}", "queues", "Change some limits of a queue", Role.EDITOR, body=LimitChanges
)
PAUSE_QUEUE = Route(
    "POST", "/queues/{queue}/pause", "queues", "Pause a queue", Role.OPERATOR, body=QueuePauseRequest,
    body_optional=True,
)  # fmt: skip
RESUME_QUEUE = Route("POST", "/queues/{queue}/resume", "queues", "Resume a queue", Role.OPERATOR)


# Targets


class TrialRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to try: a target, or that of a job."""

    target: Annotated[
        dict[str, Any] | None, Meta(description='A target as jobs have it, such as {"http": {"url": …}}.')
    ] = None
    job: Annotated[str | None, Meta(description="Instead: the target and the payload of this job.")] = None
    payload: Annotated[Any, Meta(description="What to send. Default: the job's payload.")] = None
    timeout_seconds: Annotated[
        Annotated[float, Meta(gt=0, le=LONGEST_TRIAL)], Meta(description="How long it may take.")
    ] = LONGEST_TRIAL


SEND_TEST = Route("POST", "/targets/test", "targets", "Send a test", Role.EDITOR, body=TrialRequest)
