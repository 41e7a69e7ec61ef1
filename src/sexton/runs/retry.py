"""What becomes of a run whose attempt failed: whether it is tried again, when, and what its error is like.

Pure functions of the run and of its job's options.
"""

from __future__ import annotations

import random
import re
from datetime import timedelta
from typing import Protocol

from sexton.model import Backoff, RetryJitter
from sexton.targets.run import AttemptPolicy

LONGEST_WAIT = 86_400.0


class Tried(Protocol):
    """What it takes to say what becomes of a run after an attempt."""

    @property
    def id(self) -> int: ...

    @property
    def claim(self) -> int: ...

    @property
    def job(self) -> int: ...

    @property
    def attempt(self) -> int: ...

    @property
    def crashes(self) -> int: ...

    @property
    def policy(self) -> AttemptPolicy: ...


def tries(run: Tried) -> int:
    """Attempts that count: a crash of the worker uses none up."""
    return run.attempt - run.crashes


def backoff(policy: AttemptPolicy, tried: int) -> float:
    """Seconds until the next attempt after `tried` that failed."""
    base = policy.retry_base_seconds
    match policy.retry_backoff:
        case Backoff.FIXED:
            delay = base
        case Backoff.LINEAR:
            delay = base * tried
        case Backoff.EXPONENTIAL:
            delay = base * 2.0 ** min(tried - 1, 64)
    delay = min(delay, policy.retry_max_seconds)
    return random.uniform(0, delay) if policy.retry_jitter is RetryJitter.FULL else delay


def wait_before_retry(run: Tried, asked: float | None) -> float:
    """What the handler or the service asked for, else the job's back-off."""
    if asked is not None:
        return min(max(0.0, asked), LONGEST_WAIT)
    return backoff(run.policy, tries(run))


def in_seconds(duration: float | timedelta) -> float:
    """Handlers may say it either way."""
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


_NUMBER = re.compile(
    r"(?P<status>\b(?:HTTP|status|code|signal|errno) \d{1,3}\b(?![\w.-]))|\b(?=\w*\d)[\w-]+\b", re.IGNORECASE
)


def error_group(error: str) -> str:
    """Errors that differ only in numbers and ids belong together. A status says what went wrong, so it stays:
    `HTTP 404` is another cause than `HTTP 500`, `exit code 1` another than `signal 9`."""
    first = error.split("\n", 1)[0][:200]
    return _NUMBER.sub(lambda found: found[0] if found["status"] else "#", first)
