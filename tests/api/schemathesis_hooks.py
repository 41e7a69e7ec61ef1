"""What Schemathesis must know beside the document. It runs in a process of its own, with packages of its own.

Lists of jobs are sent as JSON lines. What tries a target out only ever dials a closed port of this machine.
"""

# mypy: ignore-errors
from __future__ import annotations

import json

import schemathesis

CLOSED = {"http": {"url": "http://127.0.0.1:1/"}}


@schemathesis.serializer("application/x-ndjson")
def json_lines(_context, value):
    if isinstance(value, bytes):
        return value
    return json.dumps(value).encode() + b"\n"


@schemathesis.hook
def before_call(_context, case, _arguments):
    if case.path.endswith("/events") and case.method.upper() in ("GET", "HEAD"):
        seconds = (case.query or {}).get("seconds")
        if not isinstance(seconds, int) or isinstance(seconds, bool) or seconds <= 3600:
            case.query = {**(case.query or {}), "seconds": 1}  # it would go on for ever
    tries = case.path.endswith("/targets/test") and isinstance(case.body, dict)
    if tries and (isinstance(case.body.get("target"), dict) or "job" in case.body):
        case.body.pop("job", None)
        case.body["target"] = CLOSED
