"""Error messages for a job that cannot be read: they know the field names of other schedulers, and say what
to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.jobs.spec import JobSpec
from sexton.refusal import explained, plain_name, unknown_field
from sexton.targets.table import hint_of

# Field names of other schedulers, and ours.
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
    "name": "give the job a name",
    "schedule": "write for example 0 9 * * 1-5, or every 15m",
}


def explain(data: Any, error: msgspec.ValidationError) -> InvalidField:
    """The error of msgspec as `InvalidField`, with a hint."""
    if not isinstance(data, Mapping):
        return not_an_object()
    try:
        check_names(data)
    except InvalidField as named:
        return named
    examples = {**EXAMPLES, "target": hint_of(), "dead_letter_target": hint_of(dead_letters=True)}
    return explained(error, JobSpec, data, examples=examples)


def not_an_object() -> InvalidField:
    return InvalidField(
        "bad_type", "a job is a JSON object", field="body", hint='write {"name": …, "schedule": …}'
    )


def check_names(data: Mapping[str, Any]) -> None:
    known = JobSpec.__struct_fields__
    for name in map(str, data):
        if name not in known:
            plain = plain_name(name)
            raise unknown_field(name, known, meant=plain if plain in known else OTHER_NAMES.get(plain))
