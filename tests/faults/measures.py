"""What a fault has cost, read from the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from tests.faults.checker import Fired, Ledger


def worst_lateness(ledger: Ledger, since: datetime) -> tuple[float, float]:
    """How late occurrences were fired, and how late their runs began, after `since`."""
    due = due_times(ledger)
    fired = [run.fired_at - due[run] for run in ledger.fired if run.fired_at > since]
    began = [
        run.started_at - due[run]
        for run in ledger.fired
        if run.started_at is not None and run.started_at > since
    ]
    return max(fired).total_seconds(), max(began).total_seconds()


def recovery_seconds(ledger: Ledger, marks: Sequence[datetime], late: float = 1.0) -> float:
    """How long after a mark runs still began more than `late` seconds behind; the worst of all marks."""
    due, worst = due_times(ledger), 0.0
    for since, until in zip(marks, [*marks[1:], None], strict=True):
        for run in ledger.fired:
            began = run.started_at
            if began is not None and began > since and (until is None or began < until):
                behind = (began - due[run]).total_seconds()
                worst = max(worst, (began - since).total_seconds() if behind > late else 0.0)
    return worst


def due_times(ledger: Ledger) -> dict[Fired, datetime]:
    """When each run was due: at its time, or as much later as the jitter of its job is."""
    jitter = {job.id: job.jitter for job in ledger.jobs}
    return {run: run.scheduled_at + jitter.get(run.job, timedelta(0)) for run in ledger.fired}


def throughput_seconds(ledger: Ledger, marks: Sequence[datetime], window: float = 4.0) -> float:
    """How long after a mark as many runs began, over a window, as 95 % of those before the first mark."""
    begins = sorted(run.started_at.timestamp() for run in ledger.fired if run.started_at is not None)

    def began(since: float, seconds: float) -> int:
        return sum(since <= at < since + seconds for at in begins)

    first = marks[0].timestamp()
    wanted = 0.95 * began(first - 2 * window, 2 * window) / 2
    worst = 0.0
    for mark in marks:
        steps = (step / 4 for step in range(4 * 300))
        worst = max(
            worst, next(after for after in steps if began(mark.timestamp() + after, window) >= wanted)
        )
    return worst
