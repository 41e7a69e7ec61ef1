"""The only place that reads the time or waits for it."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """The current instant, aware, in UTC."""
    return datetime.now(UTC)


def iso(at: datetime, timespec: str = "auto") -> str:
    """An instant as text, in UTC: `2026-06-08T13:00:00Z`."""
    with suppress(OverflowError):  # on the first and the last day of all there is no such time in UTC
        at = at.astimezone(UTC)
    return at.isoformat(timespec=timespec).replace("+00:00", "Z")


def whole_second(at: datetime) -> datetime:
    """Rounded up to the whole second, so that nothing happens early; in UTC."""
    at = at.astimezone(UTC)
    return at if not at.microsecond else at.replace(microsecond=0) + timedelta(seconds=1)


#: Seconds that only grow, whatever happens to the wall clock; for measuring durations. It is the function
#: itself: every run calls it twice, and a wrapper would double the cost.
monotonic = time.monotonic


async def sleep(seconds: float) -> None:
    """Wait, and let other tasks run."""
    await asyncio.sleep(seconds)


def block(seconds: float) -> None:
    """Block the thread: only where there is no event loop."""
    time.sleep(seconds)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process of this machine until now, by its own clock; 0 if it has ended.

    The ticks in /proc are no measure: they count who runs when the tick comes. A process that sleeps until a
    millisecond, as a scheduler does, runs just then, and is counted half as much again as it uses.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)  # what clock_getcpuclockid(3) answers on Linux
    except OSError:
        return 0.0
