"""Runs and nodes as they are shown; the HTTP API returns these with their descriptions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from sexton.refusal import about

LOG_LINES = 1000
Moment = Literal["nominal", "due", "fired", "started", "failed", "snoozed", "finished", "now"]


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """The carrying-out of an occurrence, or of a manual trigger. A skipped occurrence among runs has status
    `skipped`, a `reason` and no `run_id`."""

    run_id: Annotated[str | None, about("The run's id, `r_…`; null for a skipped occurrence.")]
    job_id: Annotated[str, about("The job's id, `j_…`.")]
    job_name: Annotated[str | None, about("The job's name, as long as the job is known.")] = None
    status: Annotated[
        Literal[
            "pending", "running", "failed", "waiting", "success", "dead", "cancelled", "expired", "skipped"
        ],
        about("Live: pending, running, failed (to be tried again), waiting (for a report). Ended: others."),
    ]
    trigger: Annotated[
        Literal["schedule", "catch_up", "manual", "backfill", "redrive"] | None, about("What made the run.")
    ] = None
    missed: Annotated[bool, about("True if its time was missed and the run catches up.")] = False
    scheduled_at: Annotated[datetime, about("The nominal time of the occurrence.")]
    started_at: Annotated[datetime | None, about("When the latest attempt started.")] = None
    finished_at: Annotated[datetime | None, about("When the run ended.")] = None
    late_seconds: Annotated[
        float | None, about("How long after it was due (jitter included) the first attempt started.")
    ] = None
    attempt: Annotated[int, about("How many attempts have started.")] = 0
    next_attempt_at: Annotated[datetime | None, about("When the next attempt may start.")] = None
    error: Annotated[str | None, about("The last error.")] = None
    result: Annotated[Any, about("What the handler returned.")] = None
    worker_id: Annotated[str | None, about("The worker of the run: `host:pid:random`.")] = None
    claimed_at: Annotated[datetime | None, about("When the worker claimed the run.")] = None
    lease_until: Annotated[
        datetime | None,
        about("When the worker's lease ends, unless it is renewed; then others take the run over."),
    ] = None
    idempotency_key: Annotated[str | None, about("What every target receives to tell repeats apart.")] = None
    reason: Annotated[str | None, about("Why it was skipped, cancelled or expired, or why it died.")] = None
    until_at: Annotated[datetime | None, about("The last occurrence, if this is a counted range.")] = None
    occurrences: Annotated[int | None, about("How many occurrences a counted range holds.")] = None
    parent_run: Annotated[str | None, about("The run of which this one is the redrive.")] = None
    revision: Annotated[int | None, about("The job's revision that this run belongs to.")] = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One try of a run."""

    attempt: Annotated[int, about("1 for the first try.")]
    outcome: Annotated[str, about("success, failed, timeout, crashed, snoozed, running, …")]
    started_at: Annotated[datetime | None, about("When it started.")] = None
    finished_at: Annotated[datetime | None, about("When it ended.")] = None
    error: Annotated[str | None, about("What went wrong.")] = None
    worker_id: Annotated[str | None, about("The worker of the attempt: `host:pid:random`.")] = None


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that a handler logged."""

    at: Annotated[datetime, about("When it was logged.")]
    attempt: Annotated[int, about("The attempt that logged it.")]
    level: Annotated[str, about("debug, info, warning or error.")]
    message: Annotated[str, about("The text of the line.")]


class RunWait(msgspec.Struct, frozen=True, kw_only=True, rename={"from_": "from"}):
    """What was between two moments of a run."""

    from_: Annotated[Moment, about("The moment at which the time began.")]
    to: Annotated[Moment, about("The moment at which the time ended.")]
    at: Annotated[datetime, about("When the time ended.")]
    seconds: Annotated[float, about("How long it took.")]
    cause: Annotated[str | None, about("What the run waited for, if it is known.")] = None


class RunDetail(RunView, frozen=True, kw_only=True):
    """A run with everything that is known of it."""

    payload: Annotated[Any, about("What the handler gets, or got.")] = None
    progress: Annotated[Any, about("What the handler last reported: `fraction` and `text`.")] = None
    attempts: Annotated[list[Attempt], about("All tries, the current one included.")] = []
    log: Annotated[list[LogLine], about(f"The first {LOG_LINES} lines of its log.")] = []
    waiting_for: Annotated[str | None, about("What a live run waits for, in words.")] = None
    expires_at: Annotated[datetime | None, about("When the run expires, unless it has started.")] = None
    deadline_at: Annotated[
        datetime | None,
        about("When the time limit of the attempt ends; a run that waits for a report waits until then."),
    ] = None
    cancel_requested_at: Annotated[datetime | None, about("When its cancellation was requested.")] = None
    fired_at: Annotated[datetime | None, about("When the scheduler made the run.")] = None
    due_at: Annotated[datetime | None, about("The nominal time plus the job's own offset (jitter).")] = None
    waits: Annotated[list[RunWait], about("How the time from the nominal time to the end was spent.")] = []
    concurrency_key: Annotated[
        str | None, about("The concurrency key, which it shares with other runs of its queue.")
    ] = None


class OccurrenceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One nominal time of a job and what became of it."""

    scheduled_at: Annotated[datetime, about("The nominal time.")]
    disposition: Annotated[Literal["fired", "upcoming", "skipped"], about("What became of it.")]
    reason: Annotated[
        str | None,
        about(
            "Why it was skipped: missed, coalesced, overlap, dst_gap, excluded, paused, max_missed, "
            "outside_catch_up, rescheduled, quota or deleted."
        ),
    ] = None
    run_id: Annotated[str | None, about("The run, if it fired.")] = None


class Why(OccurrenceRecord, frozen=True, kw_only=True):
    """An occurrence with one line that says what happened to it."""

    text: Annotated[str, about("One line in English.")]
    status: Annotated[str | None, about("The run's status, if it fired.")] = None


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A run that could not be saved."""

    run_id: Annotated[str, about("The run's id, `r_…`.")]
    job_id: Annotated[str, about("The job's id, `j_…`.")]
    job_name: Annotated[str | None, about("The job's name, as long as the job is known.")] = None
    died_at: Annotated[datetime, about("When the run died.")]
    reason: Annotated[
        str, about("exhausted (no attempts left), permanent, or poison (it crashed its workers).")
    ]
    error: Annotated[str | None, about("The last error.")] = None
    error_group: Annotated[str, about("The group of dead letters with the same cause.")]
    scheduled_at: Annotated[datetime, about("The nominal time of the occurrence.")]
    trigger: Annotated[str, about("What made the run.")]
    missed: Annotated[bool, about("True if the run caught up with a missed time.")] = False
    attempt: Annotated[int, about("How many attempts there were.")] = 0
    idempotency_key: Annotated[str | None, about("The key that a redrive keeps.")] = None
    parent_run: Annotated[str | None, about("The run of which this one was the redrive.")] = None
    queue: Annotated[str | None, about("The queue it came from.")] = None
    handler: Annotated[str | None, about("The handler, or null for an HTTP target.")] = None
    delivered_at: Annotated[datetime | None, about("When its dead_letter_target received it.")] = None
    delivery_error: Annotated[str | None, about("Why its dead_letter_target has not received it yet.")] = None
    payload: Annotated[Any, about("What the handler got. Only in the answer about one letter.")] = None
    attempts: Annotated[list[Attempt], about("All tries. Only in the answer about one letter.")] = []


class DeadGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters with the same cause that died in the same way."""

    error_group: Annotated[str, about("The group: the same cause, in the same way.")]
    reason: Annotated[str, about("exhausted, permanent or poison.")]
    letters: Annotated[int, about("How many there are.")]
    jobs: Annotated[int, about("How many jobs they belong to.")]
    first_died_at: Annotated[datetime, about("When the oldest of them died.")]
    last_died_at: Annotated[datetime, about("When the latest of them died.")]
    latest_error: Annotated[str | None, about("The latest error, in full.")] = None
    latest_run_id: Annotated[str, about("The run of the latest error.")]
    hours: Annotated[list[int], about("How many died in each of the last 24 hours, the oldest first.")]


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """One process of the cluster; one that is a worker beside other roles has a second node for that."""

    node_id: Annotated[str, about("The node's id, `n_…`.")]
    name: Annotated[str, about("`host:pid:random`; the nodes of a process share `host:pid`.")]
    state: Annotated[
        str, about("live, draining, stopped, expired (silent past its lease) or dead (given up).")
    ]
    roles: Annotated[list[str], about("api, scheduler, worker.")]
    app: Annotated[str | None, about("The application whose handlers it has.")] = None
    handlers: Annotated[list[str], about("The handlers that it has.")] = []
    targets: Annotated[
        list[str], about("The targets that it serves besides handlers: http, message:redis, …")
    ] = []
    queues: Annotated[list[str], about("The queues that it serves.")] = []
    namespaces: Annotated[list[str], about("The namespaces whose runs a worker carries out; `*`: all.")] = []
    shards: Annotated[int, about("How many shards it leads.")] = 0
    running: Annotated[int, about("How many runs it carries out.")] = 0
    capacity: Annotated[int, about("How many it can carry out at once.")] = 0
    version: Annotated[str, about("Its version of Sexton.")]
    started_at: Annotated[datetime, about("When it started.")]
    heartbeat_at: Annotated[datetime, about("The time of its last beat.")]
    heartbeat_age_seconds: Annotated[float, about("How long ago its last beat was.")] = 0.0
    lease_until: Annotated[
        datetime, about("When its lease ends, unless it is renewed; then others take over.")
    ]
    skew_ms: Annotated[
        int | None, about("How far its clock is ahead of the database's, in ms; null: not measured yet.")
    ] = None
    lag_ms: Annotated[int | None, about("How long a worker's event loop took to answer.")] = None
    wheel_entries: Annotated[int | None, about("Timers that a scheduler holds in memory.")] = None
    fenced: Annotated[
        int | None, about("How many firings were refused, because another scheduler led the shard by then.")
    ] = None
    fires: Annotated[
        bool | None, about("False if a scheduler renews its lease but cannot fire: it leads nothing.")
    ] = None
    elector: Annotated[str | None, about("The elector of a scheduler.")] = None
    elector_ok: Annotated[bool | None, about("Whether the elector answers the scheduler.")] = None
    elector_error: Annotated[str | None, about("The error of the elector.")] = None
