"""The words of Sexton as values: jobs, runs, outcomes, and how they are named outside.

Everything here is plain data. `JobSpec` is what people write, with every default; it is the same in HTTP,
Python and the command line.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any, Literal

import msgspec

PRIORITY_LOWEST = 3
SHELL = "/bin/sh"
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


class HttpTls(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Files on the worker's machine, in the PEM form: what we show to the service, and whom we believe."""

    cert: str | None = None
    key: str | None = None
    ca: str | None = None


class HttpTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A signed request to a service."""

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[str, str] = {}
    body: str | None = None
    success_codes: list[int] | None = None
    capture: bool = True
    capture_bytes: int = 16_384
    capture_headers: list[str] = []
    redirects: int = 0
    connect_timeout_seconds: float = 10
    read_timeout_seconds: float | None = None
    tls: HttpTls | None = None
    mode: Literal["sync", "async"] = "sync"
    wait_seconds: int | None = None


class SecretRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A secret by its name, where a text may stand."""

    secret: str


class MessageTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A message to a broker. `topic` is its topic, queue, subject, stream or routing key."""

    broker: Literal["kafka", "rabbitmq", "nats", "redis", "sqs", "mqtt"]
    url: str | SecretRef
    topic: str
    key: str | None = None
    headers: dict[str, str] = {}
    format: Literal["envelope", "payload"] = "envelope"
    exchange: str = ""
    redis_type: Literal["stream", "list", "channel"] = "stream"
    mode: Literal["sync", "async"] = "sync"
    wait_seconds: int | None = None


class CeleryTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A task of a Celery application."""

    broker: Literal["redis", "rabbitmq"]
    url: str | SecretRef
    task: str
    args: list[Any] | None = None
    kwargs: dict[str, Any] | None = None
    queue: str = "celery"
    wait: bool = False
    result_url: str | SecretRef | None = None


class ShellTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A command on the worker's machine: a list of words, or a script for /bin/sh."""

    command: list[str] | None = None
    script: str | None = None
    environment: dict[str, str] = {}
    directory: str | None = None
    success_codes: list[int] | None = None
    permanent_codes: list[int] = []

    @property
    def words(self) -> list[str]:
        return self.command or [SHELL, "-c", self.script or ""]


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Who carries a run out: exactly one of these."""

    handler: str | None = None
    http: HttpTarget | None = None
    message: MessageTarget | None = None
    celery: CeleryTarget | None = None
    shell: ShellTarget | None = None

    @property
    def kind(self) -> str:
        if self.handler is not None:
            return "handler"
        return next((kind for kind in self.__struct_fields__ if getattr(self, kind) is not None), "handler")

    @property
    def need(self) -> str:
        """What of its kind a worker must have: the handler, the broker's client, leave for the command."""
        if self.handler is not None:
            return self.handler
        if (broker := self.message or self.celery) is not None:
            return broker.broker
        return self.shell.words[0] if self.shell is not None else ""


def lane_name(kind: str, need: str) -> str:
    """What a worker serves, in a word: `http`, `message:redis`, `shell:/bin/sh`."""
    return f"{kind}:{need}" if need else kind


def how_to_serve(kind: str, need: str) -> str:
    """What to do where no worker serves such a target."""
    match kind:
        case "shell":
            return f"start one with --allow-shell --shell-commands {need}"
        case "message" | "celery":
            return f"pip install 'sexton[{need}]' where workers run"
    return "start one"


class JobSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A job as people write it."""

    name: str
    schedule: str
    timezone: str | None = None
    kind: str | None = None
    anchor: datetime | None = None
    gap: str | None = None
    fold: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    exclude: list[str] = []
    target: Target | None = None
    payload: Any = None
    queue: str = "default"
    priority: int = 2
    max_retries: int = 3
    retry_backoff: Backoff = Backoff.EXPONENTIAL
    retry_base_seconds: int = 60
    retry_max_seconds: int = 3600
    retry_jitter: RetryJitter = RetryJitter.NONE
    timeout_seconds: int = 300
    missed_window: MissedWindow | None = None
    max_missed: int = 100
    catch_up_seconds: int | None = None
    grace_seconds: int = 60
    overlap: Overlap = Overlap.ALLOW
    jitter_seconds: int = 0
    expires_seconds: int | None = None
    max_runs: int | None = None
    idempotency_key_template: str | None = None
    concurrency_key: str | None = None
    dead_letter_target: Target | None = None
    keep_completed_seconds: int = 86_400
    labels: dict[str, str] = {}
    description: str | None = None
    owner: str | None = None


# The fields of a specification that a job's row holds in columns of its own; the others go into `options`.
COLUMNS = (
    "name",
    "schedule",
    "timezone",
    "kind",
    "anchor",
    "target",
    "payload",
    "labels",
    "description",
    "owner",
)


def encode_id(prefix: str, number: int) -> str:
    """`j_…` and `r_…`: base32 without letters that look like digits."""
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
    """The attempt did what it should; `result` is kept as JSON."""

    result: Any = None


class Failure(msgspec.Struct, frozen=True):
    """The attempt failed. `permanent`: no further attempt would help. `kind` says how (error, timeout, …)."""

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
    """A handler's way to ask to be run later: does not count as an attempt. Seconds, or a timedelta."""

    seconds: float | timedelta


class Wait(msgspec.Struct, frozen=True):
    """The attempt goes on elsewhere, and whoever has the run's token (`await run.token()`) reports how it
    ended: within so many seconds, or a timedelta, else it has failed by timeout."""

    seconds: float | timedelta


class Release(msgspec.Struct, frozen=True):
    """The attempt could not begin, such as while a service is not asked: the run goes back as if it had not
    been claimed, for so many seconds."""

    seconds: float
    reason: str


class Cancel(msgspec.Struct, frozen=True):
    """A handler's way to end its run for good without success."""

    reason: str


class Expired(msgspec.Struct, frozen=True):
    """The run was too old to be worth starting."""


Outcome = Success | Failure | Retry | Snooze | Wait | Release | Cancel | Expired


def shard_of(job_id: int, shards: int) -> int:
    """Which shard a job belongs to: the same in every process and version, spread evenly."""
    mixed = (job_id ^ (job_id >> 31)) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    return (mixed >> 32) % shards


def jitter_of(job_id: int, jitter_seconds: int) -> float:
    """A job's own fixed offset within its jitter window, in seconds, to the millisecond."""
    mixed = (job_id + 0x9E3779B9) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return (mixed >> 20) % (jitter_seconds * 1000) / 1000 if jitter_seconds else 0.0
