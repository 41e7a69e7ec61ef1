"""Testing targets over HTTP."""

from __future__ import annotations

from sexton.api.jobs import routes
from sexton.api.jobs.routes import TrialRequest
from sexton.api.operation import Answer, Call, operation
from sexton.errors import InvalidField
from sexton.jobs.read import get
from sexton.jobs.stored import target_of
from sexton.jobs.validation import read_target
from sexton.model import decode_id
from sexton.security.audit import record
from sexton.targets.trial import Trial, try_target


@operation(
    routes.SEND_TEST, answer=Trial, kept=False,
    example={"target": {"http": {"url": "https://reports.example/run"}}, "payload": {"n": 1}},
    answer_example={
        "success": True, "outcome": "success", "error": None, "result": {"status": 200, "body": "ok"},
        "seconds": 0.041, "log": [],
    },
)  # fmt: skip
async def send_test(call: Call) -> Answer:
    """Carry a target out once, now, in the process that answers. It sends what a run would send, with ids
    that no run has (`r_0`, and an idempotency key that begins with `test:`). Nothing is kept. Handlers are
    not called: run the job instead. Commands need a process that was started with `--allow-shell`."""
    wish = call.json(TrialRequest)
    if (wish.target is None) == (wish.job is None):
        raise InvalidField(
            "bad_target", "give either a target or a job", field="target", hint='write {"job": "name"}'
        )
    payload, name, job_id = wish.payload, "test", None
    if wish.job is not None:
        job = await get(call.context, wish.job)
        payload, name, target = wish.payload or job.payload, job.name, target_of(job)
        job_id = job.job_id
    else:
        target = read_target(wish.target, payload)
    # It may send secrets, so the request is recorded even if it fails.
    number, detail = None if job_id is None else decode_id("j", job_id), {"target": target}
    await record(call.context, "target.tested", job_id, name, job_id=number, detail=detail)
    trial = await try_target(
        call.database,
        call.services.settings,
        target,
        payload,
        namespace=call.context.namespace,
        job_name=name,
        seconds=wish.timeout_seconds,
    )
    return Answer(trial)
