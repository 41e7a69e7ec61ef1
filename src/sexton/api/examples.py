"""The examples of the documentation. Tests check that they have the shape of real answers."""

from __future__ import annotations

from typing import Any

JOB_REQUEST: dict[str, Any] = {
    "name": "send-weekly-report",
    "schedule": "0 9 * * 1",
    "timezone": "America/New_York",
    "payload": {"report_type": "weekly"},
    "idempotency_key_template": "report-{{week}}",
    "max_retries": 3,
    "retry_backoff": "exponential",
    "missed_window": "RUN_ONCE",
    "timeout_seconds": 120,
}

JOB: dict[str, Any] = {
    "job_id": "j_4x",
    "status": "active",
    "revision": 1,
    "next_run_at": "2026-06-08T13:00:00Z",
    "next_run_local": "2026-06-08T09:00:00-04:00",
    "last_run_at": "2026-06-01T13:00:00Z",
    "last_outcome": "success",
    **JOB_REQUEST,
    "kind": "cron",
    "anchor": None,
    "target": {"handler": "send-weekly-report"},
    "queue": "default",
    "priority": 2,
    "retry_base_seconds": 60,
    "retry_max_seconds": 3600,
    "retry_jitter": "none",
    "max_missed": 100,
    "grace_seconds": 60,
    "overlap": "ALLOW",
    "jitter_seconds": 0,
    "keep_completed_seconds": 86400,
    "labels": {},
    "created_at": "2026-05-27T10:14:03Z",
    "updated_at": "2026-05-27T10:14:03Z",
    "warnings": [],
}

RUN: dict[str, Any] = {
    "run_id": "r_9hk2",
    "job_id": "j_4x",
    "job_name": "send-weekly-report",
    "status": "success",
    "trigger": "schedule",
    "missed": False,
    "scheduled_at": "2026-06-01T13:00:00Z",
    "started_at": "2026-06-01T13:00:00.012Z",
    "finished_at": "2026-06-01T13:00:04.301Z",
    "late_seconds": 0.012,
    "attempt": 1,
    "next_attempt_at": None,
    "error": None,
    "result": {"sent": 240},
    "worker_id": "reports-1:4711:k3v9",
    "claimed_at": "2026-06-01T13:00:00.012Z",
    "lease_until": None,
    "idempotency_key": "report-2026-W23",
    "reason": None,
    "until_at": None,
    "occurrences": None,
    "parent_run": None,
    "revision": 1,
}

RUN_DETAIL: dict[str, Any] = {
    **RUN,
    "payload": {"report_type": "weekly"},
    "progress": {"fraction": 1.0, "text": "240 of 240 sent"},
    "attempts": [
        {
            "attempt": 1,
            "outcome": "success",
            "started_at": "2026-06-01T13:00:00.012Z",
            "finished_at": "2026-06-01T13:00:04.301Z",
            "error": None,
            "worker_id": "reports-1:4711:k3v9",
        }
    ],
    "log": [
        {"at": "2026-06-01T13:00:01Z", "attempt": 1, "level": "info", "message": "240 recipients"},
    ],
    "waiting_for": None,
    "expires_at": None,
    "cancel_requested_at": None,
    "fired_at": "2026-06-01T13:00:00.004Z",
    "concurrency_key": None,
}

OCCURRENCES: list[dict[str, Any]] = [
    {
        "scheduled_at": "2026-06-01T13:00:00Z",
        "disposition": "fired",
        "reason": None,
        "run_id": "r_9hk2",
    },
    {"scheduled_at": "2026-06-08T13:00:00Z", "disposition": "upcoming", "reason": None, "run_id": None},
]

WHY: list[dict[str, Any]] = [
    {**OCCURRENCES[0], "text": "fired on time; success", "status": "success"},
    {**OCCURRENCES[1], "text": "due in 6 d 22 h", "status": None},
]

PREVIEW: dict[str, Any] = {
    "explanation": "At 09:00 on Mondays, in America/New_York",
    "timezone": "America/New_York",
    "occurrences": [
        {
            "scheduled_at": "2026-06-08T13:00:00Z",
            "local": "2026-06-08T09:00:00-04:00",
            "note": None,
            "skipped": None,
        }
    ],
}

DEAD: dict[str, Any] = {
    "run_id": "r_9hk2",
    "job_id": "j_4x",
    "job_name": "send-weekly-report",
    "died_at": "2026-06-01T13:07:00Z",
    "reason": "exhausted",
    "error": "ConnectionError: mail.example.com refused the connection",
    "error_group": "ConnectionError: mail.example.com refused the connection",
    "scheduled_at": "2026-06-01T13:00:00Z",
    "trigger": "schedule",
    "missed": False,
    "attempt": 4,
    "idempotency_key": "report-2026-W23",
    "parent_run": None,
    "queue": "default",
    "handler": "send-weekly-report",
    "payload": None,
    "attempts": [],
}

DEAD_DETAIL: dict[str, Any] = {
    **DEAD,
    "payload": {"report_type": "weekly"},
    "attempts": [
        {
            "attempt": 1,
            "outcome": "failed",
            "started_at": "2026-06-01T13:00:00.012Z",
            "finished_at": "2026-06-01T13:00:00.220Z",
            "error": "ConnectionError: mail.example.com refused the connection",
            "worker_id": "reports-1:4711:k3v9",
        }
    ],
}

DEAD_GROUP: dict[str, Any] = {
    "error_group": "ConnectionError: mail.example.com refused the connection",
    "reason": "exhausted",
    "letters": 1200,
    "jobs": 3,
    "first_died_at": "2026-06-01T13:07:00Z",
    "last_died_at": "2026-06-01T14:31:00Z",
    "latest_error": "ConnectionError: mail.example.com refused the connection",
    "latest_run_id": "r_9hk2",
    "hours": [0] * 21 + [3, 6, 2],
}

CLUSTER: dict[str, Any] = {
    "at": "2026-06-01T13:00:05Z",
    "nodes": [
        {
            "node_id": "n_7",
            "name": "reports-1:4711:1f2e3d",
            "state": "live",
            "roles": ["worker"],
            "app": "reports",
            "handlers": ["send-weekly-report", "sexton.noop"],
            "queues": ["default"],
            "shards": 0,
            "running": 1,
            "capacity": 100,
            "version": "0.1.0",
            "started_at": "2026-06-01T08:00:00Z",
            "heartbeat_at": "2026-06-01T13:00:03Z",
            "heartbeat_age_seconds": 2.0,
            "lease_until": "2026-06-01T13:00:18Z",
            "skew_ms": 3,
            "lag_ms": 0,
        }
    ],
    "shards": 64,
    "shards_led": 64,
    "leaders": [
        {
            "shard": 0,
            "leader": "web-1:4702:a1b2c3",
            "leader_id": "n_6",
            "epoch": 3,
            "lease_left_seconds": 3.4,
            "taken_at": "2026-06-01T08:00:01Z",
            "jobs": 2,
            "wheel_entries": 1,
        }
    ],
    "jobs_estimated": False,
    "elector": {"name": "postgres", "ok": True, "errors": []},
    "oldest_due_at": None,
    "backlog": [],
    "counts": {"jobs": {"active": 12}, "runs": {"running": 1}, "dead": 0, "problems": 0, "estimated": False},
}

DRAINING = [{**CLUSTER["nodes"][0], "state": "draining"}]

READY: dict[str, Any] = {
    "status": "ready",
    "database": "reachable",
    "loops": [{"name": "scheduler", "healthy": True}],
    "warnings": [],
}

PROBLEM: dict[str, Any] = {
    "type": "urn:sexton:error:out_of_range",
    "title": "Unprocessable Entity",
    "status": 422,
    "detail": "minute 61 is out of range",
    "code": "out_of_range",
    "field": "schedule",
    "hint": "use 0 to 59",
    "position": 0,
}

BACKFILL: dict[str, Any] = {
    "job_id": "j_4x",
    "dry_run": True,
    "scheduled_at": ["2026-05-04T13:00:00Z", "2026-05-11T13:00:00Z"],
    "left_out": [],
    "run_ids": [],
    "warnings": [],
}
