"""Sorts outcomes of runs by the statement that records them: done, ended, again, waiting, or released."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sexton.model import Cancel, Expired, Failure, Outcome, Release, Retry, Snooze, Success, Wait
from sexton.postgres.database import array_text
from sexton.postgres.jsonb import json_text
from sexton.runs.retry import Tried, error_group, in_seconds, tries, wait_before_retry
from sexton.targets.run import ERROR_LIMIT, RunContext, clean

RESULT_LIMIT = 64 * 1024
LONGEST_SNOOZE = 366 * 86_400.0
LONGEST_REPORT = 366 * 86_400.0

# (run, claim, seconds until it may be claimed again, why) and (run, claim, seconds to wait for a report).
Released = tuple[int, int, float, str | None]
Waiting = tuple[int, int, float]

# The rows of `recording/end` and of `recording/retry`, and the names of their columns.
End = tuple[int, int, float, float, str, str | None, str, str, str | None]
END = (
    "runs", "claims", "started", "finished", "statuses", "reasons", "outcomes", "messages", "error_groups",
)  # fmt: skip
Again = tuple[int, int, float, float, float, str, str | None]
AGAIN = ("runs", "claims", "started", "finished", "delays", "outcomes", "messages")


@dataclass(slots=True)
class Successes:
    """Successful runs, as the columns of `recording/finish`. Times are seconds on the database's clock."""

    runs: list[int] = field(default_factory=list)
    claims: list[int] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    started: list[float] = field(default_factory=list)
    finished: list[float] = field(default_factory=list)
    results: list[str | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.runs)

    def add(self, run: Tried, started: float, finished: float, result: str | None = None) -> None:
        self.runs.append(run.id)
        self.claims.append(run.claim)
        self.jobs.append(run.job)
        self.started.append(started)
        self.finished.append(finished)
        self.results.append(result)

    def chosen(self, places: Iterable[int]) -> Successes:
        """Only those at these places."""
        places = list(places)
        columns: tuple[list[Any], ...] = (
            self.runs, self.claims, self.jobs, self.started, self.finished, self.results,
        )  # fmt: skip
        return Successes(*([column[place] for place in places] for column in columns))

    def parameters(self) -> dict[str, Any]:
        """Of `recording/finish`."""
        return {
            "runs": array_text(self.runs),
            "claims": array_text(self.claims),
            "started": array_text(self.started),
            "finished": array_text(self.finished),
            "results": self.results if any(self.results) else None,
        }


class OutcomeBatch:
    """Outcomes that wait to be written, by the statement that writes them, for one node."""

    __slots__ = ("again", "apart", "done", "ended", "ended_jobs", "heard", "node", "released", "waiting")

    def __init__(self, node: int) -> None:
        self.node = node
        self.done = Successes()
        self.ended: list[End] = []
        self.ended_jobs: list[int] = []
        self.again: list[Again] = []
        self.released: list[Released] = []
        self.waiting: list[Waiting] = []
        #: (run, claim) of runs that are released to run in a process of their own.
        self.apart: list[tuple[int, int]] = []
        #: The runs whose listeners are called once their outcomes are recorded.
        self.heard: dict[int, RunContext] = {}

    def __len__(self) -> int:
        going = len(self.again) + len(self.released) + len(self.waiting) + len(self.apart)
        return len(self.done) + len(self.ended) + going

    def add(self, run: Tried, outcome: Outcome | None, started: float, finished: float) -> None:
        """Add an outcome. Times are those of the database."""
        match outcome:
            case Success(result):
                self.done.add(run, started, finished, encode_result(result))
            case None:
                self.released.append((run.id, run.claim, 0.0, None))
            case Wait(seconds):
                self.waiting.append((run.id, run.claim, min(max(1.0, in_seconds(seconds)), LONGEST_REPORT)))
            case Release(seconds, reason):
                # Whole seconds: runs with the same delay are released in one statement.
                delay = float(math.ceil(min(max(0.0, seconds), LONGEST_SNOOZE)))
                self.released.append((run.id, run.claim, delay, clean(reason, 1000)))
            case Snooze(seconds):
                delay = min(max(0.0, in_seconds(seconds)), LONGEST_SNOOZE)
                self.again.append((run.id, run.claim, started, finished, delay, "snoozed", None))
            case Cancel(reason):
                why = clean(str(reason), 1000)
                self._end(run, started, finished, "cancelled", why, "cancelled", why, None)
            case Retry(after, reason):
                wait = None if after is None else in_seconds(after)
                self.add(run, Failure(reason, retry_after=wait), started, finished)
            case Failure(error, permanent, retry_after, kind):
                error = clean(str(error), ERROR_LIMIT)
                how = "timeout" if kind == "timeout" else "failed"
                if permanent or tries(run) > run.policy.max_retries:
                    why = "permanent" if permanent else "exhausted"
                    self._end(run, started, finished, "dead", why, how, error, error_group(error))
                else:
                    delay = wait_before_retry(run, retry_after)
                    self.again.append((run.id, run.claim, started, finished, delay, how, error))
            case Expired():
                self._end(run, started, finished, "expired", "expired", "expired", "", None)

    def _end(self, run: Tried, started: float, finished: float, *how: Any) -> None:
        self.ended.append((run.id, run.claim, started, finished, *how))
        self.ended_jobs.append(run.job)

    def ends(self) -> list[tuple[int, int, int]]:
        """(run, claim, job) of every run that ends."""
        done = zip(self.done.runs, self.done.claims, self.done.jobs, strict=True)
        over = ((row[0], row[1], job) for row, job in zip(self.ended, self.ended_jobs, strict=True))
        return [*done, *over]

    def runs(self) -> list[int]:
        """Every run whose outcome waits here."""
        rows: tuple[Sequence[tuple[Any, ...]], ...] = (
            self.ended, self.again, self.released, self.waiting, self.apart,
        )  # fmt: skip
        return [*self.done.runs, *(row[0] for each in rows for row in each)]

    def forget(self, runs: set[int]) -> None:
        """Drop the outcomes of these runs."""
        self.done = self.done.chosen(place for place, run in enumerate(self.done.runs) if run not in runs)
        kept = [place for place, row in enumerate(self.ended) if row[0] not in runs]
        self.ended_jobs = [self.ended_jobs[place] for place in kept]
        self.ended = [self.ended[place] for place in kept]
        self.again = [row for row in self.again if row[0] not in runs]
        self.released = [row for row in self.released if row[0] not in runs]
        self.waiting = [row for row in self.waiting if row[0] not in runs]
        self.apart = [row for row in self.apart if row[0] not in runs]

    def earliest(self) -> float:
        """The earliest end of a run."""
        return min((*self.done.finished, *(row[3] for row in self.ended)))

    def drop(self, recorded: set[int]) -> int:
        """Remove the ends that are recorded already. Returns how many of them were successes."""
        before = len(self.done)
        self.done = self.done.chosen(place for place, run in enumerate(self.done.runs) if run not in recorded)
        over = [place for place, row in enumerate(self.ended) if row[0] not in recorded]
        self.ended_jobs = [self.ended_jobs[place] for place in over]
        self.ended = [self.ended[place] for place in over]
        return before - len(self.done)


def encode_result(value: Any) -> str | None:
    """A handler's result as JSON text that PostgreSQL accepts, or a note why it cannot be stored."""
    if value is None:
        return None
    try:
        encoded = msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return _note(f"the result cannot be kept as JSON: {error}")
    if len(encoded) > RESULT_LIMIT:
        head = encoded[:1024].decode("utf-8", "ignore").replace("\\u0000", "")
        return _note(
            f"the result was {len(encoded)} bytes, more than the {RESULT_LIMIT} that are kept", head=head
        )
    if b"\\u0000" in encoded:
        return _note("the result cannot be kept: it has a NUL character")
    return encoded.decode()


def _note(note: str, **more: str) -> str:
    return json_text({"truncated": True, "note": clean(note, 1000), **more})
