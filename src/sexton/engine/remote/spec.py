"""What workers that work elsewhere say: apart, because it is read without the database."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sexton.refusal import about

MOST_RUNS = 1000
# Of one worker at a time: a beat names all of them.
MOST_HELD = 2 * MOST_RUNS
MOST_LINES = 1000
MOST_REPORTS = 1000
LONGEST_WAIT = 30.0
SHORTEST_LEASE, LONGEST_LEASE = 5.0, 300.0
LONGEST_DELAY = 366 * 86_400

ReportedOutcome = Literal["success", "failure", "retry", "snooze", "cancel"]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class WorkerSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a worker is called, and what it serves."""

    name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=100)],
        about("The name of the worker, such as its machine."),
    ]
    handlers: Annotated[
        Annotated[list[Name], Meta(min_length=1, max_length=1000)],
        about("The handlers of the worker, as the targets of jobs name them."),
    ]
    queues: Annotated[
        Annotated[list[Name], Meta(min_length=1, max_length=1000)] | None,
        about("The queues that the worker serves. Default: all."),
    ] = None
    capacity: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_RUNS)], about("How many runs the worker carries out at a time.")
    ] = 10
    lease_seconds: Annotated[
        Annotated[float, Meta(ge=SHORTEST_LEASE, le=LONGEST_LEASE)],
        about("Without a beat for so long, the worker loses its runs to others."),
    ] = 30.0


class ClaimRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many runs, and how long to wait for one."""

    limit: Annotated[Annotated[int, Meta(ge=1, le=MOST_RUNS)], about("How many runs at most.")] = 1
    wait_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=LONGEST_WAIT)],
        about("How long to wait for the first one; at most half of the lease."),
    ] = 0.0


class BeatRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which runs the worker works on."""

    runs: Annotated[
        Annotated[list[str], Meta(max_length=MOST_HELD)] | None,
        about(
            "All runs that it works on, `r_…`: other runs that it holds go back to the queue after a while."
        ),
    ] = None


class ReportedLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of a run's log."""

    message: Annotated[Annotated[str, Meta(max_length=16 * 1024)], about("The text of the line.")]
    level: Annotated[
        Annotated[str, Meta(min_length=1, max_length=20)], about("The level of the line, such as info.")
    ] = "info"
    at: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        about("When the line was written, with its zone. Default: now."),
    ] = None


class ReportedProgress(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How far a run is."""

    fraction: Annotated[Annotated[float, Meta(ge=0, le=1)], about("The part that is done, from 0 to 1.")]
    text: Annotated[Annotated[str, Meta(max_length=1000)] | None, about("The progress in words.")] = None


class RunReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a worker says of one of its runs: how it ended, or without an outcome, how it goes on."""

    run_id: Annotated[str, about("The run.")]
    token: Annotated[str, about("The token that came with the run.")]
    outcome: Annotated[
        ReportedOutcome | None,
        about(
            "success; failure: the job's retries apply; retry: the same, for a reason that is none; snooze: "
            "later, without using up an attempt; cancel. null: it goes on."
        ),
    ] = None
    result: Annotated[Any, about("With success: any JSON up to 64 KiB.")] = None
    error: Annotated[
        Annotated[str, Meta(min_length=1, max_length=8000)] | None,
        about("With failure: what went wrong. With retry and cancel: why."),
    ] = None
    permanent: Annotated[bool, about("With failure: no further attempt would help: the run is dead.")] = False
    delay_seconds: Annotated[
        Annotated[float, Meta(ge=0, le=LONGEST_DELAY)] | None,
        about("With failure, retry and snooze: until the next attempt. Default: the job's back-off."),
    ] = None
    log: Annotated[
        Annotated[list[ReportedLine], Meta(max_length=MOST_LINES)], about("Lines for the log of the run.")
    ] = []
    progress: Annotated[ReportedProgress | None, about("The progress of the run.")] = None


class ReportsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a worker says of its runs, each at most once."""

    reports: Annotated[
        Annotated[list[RunReport], Meta(min_length=1, max_length=MOST_REPORTS)],
        about("One report for each run."),
    ]
