"""How long each step of a run took, from its nominal time to its end, and why it waited."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from sexton.runs.view import Attempt, Moment, RunView, RunWait

# A shorter wait is shown without a reason.
SHORT_SECONDS = 0.5


def waits_of(
    run: RunView,
    *,
    due_at: datetime,
    fired_at: datetime | None,
    attempts: Sequence[Attempt],
    waiting_for: str | None = None,
    now: datetime | None = None,
) -> list[RunWait]:
    """The steps nominal → due → fired → started → … → finished. Each failed or snoozed attempt is a start and
    an end. A live run needs `now`: its last step is what it waits for, or that it is running."""
    moments: list[tuple[Moment, datetime]] = [("nominal", run.scheduled_at), ("due", due_at)]
    if fired_at is not None:
        moments.append(("fired", fired_at))
    for attempt in attempts:
        if attempt.started_at is not None:
            moments.append(("started", attempt.started_at))
        if attempt.finished_at is not None and attempt.outcome != run.status:
            ended: Moment = "snoozed" if attempt.outcome == "snoozed" else "failed"
            moments.append((ended, attempt.finished_at))
    if run.finished_at is not None:
        moments.append(("finished", run.finished_at))
    elif now is not None:
        moments.append(("now", now))
    found = []
    for (before, since), (after, at) in pairwise(moments):
        seconds = max(0.0, round((at - since).total_seconds(), 3))
        cause = waiting_for if after == "now" and before != "started" else _cause(run, before, after, seconds)
        found.append(RunWait(from_=before, to=after, at=at, seconds=seconds, cause=cause))
    return found


def _cause(run: RunView, before: Moment, after: Moment, seconds: float) -> str | None:
    match before, after:
        case "nominal", "due":
            return "the job's own offset: jitter_seconds spreads jobs of the same minute" if seconds else None
        case ("due", "fired") if run.trigger in ("manual", "backfill", "redrive"):
            return f"it was made by hand: {run.trigger}" if seconds > SHORT_SECONDS else None
        case ("due", "fired") if seconds > SHORT_SECONDS:
            return "its time was missed, and it catches up" if run.missed else "the scheduler fired it late"
        case ("fired", "started") if seconds > SHORT_SECONDS:
            return "no worker had a free slot, or its queue was paused or limited"
        case "failed", "started":
            return "the pause before the next attempt"
        case "snoozed", "started":
            return "its handler put it off"
        case _, "finished" if run.status in ("cancelled", "expired"):
            return run.reason or run.status
    return None
