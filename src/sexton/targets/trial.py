"""Trying a target out: one attempt at once, here, of a run that is kept nowhere."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sexton import clock
from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.model import (
    Cancel,
    Failure,
    Outcome,
    Release,
    Success,
    Wait,
)
from sexton.postgres.database import Database
from sexton.targets.detached import Detached
from sexton.targets.http.outbound import Outbound
from sexton.targets.run import execute
from sexton.targets.spec import LONGEST_TRIAL, Target, how_to_serve, lane_name
from sexton.targets.table import make_kinds


class Trial(msgspec.Struct, frozen=True):
    """How it went."""

    success: Annotated[bool, Meta(description="Whether a run would have succeeded.")]
    outcome: Annotated[
        str, Meta(description="success, failed (it would be tried again), dead, waiting or cancelled.")
    ]
    error: Annotated[str | None, Meta(description="What went wrong.")]
    result: Annotated[Any, Meta(description="What would be kept with the run.")]
    seconds: Annotated[float, Meta(description="How long it took.")]
    log: Annotated[list[str], Meta(description="What would be in the run's log.")]


async def try_target(
    database: Database,
    settings: Settings,
    target: Target,
    payload: Any = None,
    *,
    job_name: str = "test",
    seconds: float = LONGEST_TRIAL,
) -> Trial:
    """Send what a run would send. Raises `InvalidField` where this process cannot."""
    if target.handler is not None:
        raise InvalidField(
            "no_trial",
            "a handler is not called from here",
            field="target.handler",
            hint="run the job instead: sexton jobs run JOB --wait",
        )
    outbound = Outbound(settings)
    kinds = make_kinds(database, settings, outbound)
    try:
        step = kinds[target.kind].step(target)
        if step is None:
            raise InvalidField(
                "not_served",
                f"this process does not serve {lane_name(target.kind, target.need)}",
                field="target",
                hint=how_to_serve(target.kind, target.need),
            )
        limit = min(seconds, LONGEST_TRIAL)
        detached = Detached()
        run = detached.run(target, payload, seconds, name=job_name)
        try:
            async with asyncio.timeout(limit):
                outcome = await execute(run, step)
        except TimeoutError:
            outcome = Failure(f"timeout: no end after {limit:g} seconds", kind="timeout")
        return _told(outcome, clock.monotonic() - run.started, detached.lines)
    finally:
        for kind in kinds.values():
            await kind.close()
        await outbound.close()


def _told(outcome: Outcome | None, seconds: float, lines: list[str]) -> Trial:
    def trial(how: str, error: str | None = None, result: Any = None) -> Trial:
        return Trial(how in ("success", "waiting"), how, error, result, round(seconds, 3), lines)

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
