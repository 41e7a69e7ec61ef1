"""Workers over HTTP: a program in any language claims runs, renews its lease and reports how runs ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Annotated, Any

import msgspec

from sexton.api.engine import routes
from sexton.api.operation import Answer, Call, operation
from sexton.engine.remote import report as reporting
from sexton.engine.remote import worker as remote
from sexton.engine.remote.claim import ClaimedRun
from sexton.engine.remote.report import Verdict
from sexton.engine.remote.spec import BeatRequest, ClaimRequest, ReportsRequest, WorkerSpec
from sexton.model import Trigger, encode_id
from sexton.refusal import about
from sexton.runs.read import run_number

# A lease survives two lost heartbeats.
BEATS = 3
RUN: dict[str, Any] = {
    "run_id": "r_9hk2",
    "token": "1.62e5f4c8a1b40.b64…",
    "handler": "resize",
    "payload": {"image": 812},
    "job_id": "j_4t1",
    "job_name": "thumbnails",
    "attempt": 1,
    "trigger": "schedule",
    "missed": False,
    "scheduled_at": "2026-06-08T13:00:00Z",
    "idempotency_key": "j_4t1:1780923600",
    "timeout_seconds": 300.0,
    "deadline_at": "2026-06-08T13:05:00Z",
}


class JoinedWorker(msgspec.Struct, frozen=True):
    """A worker that has joined."""

    worker_id: Annotated[str, about("The worker's id, `n_…`, for its claims and heartbeats.")]
    lease_seconds: Annotated[
        float, about("Without a heartbeat for this long, its runs are given to other workers.")
    ]
    beat_seconds: Annotated[float, about("How often to send a heartbeat.")]


class WorkerRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run for a worker to carry out."""

    run_id: Annotated[str, about("The run.")]
    token: Annotated[str, about("For reports of this attempt.")]
    handler: Annotated[str, about("The handler to call.")]
    payload: Annotated[Any, about("What to call it with.")]
    job_id: Annotated[str, about("The job's id.")]
    job_name: Annotated[str, about("The job's name.")]
    attempt: Annotated[int, about("Counted from 1.")]
    trigger: Annotated[Trigger, about("What made the run.")]
    missed: Annotated[bool, about("Whether its time had passed when it was made.")]
    scheduled_at: Annotated[datetime, about("The nominal time.")]
    idempotency_key: Annotated[str, about("The same for every attempt of an occurrence.")]
    timeout_seconds: Annotated[float, about("How long the attempt may take.")]
    deadline_at: Annotated[datetime, about("When the attempt fails by timeout.")]


class Claimed(msgspec.Struct, frozen=True):
    """What a worker has claimed."""

    runs: Annotated[list[WorkerRun], about("Carry these out.")]
    draining: Annotated[bool, about("It gets no more runs: finish, and leave.")]


class Beaten(msgspec.Struct, frozen=True):
    """The answer to a heartbeat."""

    lease_seconds: Annotated[float, about("In how many seconds its lease ends.")]
    draining: Annotated[bool, about("It gets no more runs: finish, and leave.")]
    cancel: Annotated[list[str], about("Runs to stop, because cancelling was requested. Report `cancel`.")]
    lost: Annotated[list[str], about("Runs that it has lost: stop them, and report nothing.")]


class ReportVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a report was recorded."""

    run_id: Annotated[str, about("The run.")]
    accepted: Annotated[bool, about("Whether it was recorded; if not, `code` and `detail` say why.")]
    status: Annotated[
        str | None,
        about("success, failed (it is retried), snoozed, dead, cancelled; running, or cancelling: stop."),
    ] = None
    again: Annotated[bool, about("It had been recorded before.")] = False
    code: Annotated[str | None, about("Stable: programs may rely on it.")] = None
    detail: Annotated[str | None, about("What happened and why.")] = None


class ReportVerdicts(msgspec.Struct, frozen=True):
    """Whether the reports were recorded."""

    reports: Annotated[list[ReportVerdict], about("In the order in which they were sent.")]


class WorkerLeft(msgspec.Struct, frozen=True):
    """A worker that has left."""

    worker_id: Annotated[str, about("The worker's id, `n_…`.")]
    given_back: Annotated[int, about("Runs that it had, which other workers get now.")]


@operation(
    routes.JOIN_WORKER, status=201, answer=JoinedWorker,
    example={"name": "resizer-1", "handlers": ["resize"], "capacity": 8},
    answer_example={"worker_id": "n_5x1q", "lease_seconds": 30.0, "beat_seconds": 10.0},
)  # fmt: skip
async def join_worker(call: Call) -> Answer:
    """The worker serves runs of the namespace of the call whose targets name its handlers. Only the
    credential that joined may act for it."""
    spec = call.json(WorkerSpec)
    node = await remote.join(call.context, spec, call.caller.credential)
    seconds = spec.lease_seconds
    return Answer(JoinedWorker(remote.worker_id_of(node), seconds, seconds / BEATS))


@operation(
    routes.CLAIM_RUNS, answer=Claimed, kept=False, example={"limit": 4, "wait_seconds": 10},
    answer_example={"runs": [RUN], "draining": False},
)  # fmt: skip
async def claim_runs(call: Call) -> Answer:
    """Claims runs that may start, and renews the lease. If there are none, it waits up to `wait_seconds` for
    one. 409 (`worker_lost`): the lease has expired; join again."""
    asked = call.json(ClaimRequest, optional=True)
    async with _departure(call) as gone:
        worker, found = await call.services.claims.claim(
            call.context,
            call.path("worker"),
            call.caller.credential,
            asked.limit,
            wait_seconds=asked.wait_seconds,
            gone=gone,
        )
    if call.services.node is not None:
        call.services.node.telemetry.claimed.inc(len(found))
    return Answer(Claimed([_run(each) for each in found], worker.draining))


@operation(
    routes.BEAT_WORKER, answer=Beaten, kept=False, example={"runs": ["r_9hk2"]},
    answer_example={"lease_seconds": 30.0, "draining": False, "cancel": [], "lost": []},
)  # fmt: skip
async def beat_worker(call: Call) -> Answer:
    """Renews the lease, and tells which runs to stop. Runs over their time fail now. A run that the worker
    holds but does not name (the answer to its claim was lost) is given back one lease after the claim."""
    asked = call.json(BeatRequest, optional=True)
    known = None if asked.runs is None else {run_number(run): run for run in asked.runs}
    beat = await remote.beat(call.context, call.path("worker"), call.caller.credential, known)
    return Answer(
        Beaten(
            beat.worker.lease_seconds,
            beat.worker.draining,
            [encode_id("r", run) for run in beat.cancel],
            [encode_id("r", run) for run in beat.lost],
        )
    )


@operation(
    routes.REPORT_RUNS, answer=ReportVerdicts, kept=False,
    example={"reports": [{"run_id": "r_9hk2", "token": RUN["token"], "outcome": "success", "result": 3}]},
    answer_example={"reports": [{"run_id": "r_9hk2", "accepted": True, "status": "success"}]},
)  # fmt: skip
async def report_runs(call: Call) -> Answer:
    """How runs ended, or how they progress. All accepted reports are recorded together. Sending a report
    again changes nothing and gets the same answer. A report for a claim that was lost is refused and changes
    nothing. A worker that was declared dead may still report a run that no other worker has claimed since."""
    verdicts = await reporting.report(call.context, call.json(ReportsRequest).reports)
    if call.services.node is not None:
        for each in verdicts:
            if each.status in ENDS and not each.again:
                call.services.node.telemetry.count_reported(each.status)
    return Answer(ReportVerdicts([_verdict(each) for each in verdicts]))


@operation(
    routes.LEAVE_WORKER, answer=WorkerLeft, errors=(409,),
    answer_example={"worker_id": "n_5x1q", "given_back": 0},
)  # fmt: skip
async def leave_worker(call: Call) -> Answer:
    """Gives its runs back, as if they had not been claimed, and ends the worker."""
    worker = call.path("worker")
    given = await remote.leave(call.context, worker, call.caller.credential)
    return Answer(WorkerLeft(worker, given))


ENDS = ("success", "failed", "dead", "cancelled")


def _run(each: ClaimedRun) -> WorkerRun:
    run = each.run
    return WorkerRun(
        run_id=run.run_id,
        token=each.token,
        handler=each.handler,
        payload=msgspec.Raw(run.payload_json.encode()) if run.payload_json else None,
        job_id=run.job_id,
        job_name=run.job_name,
        attempt=run.attempt,
        trigger=run.trigger,
        missed=run.missed,
        scheduled_at=run.scheduled_at,
        idempotency_key=run.idempotency_key,
        timeout_seconds=run.policy.timeout_seconds,
        deadline_at=each.deadline_at,
    )


def _verdict(each: Verdict) -> ReportVerdict:
    if (refusal := each.refusal) is not None:
        return ReportVerdict(run_id=each.run_id, accepted=False, code=refusal.code, detail=str(refusal))
    return ReportVerdict(run_id=each.run_id, accepted=True, status=each.status, again=each.again)


@contextlib.asynccontextmanager
async def _departure(call: Call) -> AsyncIterator[Callable[[], bool]]:
    """Yields whether the caller has disconnected: runs claimed for it then would return only after the
    lease."""

    async def listen() -> None:
        await call.request.receive()

    hung_up = asyncio.create_task(listen())
    try:
        yield hung_up.done
    finally:
        hung_up.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await hung_up
