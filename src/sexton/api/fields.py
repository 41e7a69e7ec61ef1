"""What every field of a job means, in one line each: for the documentation of the API and the command
line."""

from __future__ import annotations

SPEC = {
    "name": "Unique among live jobs; at most 200 characters.",
    "schedule": "When: a cron line, an RRULE, an interval such as `every 15m`, or one instant.",
    "timezone": "The zone of the wall clock, such as Europe/Berlin. Default: UTC.",
    "kind": "cron, recurrence, interval or once. Default: told from the text.",
    "anchor": "Where intervals and recurrences count from. Default: starts_at, else the creation time.",
    "gap": "A local time that does not exist: after, shift or skip.",
    "fold": "A local time that happens twice: first, second or both.",
    "starts_at": "Nothing fires before this instant.",
    "ends_at": "Nothing fires after this instant.",
    "exclude": "Dates, or ranges A/B of dates, on which nothing fires.",
    "target": "Who carries it out, such as a handler. Default: the handler with the job's name.",
    "payload": "What the handler gets: any JSON up to 256 KiB.",
    "queue": "Which workers may take it.",
    "priority": "0 (first) to 3 (last).",
    "max_retries": "Tries after the first one: 3 means at most four attempts.",
    "retry_backoff": "How the wait between attempts grows: fixed, linear or exponential.",
    "retry_base_seconds": "The wait before the second attempt.",
    "retry_max_seconds": "The longest wait between attempts.",
    "retry_jitter": "none, or full: a random part of the wait.",
    "timeout_seconds": "How long an attempt may take.",
    "missed_window": "What happens to times that were missed: SKIP, RUN_ONCE or RUN_ALL.",
    "max_missed": "How many missed times RUN_ALL runs at most.",
    "catch_up_seconds": "A time missed by more than this is not run. Default: no limit; a day for RUN_ALL.",
    "grace_seconds": "Up to this late a time is just late, not missed.",
    "overlap": "If the run before has not ended: ALLOW, SKIP, QUEUE_ONE or CANCEL_RUNNING.",
    "jitter_seconds": "Spread over this many seconds, by a fixed offset of the job's own.",
    "expires_seconds": "A run that has not started this long after its time is not worth starting.",
    "max_runs": "How often it fires in all.",
    "idempotency_key_template": "The key every target receives, such as `report-{{week}}`.",
    "concurrency_key": "So many at a time share it as their queue says: `{{payload.customer}}`.",
    "dead_letter_target": "Also receives every dead letter of the job: an http or message target.",
    "keep_completed_seconds": "How long a completed one-off job is kept.",
    "labels": "Names and values of your own, to find jobs by.",
    "description": "For people.",
    "owner": "Whom to ask.",
}

VIEW = {
    "job_id": "The job's id, `j_…`.",
    "status": "active, paused, completed or deleted.",
    "revision": "Grows with every edit; the ETag.",
    "next_run_at": "The next nominal time; null while paused and after the last.",
    "next_run_local": "The same in the job's zone.",
    "last_run_at": "The nominal time of the latest run.",
    "last_outcome": "How the latest run or occurrence ended.",
    "paused_reason": "Why it was paused.",
    "paused_until": "When it goes on by itself.",
    "app": "The application that declared it.",
    "problem": "Why it is set aside though it is active: its schedule cannot be computed. An edit mends it.",
    "created_at": "When it was made.",
    "updated_at": "When it was last edited.",
    "completed_at": "When it fired for the last time.",
    "warnings": "What is allowed but probably not meant.",
}

TARGET = {
    "handler": "The name of a handler that some worker knows.",
    "http": "A signed HTTP request.",
    "message": "A message to a broker.",
    "celery": "A task of a Celery application.",
    "shell": "A command, on workers that were told which ones they may run.",
}

HTTP = {
    "url": "Where to; http or https.",
    "method": "GET, POST, PUT, PATCH or DELETE.",
    "headers": "Sent along.",
    "body": "A template of the body. Default: the payload as JSON.",
    "success_codes": "Which statuses are a success. Default: 2xx.",
    "capture": "Whether the body of the answer is kept with the run.",
    "capture_bytes": "How much of it: at most 48 KiB.",
    "capture_headers": "Which headers of the answer are kept.",
    "redirects": "How many redirects are followed, at most 10. Default: none.",
    "connect_timeout_seconds": "How long connecting may take.",
    "read_timeout_seconds": "How long the service may say nothing. Default: the job's timeout_seconds.",
    "tls": "Certificates of one's own, for https.",
    "mode": "sync, or async: the service answers 202 and reports later how it went.",
    "wait_seconds": "How long it may take to report. Default: the job's timeout_seconds.",
}

TLS = {
    "cert": "The file of the certificate that is shown to the service.",
    "key": "The file of its key, unless it is in the same file.",
    "ca": "The file of the authorities that the service's certificate must be from. Default: the system's.",
}

SECRET = {"secret": "The name it was stored under with `sexton secret set`."}

MESSAGE = {
    "broker": "kafka, rabbitmq, nats, redis, sqs or mqtt.",
    "url": "Where the broker is; a text, or a secret.",
    "topic": "A template of the topic, queue, subject, stream or routing key.",
    "key": "A template of the key that keeps messages together.",
    "headers": "Templates that are sent along.",
    "format": "envelope: payload, ids and times; or the payload alone.",
    "exchange": "For rabbitmq; the default one if it is empty.",
    "redis_type": "stream, list or channel.",
    "mode": "sync, or async: the receiver reports later how it went.",
    "wait_seconds": "How long it may take to report. Default: the job's timeout_seconds.",
}

CELERY = {
    "broker": "redis or rabbitmq.",
    "url": "Where the broker is; a text, or a secret.",
    "task": "The name of the task.",
    "args": "Its positional arguments.",
    "kwargs": "Its named arguments. Default: the payload.",
    "queue": "Celery's queue.",
    "wait": "Whether the run waits for the result.",
    "result_url": "Where results are kept, if not at `url`.",
}

SHELL = {
    "command": "The program and its arguments.",
    "script": "Instead of `command`: a script for /bin/sh.",
    "environment": "Variables that are set for it.",
    "directory": "Where it runs.",
    "success_codes": "Which exit codes are a success. Default: 0.",
    "permanent_codes": "Which exit codes are not worth another try.",
}

BACKFILL = {
    "job_id": "The job's id, `j_…`.",
    "dry_run": "True if nothing was run.",
    "scheduled_at": "The occurrences that are run, or would be.",
    "left_out": "Occurrences that have a live run, or are yet to fire.",
    "run_ids": "The new runs, in order.",
    "warnings": "What is allowed but probably not meant.",
}

PREVIEW = {
    "explanation": "The schedule in English.",
    "timezone": "The zone of the wall clock.",
    "occurrences": "The next times, and between them those that are skipped.",
}

PREVIEWED = {
    "scheduled_at": "The nominal time.",
    "local": "What the wall clock shows, or would show.",
    "note": "What is special about it.",
    "skipped": "Why it does not fire: dst_gap or excluded.",
}
