"""Reports of a run, by the service that carries it out."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from sexton.api.route import Route
from sexton.security.role import Role

Seconds = Annotated[float, Meta(ge=0, le=366 * 86_400)]


class CompleteRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a run ended well."""

    result: Annotated[Any, Meta(description="Kept with the run: any JSON up to 64 KiB.")] = None


class FailRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an attempt failed."""

    error: Annotated[
        Annotated[str, Meta(min_length=1, max_length=8000)], Meta(description="What went wrong.")
    ]
    permanent: Annotated[bool, Meta(description="No further attempt would help: the run is dead.")] = False
    retry_after: Annotated[
        Seconds | None, Meta(description="Seconds until the next attempt. Default: the job's back-off.")
    ] = None


class HeartbeatRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sign that a run is still being worked on."""

    seconds: Annotated[
        Seconds | None,
        Meta(description="How much longer it may take from now on. Default: the job's timeout_seconds."),
    ] = None
    fraction: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None, Meta(description="How far it is, from 0 to 1.")
    ] = None
    text: Annotated[
        Annotated[str, Meta(max_length=1000)] | None, Meta(description="How far it is, in words.")
    ] = None


COMPLETE_RUN = Route(
    "POST",
    "/runs/{run}/complete",
    "reports",
    "Report success",
    Role.WORKER,
    body=CompleteRequest,
    body_optional=True,
)
FAIL_RUN = Route("POST", "/runs/{run}/fail", "reports", "Report a failure", Role.WORKER, body=FailRequest)
RUN_HEARTBEAT = Route(
    "POST", "/runs/{run}/heartbeat", "reports", "Report that it goes on", Role.WORKER, body=HeartbeatRequest,
    body_optional=True,
)  # fmt: skip
