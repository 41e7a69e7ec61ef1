"""The key of a timing: schedules with equal keys give equal answers."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from sexton.schedules.wall import FIRST_WALL
from sexton.schedules.zone import EPOCH

SECOND = timedelta(seconds=1)


def hashed(inputs: str) -> str:
    return hashlib.blake2b(inputs.encode(), digest_size=16).hexdigest()


def timing_key_of(at: datetime) -> str:
    """The `timing_key` of the schedule that is this instant and nothing else, without making it."""
    seconds, fraction = divmod(at - EPOCH, SECOND)
    listed = f"[(('listed', ({seconds},)), 'UTC', 'after', 'first')]"
    return hashed(f"({listed}, (None, None, {FIRST_WALL}, None, {fraction!r}, False), [[], [], []], [])")
