"""Notices tell authors the results of their actions, by a webhook of the namespace.

A notice is a run of the job `content/notices`, created in the transaction of the event. So it is sent, signed
and retried like any other run, and none is lost. The job itself never fires.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton.clock import iso
from sexton.content.model import RELEASE, Applied, Entity, NoticeEvent
from sexton.content.spec import NoticeSpec
from sexton.errors import NotFound, SextonError
from sexton.jobs import edit
from sexton.jobs.change import find
from sexton.jobs.create import create
from sexton.jobs.spec import JobSpec
from sexton.model import decode_id, encode_id
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import about
from sexton.runs.trigger import run_each

log = logging.getLogger("sexton")

JOB = "content/notices"
QUEUE = "content"
NEVER = "9999-01-01T00:00:00Z"
MAX_RETRIES = 10


class NoticeView(msgspec.Struct, frozen=True, kw_only=True):
    """Where a namespace tells what became of its content."""

    url: Annotated[str | None, about("The address of the notices; null: no notices are sent.")] = None
    secret: Annotated[str | None, about("The name of the secret that signs; null: the installation's.")] = (
        None
    )
    events: Annotated[list[NoticeEvent], about("The events of which notices are sent.")] = []
    job_id: Annotated[str | None, about("The job whose runs are the notices.")] = None


@dataclass(frozen=True, slots=True)
class ContentNotice:
    """A notice to an author; `number` and `at` identify the occurrence."""

    event: NoticeEvent
    number: int
    at: datetime
    data: dict[str, Any]

    def body(self, now: datetime) -> dict[str, Any]:
        """The body in the form of Standard Webhooks."""
        return {"type": f"content.{self.event}", "timestamp": iso(now), "data": self.data}


def notice_of(
    event: NoticeEvent,
    row: asyncpg.Record,
    at: datetime,
    *,
    run_id: int | None = None,
    applied: Applied | None = None,
    error: str | None = None,
) -> ContentNotice:
    """A notice about an action."""
    data: dict[str, Any] = {
        "schedule_id": encode_id("c", row["id"]),
        "content_id": str(Entity.of(row)),
        "entity_type": row["entity_type"],
        "entity_id": row["entity_id"],
        "action": row["action"],
        "scheduled_at_utc": iso(at),
        "created_by": row["created_by"],
        "namespace": row["namespace"],
        "run_id": run_id and encode_id("r", run_id),
    }
    if applied is not None:
        data |= {"effect": applied.effect, "state": applied.state_after, "version": applied.version}
    if error is not None:
        data["error"] = error
    return ContentNotice(event, row["id"], at, data)


def release_notice(event: NoticeEvent, row: asyncpg.Record, **more: Any) -> ContentNotice:
    """A notice about a release."""
    data = {
        "release_id": encode_id(RELEASE, row["id"]),
        "scheduled_at_utc": iso(row["scheduled_at"]),
        "created_by": row["created_by"],
        "namespace": row["namespace"],
        **more,
    }
    return ContentNotice(event, row["id"], row["scheduled_at"], data)


async def tell(context: Context, notices: Sequence[ContentNotice]) -> None:
    """Send notices, in the open transaction, if the namespace wants their events."""
    row = await context.fetchrow("content/get_notices")
    chosen = [each for each in notices if row is not None and each.event in row["events"]]
    if row is None or not chosen:
        return
    now = await context.time()
    try:
        made = await run_each(context, encode_id("j", row["job_id"]), [each.body(now) for each in chosen])
    except SextonError as error:
        # The job was deleted. The action itself must not fail because of that.
        log.error("%d notices of the namespace %s are not sent: %s", len(chosen), context.namespace, error)
        return
    for each in made:
        if isinstance(each, SextonError):
            log.error("a notice of the namespace %s is not sent: %s", context.namespace, each)


async def tell_once(context: Context, notices: Sequence[ContentNotice]) -> None:
    """Send notices about occurrences that were not carried out, each once, even if the run is repeated."""
    fresh = await context.fetch(
        "content/tell_once",
        schedules=[each.number for each in notices],
        at=[each.at for each in notices],
    )
    new = {row["id"] for row in fresh}
    await tell(context, [each for each in notices if each.number in new])


@query
async def get_notices(context: Context) -> NoticeView:
    row = await context.fetchrow("content/get_notices")
    return NoticeView() if row is None else _show(row)


@command
async def set_notices(context: Context, spec: NoticeSpec) -> NoticeView:
    """Set the address and the events."""
    before = await context.fetchrow("content/get_notices")
    target: dict[str, Any] = {"http": {"url": spec.url}}
    if spec.secret is not None:
        target["http"]["sign_with"] = spec.secret
    job_id = await _keep_job(context, target)
    await context.execute(
        "content/set_notices",
        job_id=job_id,
        url=spec.url,
        secret=spec.secret,
        events=[event.value for event in spec.events or NoticeEvent],
    )
    shown = await get_notices(context)
    context.changed(
        "content.notices_set",
        context.namespace,
        before=None if before is None else msgspec.to_builtins(_show(before)),
        after=msgspec.to_builtins(shown),
        job_id=job_id,
    )
    return shown


@command
async def remove_notices(context: Context) -> None:
    """Stop sending notices. Existing ones are still sent."""
    row = await context.fetchrow("content/get_notices")
    if row is not None:
        await context.execute("content/delete_notices")
        context.changed(
            "content.notices_removed",
            context.namespace,
            before=msgspec.to_builtins(_show(row)),
            job_id=row["job_id"],
        )


async def _keep_job(context: Context, target: dict[str, Any]) -> int | None:
    """The job whose runs are the notices."""
    try:
        number = await find(context, JOB)
    except NotFound:
        spec = JobSpec(
            name=JOB,
            schedule=NEVER,
            target=target,
            queue=QUEUE,
            max_retries=MAX_RETRIES,
            description="Sends notices of content. Its runs are the notices; it never fires by itself.",
        )
        return decode_id("j", (await create(context, spec)).job_id)
    await edit.edit(context, encode_id("j", number), {"target": target})
    return number


def _show(row: asyncpg.Record) -> NoticeView:
    return NoticeView(
        url=row["url"],
        secret=row["secret"],
        events=[NoticeEvent(each) for each in row["events"]],
        job_id=encode_id("j", row["job_id"]),
    )
