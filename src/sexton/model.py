"""The words of Sexton as values: states of jobs and runs, choices of policies, outcomes, ids."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import IntEnum, StrEnum
from typing import Any

import msgspec

PRIORITY_LOWEST = 3
# In characters.
LONGEST_QUEUE = 100
NAMESPACE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class JobStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    DELETED = "deleted"


class RunStatus(StrEnum):
    """Live runs are pending, running, failed (waiting for the next attempt) or waiting (for an outside
    report); the others are ends."""

    PENDING = "pending"
    RUNNING = "running"
    FAILED = "failed"
    WAITING = "waiting"
    SUCCESS = "success"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Trigger(StrEnum):
    SCHEDULE = "schedule"
    CATCH_UP = "catch_up"
    MANUAL = "manual"
    BACKFILL = "backfill"
    REDRIVE = "redrive"


class SkipReason(StrEnum):
    MISSED = "missed"
    COALESCED = "coalesced"
    OVERLAP = "overlap"
    DST_GAP = "dst_gap"
    EXCLUDED = "excluded"
    PAUSED = "paused"
    MAX_MISSED = "max_missed"
    OUTSIDE_CATCH_UP = "outside_catch_up"
    RESCHEDULED = "rescheduled"
    QUOTA = "quota"
    DELETED = "deleted"


class MissedWindow(StrEnum):
    SKIP = "SKIP"
    RUN_ONCE = "RUN_ONCE"
    RUN_ALL = "RUN_ALL"


class Overlap(StrEnum):
    ALLOW = "ALLOW"
    SKIP = "SKIP"
    QUEUE_ONE = "QUEUE_ONE"
    CANCEL_RUNNING = "CANCEL_RUNNING"


class OverlapCode(IntEnum):
    """`Overlap` as the timers hold it."""

    ALLOW = 0
    SKIP = 1
    QUEUE_ONE = 2
    CANCEL_RUNNING = 3


class Backoff(StrEnum):
    FIXED = "fixed"
    LINEAR = "linear"
    EXPONENTIAL = "exponential"


class RetryJitter(StrEnum):
    NONE = "none"
    FULL = "full"


def encode_id(prefix: str, number: int) -> str:
    """An id such as `j_…` or `r_…`: base32 without letters that look like digits."""
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 32)
        digits = ALPHABET[digit] + digits
    return f"{prefix}_{digits}"


def decode_id(prefix: str, text: str) -> int | None:
    """The number behind an id, or None if the text is not one."""
    head, _, digits = text.partition("_")
    if head != prefix or not 1 <= len(digits) <= 13 or any(digit not in ALPHABET for digit in digits):
        return None
    number = 0
    for digit in digits:
        number = number * 32 + ALPHABET.index(digit)
    return number if number < 2**63 else None


class Success(msgspec.Struct, frozen=True):
    """The attempt succeeded; `result` is stored as JSON."""

    result: Any = None


class Failure(msgspec.Struct, frozen=True):
    """The attempt failed. `permanent`: another attempt would not help. `kind` says how (error, timeout,
    …)."""

    error: str
    permanent: bool = False
    retry_after: float | None = None
    kind: str = "error"


class Retry(msgspec.Struct, frozen=True):
    """A handler's way to ask for another attempt: counts as a failed one. `after` is seconds or a
    timedelta; without it, the job's back-off decides."""

    after: float | timedelta | None = None
    reason: str = "the handler asked for a retry"


class Snooze(msgspec.Struct, frozen=True):
    """A handler's way to ask to be run later: does not count as an attempt. Seconds, or a timedelta. With
    0 it is run again at once, as often as it asks: up to 50 times a second."""

    seconds: float | timedelta


class Wait(msgspec.Struct, frozen=True):
    """The attempt goes on elsewhere. The holder of the run's token (`await run.token()`) reports how it
    ended, within so many seconds or a timedelta; otherwise it has failed by timeout."""

    seconds: float | timedelta


class Release(msgspec.Struct, frozen=True):
    """The attempt could not begin, for example because requests to a service are limited. The run goes back
    as if it had not been claimed, for so many seconds."""

    seconds: float
    reason: str


class Cancel(msgspec.Struct, frozen=True):
    """A handler's way to end its run for good without success."""

    reason: str


class Expired(msgspec.Struct, frozen=True):
    """The run was too old to start."""


Outcome = Success | Failure | Retry | Snooze | Wait | Release | Cancel | Expired
