"""Idempotency keys: a service applies the effect of a key once, however often the run is carried out.

An occurrence has one key, `{job_id}:{unix}` unless the job has a template; retries, catch-up, backfill and
redrive keep it. A manual run is a separate effect: its key ends with `manual:{run_id}`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.targets.template import FIELD, fill

# The most characters that a template may produce.
LONGEST_KEY = 500


def occurrence_key(
    template: str | None,
    *,
    job_id: int,
    job_name: str,
    scheduled_at: datetime,
    timezone: str,
    payload: Any = None,
) -> str:
    """The key of an occurrence. Raises `InvalidField` if the payload makes it too long, or lacks a field."""
    if template is None:
        return f"{encode_id('j', job_id)}:{int(scheduled_at.timestamp())}"
    names = {"job_id": encode_id("j", job_id), "job_name": job_name}
    key = fill(template, names, scheduled_at=scheduled_at, timezone=timezone, payload=payload, distinct=True)
    if len(key) > LONGEST_KEY:
        raise InvalidField(
            "key_too_long",
            f"the idempotency key would have {len(key):,} characters",
            field=FIELD,
            hint=f"take less from the payload: at most {LONGEST_KEY}",
        )
    return key


def manual_key(
    template: str | None,
    *,
    job_id: int,
    job_name: str,
    scheduled_at: datetime,
    timezone: str,
    run_id: int,
    payload: Any = None,
) -> str:
    """The key of a manual run: never that of an occurrence."""
    suffix = f"manual:{encode_id('r', run_id)}"
    if template is None:
        return f"{encode_id('j', job_id)}:{suffix}"
    key = occurrence_key(
        template,
        job_id=job_id,
        job_name=job_name,
        scheduled_at=scheduled_at,
        timezone=timezone,
        payload=payload,
    )
    return f"{key}:{suffix}"
