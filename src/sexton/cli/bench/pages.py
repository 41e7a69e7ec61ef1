"""What the pages of the console ask, as functions to be timed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from sexton.api.console.feed import Console, Feed
from sexton.engine.cluster.status import get_cluster
from sexton.engine.overview import OverviewReader
from sexton.jobs.filter import JobFilter
from sexton.jobs.queues import list_queues
from sexton.jobs.read import count_jobs, get, list_jobs
from sexton.jobs.upcoming import Forecast, count_due
from sexton.model import encode_id
from sexton.postgres.transaction import Context, query
from sexton.runs.agenda import read_agenda
from sexton.runs.count import count_runs
from sexton.runs.dead_letters import list_dead, list_groups
from sexton.runs.figures import job_figures
from sexton.runs.filter import RunFilter
from sexton.runs.occurrences import list_occurrences
from sexton.runs.read import get_run, list_runs, run_number
from sexton.runs.search import search
from sexton.runs.strip import with_strips
from sexton.runs.why import why

Question = Callable[[], Awaitable[Any]]


async def pages(context: Context, jobs: int) -> dict[str, Question]:
    """By the name of the page and of what it asks."""
    now = await _time(context)
    hour, day, month = timedelta(hours=1), timedelta(days=1), timedelta(days=31)
    minute = now.replace(second=0, microsecond=0)
    job = jobs // 2 or 1
    forecast = Forecast(context.database)
    await forecast.read(context.namespace)
    ended = (await list_runs(context, RunFilter(statuses=["success"]), limit=1)).items
    run = 1 if not ended or ended[0].run_id is None else run_number(ended[0].run_id)
    feed = Feed(context.database, OverviewReader())
    feed.consoles.add(Console(context.namespace, sees_cluster=True))

    async def strips() -> None:
        await with_strips(context, (await list_jobs(context, limit=100)).items)

    def listed(**chosen: Any) -> Question:
        return lambda: list_runs(context, RunFilter(**chosen), limit=50)

    def counted(**chosen: Any) -> Question:
        return lambda: count_runs(context, RunFilter(**chosen))

    return {
        "overview": lambda: OverviewReader().read(context, sees_cluster=True),
        "overview: next minutes": lambda: forecast.read(context.namespace),
        "events: one look": feed.look,
        "search: a rare word": lambda: search(context, f"report-{job}", 20),
        "search: a common word": lambda: search(context, "team", 20),
        "search: a beginning": lambda: search(context, "team-7/inv", 20),
        "search: a run": lambda: search(context, encode_id("r", run), 20),
        "jobs: as made": lambda: list_jobs(context, limit=100),
        "jobs: by name": lambda: list_jobs(context, sort="name", limit=100),
        "jobs: newest": lambda: list_jobs(context, sort="-created_at", limit=100),
        "jobs: next": lambda: list_jobs(context, sort="next_run_at", limit=100),
        "jobs: with strips": strips,
        "jobs: paused": lambda: list_jobs(context, JobFilter(status="paused"), limit=100),
        "jobs: of a label": lambda: list_jobs(context, JobFilter(label="team=7"), limit=100),
        "jobs: search": lambda: list_jobs(context, JobFilter(search=f"invoice {job}"), limit=100),
        "jobs: search a common word": lambda: list_jobs(context, JobFilter(search="invoice"), limit=100),
        "jobs: count": lambda: count_jobs(context),
        "jobs: count of a label": lambda: count_jobs(context, JobFilter(label="team=7")),
        "jobs: count of a search": lambda: count_jobs(context, JobFilter(search="invoice")),
        "job": lambda: get(context, encode_id("j", job)),
        "job: runs": listed(job=job, skipped=True),
        "job: occurrences": lambda: list_occurrences(context, job, now - day, now + day, limit=100),
        "job: why": lambda: why(context, job),
        "job: over time": lambda: job_figures(context, job, 24 * 7),
        "form: who shares the minute": lambda: count_due(
            context, now.replace(second=0, microsecond=0) + hour
        ),
        "runs": listed(),
        "runs: dead": listed(statuses=["dead"]),
        "runs: cancelled": listed(statuses=["cancelled"]),
        "runs: by hand": listed(triggers=["manual"]),
        "runs: with an error": listed(error="is away"),
        "runs: late in an hour": listed(late=True, since=now - hour),
        "runs: late in a day": listed(late=True, since=now - day),
        "runs: counts": counted(),
        "runs: counts of an hour": counted(since=minute - hour),
        "runs: counts of a job": counted(job=job),
        "run": lambda: get_run(context, run),
        "dead: groups": lambda: list_groups(context),
        "dead": lambda: list_dead(context),
        "queues": lambda: list_queues(context),
        "cluster": lambda: get_cluster(context),
        "calendar: a day": lambda: read_agenda(context, now - day / 2, now + day / 2),
        "calendar: a month": lambda: read_agenda(context, now - month / 2, now + month / 2),
    }


@query
async def _time(context: Context) -> Any:
    return await context.time()
