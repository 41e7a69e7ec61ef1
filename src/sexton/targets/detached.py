"""A run that is not stored: for trials of a target, and for dead letters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any
from uuid import uuid4

import msgspec

from sexton import clock
from sexton.errors import InvalidField
from sexton.model import Backoff, RetryJitter
from sexton.postgres.database import Connection
from sexton.targets.run import AttemptPolicy, RunContext

MOST_LINES = 1000


class Detached:
    """The feedback of such a run. It keeps only the lines of the log."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def run(
        self,
        target: str,
        payload: Any,
        seconds: float,
        *,
        scheduled_at: datetime | None = None,
        **columns: Any,
    ) -> RunContext:
        """A run as a claim returns it, with its target as JSON. Unless given, its ids belong to no run."""
        now = clock.now()
        record: Any = {
            "id": 0,
            "job_id": 0,
            "name": "test",
            "claim": 1,
            "attempt": 1,
            "crashes": 0,
            "scheduled_seconds": (scheduled_at or now).timestamp(),
            "due_seconds": now.timestamp(),
            "trigger": "manual",
            "missed": False,
            "idempotency_key": f"test:{uuid4()}",
            "revision": 1,
            "target": target,
            "payload": None if payload is None else msgspec.json.encode(payload).decode(),
            "timezone": None,
            **columns,
        }
        run = RunContext(record, self, AttemptPolicy(0, Backoff.FIXED, 0, 0, RetryJitter.NONE, seconds, None))
        run.started = clock.monotonic()
        return run

    def progress(self, run: RunContext, fraction: float, text: str | None) -> None:
        """Progress is not kept."""

    def log(self, run: RunContext, level: str, message: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines.append(message)

    def transaction(self, done: Mapping[RunContext, Any]) -> AbstractAsyncContextManager[Connection]:
        raise InvalidField("no_run", "there is no run to finish", field="target", hint="run the job instead")

    async def token(self, run: RunContext) -> str:
        """A text that looks like a token, and is no valid one."""
        return "1.test"

    def database_seconds(self, moment: float) -> float:
        return clock.now().timestamp() - clock.monotonic() + moment
