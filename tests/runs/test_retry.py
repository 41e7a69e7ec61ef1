"""When a run is tried again after an attempt that failed, and which errors belong together."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sexton.jobs.stored import attempt_policy
from sexton.model import Backoff, RetryJitter
from sexton.runs.retry import backoff, error_group
from sexton.targets.run import AttemptPolicy


def policy(**options: Any) -> AttemptPolicy:
    return attempt_policy(msgspec.json.encode(options).decode())


def test_a_policy_is_read_from_the_options_of_a_job() -> None:
    read = policy(max_retries=0, retry_backoff="fixed", timeout_seconds=5, queue="x", grace_seconds=3)
    assert (read.max_retries, read.retry_backoff, read.timeout_seconds) == (0, Backoff.FIXED, 5)
    assert (read.retry_base_seconds, read.retry_jitter) == (60, RetryJitter.NONE)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (policy(), [60, 120, 240, 480, 960, 1920, 3600, 3600]),
        (policy(retry_backoff=Backoff.LINEAR, retry_base_seconds=10), [10, 20, 30, 40]),
        (policy(retry_backoff=Backoff.FIXED, retry_base_seconds=5), [5, 5, 5]),
        (policy(retry_backoff=Backoff.LINEAR, retry_max_seconds=90), [60, 90, 90]),
        (policy(retry_base_seconds=0), [0, 0]),
    ],
)
def test_backoff_grows_as_the_job_says(given: AttemptPolicy, expected: list[float]) -> None:
    assert [backoff(given, tried) for tried in range(1, len(expected) + 1)] == expected


def test_backoff_after_very_many_attempts_is_the_longest() -> None:
    assert backoff(policy(), 30_000) == 3600


def test_full_jitter_stays_within_the_delay() -> None:
    delays = [backoff(policy(retry_jitter=RetryJitter.FULL), 3) for _ in range(200)]
    assert all(0 <= delay <= 240 for delay in delays)
    assert len(set(delays)) > 100


def test_errors_that_differ_in_numbers_belong_together() -> None:
    one = error_group("TimeoutError: order 1234 of user u-77 took 3.5 s\n\n  File …")
    other = error_group("TimeoutError: order 99 of user u-1 took 12.25 s")
    assert one == other
    assert one != error_group("ValueError: order 99 of user u-1 took 12.25 s")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP 500: order 12", "HTTP 404: order 12"),
        ("exit code 1: line 3", "exit code 127: line 3"),
        ("signal 9", "signal 15"),
        ("OSError: [Errno 111] refused", "OSError: [Errno 113] refused"),
    ],
)
def test_a_status_is_part_of_the_cause(one: str, other: str) -> None:
    assert error_group(one) != error_group(other)
    assert error_group(one.replace("12", "77").replace("line 3", "line 4")) == error_group(one)


def test_a_long_number_is_no_status() -> None:
    assert error_group("status 12345 of 1.5") == error_group("status 999-88 of 2.5") == "status # of #.#"
