"""What people write: a job, and the limits of a queue; every field with its default."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from sexton.model import Backoff, MissedWindow, Overlap, RetryJitter, about
from sexton.targets.spec import Target


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


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of a queue; null is none."""

    concurrency: Annotated[int | None, about("Runs at a time, in the whole cluster.")] = None
    key_concurrency: Annotated[int | None, about("Runs at a time that share a `concurrency_key`.")] = None
    rate: Annotated[float | None, about("Starts per second, retries included.")] = None
    burst: Annotated[
        int | None, about("Starts at once after a pause. Default: those of a second, at least one.")
    ] = None


class LimitChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Some limits of a queue; null removes one, what is left out stays."""

    concurrency: Annotated[int | UnsetType | None, about("Runs at a time, in the whole cluster.")] = UNSET
    key_concurrency: Annotated[
        int | UnsetType | None, about("Runs at a time that share a `concurrency_key`.")
    ] = UNSET
    rate: Annotated[float | UnsetType | None, about("Starts per second, retries included.")] = UNSET
    burst: Annotated[int | UnsetType | None, about("Starts at once after a pause.")] = UNSET
