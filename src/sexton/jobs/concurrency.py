"""Concurrency keys: they group runs that compete, such as the runs of one customer.

A queue runs at most `key_concurrency` runs with the same key at a time. The key is computed from the job and
the payload alone, so it is known when the job fires.
"""

from __future__ import annotations

from typing import Any

from sexton.errors import InvalidField
from sexton.model import encode_id
from sexton.schedules.zone import EPOCH
from sexton.targets.template import check_template, fill

FIELD = "concurrency_key"
LONGEST = 200
NAMES = ("job_id", "job_name", "payload.…")


def concurrency_key(template: str | None, *, job_id: int, job_name: str, payload: Any) -> str | None:
    """The key of a run with this payload; None without a template."""
    if template is None:
        return None
    try:
        names = {"job_id": encode_id("j", job_id), "job_name": job_name}
        key = fill(template, names, scheduled_at=EPOCH, timezone="UTC", payload=payload)
    except InvalidField as error:
        raise InvalidField(error.code, error.message, field=FIELD, hint=error.hint) from None
    if not 1 <= len(key) <= LONGEST:
        raise InvalidField(
            "bad_concurrency_key",
            f"the concurrency key is {'empty' if not key else f'{len(key)} characters long'}",
            field=FIELD,
            hint=f"choose values of the payload that give 1 to {LONGEST} characters",
        )
    return key


def check_concurrency_key(template: str, job_name: str, payload: Any) -> None:
    """Refuse a template that cannot be filled in from the job and the payload."""
    if not template.strip():
        raise InvalidField("empty", f"{FIELD} is empty", field=FIELD, hint="leave it out for no key")
    check_template(template, payload, field=FIELD, names=NAMES)
    concurrency_key(template, job_id=0, job_name=job_name, payload=payload)
