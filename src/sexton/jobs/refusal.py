"""Refusals in our words: which field of a job is wrong, and what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.jobs.spec import JobSpec
from sexton.refusal import remedy
from sexton.targets.rules import HINT, struct_of

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

# Where an example says more than the type does.
EXAMPLES = {
    "target": HINT,
    "target.shell.command": 'write ["program", "argument"]',
    "labels": 'write {"team": "billing"}: names and values are text',
    "exclude": 'write ["2026-12-25", "2026-12-24/2027-01-02"]',
}


# What msgspec raises for text that is not JSON; brackets in brackets in brackets are not, beyond a thousand.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def bad_json(error: Exception) -> InvalidField:
    why = "it is nested too deeply" if isinstance(error, RecursionError) else error
    return InvalidField("bad_json", f"this is not JSON: {why}", field="body", hint="send one JSON object")


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
    wanted = re.search(r"Expected (\w+)", message)
    example = EXAMPLES.get(field) or EXAMPLES.get(field.split("[")[0])
    return InvalidField(
        "bad_time" if "datetime" in message else "bad_type" if wanted else "bad_value",
        f"{field}: {message[:1].lower()}{message[1:]}",
        field=field,
        hint=example or remedy(JobSpec, field) or "check the value",
    )


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
