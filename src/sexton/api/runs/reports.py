"""Reports by a service that was sent a run, with the run's token instead of an API key."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sexton.api.operation import Answer, Call, operation
from sexton.api.runs import routes
from sexton.api.runs.routes import CompleteRequest, FailRequest, HeartbeatRequest
from sexton.errors import SextonError
from sexton.runs import completion as report
from sexton.targets.run import TOKEN_HEADER


class ReportAnswer(msgspec.Struct, frozen=True):
    """The state of the run."""

    run_id: Annotated[str, Meta(description="The run.")]
    status: Annotated[
        str,
        Meta(description="success; failed: it is tried again; dead; cancelled: that was requested."),
    ]


class HeartbeatAnswer(msgspec.Struct, frozen=True):
    """How long a run may take."""

    run_id: Annotated[str, Meta(description="The run.")]
    status: Annotated[
        Literal["running", "waiting"],
        Meta(description="running: the worker is not done with its request yet."),
    ]
    deadline_at: Annotated[datetime | None, Meta(description="When its time is over.")]
    cancel_requested: Annotated[bool, Meta(description="Its cancellation was requested: stop working on it.")]


async def _authorise(call: Call) -> None:
    await call.services.tokens.check(call.context, call.path("run"), _token(call))


@operation(
    routes.COMPLETE_RUN, answer=ReportAnswer, authorise=_authorise, example={"result": {"rows": 1200}},
    answer_example={"run_id": "r_9hk2", "status": "success"},
)  # fmt: skip
async def complete_run(call: Call) -> Answer:
    """A run that was sent to a service in the asynchronous mode has succeeded. Repeating the report changes
    nothing and gets the same answer. 409: the run has ended otherwise, or its time is over."""
    said = call.json(CompleteRequest, optional=True)
    run = call.path("run")
    told = await report.complete(call.context, run, _token(call), said.result)
    return _answer(call, run, told)


@operation(
    routes.FAIL_RUN, answer=ReportAnswer, authorise=_authorise, example={"error": "the disk is full"},
    answer_example={"run_id": "r_9hk2", "status": "failed"},
)  # fmt: skip
async def fail_run(call: Call) -> Answer:
    """The attempt failed: the job's retries apply, unless the failure is permanent."""
    said = call.json(FailRequest)
    run = call.path("run")
    told = await report.fail(
        call.context,
        run,
        _token(call),
        said.error,
        permanent=said.permanent,
        retry_after=said.retry_after,
    )
    return _answer(call, run, told)


@operation(
    routes.RUN_HEARTBEAT, answer=HeartbeatAnswer, authorise=_authorise,
    example={"fraction": 0.4, "text": "400 of 1000 rows"},
    answer_example={
        "run_id": "r_9hk2", "status": "waiting", "deadline_at": "2026-06-08T13:10:00Z",
        "cancel_requested": False,
    },
)  # fmt: skip
async def run_heartbeat(call: Call) -> Answer:
    """The service is still working on it: the run's deadline moves later, never earlier. 409 means: stop."""
    said = call.json(HeartbeatRequest, optional=True)
    run = call.path("run")
    progress = {
        name: value for name, value in (("fraction", said.fraction), ("text", said.text)) if value is not None
    }
    beat = await report.heartbeat(
        call.context,
        run,
        _token(call),
        seconds=said.seconds,
        progress=progress or None,
    )
    return Answer(HeartbeatAnswer(run, beat.status, beat.deadline_at, beat.cancel_requested))


def _token(call: Call) -> str:
    token = call.request.headers.get(TOKEN_HEADER.lower(), "").strip()
    if not token:
        raise SextonError(
            "no_token",
            f"reports of a run need its token in the header {TOKEN_HEADER}",
            hint="send the token that came with the run",
        )
    return token


def _answer(call: Call, run: str, told: report.Told) -> Answer:
    """Count the end of the run here: the worker that sent the request does not learn of it."""
    if call.services.node is not None and not told.again:
        call.services.node.telemetry.count_reported(told.status)
    return Answer(ReportAnswer(run, told.status))
