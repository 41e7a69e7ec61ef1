"""Lists as files: jobs, runs and dead letters with the filters of their lists, sent page by page."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec

from sexton.api.console import routes
from sexton.api.console.routes import DeadExportQuery, JobsExportQuery, RunsExportQuery
from sexton.api.jobs.jobs import filter_of as jobs_filter_of
from sexton.api.json_array import MEDIA_TYPE, json_array
from sexton.api.operation import Answer, Call, operation
from sexton.api.runs.runs import filter_of as runs_filter_of
from sexton.jobs.change import find
from sexton.jobs.read import list_jobs
from sexton.postgres.page import Page
from sexton.printable import cell_text
from sexton.runs.dead_letters import list_dead
from sexton.runs.read import list_runs

# Rows of one file, and of one page of it.
MOST_ROWS, PAGE = 100_000, 500
MEDIA_TYPES = {
    "csv": "text/csv",
    "json": MEDIA_TYPE,
    "jsonl": "application/x-ndjson",
}
JOB_COLUMNS = (
    "job_id", "name", "status", "schedule", "timezone", "kind", "queue", "owner", "labels", "next_run_at",
    "last_run_at", "last_outcome", "created_at", "updated_at", "description",
)  # fmt: skip
RUN_COLUMNS = (
    "run_id", "job_id", "job_name", "status", "trigger", "scheduled_at", "started_at", "finished_at",
    "late_seconds", "attempt", "reason", "error", "worker_id", "idempotency_key",
)  # fmt: skip
DEAD_COLUMNS = (
    "run_id", "job_id", "job_name", "died_at", "reason", "error_group", "error", "scheduled_at", "trigger",
    "attempt", "queue", "handler", "idempotency_key",
)  # fmt: skip

Read = Callable[[str | None], Awaitable[Page[Any]]]


@operation(
    routes.EXPORT_JOBS, heavy=True, answer=str, errors=(422,), media_type="application/x-ndjson",
    other_answers={
        MEDIA_TYPE: [{"job_id": "j_4x", "name": "send-weekly-report"}],
        "text/csv": "job_id,name,status\nj_4x,send-weekly-report,active\n",
    },
    answer_example='{"job_id":"j_4x","name":"send-weekly-report"}\n',
)  # fmt: skip
async def export_jobs(call: Call) -> Answer:
    """The jobs of a filter as JSON lines, a JSON array or CSV, sent as they are read: at most 100,000."""
    query = call.query(JobsExportQuery)
    chosen = jobs_filter_of(query)
    chosen.parameters()  # refused before the answer has begun
    return _file(
        "jobs",
        query.format,
        JOB_COLUMNS,
        lambda cursor: list_jobs(call.context, chosen, cursor=cursor, limit=PAGE),
    )


@operation(
    routes.EXPORT_RUNS, heavy=True, answer=str, errors=(404, 422), media_type="application/x-ndjson",
    other_answers={
        MEDIA_TYPE: [{"run_id": "r_9hk2", "job_id": "j_4x"}],
        "text/csv": "run_id,job_id,status\nr_9hk2,j_4x,success\n",
    },
    answer_example='{"run_id":"r_9hk2","job_id":"j_4x"}\n',
)  # fmt: skip
async def export_runs(call: Call) -> Answer:
    """The runs of a filter as JSON lines, a JSON array or CSV, sent as they are read: at most 100,000."""
    query = call.query(RunsExportQuery)
    chosen = await runs_filter_of(call, query)
    return _file(
        "runs",
        query.format,
        RUN_COLUMNS,
        lambda cursor: list_runs(call.context, chosen, cursor=cursor, limit=PAGE),
    )


@operation(
    routes.EXPORT_DEAD, heavy=True, answer=str, errors=(404, 422), media_type="application/x-ndjson",
    other_answers={
        MEDIA_TYPE: [{"run_id": "r_9hk2", "job_id": "j_4x"}],
        "text/csv": "run_id,job_id,reason\nr_9hk2,j_4x,exhausted\n",
    },
    answer_example='{"run_id":"r_9hk2","job_id":"j_4x"}\n',
)  # fmt: skip
async def export_dead(call: Call) -> Answer:
    """The dead letters of a filter as JSON lines, a JSON array or CSV, sent as they are read: at most
    100,000."""
    query = call.query(DeadExportQuery)
    job = None if query.job is None else await find(call.context, query.job)

    def read(cursor: str | None) -> Awaitable[Page[Any]]:
        return list_dead(
            call.context, job=job, group=query.error_group, reason=query.reason, cursor=cursor, limit=PAGE
        )

    return _file("dead-letters", query.format, DEAD_COLUMNS, read)


def _file(name: str, form: Literal["csv", "json", "jsonl"], columns: Sequence[str], read: Read) -> Answer:
    headers = {
        "Content-Type": MEDIA_TYPES[form],
        "Content-Disposition": f'attachment; filename="{name}.{form}"',
    }
    pages = _pages(read)
    return Answer(json_array(pages) if form == "json" else _written(form, columns, pages), headers=headers)


async def _pages(read: Read) -> AsyncIterator[list[Any]]:
    cursor: str | None = None
    rows = 0
    while rows < MOST_ROWS:
        page = await read(cursor)
        yield page.items
        rows += len(page.items)
        cursor = page.cursor
        if cursor is None:
            return


async def _written(
    form: str, columns: Sequence[str], pages: AsyncIterator[list[Any]]
) -> AsyncIterator[bytes]:
    if form == "csv":
        yield _lines([columns])
    async for items in pages:
        if form == "csv":
            yield _lines([[_cell(getattr(item, name)) for name in columns] for item in items])
        else:
            yield b"".join(msgspec.json.encode(item) + b"\n" for item in items)


def _lines(rows: Sequence[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return cell_text(value) if isinstance(value, str) else msgspec.json.encode(value).decode().strip('"')
