"""A job as it is shown: what people wrote, with every default, and where it stands."""

from __future__ import annotations

from datetime import datetime

import msgspec

from sexton.jobs.spec import JobSpec


class JobView(JobSpec, frozen=True, kw_only=True, omit_defaults=False):
    """`next_run_at` is the nominal time of the next occurrence; null while the job is paused or over.
    `problem` says why it does not fire though it is active: its schedule cannot be computed."""

    job_id: str
    status: str
    revision: int
    next_run_at: datetime | None = None
    next_run_local: str | None = None
    last_run_at: datetime | None = None
    last_outcome: str | None = None
    paused_reason: str | None = None
    paused_until: datetime | None = None
    app: str | None = None
    problem: str | None = None
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    warnings: list[str] = msgspec.field(default_factory=list)
