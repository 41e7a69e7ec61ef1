"""Waves: the jobs that send what is due.

One for each second at which something is due, `notifications/at/…`; a job `notifications/now` that never
fires by itself, whose runs send at once; and `notifications/sweep`, every five minutes, which finds what
was left behind: a message that was committed after its wave had run, or whose run is gone.

A wave's run sends everything of its namespace that is due, whichever wave it belongs to. So a wave that is
made twice, or for a message that was moved meanwhile, costs one look and harms nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
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
#: Rare: a message is left behind only if its transaction ends seconds after its time, and the next wave of
#: the namespace finds it as well.
SWEEP_SCHEDULE = "*/5 * * * *"
NEVER = "9999-01-01T00:00:00Z"
TARGET: dict[str, Any] = {"notification": {}}
#: What is due sooner than this is sent by a run of its own: its wave may have run already.
SOON = timedelta(seconds=2)
SECOND = timedelta(seconds=1)
#: From here on waves are made by COPY.
MANY = 10
TRIES = 3
COMMON: dict[str, Any] = {
    "target": TARGET,
    "queue": QUEUE,
    "priority": 1,
    # A run that fails has left its messages where they are, or says of each what is not known.
    "max_retries": 100,
    "retry_backoff": Backoff.FIXED,
    "retry_base_seconds": 10,
    "timeout_seconds": 86_400,
    "keep_completed_seconds": 3600,
}


def whole_second(at: datetime) -> datetime:
    """Rounded up, never down: nothing is sent early."""
    at = at.astimezone(UTC)
    return at if not at.microsecond else at.replace(microsecond=0) + SECOND


async def call(context: Context, due_at: Iterable[datetime], now: datetime) -> None:
    """See to it, in the open transaction, that something looks at what is due at these instants."""
    await keep_jobs(context)
    wanted = sorted(set(due_at))
    if any(at <= now + SOON for at in wanted):
        await run_soon(context)
    await make_waves(context, [at for at in wanted if at > now + SOON])


async def run_soon(context: Context, runs: int = 1, payload: Any = None) -> None:
    """Let a run send what is due, at once."""
    try:
        verdicts = await run_each(context, NOW, [payload] * runs)
    except NotFound:
        await _make_jobs(context)  # they were deleted
        verdicts = await run_each(context, NOW, [payload] * runs)
    for verdict in verdicts:
        if isinstance(verdict, SextonError):
            raise verdict


async def make_waves(context: Context, due_at: Iterable[datetime]) -> None:
    """A job for each of these seconds, unless it is there."""
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
            # Another transaction has just made one of them.
            if any(error.code != "name_taken" for _, error in refused.errors):
                raise
    raise Conflict("try_again", "others make the same waves of messages at the moment", hint="ask once more")


async def keep_jobs(context: Context) -> int:
    """The number of the job whose runs send at once; it and the sweep are made with the first message."""
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
            description="Sends messages that were left behind, and settles those whose run is gone.",
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
        raise Conflict(
            "try_again", f"the job {spec.name} is being deleted at the moment", hint="ask once more"
        ) from None


def _wave(at: datetime) -> JobSpec:
    text = iso(at, "seconds")
    return JobSpec(
        name=AT + text,
        schedule=text,
        missed_window=MissedWindow.RUN_ONCE,
        description="Sends the messages that are due then.",
        **COMMON,
    )
