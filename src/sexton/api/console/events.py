"""The feed of events over HTTP: server-sent events, for consoles and for programs that follow along."""

from __future__ import annotations

from functools import partial
from typing import Any

from litestar import Request

from sexton.api.body import ServerSentEvent
from sexton.api.console import routes
from sexton.api.console.change import instant_of
from sexton.api.console.followed import MOST_ADDRESSES, FollowedQuestion
from sexton.api.console.open_console import Console
from sexton.api.console.routes import EventsQuery
from sexton.api.operation import (
    EVENTS,
    SERVICES,
    Answer,
    Call,
    Operation,
    caller_of,
    depends_on,
    operation,
    shared_answer,
)  # fmt: skip
from sexton.api.shared import LONGEST_SECONDS
from sexton.errors import InvalidField
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
    differs), `changed` (which kinds of things, jobs and runs), `heartbeat` every five seconds; with
    `job`, `runs` (its latest runs; a `changed` with the job, if they are too large), with `run`, `log`
    and `progress`, with `follow`, `answer` (what an address answers now). `Last-Event-ID` goes on where a
    connection was lost; a caller that was away for more than some minutes gets a `changed` with
    everything."""
    query = call.query(EventsQuery)
    everywhere = call.caller.everywhere()
    run = None if query.run is None else run_number(query.run)
    if run is not None:
        await require_run(call.context, run)
    console = Console(
        call.context.namespace,
        sees_cluster=everywhere is not None and everywhere.allows(Role.VIEWER),
        credential=call.caller.credential,
        scope=call.caller.scope,
        job=None if query.job is None else await require_job(call.context, query.job),
        run=run,
    )
    questions = [_question(call, address) for address in _addresses(query.follow)]
    feed = call.services.feed
    feed.check_room(console)
    events = feed.follow(
        console,
        since=instant_of(call.request.headers.get("last-event-id")),
        seconds=query.seconds,
        questions=questions,
    )
    return Answer(events, headers={"Content-Type": EVENTS, "X-Accel-Buffering": "no"})


def _addresses(follow: str | None) -> list[str]:
    found = list(dict.fromkeys(follow.split(","))) if follow else []
    if len(found) > MOST_ADDRESSES:
        raise InvalidField(
            "bad_value",
            f"{len(found)} addresses are to be followed",
            field="follow",
            hint=f"name at most {MOST_ADDRESSES}",
        )
    return found


def _question(call: Call, address: str) -> FollowedQuestion:
    """A list that the same caller shows, by its address."""
    path, _, query = address.partition("?")
    asked = call.services.followable.get(path)
    if not isinstance(asked, Operation) or asked.role is None:
        raise InvalidField(
            "bad_value",
            f"{path} cannot be followed",
            field="follow",
            hint=f"name some of {', '.join(sorted(call.services.followable))}",
        )
    namespace = call.context.namespace
    call.caller.require(asked.role, namespace, cluster=asked.cluster)
    scope: Any = {**call.request.scope, "path": path, "raw_path": path.encode(), "path_params": {}}
    scope |= {"query_string": query.encode(), "state": {SERVICES: call.services}}
    asking = Call(Request(scope), call.services, asked, call.context, call.caller)
    if asked.query is not None:
        asking.query(asked.query)
    elif query:
        raise InvalidField(
            "unknown_parameter", f"{path} takes no parameters", field="follow", hint="leave them out"
        )
    key = namespace, address, depends_on(asking)
    make = partial(shared_answer, asking, LONGEST_SECONDS)
    return FollowedQuestion(caller_of(call), address, namespace, key, frozenset(asked.renewed_by), make)
