"""Waves: the jobs that send due messages.

There is one job for each second at which messages are due, `notifications/at/…`. The job `notifications/now`
never fires by itself; its runs send at once. The job `notifications/sweep` fires every five minutes and finds
messages that were left behind: committed after their wave had run, or with a run that no longer exists.

The run of a wave sends all due messages of its namespace, whichever wave they belong to. So a wave for a
message that was moved costs one query and does no harm.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sexton.clock import iso
from sexton.errors import Conflict, NotFound, RefusedLines, SextonError
from sexton.jobs.bulk import create_many
from sexton.jobs.change import find
from sexton.jobs.create import insert
from sexton.jobs.spec import JobSpec
from sexton.jobs.validation import check_spec
from sexton.model import Backoff, MissedWindow, Overlap
from sexton.notifications.model import QUEUE
from sexton.postgres.transaction import Context
from sexton.runs.trigger import run_each

NOW = "notifications/now"
SWEEP = "notifications/sweep"
AT = "notifications/at/"
#: A message is left behind only if its transaction ends seconds after its time, and the next wave of the
#: namespace finds it, too.
SWEEP_SCHEDULE = "*/5 * * * *"
NEVER = "9999-01-01T00:00:00Z"
TARGET: dict[str, Any] = {"notification": {}}
#: Messages that are due sooner than this get a run at once, because their wave may have run already.
SOON = timedelta(seconds=2)
#: This many waves or more are created by COPY.
MANY = 10
TRIES = 3
COMMON: dict[str, Any] = {
    "target": TARGET,
    "queue": QUEUE,
    "priority": 1,
    # A failed run leaves its messages unchanged or marked, so it can be retried.
    "max_retries": 100,
    "retry_backoff": Backoff.FIXED,
    "retry_base_seconds": 10,
    "timeout_seconds": 86_400,
    "keep_completed_seconds": 3600,
}


async def call(context: Context, due_at: Iterable[datetime], now: datetime) -> None:
    """Ensure, in the open transaction, that runs send the messages that are due at these instants."""
    await keep_jobs(context)
    wanted = sorted(set(due_at))
    if any(at <= now + SOON for at in wanted):
        await run_soon(context)
    await make_waves(context, [at for at in wanted if at > now + SOON])


async def run_soon(context: Context, runs: int = 1, payload: Any = None) -> None:
    """Start runs that send due messages at once."""
    try:
        verdicts = await run_each(context, NOW, [payload] * runs)
    except NotFound:
        await _make_jobs(context)  # they were deleted
        verdicts = await run_each(context, NOW, [payload] * runs)
    for verdict in verdicts:
        if isinstance(verdict, SextonError):
            raise verdict


async def make_waves(context: Context, due_at: Iterable[datetime]) -> None:
    """Create the jobs for these seconds that do not exist yet."""
    specs = [_wave(at) for at in due_at]
    if len(specs) < MANY:
        for spec in specs:
            await insert(context, check_spec(spec), None, None)
        return
    for _ in range(TRIES):
        names = [spec.name for spec in specs]
        rows = await context.fetch("jobs/list_by_name", names=names)
        there = {row["name"] for row in rows}
        missing = [spec for spec in specs if spec.name not in there]
        if not missing:
            return
        try:
            await create_many(context, missing)
            return
        except RefusedLines as refused:
            # Another transaction has just created one of them.
            if any(error.code != "name_taken" for _, error in refused.errors):
                raise
    raise Conflict("try_again", "other transactions create the same waves of messages", hint="try again")


async def keep_jobs(context: Context) -> int:
    """The number of the job whose runs send at once. The first message creates it and the sweep."""
    row = await context.fetchrow("notifications/get_settings")
    if row is not None and row["now_job_id"] is not None and row["sweep_job_id"] is not None:
        return int(row["now_job_id"])
    return await _make_jobs(context)


async def _make_jobs(context: Context) -> int:
    now_job = await _keep(
        context,
        JobSpec(
            name=NOW,
            schedule=NEVER,
            description="Sends messages that are due. Its runs are made for them; it never fires by itself.",
            **COMMON,
        ),
    )
    sweep_job = await _keep(
        context,
        JobSpec(
            name=SWEEP,
            schedule=SWEEP_SCHEDULE,
            missed_window=MissedWindow.RUN_ONCE,
            overlap=Overlap.SKIP,
            payload={"sweep": True},
            description="Sends remaining messages, and settles messages whose run is gone.",
            **COMMON,
        ),
    )
    await context.execute("notifications/keep_jobs", now_job_id=now_job, sweep_job_id=sweep_job)
    return now_job


async def _keep(context: Context, spec: JobSpec) -> int:
    number = await insert(context, check_spec(spec), None, None)
    if number is not None:
        return number
    try:
        return await find(context, spec.name)
    except NotFound:
        raise Conflict("try_again", f"the job {spec.name} is being deleted", hint="try again") from None


def _wave(at: datetime) -> JobSpec:
    text = iso(at, "seconds")
    return JobSpec(
        name=AT + text,
        schedule=text,
        missed_window=MissedWindow.RUN_ONCE,
        description="Sends the messages that are due then.",
        **COMMON,
    )
