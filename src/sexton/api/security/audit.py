"""The audit over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from sexton.api.json_array import MEDIA_TYPE, json_array
from sexton.api.operation import Answer, Call, operation
from sexton.api.paging import headers_of
from sexton.api.route import PageQuery
from sexton.api.security import routes
from sexton.api.security.routes import AuditExportQuery, AuditPageQuery, AuditQuery
from sexton.jobs.change import find
from sexton.model import decode_id
from sexton.refusal import aware
from sexton.runs.read import require_job
from sexton.security import audit
from sexton.security.audit import FORMATS, AuditFilter, AuditView, Exporting, JobChange
from sexton.security.role import EVERY_NAMESPACE, Role

CHANGE: dict[str, Any] = {
    "entry_id": "a_2k",
    "at": "2026-06-01T13:00:00Z",
    "actor": "key:deploy",
    "face": "cli",
    "reason": "mail server moves",
    "action": "job.paused",
    "before": {"status": "active", "paused_reason": None},
    "after": {"status": "paused", "paused_reason": "mail server moves"},
    "detail": None,
}
ENTRY: dict[str, Any] = {
    **CHANGE,
    "sequence": 84,
    "namespace": "default",
    "address": "10.0.0.7",
    "request_id": "6f1c2a0e-7d0b-4f4e-9a59-2f1f0c5b7a11",
    "object_id": "j_1",
    "object_name": "send-weekly-report",
    "job_id": "j_1",
    "jobs": None,
    "previous": "8c1f64d3bd3b6a0c9f2d0a7e5b1f4c2e8c1f64d3bd3b6a0c9f2d0a7e5b1f4c2e",
    "hash": "0a7e5b1f4c2e8c1f64d3bd3b6a0c9f2d0a7e5b1f4c2e8c1f64d3bd3b6a0c9f2d",
}


@operation(routes.LIST_AUDIT, heavy=True, answer=list[AuditView], answer_example=[ENTRY])
async def list_audit(call: Call) -> Answer:
    """The latest first, or the oldest. A page may be short although there are more entries: follow the
    `Link`. The first page says how many there are in all; with `actor`, `action`, `object` or `request_id`
    only if 10,000 entries had to be looked at or fewer. Entries that belong to no namespace are shown to
    callers with the role in all namespaces; `every` needs the role admin there."""
    query = call.query(AuditPageQuery)
    chosen, seen = await _filter(call, query), _seen(call, query)
    page = await audit.list_entries(
        call.context, chosen, **seen, sort=query.sort, cursor=query.cursor, limit=query.limit
    )
    if query.cursor is not None:
        return call.paged(page)
    return call.paged(page, headers_of(await audit.count_entries(call.context, chosen, **seen)))


@operation(
    routes.EXPORT_AUDIT, heavy=True, answer=str, media_type="application/x-ndjson",
    other_answers={
        MEDIA_TYPE: [{"entry_id": "a_2k", "sequence": 84, "action": "job.paused"}],
        "text/csv": "entry_id,sequence,action\na_2k,84,job.paused\n",
    },
    answer_example='{"entry_id": "a_2k", "sequence": 84, "action": "job.paused"}\n',
)  # fmt: skip
async def export_audit(call: Call) -> Answer:
    """All sealed entries that match, in the order of the chain: JSON lines, a JSON array or CSV, streamed.
    `sexton audit verify --file` checks an export of all entries as JSON lines."""
    query = call.query(AuditExportQuery)
    parts = audit.exported(call.context, await _filter(call, query), **_seen(call, query))
    name = f'attachment; filename="audit.{query.format}"'
    if query.format == "json":
        return Answer(json_array(parts), headers={"Content-Type": MEDIA_TYPE, "Content-Disposition": name})
    form = FORMATS[query.format]
    headers = {"Content-Type": form.media_type, "Content-Disposition": name}
    return Answer(_written(parts, form), headers=headers)


@operation(routes.LIST_JOB_CHANGES, heavy=True, answer=list[JobChange], answer_example=[CHANGE])
async def list_job_changes(call: Call) -> Answer:
    """Who changed the job, what and why, the latest first; also for a deleted job."""
    job = await require_job(call.context, call.path("job"))
    return call.paged(await audit.list_changes(call.context, job, **call.filters(PageQuery)))


async def _written(parts: AsyncIterator[list[AuditView]], form: Exporting) -> AsyncIterator[bytes]:
    if form.head:
        yield form.head
    async for part in parts:
        if part:
            yield form.encode(part)


async def _filter(call: Call, query: AuditQuery) -> AuditFilter:
    job = None
    if query.job is not None:
        # A job whose history is gone has an id, but no name.
        job = decode_id("j", query.job) or await find(call.context, query.job, deleted=True)
    return AuditFilter(
        actor=query.actor,
        action=query.action,
        object=query.object,
        request_id=query.request_id,
        job_id=job,
        since=None if query.since is None else aware(query.since, "since"),
        until=None if query.until is None else aware(query.until, "until"),
    )


def _seen(call: Call, query: AuditQuery) -> dict[str, bool]:
    """Which entries the caller may see."""
    if query.every:
        call.caller.require(Role.ADMIN, EVERY_NAMESPACE, cluster=True)
    role = call.caller.everywhere()
    return {"every": query.every, "shared": role is not None and role.allows(Role.EDITOR)}
