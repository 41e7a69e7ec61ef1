"""What a handler sees of its run: what it may use, and nothing that the worker needs for itself."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sexton.model import Trigger

if TYPE_CHECKING:
    from sexton.postgres.database import Connection
    from sexton.targets.run import RunContext


class Run:
    """What a handler is given: what is to be done, and what can be said while doing it. There is one for each
    attempt.

        @app.handler("monthly")
        async def monthly(run: Run) -> dict[str, str]:
            await run.log(f"attempt {run.attempt} of {run.job_name}")
            for part in range(10):
                await run.progress(part / 10, f"part {part}")
            return {"made_for": run.scheduled_at.isoformat()}

    A plain function, which runs in a thread, calls `run.log(…)` and `run.progress(…)` without `await`.
    """

    __slots__ = ("_attempt",)

    def __init__(self, attempt: RunContext) -> None:
        self._attempt = attempt

    def __repr__(self) -> str:
        return repr(self._attempt)

    @property
    def run_id(self) -> str:
        """The run's id, `r_…`: the same for all its attempts."""
        return self._attempt.run_id

    @property
    def job_id(self) -> str:
        """The job's id, `j_…`."""
        return self._attempt.job_id

    @property
    def job_name(self) -> str:
        """The job's name."""
        return self._attempt.job_name

    @property
    def payload(self) -> Any:
        """The payload of the run, or of its job: any JSON value; None if there is none."""
        return self._attempt.payload

    @property
    def scheduled_at(self) -> datetime:
        """The nominal time of the occurrence, in UTC: what the schedule says, not when the attempt began. Of
        a run on request, when it was asked for."""
        return self._attempt.scheduled_at

    @property
    def trigger(self) -> Trigger:
        """What made the run: `schedule`, `catch_up`, `manual`, `backfill` or `redrive`."""
        return self._attempt.trigger

    @property
    def missed(self) -> bool:
        """Whether the occurrence was missed and is caught up."""
        return self._attempt.missed

    @property
    def attempt(self) -> int:
        """Which try this is, from 1 on."""
        return self._attempt.attempt

    @property
    def late_seconds(self) -> float:
        """How long after it was due the attempt began; never less than 0."""
        return self._attempt.late_seconds

    @property
    def deadline(self) -> datetime:
        """When the attempt is stopped: `timeout_seconds` of the job after its beginning."""
        return self._attempt.deadline

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of an occurrence, and another for every occurrence: give it to services
        that must do their part only once."""
        return self._attempt.idempotency_key

    @property
    def cancelled(self) -> bool:
        """Whether the attempt should end: it was cancelled, is over its time, or no longer belongs to this
        worker. A coroutine is cancelled as well; a plain function in a thread can only look here."""
        return self._attempt.cancelled

    def progress(self, fraction: float, text: str | None = None) -> Awaitable[None]:
        """Say how far the run is, from 0 to 1, and in words. Shown by `sexton runs show`. Awaiting is
        optional: it is written with the next batch."""
        return self._attempt.progress(fraction, text)

    def log(self, message: object, level: str = "info") -> Awaitable[None]:
        """Keep a line in the log of the run, up to 10,000 lines or 1 MiB for an attempt. Awaiting is
        optional: it is written with the next batch."""
        return self._attempt.log(message, level)

    async def token(self) -> str:
        """What a service needs to report how this attempt ended, after the handler has returned `Wait`: with
        it, and without an API key, it may POST to /api/v1/runs/{run}/complete, /fail or /heartbeat."""
        return await self._attempt.token()

    def transaction(self, result: Any = None) -> AbstractAsyncContextManager[Connection]:
        """A transaction in which the handler's own writes and the success of the run are committed together,
        once: for coroutines that write to the PostgreSQL of Sexton. Yields a connection of asyncpg.

        The run is finished, with `result`, by the last statement before COMMIT. If another worker has taken
        it over, everything is rolled back and `LeaseLost` is raised. What the handler returns afterwards is
        not kept.

            @app.handler("transfer")
            async def transfer(run: Run, amount: int) -> None:
                async with run.transaction({"moved": amount}) as connection:
                    await connection.execute("select $1::int", amount)
        """
        return self._attempt.transaction(result)
