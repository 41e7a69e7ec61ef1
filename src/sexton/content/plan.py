"""Creates planned actions: the job and the row of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sexton.content.adapters.configured import content_target
from sexton.content.model import Action, Entity
from sexton.errors import InvalidField, ScheduleError
from sexton.jobs.create import create
from sexton.jobs.moment import Moment
from sexton.jobs.spec import TEN_YEARS, JobSpec
from sexton.jobs.view import JobView
from sexton.model import Backoff, MissedWindow, decode_id, encode_id
from sexton.postgres.transaction import Context, command
from sexton.refusal import check_text

QUEUE = "content"
# After one, two and four minutes.
FIRST_RETRY_SECONDS = 60
HINTS = {
    "in_the_past": "give a later time; `run` carries a planned action out now",
    "never_fires": "check UNTIL and COUNT of the rule",
}
KEEP_SECONDS = TEN_YEARS


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """An action and its time."""

    entity: Entity
    action: Action
    moment: Moment
    adapter: str
    created_by: str
    rule: str | None = None
    version: int | None = None
    note: str | None = None
    max_retries: int = 3
    catch_up_seconds: int | None = None
    needs_approval: bool = False
    opens_window: bool = False
    open_for: timedelta | None = None
    window_id: int | None = None
    opened_at: datetime | None = None
    #: The target of its job, once it is known.
    target: dict[str, Any] | None = None

    @property
    def description(self) -> str:
        return f"{self.action} {self.entity}"


@command
async def insert(context: Context, plan: PlannedAction, *, past: bool = False) -> int:
    """Create the job and the row of an action; returns its number. With `past`, a time in the past is carried
    out at once."""
    target = await content_target(context, plan.adapter)
    for field, text in (("entity_type", plan.entity.type), ("entity_id", plan.entity.id)):
        check_text(text, field, 64)
    check_text(plan.created_by, "created_by", 200)
    number: int = await context.fetchval("content/take_id")
    job = await _make_job(context, replace(plan, target=target), number, past)
    scheduled_at = plan.moment.at if plan.rule is None else job.next_run_at
    await context.execute(
        "content/create",
        id=number,
        entity_type=plan.entity.type,
        entity_id=plan.entity.id,
        action=plan.action.value,
        adapter=plan.adapter,
        version=plan.version,
        note=plan.note,
        created_by=plan.created_by,
        job_id=decode_id("j", job.job_id),
        timezone=plan.moment.timezone,
        recurrence_rule=plan.rule,
        scheduled_at=scheduled_at,
        needs_approval=plan.needs_approval,
        window_id=number if plan.opens_window else plan.window_id,
        opened_at=plan.opened_at,
        open_for=plan.open_for,
        catch_up_seconds=plan.catch_up_seconds,
    )
    after = {
        "action": plan.action,
        "scheduled_at": scheduled_at,
        "timezone": plan.moment.timezone,
        "recurrence_rule": plan.rule,
        "version": plan.version,
        "adapter": plan.adapter,
        "created_by": plan.created_by,
        "needs_approval": plan.needs_approval,
    }
    context.changed(
        "content.planned",
        encode_id("c", number),
        str(plan.entity),
        after=after,
        job_id=decode_id("j", job.job_id),
    )
    return number


def job_of(plan: PlannedAction, number: int, *, past: bool = False) -> JobSpec:
    """The job that fires at the times of an action."""
    return JobSpec(
        name=job_name(encode_id("c", number)),
        schedule=plan.moment.schedule(plan.rule),
        timezone=plan.moment.timezone,
        target=plan.target or {"content": {"adapter": plan.adapter}},
        payload={"schedule": encode_id("c", number)},
        queue=QUEUE,
        max_retries=plan.max_retries,
        retry_backoff=Backoff.EXPONENTIAL,
        retry_base_seconds=FIRST_RETRY_SECONDS,
        missed_window=MissedWindow.RUN_ONCE if plan.rule is not None or past else None,
        keep_completed_seconds=KEEP_SECONDS,
        description=plan.description,
        owner=plan.created_by[:200],
    )


def job_name(ref: str) -> str:
    """The name of the job of an action, `c_…`, or of a release, `cr_…`."""
    return f"content/{ref}"


async def _make_job(context: Context, plan: PlannedAction, number: int, past: bool) -> JobView:
    try:
        return await create(context, job_of(plan, number, past=past))
    except ScheduleError as error:
        raise refused_time(error, "recurrence_rule" if plan.rule is not None else "local_time") from None


def refused_time(error: ScheduleError, field: str = "local_time") -> InvalidField:
    """The error about the schedule of a job, with a hint for content, which has for example no
    missed_window."""
    return InvalidField(error.code, error.message, field=field, hint=HINTS.get(error.code, error.hint))
