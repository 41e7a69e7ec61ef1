"""What every field of a target means, in one line each: for the documentation of the API."""

from __future__ import annotations

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
