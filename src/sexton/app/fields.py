"""What a job is given in Python: its fields, and its schedule as text or as an object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict

from sexton.errors import InvalidField, ScheduleError
from sexton.model import Backoff, MissedWindow, Overlap, RetryJitter
from sexton.schedules.interval import read_seconds

LONGEST_AFTER = timedelta(days=36_525)


class JobFields(TypedDict, total=False):
    """The fields of a job that can be given beside its schedule: see `JobSpec`."""

    timezone: str | None
    kind: str | None
    anchor: datetime | str | None
    gap: str | None
    fold: str | None
    seconds: str | None
    starts_at: datetime | str | None
    ends_at: datetime | str | None
    exclude: list[str]
    target: Mapping[str, Any] | None
    queue: str
    priority: int
    max_retries: int
    retry_backoff: Backoff | str
    retry_base_seconds: int
    retry_max_seconds: int
    retry_jitter: RetryJitter | str
    timeout_seconds: int
    missed_window: MissedWindow | str | None
    max_missed: int
    catch_up_seconds: int | None
    grace_seconds: int
    overlap: Overlap | str
    jitter_seconds: int
    expires_seconds: int | None
    max_runs: int | None
    idempotency_key_template: str | None
    concurrency_key: str | None
    dead_letter_target: Mapping[str, Any] | None
    keep_completed_seconds: int
    labels: dict[str, str]
    description: str | None
    owner: str | None


def text_of(schedule: object) -> object:
    """A schedule as text; what else was given is refused where jobs are read."""
    if isinstance(schedule, datetime):
        return schedule.isoformat()
    if isinstance(schedule, timedelta):
        if schedule % timedelta(seconds=1):
            raise InvalidField(
                "bad_interval", f"{schedule} is not whole seconds", field="schedule", hint="round it"
            )
        return f"every {schedule // timedelta(seconds=1)}s"
    return schedule


def duration_of(after: object) -> timedelta:
    """How long from now: at least 0, at most what a datetime can hold."""
    try:
        length = after
        if isinstance(after, str):
            length = timedelta(seconds=read_seconds(f"every {after.removeprefix('in ')}"))
        if isinstance(length, timedelta) and timedelta(0) <= length <= LONGEST_AFTER:
            return length
    except ScheduleError:
        pass  # refused below, in words that speak of after=
    raise InvalidField(
        "bad_interval", f"after= is {after!r}", field="after", hint='give timedelta(minutes=10) or "10m"'
    )
