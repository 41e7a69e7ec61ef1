"""The feed of events over HTTP: server-sent events, for consoles and for programs that follow along."""

from __future__ import annotations

from sexton.api.console import routes
from sexton.api.console.feed import Console, instant_of
from sexton.api.console.routes import EventsQuery
from sexton.api.operation import EVENTS, Answer, Call, ServerSentEvent, operation
from sexton.runs.read import require_job, require_run, run_number
from sexton.security.role import Role

EXAMPLE = {
    "id": "1780318800512000",
    "event": "changed",
    "data": '{"kinds":["runs"],"job_ids":["j_4x"],"run_ids":["r_9hk2"],"more":false}',
}


@operation(
    routes.GET_EVENTS, media_type=EVENTS, answer=ServerSentEvent, errors=(404, 422), answer_example=EXAMPLE,
)  # fmt: skip
async def get_events(call: Call) -> Answer:
    """Server-sent events of the namespace, at most one look a second: `overview` (as GET /overview, when it
    differs), `changed` (which kinds of things, jobs and runs), `heartbeat` every five seconds; with `job`,
    `runs` (its latest runs), with `run`, `log` and `progress`. `Last-Event-ID` goes on where a connection was
    lost; a caller that was away for more than some minutes gets a `changed` with everything."""
    query = call.query(EventsQuery)
    everywhere = call.caller.everywhere()
    run = None if query.run is None else run_number(query.run)
    if run is not None:
        await require_run(call.context, run)
    console = Console(
        call.context.namespace,
        sees_cluster=everywhere is not None and everywhere.allows(Role.VIEWER),
        credential=call.caller.credential,
        job=None if query.job is None else await require_job(call.context, query.job),
        run=run,
    )
    feed = call.services.feed
    feed.check_room(console.credential)
    events = feed.follow(
        console,
        since=instant_of(call.request.headers.get("last-event-id")),
        seconds=query.seconds,
    )
    return Answer(events, headers={"Content-Type": EVENTS, "X-Accel-Buffering": "no"})
