"""Trying a target out: one attempt at once, here, of a run that is kept nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sexton import clock
from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.model import Cancel, Failure, Outcome, Release, Success, Wait
from sexton.postgres.database import Database
from sexton.printable import counted
from sexton.targets.base import LONGEST_TRIAL
from sexton.targets.detached import Detached
from sexton.targets.http.outbound import Outbound
from sexton.targets.run import execute
from sexton.targets.table import how_to_serve, make_services, read_target


class Trial(msgspec.Struct, frozen=True):
    """How it went."""

    success: Annotated[bool, Meta(description="Whether a run would have succeeded.")]
    outcome: Annotated[
        str, Meta(description="success, failed (it would be tried again), dead, waiting or cancelled.")
    ]
    error: Annotated[str | None, Meta(description="What went wrong.")]
    result: Annotated[Any, Meta(description="The result that would be kept with the run.")]
    seconds: Annotated[float, Meta(description="How long it took.")]
    log: Annotated[list[str], Meta(description="The lines that would be in the run's log.")]


async def try_target(
    database: Database,
    settings: Settings,
    data: Mapping[str, Any],
    payload: Any = None,
    *,
    namespace: str,
    job_name: str = "test",
    seconds: float = LONGEST_TRIAL,
) -> Trial:
    """Send what a run with this target (as JSON) would send. Raises `InvalidField` where this process
    cannot."""
    target = read_target(data)
    if target.kind.name == "handler":
        raise InvalidField(
            "no_trial",
            "a handler is not called from here",
            field="target.handler",
            hint="run the job instead: sexton jobs run JOB --wait",
        )
    outbound = Outbound(settings)
    opened = target.kind.open(make_services(database, settings, outbound))
    try:
        step = opened.step(target.spec)
        if step is None:
            raise InvalidField(
                "not_served",
                f"this process does not serve {target.lane}",
                field="target",
                hint=how_to_serve(target.kind.name, target.need),
            )
        limit = min(seconds, LONGEST_TRIAL)
        detached = Detached()
        run = detached.run(
            msgspec.json.encode(data).decode(), payload, seconds, name=job_name, namespace=namespace
        )
        async with asyncio.timeout(limit) as time:
            outcome = await execute(run, step)
        if time.expired():  # the step was cancelled, and `execute` tells how it ended
            outcome = Failure(f"timeout: no end after {counted(limit, 'second')}", kind="timeout")
        return _trial_of(outcome, clock.monotonic() - run.started, detached.lines)
    finally:
        await opened.close()
        await outbound.close()


def _trial_of(outcome: Outcome | None, seconds: float, lines: list[str]) -> Trial:
    def trial(ended_as: str, error: str | None = None, result: Any = None) -> Trial:
        success = ended_as in ("success", "waiting")
        return Trial(success, ended_as, error, result, round(seconds, 3), lines)

    match outcome:
        case Success(result):
            return trial("success", result=result)
        case Wait():
            return trial("waiting")
        case Failure(error, permanent):
            return trial("dead" if permanent else "failed", error)
        case Cancel(reason) | Release(_, reason):
            return trial("cancelled" if isinstance(outcome, Cancel) else "failed", reason)
    return trial("failed", f"it ended as {type(outcome).__name__}")
