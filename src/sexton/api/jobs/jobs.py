"""Jobs over HTTP."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sexton import clock
from sexton.api import examples
from sexton.api.jobs import routes
from sexton.api.jobs.routes import (
    BackfillRequest,
    DeleteQuery,
    JobChoice,
    JobRunsQuery,
    JobsQuery,
    OccurrencesQuery,
    PauseRequest,
    PreviewQuery,
    RescheduleRequest,
    SkipRequest,
    WhyQuery,
)
from sexton.api.operation import Answer, Call, operation
from sexton.api.route import PREFIX
from sexton.api.runs.routes import RunRequest
from sexton.api.runs.runs import RunMade, listed, page_of_runs
from sexton.clock import iso
from sexton.errors import InvalidField
from sexton.jobs import create as making
from sexton.jobs import edit as editing
from sexton.jobs import preview as previewing
from sexton.jobs import read, state
from sexton.jobs.change import find
from sexton.jobs.company import PreviewInCompany, with_company
from sexton.jobs.filter import JobFilter
from sexton.jobs.restore import restore
from sexton.jobs.validation import read_spec
from sexton.jobs.view import JobView
from sexton.model import RunStatus, Trigger
from sexton.postgres.page import Page
from sexton.refusal import aware
from sexton.runs import strip, trigger
from sexton.runs.filter import RunFilter
from sexton.runs.occurrences import list_occurrences
from sexton.runs.read import require_job
from sexton.runs.view import OccurrenceRecord, RunView, Why
from sexton.runs.why import why

DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)


@operation(
    routes.CREATE_JOB, status=201, answer=JobView, example=examples.JOB_REQUEST, answer_example=examples.JOB
)
async def create_job(call: Call) -> Answer:
    """Only `name` and `schedule` are required; everything else has a default. `warnings` names what is
    allowed but probably a mistake, such as a handler that no live worker has."""
    job = await making.create(call.context, read_spec(call.body))
    return Answer(job, headers={**_etag(job), "Location": f"{PREFIX}/jobs/{job.job_id}"})


@operation(
    routes.LIST_JOBS,
    shared=True,
    renewed_by=("jobs",),
    answer=list[strip.ListedJob],
    lists=True,
    answer_example=[examples.JOB],
)
async def list_jobs(call: Call) -> Answer:
    """In the order of creation, of their names, or of their next run: then paused jobs come last, and jobs
    that do not fire again are left out. `Sexton-Total` is how many there are in all; `Sexton-Total-Estimated`
    says that this is an estimate."""
    query = call.query(JobsQuery)
    chosen = filter_of(query)
    page = await read.list_jobs(call.reading, chosen, sort=query.sort, cursor=query.cursor, limit=query.limit)
    found = page.total or await read.count_jobs(call.reading, chosen)
    shown: Page[Any] = page
    if query.expand:
        shown = Page(await strip.with_strips(call.reading, page.items), page.cursor)
    return call.paged(shown, found.headers())


@operation(routes.GET_JOB, answer=JobView, answer_example=examples.JOB)
async def get_job(call: Call) -> Answer:
    """A deleted job is still shown by its id."""
    job = await read.get(call.context, call.path("job"))
    return Answer(job, headers=_etag(job))


@operation(
    routes.EDIT_JOB, answer=JobView, errors=(409, 412), example={"schedule": "0 10 * * 1"},
    answer_example=examples.JOB,
)  # fmt: skip
async def edit_job(call: Call) -> Answer:
    """Changes only the given fields; null resets a field to its default. With `If-Match` the edit is refused
    if the job has been edited since. Runs that have started keep their definition."""
    changes = call.json(dict[str, Any])
    job = await editing.edit(
        call.context, call.path("job"), changes, expected_revision=call.expected_revision
    )
    return Answer(job, headers=_etag(job))


@operation(
    routes.PUT_JOB, also=(201,), answer=JobView, errors=(409, 412), example=examples.JOB_REQUEST,
    answer_example=examples.JOB,
)  # fmt: skip
async def put_job(call: Call) -> Answer:
    """Afterwards the job is exactly what the body says: 201 if it is new, 200 if it was replaced. Repeating
    the request changes nothing. `name` may be left out of the body."""
    body, name = call.json(dict[str, Any]), call.path("name")
    if body.setdefault("name", name) != name:
        raise InvalidField(
            "name_differs",
            f"the body names the job {body['name']}, the path {name}",
            field="name",
            hint="leave it out",
        )
    job, created = await editing.replace(
        call.context, name, read_spec(body), expected_revision=call.expected_revision
    )
    headers = {**_etag(job), "Location": f"{PREFIX}/jobs/{job.job_id}"}
    return Answer(job, status=201 if created else 200, headers=headers)


@operation(routes.DELETE_JOB, status=204)
async def delete_job(call: Call) -> Answer:
    """The job stops firing, its name becomes free, and waiting runs are cancelled. Running runs finish,
    unless `cancel_running` is true. Its history stays."""
    query = call.query(DeleteQuery)
    await state.delete(call.context, call.path("job"), cancel_running=query.cancel_running)
    return Answer()


@operation(routes.RESTORE_JOB, answer=JobView, answer_example=examples.JOB)
async def restore_job(call: Call) -> Answer:
    """A deleted job fires again as before; name it by its id or its former name. Occurrences that fell due in
    between are skipped as `deleted`; cancelled runs stay cancelled. Refused if another job has its name now.
    It can be restored as long as its history is kept."""
    job = await restore(call.context, call.path("job"))
    return Answer(job, headers=_etag(job))


@operation(
    routes.PAUSE_JOB, answer=JobView,
    example={"reason": "mail server moves", "until": "2026-06-02T06:00:00Z"},
    answer_example={**examples.JOB, "status": "paused", "next_run_at": None, "next_run_local": None},
)  # fmt: skip
async def pause_job(call: Call) -> Answer:
    """Runs that have fired continue. Occurrences that fall due during the pause are skipped as `paused`."""
    wish = call.json(PauseRequest, optional=True)
    job = await state.pause(call.context, call.path("job"), reason=wish.reason, until=wish.until)
    return Answer(job, headers=_etag(job))


@operation(routes.RESUME_JOB, answer=JobView, answer_example=examples.JOB)
async def resume_job(call: Call) -> Answer:
    """Continues with the next occurrence. A one-off job whose time has passed follows its `missed_window`."""
    job = await state.resume(call.context, call.path("job"))
    return Answer(job, headers=_etag(job))


@operation(
    routes.RESCHEDULE_JOB, answer=JobView, errors=(412,),
    example={"at": "2026-06-02T15:00:00Z"},
    answer_example={
        **examples.JOB, "next_run_at": "2026-06-02T15:00:00Z", "next_run_local": "2026-06-02T11:00:00-04:00",
        "moved_from": examples.JOB["next_run_at"],
    },
)  # fmt: skip
async def reschedule_job(call: Call) -> Answer:
    """A one-off job is moved to this time. For any other job, the next occurrence is moved there: occurrences
    of the schedule until then are skipped as `rescheduled`, and then the schedule continues."""
    wish = call.json(RescheduleRequest)
    job = await editing.reschedule(
        call.context, call.path("job"), wish.at, expected_revision=call.expected_revision
    )
    return Answer(job, headers=_etag(job))


@operation(
    routes.SKIP_NEXT, answer=JobView, errors=(412,), example={"at": examples.JOB["next_run_at"]},
    answer_example=examples.JOB,
)  # fmt: skip
async def skip_next_occurrence(call: Call) -> Answer:
    """The next occurrence does not fire: it is skipped as `rescheduled`, and `why` says that it was left out.
    The last occurrence cannot be skipped: pause or delete the job."""
    wish = call.json(SkipRequest, optional=True)
    at = None if wish.at is None else aware(wish.at, "at")
    job = await editing.skip_next(
        call.context, call.path("job"), at=at, expected_revision=call.expected_revision
    )
    return Answer(job, headers=_etag(job))


@operation(
    routes.RUN_JOB, status=201, answer=RunMade, example={"payload": {"report_type": "monthly"}},
    answer_example={"run_id": "r_9hk2", "job": "send-weekly-report"},
)  # fmt: skip
async def run_job(call: Call) -> Answer:
    """An extra run; the schedule does not change. It has an idempotency key of its own."""
    wish = call.json(RunRequest, optional=True)
    ref = call.path("job")
    run_id = await trigger.run_now(call.context, ref, payload=wish.payload)
    return Answer({"run_id": run_id, "job": ref}, headers={"Location": f"{PREFIX}/runs/{run_id}"})


@operation(
    routes.BACKFILL_JOB, heavy=True, answer=trigger.Backfill,
    example={"start": "2026-05-01T00:00:00Z", "end": "2026-05-31T23:59:59Z", "dry_run": True},
    answer_example=examples.BACKFILL,
)  # fmt: skip
async def backfill_job(call: Call) -> Answer:
    """Runs the occurrences of a past range, with the lowest priority and the idempotency keys of those
    occurrences. `dry_run` only lists them."""
    wish = call.json(BackfillRequest)
    done = await trigger.backfill(
        call.context,
        call.path("job"),
        aware(wish.start, "start"),
        aware(wish.end, "end"),
        dry_run=wish.dry_run,
        rate=wish.rate,
    )
    return Answer(done)


@operation(routes.PREVIEW_JOB, heavy=True, answer=previewing.Preview, answer_example=examples.PREVIEW)
async def preview_job(call: Call) -> Answer:
    """When it fires next, in UTC and local time, and which times clock changes and excluded days remove."""
    query = call.query(PreviewQuery)
    return Answer(await previewing.preview_job(call.context, call.path("job"), count=query.count))


@operation(
    routes.PREVIEW_SPEC, heavy=True, answer=PreviewInCompany,
    example={"schedule": "0 9 * * 1", "timezone": "America/New_York"},
    answer_example={**examples.PREVIEW, "shares_minute": 4, "shares_estimated": False, "spread_offer": None},
)  # fmt: skip
async def preview_spec(call: Call) -> Answer:
    """The body is that of POST /jobs; `name` may be left out. `shares_minute` is how many jobs are due in the
    minute of its first occurrence. `spread_offer` is how far to spread it if there are many."""
    query = call.query(PreviewQuery)
    spec = read_spec({"name": "preview", **call.json(dict[str, Any])})
    shown = previewing.preview(spec, count=query.count, now=clock.now())
    return Answer(await with_company(call.context, shown, spec.jitter_seconds))


@operation(routes.LIST_JOB_RUNS, shared=True, lists=True, answer=list[RunView], answer_example=[examples.RUN])
async def list_job_runs(call: Call) -> Answer:
    """Live runs first, the newest at the top; then ended runs, the latest at the top. `include=skipped` adds
    skipped occurrences."""
    query = call.query(JobRunsQuery)
    chosen = RunFilter(
        job=await find(call.context, call.path("job"), deleted=True),
        statuses=listed(query.status, "status", [*RunStatus, "skipped"]),
        triggers=listed(query.trigger, "trigger", [*Trigger]),
        skipped=query.include == "skipped",
    )
    return await page_of_runs(call, chosen, query.cursor, query.limit)


@operation(
    routes.LIST_JOB_OCCURRENCES, lists=True, answer=list[OccurrenceRecord],
    answer_example=examples.OCCURRENCES,
)  # fmt: skip
async def list_job_occurrences(call: Call) -> Answer:
    """Every nominal time of the range, in order, with its one disposition: fired, upcoming, or skipped with
    the reason."""
    query = call.query(OccurrencesQuery)
    now = clock.now()
    start = now - DAY if query.start is None else aware(query.start, "start")
    end = max(now, start) + DAY if query.end is None else aware(query.end, "end")
    if end < start:
        raise InvalidField(
            "bad_range", f"end, {iso(end)}, is before start, {iso(start)}", field="end", hint="swap them"
        )
    job = await require_job(call.context, call.path("job"))
    found = await list_occurrences(call.reading, job, start, end, limit=query.limit)
    headers = {}
    if len(found) == query.limit and found[-1].scheduled_at < end:
        later = found[-1].scheduled_at + MICROSECOND
        headers = call.next_link(start=iso(later), end=iso(end))
    return Answer(found, headers=headers)


@operation(routes.EXPLAIN_JOB, heavy=True, answer=list[Why], answer_example=examples.WHY)
async def explain_job(call: Call) -> Answer:
    """One line for each: fired on time or late, skipped because …, waiting because …, due in …"""
    query = call.query(WhyQuery)
    job = await require_job(call.context, call.path("job"))
    at = None if query.at is None else aware(query.at, "at")
    return Answer(await why(call.context, job, at=at, past=query.past, ahead=query.ahead))


def filter_of(query: JobChoice) -> JobFilter:
    return JobFilter(
        query.status, query.label, query.name, query.target, query.app, query.problem, query.search
    )


def _etag(job: JobView) -> dict[str, str]:
    return {"ETag": f'"{job.revision}"'}
