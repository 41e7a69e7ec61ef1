"""Lists as files."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sexton.api.route import Query, Route
from sexton.api.routes import DeadReason, JobChoice, RunChoice
from sexton.security.role import Role

Form = Annotated[Literal["csv", "jsonl"], Meta(description="CSV, or a line of JSON each.")]


class JobsExportQuery(JobChoice, frozen=True, kw_only=True):
    format: Form = "jsonl"


class RunsExportQuery(RunChoice, frozen=True, kw_only=True):
    format: Form = "jsonl"


class DeadExportQuery(Query, frozen=True, kw_only=True):
    job: Annotated[str | None, Meta(description="Only letters of this job: its id or name.")] = None
    error_group: Annotated[str | None, Meta(description="Only letters with this cause.")] = None
    reason: Annotated[DeadReason | None, Meta(description="Only letters that died like this.")] = None
    format: Form = "jsonl"


EXPORT_JOBS = Route("GET", "/export/jobs", "console", "Export jobs", Role.VIEWER, query=JobsExportQuery)
EXPORT_RUNS = Route("GET", "/export/runs", "console", "Export runs", Role.VIEWER, query=RunsExportQuery)
EXPORT_DEAD = Route(
    "GET", "/export/dead", "console", "Export dead letters", Role.VIEWER, query=DeadExportQuery
)
