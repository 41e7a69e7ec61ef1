"""What workers can ask over HTTP, as a table; see `routes`."""

from __future__ import annotations

from sexton.api.route import Route
from sexton.engine.remote.spec import BeatRequest, ClaimRequest, ReportsRequest, WorkerSpec
from sexton.security.role import Role

TAG = "workers"

JOIN_WORKER = Route("POST", "/workers", TAG, "Join as a worker", Role.WORKER, body=WorkerSpec)
CLAIM_RUNS = Route(
    "POST", "/workers/{worker}/claims", TAG, "Claim runs", Role.WORKER, body=ClaimRequest, body_optional=True
)
BEAT_WORKER = Route(
    "POST", "/workers/{worker}/beats", TAG, "Keep a worker's runs", Role.WORKER, body=BeatRequest,
    body_optional=True,
)  # fmt: skip
REPORT_RUNS = Route(
    "POST", "/workers/reports", TAG, "Report what became of runs", Role.WORKER, body=ReportsRequest
)
LEAVE_WORKER = Route("DELETE", "/workers/{worker}", TAG, "Leave", Role.WORKER)
