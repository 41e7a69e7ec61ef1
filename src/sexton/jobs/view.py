"""A job as it is shown: its specification with all defaults, and its state."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import field

from sexton.jobs.spec import JobSpec
from sexton.refusal import about


class JobView(JobSpec, frozen=True, kw_only=True, omit_defaults=False):
    """A job as it is now: what was given for it, with every default, and where it stands."""

    job_id: Annotated[str, about("The job's id, `j_…`.")]
    status: Annotated[str, about("active, paused, completed or deleted.")]
    revision: Annotated[int, about("Grows with every edit; the ETag.")]
    next_run_at: Annotated[
        datetime | None, about("The next nominal time; null after the last, and in a pause without an end.")
    ] = None
    next_run_local: Annotated[str | None, about("The next nominal time in the job's zone.")] = None
    moved_from: Annotated[datetime | None, about("The time of the next run before it was rescheduled.")] = (
        None
    )
    last_run_at: Annotated[datetime | None, about("The nominal time of the latest run.")] = None
    last_outcome: Annotated[str | None, about("How the latest run or occurrence ended.")] = None
    paused_reason: Annotated[str | None, about("Why it was paused.")] = None
    paused_until: Annotated[datetime | None, about("When the pause ends by itself.")] = None
    app: Annotated[str | None, about("The application that declared it.")] = None
    problem: Annotated[
        str | None,
        about("Why the active job is set aside: its schedule cannot be computed. An edit mends it."),
    ] = None
    created_at: Annotated[datetime, about("When it was made.")]
    updated_at: Annotated[datetime, about("When it was last edited.")]
    completed_at: Annotated[
        datetime | None, about("When its last run ended, or its last time was skipped.")
    ] = None
    warnings: Annotated[list[str], about("Warnings: what is allowed but probably not intended.")] = field(
        default_factory=list
    )
