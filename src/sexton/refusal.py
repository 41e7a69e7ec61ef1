"""Refusals in our words: which field of a job is wrong, and what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.model import JobSpec
from sexton.target_rules import HINT, struct_of

# What other schedulers call it.
OTHER_NAMES = {
    **dict.fromkeys(
        ("cron", "cron_expr", "cron_expression", "crontab", "rrule", "recurrence_rule", "recurrence",
         "interval", "trigger", "run_at", "run_date", "at"),
        "schedule",
    ),
    **dict.fromkeys(("user_timezone", "tz", "time_zone", "zone", "tzid"), "timezone"),
    **dict.fromkeys(("max_delay_minutes", "max_delay_seconds", "catchup_window"), "catch_up_seconds"),
    **dict.fromkeys(("misfire_grace_time", "starting_deadline_seconds"), "grace_seconds"),
    **dict.fromkeys(("misfire_policy", "misfire_instruction", "coalesce", "backfill"), "missed_window"),
    **dict.fromkeys(("no_overlap", "concurrency_policy", "max_instances", "overlap_policy"), "overlap"),
    **dict.fromkeys(("staleness_threshold", "ttl", "expires", "expires_in"), "expires_seconds"),
    **dict.fromkeys(("handler", "handler_type", "function", "func", "task", "worker"), "target.handler"),
    **dict.fromkeys(("url", "webhook", "webhook_url", "http", "endpoint", "uri"), "target.http.url"),
    **dict.fromkeys(("args", "kwargs", "data", "body", "params", "input", "job_data"), "payload"),
    **dict.fromkeys(("retries", "max_attempts", "attempts", "retry_limit", "retry_count"), "max_retries"),
    **dict.fromkeys(("backoff", "retry_policy", "retry_strategy"), "retry_backoff"),
    **dict.fromkeys(("retry_delay", "retry_interval", "retry_delay_seconds"), "retry_base_seconds"),
    **dict.fromkeys(("timeout", "max_runtime", "time_limit", "execution_timeout"), "timeout_seconds"),
    **dict.fromkeys(("jitter",), "jitter_seconds"),
    **dict.fromkeys(("start_date", "start_time", "start_at", "not_before"), "starts_at"),
    **dict.fromkeys(("end_date", "end_time", "end_at", "not_after"), "ends_at"),
    **dict.fromkeys(("tags", "metadata", "annotations"), "labels"),
    **dict.fromkeys(("idempotency_key", "dedup_key", "unique_key"), "idempotency_key_template"),
    **dict.fromkeys(("limit_key", "concurrency_group", "group_key", "partition_key"), "concurrency_key"),
    **dict.fromkeys(("job_name", "title", "id", "job_id"), "name"),
    **dict.fromkeys(("calendar", "calendars", "holidays", "excluded_dates"), "exclude"),
}  # fmt: skip

EXAMPLES = {
    "retry_backoff": "fixed, linear or exponential",
    "retry_jitter": "none or full",
    "missed_window": "SKIP, RUN_ONCE or RUN_ALL",
    "overlap": "ALLOW, SKIP, QUEUE_ONE or CANCEL_RUNNING",
    "target": HINT,
    "target.http.method": "GET, POST, PUT, PATCH or DELETE",
    "starts_at": "write for example 2026-12-24T18:00:00Z",
    "ends_at": "write for example 2026-12-24T18:00:00Z",
    "anchor": "write for example 2026-12-24T18:00:00Z",
    "labels": 'write {"team": "billing"}: names and values are text',
    "exclude": 'write ["2026-12-25", "2026-12-24/2027-01-02"]',
}


def bad_json(error: Exception) -> InvalidField:
    return InvalidField("bad_json", f"this is not JSON: {error}", field="body", hint="send one JSON object")


def explain(data: Any, error: msgspec.ValidationError) -> InvalidField:
    """The same refusal in our words."""
    if not isinstance(data, Mapping):
        return InvalidField(
            "bad_type", "a job is a JSON object", field="body", hint='write {"name": …, "schedule": …}'
        )
    try:
        check_names(data)
    except InvalidField as named:
        return named
    text = str(error)
    message, _, path = text.partition(" - at `$")
    field = path.rstrip("`").lstrip(".").replace("[...]", "") or "body"
    if missing := re.search(r"missing required field `(\w+)`", message):
        field = f"{field}.{missing[1]}".removeprefix("body.")
        hint = {"name": "give the job a name", "schedule": "write for example 0 9 * * 1-5, or every 15m"}
        return InvalidField(
            "missing_field", f"{field} is missing", field=field, hint=hint.get(field, "add it")
        )
    if unknown := re.search(r"unknown field `(\w+)`", message):
        parent = struct_of(field)
        return _unknown(f"{field}.{unknown[1]}", unknown[1], parent.__struct_fields__, f"{field}.")
    message = re.sub(r"`(.*?)`", r"\1", message).replace("RFC3339 encoded ", "").replace(" | null", "")
    example = EXAMPLES.get(field) or EXAMPLES.get(field.split("[")[0].split(".")[0])
    wanted = re.search(r"Expected (\w+)", message)
    hint_text = example or (f"give {_ARTICLES.get(wanted[1], wanted[1])}" if wanted else "check the value")
    return InvalidField(
        "bad_time" if "datetime" in message else "bad_type" if wanted else "bad_value",
        f"{field}: {message[:1].lower()}{message[1:]}",
        field=field,
        hint=hint_text,
    )


_ARTICLES = {"int": "a whole number", "str": "text", "array": "a list", "object": "an object"}


def check_names(data: Mapping[str, Any]) -> None:
    known = JobSpec.__struct_fields__
    for name in data:
        if name not in known:
            raise _unknown(str(name), str(name), known, "")


def _unknown(field: str, name: str, known: tuple[str, ...], prefix: str) -> InvalidField:
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", name).lower()
    other = None if prefix else plain if plain in known else OTHER_NAMES.get(plain)
    if other is None:
        close = difflib.get_close_matches(plain, known, n=1, cutoff=0.75)
        other = prefix + close[0] if close else None
    seconds = " (in seconds)" if other and other.endswith("_seconds") and "minute" in plain else ""
    hint = f"did you mean {other}{seconds}?" if other else f"known fields: {', '.join(known)}"
    return InvalidField("unknown_field", f"there is no field {field}", field=field, hint=hint)
