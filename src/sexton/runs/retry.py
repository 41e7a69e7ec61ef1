"""Retries: whether and when a failed run is tried again, and how errors are grouped.

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
    """The fields of a run that decide what happens after an attempt."""

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
    """The attempts that count: a crash of the worker does not use one up."""
    return run.attempt - run.crashes


def backoff(policy: AttemptPolicy, tried: int) -> float:
    """The seconds until the next attempt, after `tried` failed ones."""
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
    """The seconds that the handler or the service asked for, else the backoff of the job."""
    if asked is not None:
        return min(max(0.0, asked), LONGEST_WAIT)
    return backoff(run.policy, tries(run))


def in_seconds(duration: float | timedelta) -> float:
    """A duration in seconds: handlers give a number or a timedelta."""
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


_NUMBER = re.compile(
    r"(?P<status>\b(?:HTTP|status|code|signal|errno) \d{1,3}\b(?![\w.-]))|\b(?=\w*\d)[\w-]+\b", re.IGNORECASE
)


def error_group(error: str) -> str:
    """The error without numbers and ids, so that equal causes form one group. A status stays, because it is
    part of the cause: `HTTP 404` and `HTTP 500` differ, and `exit code 1` and `signal 9`."""
    first = error.split("\n", 1)[0][:200]
    return _NUMBER.sub(lambda found: found[0] if found["status"] else "#", first)
