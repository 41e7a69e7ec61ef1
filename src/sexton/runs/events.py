"""The events of runs that an application can listen to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

EventName: TypeAlias = Literal["succeeded", "failed", "dead", "cancelled"]
EVENTS: tuple[EventName, ...] = get_args(EventName)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """The outcome of an attempt, after it was recorded.

    `name` is `succeeded`, `failed` (this attempt, the last one included), `dead` (no attempt is left, or none
    would help) or `cancelled`.
    """

    name: EventName
    run_id: str
    job_id: str
    job_name: str
    #: 1 for the first try.
    attempt: int
    #: The nominal time.
    scheduled_at: datetime
    #: What made the run: schedule, catch_up, manual, backfill or redrive.
    trigger: str
    payload: Any
    idempotency_key: str
    started_at: datetime
    finished_at: datetime
    #: What the handler returned.
    result: Any = None
    #: What went wrong: the first line names it, a traceback follows.
    error: str | None = None
    #: Why it died or was cancelled.
    reason: str | None = None
    #: The wait before the next attempt; None if there is none.
    retry_seconds: float | None = None
