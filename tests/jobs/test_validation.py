"""What is refused, and that the refusal names the field and says what to do."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sexton.errors import InvalidField
from sexton.jobs.payload import LARGEST_PAYLOAD
from sexton.jobs.spec import JobSpec
from sexton.jobs.validation import read_changes, read_spec
from sexton.model import MissedWindow, Overlap
from sexton.targets.http.kind import HttpTarget

JOB = {"name": "report", "schedule": "0 9 * * 1"}


def http(**fields: Any) -> dict[str, Any]:
    return {"target": {"http": {"url": "http://x", **fields}}}


def refused(**fields: Any) -> InvalidField:
    with pytest.raises(InvalidField) as caught:
        read_spec({**JOB, **fields})
    assert caught.value.hint
    with pytest.raises(InvalidField) as again:
        read_spec(json.dumps({**JOB, **fields}))
    assert again.value.to_dict() == caught.value.to_dict()
    return caught.value


def test_the_example_of_the_documentation() -> None:
    spec = read_spec(
        b"""{"name": "send-weekly-report", "schedule": "0 9 * * 1", "timezone": "America/New_York",
        "payload": {"report_type": "weekly"}, "idempotency_key_template": "report-{{week}}",
        "max_retries": 3, "retry_backoff": "exponential", "missed_window": "RUN_ONCE",
        "timeout_seconds": 120}"""
    )
    assert spec.payload == {"report_type": "weekly"}
    assert spec.missed_window is MissedWindow.RUN_ONCE
    assert (spec.timeout_seconds, spec.retry_base_seconds, spec.priority) == (120, 60, 2)


def test_python_values_are_taken_too() -> None:
    at = datetime(2026, 7, 1, tzinfo=UTC)
    target = {"http": HttpTarget("http://x")}
    spec = read_spec({**JOB, "overlap": Overlap.SKIP, "starts_at": at, "target": target})
    assert (spec.overlap, spec.starts_at, spec.target) == (Overlap.SKIP, at, {"http": {"url": "http://x"}})
    assert read_spec(spec) is spec
    assert read_spec(JobSpec(name="x", schedule="@daily", target=target)).target == spec.target


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("cron_expr", "schedule"),
        ("cron", "schedule"),
        ("rrule", "schedule"),
        ("recurrence_rule", "schedule"),
        ("user_timezone", "timezone"),
        ("tz", "timezone"),
        ("max_delay_minutes", "catch_up_seconds (in seconds)"),
        ("no_overlap", "overlap"),
        ("staleness_threshold", "expires_seconds"),
        ("handler_type", "target.handler"),
        ("maxRetries", "max_retries"),
        ("timezon", "timezone"),
        ("missed_windows", "missed_window"),
    ],
)
def test_an_unknown_field_is_refused_with_the_one_that_is_meant(given: str, meant: str) -> None:
    error = refused(**{given: "x"})
    assert (error.code, error.field, error.hint) == ("unknown_field", given, f"did you mean {meant}?")


def test_an_unknown_field_like_no_other_is_refused_with_the_list() -> None:
    error = refused(zzz=1)
    assert error.hint is not None
    assert error.hint.startswith("known fields: name, schedule, ")


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"priority": "1"}, "bad_type", "priority"),
        ({"priority": True}, "bad_type", "priority"),
        ({"priority": 4}, "out_of_range", "priority"),
        ({"priority": -1}, "out_of_range", "priority"),
        ({"max_retries": -1}, "out_of_range", "max_retries"),
        ({"max_retries": 101}, "out_of_range", "max_retries"),
        ({"timeout_seconds": 0}, "out_of_range", "timeout_seconds"),
        ({"grace_seconds": -5}, "out_of_range", "grace_seconds"),
        ({"max_runs": 0}, "out_of_range", "max_runs"),
        ({"max_runs": 2**40}, "out_of_range", "max_runs"),
        ({"expires_seconds": 0}, "out_of_range", "expires_seconds"),
        ({"retry_backoff": "double"}, "bad_value", "retry_backoff"),
        ({"missed_window": "run_once"}, "bad_value", "missed_window"),
        ({"overlap": True}, "bad_type", "overlap"),
        ({"name": ""}, "empty", "name"),
        ({"name": "x" * 201}, "too_long", "name"),
        ({"name": "j_abc"}, "bad_name", "name"),
        ({"name": "bulk"}, "bad_name", "name"),
        ({"name": " x"}, "bad_name", "name"),
        ({"name": "a\0b"}, "nul_character", "name"),
        ({"name": None}, "bad_type", "name"),
        ({"schedule": 5}, "bad_type", "schedule"),
        ({"starts_at": "tomorrow"}, "bad_time", "starts_at"),
        ({"queue": ""}, "empty", "queue"),
        ({"labels": {"a": 1}}, "bad_type", "labels"),
        ({"labels": {"a\0": "x"}}, "nul_character", "labels"),
        ({"description": "a\0"}, "nul_character", "description"),
        ({"exclude": [5]}, "bad_type", "exclude[0]"),
        ({"payload": {"a": "x\0y"}}, "nul_character", "payload"),
        ({"payload": {"a\0": 1}}, "nul_character", "payload"),
        ({"payload": "x" * LARGEST_PAYLOAD}, "payload_too_large", "payload"),
        ({"target": "x"}, "bad_type", "target"),
        ({"target": {}}, "bad_target", "target"),
        ({"target": {"handler": "a", "http": {"url": "http://x"}}}, "bad_target", "target"),
        ({"target": {"handler": ""}}, "empty", "target.handler"),
        ({"target": {"hander": "x"}}, "unknown_field", "target.hander"),
        ({"target": {"handler": "a", "htpp": None}}, "unknown_field", "target.htpp"),
        ({"target": {"http": {}}}, "missing_field", "target.http.url"),
        ({"target": {"http": {"url": "x", "verb": "GET"}}}, "unknown_field", "target.http.verb"),
        ({"target": {"http": {"url": "ftp://x/y"}}}, "bad_url", "target.http.url"),
        ({"target": {"http": {"url": "http://"}}}, "bad_url", "target.http.url"),
        ({"target": {"http": {"url": "http://x:99999/"}}}, "bad_url", "target.http.url"),
        ({"target": {"http": {"url": "http://x/a b"}}}, "bad_url", "target.http.url"),
        ({"target": {"http": {"url": "http://169.254.169.254/"}}}, "bad_url", "target.http.url"),
        ({"target": {"http": {"url": "http://[fe80::1]/"}}}, "bad_url", "target.http.url"),
        ({"target": {"http": {"url": "http://x", "method": "get"}}}, "bad_value", "target.http.method"),
        (http(headers={"a b": "c"}), "bad_header", "target.http.headers"),
        (http(headers={"a": "c\r\nd"}), "bad_header", "target.http.headers"),
        (http(success_codes=[]), "out_of_range", "target.http.success_codes"),
        ({"idempotency_key_template": "{{wek}}"}, "bad_template", "idempotency_key_template"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_field(fields: dict[str, Any], code: str, field: str) -> None:
    error = refused(**fields)
    assert (error.code, error.field) == (code, field)
    assert "`" not in error.message


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"retry_backoff": "double"}, "use fixed, linear or exponential"),
        ({"max_retries": "3"}, "give a whole number from 0 to 100"),
        ({"max_retries": 101}, "give a whole number from 0 to 100"),
        ({"owner": "x" * 201}, "at most 200"),
        ({"labels": {str(each): "" for each in range(65)}}, "at most 64"),
        ({"starts_at": "soon"}, "write for example 2026-06-08T13:00:00Z"),
        ({"exclude": [5]}, 'write ["2026-12-25", "2026-12-24/2027-01-02"]'),
        ({"labels": {"": "x"}}, 'write {"team": "billing"}'),
        ({"target": {"message": {"broker": "zmq"}}}, "use kafka, mqtt, nats, rabbitmq, redis or sqs"),
        ({"target": {"celery": {"broker": "sqs"}}}, "use rabbitmq or redis"),
        ({"target": {"shell": {"command": "ls"}}}, 'write ["program", "argument"]'),
        (http(mode="later"), "use async or sync"),
        (http(capture="no"), "write true or false"),
    ],
)
def test_a_refusal_says_what_to_write_instead(fields: dict[str, Any], hint: str) -> None:
    assert refused(**fields).hint == hint


def test_brackets_without_end_are_not_json() -> None:
    with pytest.raises(InvalidField, match="nested too deeply") as caught:
        read_spec(b"[" * 100_000)
    assert (caught.value.code, caught.value.field) == ("bad_json", "body")


def test_a_payload_may_have_exactly_the_size_that_is_kept_and_speak_of_nul() -> None:
    largest = "x" * (LARGEST_PAYLOAD - 2)
    assert read_spec({**JOB, "payload": largest}).payload == largest
    assert read_spec({**JOB, "payload": "a literal \\u0000 in the text"}).payload is not None


@pytest.mark.parametrize("data", [b"[]", b"5", b"null"])
def test_a_job_is_an_object(data: bytes) -> None:
    with pytest.raises(InvalidField, match="JSON object") as caught:
        read_spec(data)
    assert (caught.value.code, caught.value.field) == ("bad_type", "body")


@pytest.mark.parametrize("data", [b"", b"{", b'{"name": "\xff"}', b'{"name": NaN}'])
def test_what_is_not_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidField) as caught:
        read_spec(data)
    assert caught.value.code == "bad_json"


@pytest.mark.parametrize("missing", ["name", "schedule"])
def test_name_and_schedule_are_needed(missing: str) -> None:
    with pytest.raises(InvalidField) as caught:
        read_spec({key: value for key, value in JOB.items() if key != missing})
    assert (caught.value.code, caught.value.field) == ("missing_field", missing)


def test_a_payload_that_is_not_json_is_refused() -> None:
    with pytest.raises(InvalidField) as caught:
        read_spec({**JOB, "payload": object()})
    assert (caught.value.code, caught.value.field) == ("bad_payload", "payload")


def test_changes_keep_the_rest_and_null_restores_a_default() -> None:
    spec = read_spec({**JOB, "priority": 0, "payload": {"a": 1}, "starts_at": "2026-07-01T00:00:00Z"})
    changed = read_changes(spec, {"payload": {"b": 2}, "priority": None})
    assert (changed.payload, changed.priority, changed.starts_at) == ({"b": 2}, 2, spec.starts_at)
    with pytest.raises(InvalidField, match="needs a name"):
        read_changes(spec, {"name": None})
    with pytest.raises(InvalidField, match="no field zzz"):
        read_changes(spec, {"zzz": 1})
    with pytest.raises(InvalidField, match="priority is 9"):
        read_changes(spec, {"priority": 9})


def test_a_specification_made_in_code_is_checked_too() -> None:
    with pytest.raises(InvalidField, match="max_retries is -1"):
        read_spec(JobSpec(name="x", schedule="0 9 * * *", max_retries=-1))
