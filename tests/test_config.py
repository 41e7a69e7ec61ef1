"""Settings: where they come from, and which ones cannot work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sexton.config import Settings, load, misspelt
from sexton.errors import InvalidField


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"lease_seconds": 4, "renew_seconds": 3}, "renew_seconds", "half of lease_seconds (4)"),
        (
            {"worker_lease_seconds": 15, "heartbeat_seconds": 8},
            "heartbeat_seconds",
            "half of worker_lease_seconds (15)",
        ),
        ({"horizon_seconds": 60}, "refill_seconds", "half of horizon_seconds (60)"),
        ({"lease_seconds": 0.9, "renew_seconds": 0.3}, "lease_seconds", "at least 1"),
        ({"worker_lease_seconds": 0.9, "heartbeat_seconds": 0.1}, "worker_lease_seconds", "at least 1"),
        ({"horizon_seconds": 7200}, "horizon_seconds", "at most 3600"),
        ({"poll_seconds": 61}, "poll_seconds", "at most 60"),
        ({"poll_seconds": 0}, "poll_seconds", "more than 0"),
        ({"sweep_seconds": -1}, "sweep_seconds", "more than 0"),
        ({"batch_size": 50_001}, "batch_size", "at most 50000"),
        ({"claim_size": 0}, "claim_size", "more than 0"),
        ({"concurrency": 0}, "concurrency", "more than 0"),
        ({"grace_seconds": -1}, "grace_seconds", "at least 0"),
        ({"egress_private": "maybe"}, "egress_private", "allow, refuse or auto"),
        ({"http_per_host": -1}, "http_per_host", "at least 0"),
        ({"http_rate_per_host": -0.5}, "http_rate_per_host", "at least 0"),
        ({"http_breaker_failures": -1}, "http_breaker_failures", "at least 0"),
        ({"http_breaker_seconds": 0}, "http_breaker_seconds", "more than 0"),
        ({"retention_days": 0}, "retention_days", "more than 0"),
        ({"catch_up_rate": 0}, "catch_up_rate", "more than 0"),
        ({"statement_timeout_seconds": 0}, "statement_timeout_seconds", "more than 0"),
        ({"shards": 0}, "shards", "more than 0"),
        ({"shards": 4097}, "shards", "at most 4096"),
        ({"workers": 0}, "workers", "at least 1"),
        ({"port": 65536}, "port", "0 to 65535"),
        ({"schema": "Sexton"}, "schema", "lower-case"),
        ({"roles": "scheduler,cook"}, "roles", "no role 'cook'"),
        ({"roles": ""}, "roles", "no role ''"),
        ({"queues": "mail,,default"}, "queues", "not the name of a queue"),
        ({"queues": "mail,*"}, "queues", "not the name of a queue"),
        ({"queues": "q" * 101}, "queues", "not the name of a queue"),
        ({"namespace": "Billing"}, "namespace", "not the name of a namespace"),
        ({"namespaces": "a,,b"}, "namespaces", "not the name of a namespace"),
        ({"namespaces": "a,*"}, "namespaces", "not the name of a namespace"),
        ({"database_url": "mysql://host/x"}, "database_url", "not the address of a PostgreSQL"),
        ({"replica_url": "replica"}, "replica_url", "not the address of a PostgreSQL"),
        (
            {"database_url": "postgresql://a/x", "replica_url": "postgresql://a/x"},
            "replica_url",
            "another server than database_url",
        ),
        ({"database_url": "postgresql://host:port/x"}, "database_url", "not the address of a PostgreSQL"),
    ],
)
def test_what_cannot_work_is_refused_with_its_name(given: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidField) as refused:
        load(given, environment={}, file=Path("/nowhere"))
    assert refused.value.field == field
    assert words in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("given", "environment", "field", "words"),
    [
        ({"lease_second": 5}, {}, "lease_second", "did you mean lease_seconds?"),
        ({}, {"SEXTON_LEASE_SECONDS": "soon"}, "lease_seconds", "give a number: SEXTON_LEASE_SECONDS"),
        ({"shards": 1.5}, {}, "shards", "give a whole number: SEXTON_SHARDS, shards in sexton.toml"),
        ({"data": 5}, {}, "data", "change it: SEXTON_DATA"),
        ({"port": -1}, {}, "port", "change SEXTON_PORT, port in sexton.toml, or the option"),
    ],
)
def test_a_refusal_says_where_to_change_what(
    given: dict[str, Any], environment: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(InvalidField) as refused:
        load(given, environment=environment, file=Path("/nowhere"))
    assert refused.value.field == field
    assert words in str(refused.value.hint)


def test_the_defaults_work() -> None:
    found = load({}, environment={}, file=Path("/nowhere"))
    assert found == Settings()
    assert found.role_names() == ["api", "scheduler", "worker"]
    assert found.queue_names() is None


def test_roles_and_queues_are_read_in_any_order_and_once() -> None:
    found = load({"roles": "worker, api,worker", "queues": " mail, default,mail"}, environment={})
    assert found.role_names() == ["api", "worker"]
    assert found.queue_names() == ["mail", "default"]


def test_a_worker_serves_all_namespaces_unless_told_otherwise() -> None:
    assert load({}, environment={}).namespace_names() is None
    assert load({"namespaces": "*"}, environment={}).namespace_names() is None
    found = load({}, environment={"SEXTON_NAMESPACES": "b, a,b", "SEXTON_NAMESPACE": "a"})
    assert (found.namespace, found.namespace_names()) == ("a", ["b", "a"])


def test_what_is_given_wins_over_the_environment_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "sexton.toml"
    file.write_text('concurrency = 1\nqueues = "a"\nport = 1\n', encoding="utf-8")
    found = load({"port": 3}, environment={"SEXTON_QUEUES": "b", "SEXTON_PORT": "2"}, file=file)
    assert (found.concurrency, found.queues, found.port) == (1, "b", 3)


def test_a_variable_that_is_nearly_a_setting_is_noticed() -> None:
    given = {
        "SEXTON_CONCURENCY": "5",
        "SEXTON_CONCURRENCY": "5",
        "SEXTON_API_KEY": "k",
        "SEXTON_OF_MINE": "1",
    }
    assert misspelt(given) == {"SEXTON_CONCURENCY": "SEXTON_CONCURRENCY"}
