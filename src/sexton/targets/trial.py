"""Trying a target out: one attempt at once, here, of a run that is kept nowhere."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from msgspec import Meta

from sexton import clock
from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.execution import Policy, RunContext, execute
from sexton.model import Cancel, Failure, Outcome, Release, Success, Target, Wait, how_to_serve, lane_name
from sexton.postgres.database import Connection, Database
from sexton.targets.outbound import Outbound
from sexton.targets.table import make_kinds

LONGEST = 60.0
MOST_LINES = 1000


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
    timezone: str = "UTC",
    seconds: float = LONGEST,
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
        reporter = _Reporter()
        run = RunContext(_record(target, payload, job_name), reporter, Policy(timeout_seconds=seconds))
        began = run.started = clock.monotonic()
        try:
            async with asyncio.timeout(min(seconds, LONGEST)):
                outcome = await execute(run, step)
        except TimeoutError:
            outcome = Failure(f"timeout: no end after {min(seconds, LONGEST):g} seconds", kind="timeout")
        return _told(outcome, clock.monotonic() - began, reporter.lines)
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


def _record(target: Target, payload: Any, job_name: str) -> Any:
    """A run as a claim brings it, with ids that no run has."""
    now = clock.now()
    return {
        "id": 0,
        "job_id": 0,
        "name": job_name,
        "claim": 1,
        "attempt": 1,
        "crashes": 0,
        "scheduled_at": now,
        "due_seconds": now.timestamp(),
        "trigger": "manual",
        "missed": False,
        "idempotency_key": f"test:{uuid4()}",
        "revision": 1,
        "target": msgspec.json.encode(target).decode(),
        "payload": None if payload is None else msgspec.json.encode(payload).decode(),
        "timezone": None,
    }


class _Reporter:
    """Keeps the log, and nothing else."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def progress(self, run: RunContext, fraction: float, text: str | None) -> None:
        """Nobody follows it."""

    def log(self, run: RunContext, level: str, message: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append(message)

    def transaction(self, run: RunContext, result: Any) -> AbstractAsyncContextManager[Connection]:
        raise InvalidField(
            "no_trial", "there is no run to finish", field="target", hint="run the job instead"
        )

    async def token(self, run: RunContext) -> str:
        """Looks like one, and is good for nothing."""
        return "1.test"

    def database_seconds(self, moment: float) -> float:
        return clock.now().timestamp() - clock.monotonic() + moment
