"""The routes of the system and of remote workers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sexton.api.route import Query, Route
from sexton.engine.remote.spec import BeatRequest, ClaimRequest, ReportsRequest, WorkerSpec
from sexton.security.role import Role


class ClusterQuery(Query, frozen=True, kw_only=True):
    jobs: Annotated[
        bool, Meta(description="Count the jobs of each shard exactly, even if there are very many.")
    ] = False


class DrainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Drain, or undo."""

    undo: Annotated[bool, Meta(description="Undo: the node takes shards and runs again.")] = False


GET_CLUSTER = Route(
    "GET", "/cluster", "system", "Show the cluster", Role.VIEWER, query=ClusterQuery, cluster=True
)
EXAMINE_CLUSTER = Route("GET", "/cluster/doctor", "system", "Examine the cluster", Role.VIEWER, cluster=True)
DRAIN_NODE = Route(
    "POST", "/nodes/{node}/drain", "system", "Drain a node", Role.ADMIN, body=DrainRequest,
    body_optional=True, cluster=True,
)  # fmt: skip
HEALTHZ = Route("GET", "/healthz", "system", "Is the process alive?", None, root=True, open=True)
READYZ = Route("GET", "/readyz", "system", "Is the process ready?", None, root=True, open=True)
METRICS = Route("GET", "/metrics", "system", "Metrics for Prometheus", Role.VIEWER, root=True, cluster=True)


# Workers

JOIN_WORKER = Route("POST", "/workers", "workers", "Join as a worker", Role.WORKER, body=WorkerSpec)
CLAIM_RUNS = Route(
    "POST", "/workers/{worker}/claims", "workers", "Claim runs", Role.WORKER, body=ClaimRequest,
    body_optional=True,
)  # fmt: skip
BEAT_WORKER = Route(
    "POST", "/workers/{worker}/beats", "workers", "Send a heartbeat", Role.WORKER, body=BeatRequest,
    body_optional=True,
)  # fmt: skip
REPORT_RUNS = Route("POST", "/workers/reports", "workers", "Report runs", Role.WORKER, body=ReportsRequest)
LEAVE_WORKER = Route("DELETE", "/workers/{worker}", "workers", "Leave", Role.WORKER)
