"""Jobs in the database: columns ⇄ `JobSpec`, and the values that are computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.jobs import planning
from sexton.jobs.concurrency import concurrency_key
from sexton.jobs.payload import encode_payload
from sexton.jobs.spec import COLUMNS, DEFAULTS, JSON_COLUMNS, JobSpec
from sexton.jobs.spread import jitter_of
from sexton.model import Overlap, OverlapCode, encode_id
from sexton.postgres.jsonb import json_text, json_value
from sexton.schedules import Schedule
from sexton.targets.key import occurrence_key
from sexton.targets.run import AttemptPolicy
from sexton.targets.table import read_target

_COLUMNS = frozenset(COLUMNS)
KEPT_AS_JSON = (*JSON_COLUMNS, "options", "moved")
_ATTEMPTS = {name: getattr(DEFAULTS, name) for name in AttemptPolicy.__struct_fields__}
_OVERLAPS = {overlap: OverlapCode[overlap.value].value for overlap in Overlap}


@dataclass(frozen=True)
class StoredJob:
    """A row of `jobs`, or what `job_revisions` kept of one."""

    row: Mapping[str, Any]

    @classmethod
    def kept(cls, definition: str) -> StoredJob:
        """The job that `job_revisions` kept. Its jsonb columns become text, as in a row of `jobs`."""
        row = msgspec.json.decode(definition)
        texts = {name: json_text(row[name]) for name in KEPT_AS_JSON if row.get(name) is not None}
        return cls({**row, **texts})

    @property
    def id(self) -> int:
        return int(self.row["id"])

    @property
    def job_id(self) -> str:
        return encode_id("j", self.id)

    @property
    def status(self) -> str:
        return str(self.row["status"])

    @property
    def revision(self) -> int:
        return int(self.row["revision"])

    @cached_property
    def spec(self) -> JobSpec:
        return msgspec.convert(fields_of(self.row), JobSpec)

    @cached_property
    def schedule(self) -> Schedule:
        return planning.schedule_of(self.row)

    @property
    def jitter(self) -> timedelta:
        return jitter(self.id, self.spec)

    def key_of(self, scheduled_at: Any, payload: Any = msgspec.UNSET) -> str:
        """The idempotency key of one of its occurrences."""
        return occurrence_key(
            self.spec.idempotency_key_template,
            job_id=self.id,
            job_name=self.spec.name,
            scheduled_at=scheduled_at,
            timezone=str(self.row["timezone"]),
            payload=self.spec.payload if payload is msgspec.UNSET else payload,
        )


def concurrency_key_of(spec: JobSpec, job_id: int, payload: Any = msgspec.UNSET) -> str | None:
    return concurrency_key(
        spec.concurrency_key,
        job_id=job_id,
        job_name=spec.name,
        payload=spec.payload if payload is msgspec.UNSET else payload,
    )


def concurrency_key_of_run(spec: JobSpec, job_id: int, payload: Any) -> str | None:
    """The concurrency key of a run with its own payload that was made before this definition. If the payload
    lacks a value that the key needs, the run gets the key of the job's payload."""
    try:
        return concurrency_key_of(spec, job_id, payload)
    except InvalidField:
        return concurrency_key_of(spec, job_id)


def fields_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the specification; zone, kind, anchor and target have values."""
    columns = {name: json_value(row[name]) if name in JSON_COLUMNS else row[name] for name in COLUMNS}
    return {**json_value(row["options"]), **columns, "labels": columns["labels"] or {}}


def job_columns(spec: JobSpec, schedule: Schedule, anchor: datetime | None) -> dict[str, Any]:
    """The columns of a job that hold its definition."""
    return {
        "name": spec.name,
        "kind": schedule.kind,
        "schedule": schedule.text,
        "timezone": schedule.timezone,
        "anchor": anchor,
        "timing_key": schedule.timing_key,
        "target": json_text(target_of(spec)),
        "payload": None if spec.payload is None else encode_payload(spec.payload),
        "options": _options(spec, schedule),
        "labels": json_text(spec.labels) if spec.labels else None,
        "description": spec.description,
        "owner": spec.owner,
    }


def timer_columns(
    spec: JobSpec, schedule: Schedule, job_id: int, next_at: datetime, lane: int
) -> dict[str, Any]:
    """The columns of a timer that follow from the definition and the next occurrence."""
    return {
        "timing_key": schedule.timing_key,
        "scheduled_at": next_at,
        "due_at": next_at + jitter(job_id, spec),
        "max_runs": spec.max_runs,
        "lane": lane,
        "priority": spec.priority,
        "overlap": overlap_of(spec),
        "expires_seconds": spec.expires_seconds,
        "grace_seconds": None if spec.grace_seconds == DEFAULTS.grace_seconds else spec.grace_seconds,
        "concurrency_key": concurrency_key_of(spec, job_id),
    }


def _options(spec: JobSpec, schedule: Schedule) -> str:
    """The fields without their own column that differ from the defaults, as JSON; bounds are instants."""
    bounds = schedule.options
    if spec.starts_at != bounds.starts_at or spec.ends_at != bounds.ends_at:
        spec = msgspec.structs.replace(spec, starts_at=bounds.starts_at, ends_at=bounds.ends_at)
    builtins = msgspec.to_builtins(spec)
    options = {name: builtins[name] for name in builtins.keys() - _COLUMNS}
    return json_text(options) if options else "{}"


def attempt_policy(options: str) -> AttemptPolicy:
    """The attempt settings in `options`, with defaults for those that are missing."""
    return msgspec.convert(_ATTEMPTS | msgspec.json.decode(options), AttemptPolicy)


def target_of(spec: JobSpec) -> dict[str, Any]:
    """The target as JSON. The default is the handler with the job's name."""
    return spec.target or {"handler": spec.name}


def lane_of(spec: JobSpec) -> tuple[str, str, str, bool]:
    """The lane of a job: queue, kind of target, what it needs of this kind, and whether its runs have a
    concurrency key. Workers claim runs by lane."""
    target = read_target(target_of(spec))
    return spec.queue, target.kind.name, target.need, spec.concurrency_key is not None


def jitter(job_id: int, spec: JobSpec) -> timedelta:
    return timedelta(seconds=jitter_of(job_id, spec.jitter_seconds))


def overlap_of(spec: JobSpec) -> int:
    return _OVERLAPS[spec.overlap]
