"""The only place that reads the time or waits for it."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime


def now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)


def iso(at: datetime, timespec: str = "auto") -> str:
    """An instant as text, in UTC: `2026-06-08T13:00:00Z`."""
    return at.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


#: Seconds that only grow, whatever happens to the wall clock; for measuring how long something takes. The
#: function itself: runs ask for it twice, and a call in between would double what that costs.
monotonic = time.monotonic


async def sleep(seconds: float) -> None:
    """Wait and let others run."""
    await asyncio.sleep(seconds)


def block(seconds: float) -> None:
    """Wait with the whole thread: only where there is no event loop."""
    time.sleep(seconds)
