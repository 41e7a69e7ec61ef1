"""A namespace at a glance over HTTP, and what comes next."""

from __future__ import annotations

from typing import Any

from sexton.api import examples
from sexton.api.console import routes
from sexton.api.console.routes import FiguresQuery, UpcomingQuery
from sexton.api.operation import Answer, Call, operation
from sexton.engine.cluster.status import backlog_of, workers_of
from sexton.engine.cluster.view import Backlog
from sexton.engine.overview import Overview
from sexton.jobs.upcoming import Upcoming
from sexton.runs.figures import JobFigures, job_figures
from sexton.runs.read import require_job
from sexton.runs.view import NodeView
from sexton.security.role import Role

FIGURES: dict[str, Any] = {
    "since": "2026-06-01T12:01:00Z", "fired": 1204, "succeeded": 1198, "on_time": 1201, "late": 3,
    "failed": 2, "dead": 1, "cancelled": 0, "expired": 0, "skipped": 4,
}  # fmt: skip
OVERVIEW: dict[str, Any] = {
    "at": "2026-06-01T13:00:12.301Z",
    "nodes": {"live": 3, "stale": 0, "schedulers": 1, "workers": 1},
    "shards": {"total": 64, "led": 64},
    "oldest_due_at": None,
    "queue_depth": 2,
    "oldest_waiting_at": "2026-06-01T13:00:12.1Z",
    "queues": {"default": 2},
    "live": {"pending": 2, "running": 3},
    "running": 3,
    "dead": 1,
    "problems": 0,
    "jobs": {"active": 240, "paused": 2},
    "jobs_estimated": False,
    "hour": FIGURES,
    "day": {**FIGURES, "since": "2026-05-31T13:01:00Z"},
    "lateness": [
        {"at": "2026-06-01T13:00:00Z", "fired": 20, "failed": 0, "skipped": 0, "p50_ms": 8.7, "p99_ms": 24.7}
    ],
    "attention": [
        {
            "code": "dead_growing",
            "severity": "warning",
            "text": "1 run died in the last ten minutes",
            "count": 1,
            "link_kind": "dead",
            "link": {},
        }
    ],
    "first_job_fired": True,
}
UPCOMING: dict[str, Any] = {
    "at": "2026-06-01T13:00:12.301Z",
    "start": "2026-06-01T13:00:00Z",
    "minutes": [{"at": "2026-06-01T13:00:00Z", "firings": 12, "jobs": 10}],
    "estimated": False,
}


JOB_FIGURES: dict[str, Any] = {
    "since": "2026-05-31T13:00:12Z",
    "seconds": 720,
    "points": [
        {
            "at": "2026-06-01T12:48:00Z",
            "runs": 12,
            "failed": 0,
            "duration_p50_ms": 120.0,
            "duration_p99_ms": 480.5,
            "late_p50_ms": 8.7,
            "late_p99_ms": 24.1,
        }
    ],
    "cut": False,
}


@operation(routes.GET_OVERVIEW, shared=True, answer=Overview, answer_example=OVERVIEW)
async def get_overview(call: Call) -> Answer:
    """Is anything wrong, and what has happened: figures of the last hour and day, lateness by minute, what
    needs attention. What concerns the whole cluster is shown to callers with a role there. `/events` sends
    the same as it changes."""
    everywhere = call.caller.everywhere()
    sees_cluster = everywhere is not None and everywhere.allows(Role.VIEWER)
    return Answer(await call.services.overviews.read(call.context, sees_cluster=sees_cluster))


@operation(
    routes.GET_UPCOMING, shared=True, renewed_by=("jobs",), heavy=True, answer=Upcoming, errors=(422,),
    answer_example=UPCOMING,
)  # fmt: skip
async def get_upcoming(call: Call) -> Answer:
    """Every occurrence of the next minutes, also of jobs that fire more than once, as the code that fires
    works them out. It may be some seconds old, and with very many schedules it is an estimate."""
    query = call.query(UpcomingQuery)
    return Answer(await call.services.forecast.read(call.context.namespace, query.minutes))


@operation(
    routes.GET_JOB_FIGURES, lists=True, answer=JobFigures, errors=(404, 422), answer_example=JOB_FIGURES
)
async def get_job_figures(call: Call) -> Answer:
    """How long its runs took and how late they started, in at most 120 pieces of time."""
    job = await require_job(call.context, call.path("job"))
    return Answer(await job_figures(call.reading, job, call.query(FiguresQuery).hours))


@operation(
    routes.LIST_WORKERS,
    shared=True,
    renewed_by=("queues", "cluster"),
    lists=True,
    answer=list[NodeView],
    answer_example=examples.CLUSTER["nodes"],
)
async def list_workers(call: Call) -> Answer:
    """Processes that carry out runs of the namespace, or did within the last hour: their slots, heartbeat,
    lag and handlers."""
    return Answer(await workers_of(call.context))


@operation(
    routes.LIST_BACKLOG,
    shared=True,
    renewed_by=("queues",),
    lists=True,
    answer=list[Backlog],
    answer_example=examples.CLUSTER["backlog"],
)
async def list_backlog(call: Call) -> Answer:
    """Runs of the namespace that could start now, by queue and handler, the longest first; `served` is false
    where no live worker can take them, and `reason` says why."""
    return Answer(await backlog_of(call.context))
