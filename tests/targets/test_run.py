"""How a handler's end becomes an outcome, and when there is another attempt."""

from __future__ import annotations

import math

import msgspec
import pytest

from sexton.model import Backoff, RetryJitter
from sexton.targets.run import (
    ERROR_LIMIT,
    RESULT_LIMIT,
    Policy,
    backoff,
    clean,
    describe,
    encode_result,
    error_group,
    read_policy,
)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy(), [60, 120, 240, 480, 960, 1920, 3600, 3600]),
        (Policy(retry_backoff=Backoff.LINEAR, retry_base_seconds=10), [10, 20, 30, 40]),
        (Policy(retry_backoff=Backoff.FIXED, retry_base_seconds=5), [5, 5, 5]),
        (Policy(retry_backoff=Backoff.LINEAR, retry_max_seconds=90), [60, 90, 90]),
        (Policy(retry_base_seconds=0), [0, 0]),
    ],
)
def test_backoff_grows_as_the_job_says(policy: Policy, expected: list[float]) -> None:
    assert [backoff(policy, tried) for tried in range(1, len(expected) + 1)] == expected


def test_backoff_after_very_many_attempts_is_the_longest() -> None:
    assert backoff(Policy(), 30_000) == 3600


def test_full_jitter_stays_within_the_delay() -> None:
    delays = [backoff(Policy(retry_jitter=RetryJitter.FULL), 3) for _ in range(200)]
    assert all(0 <= delay <= 240 for delay in delays)
    assert len(set(delays)) > 100


def test_a_policy_is_read_from_the_options_of_a_job() -> None:
    text = (
        '{"max_retries": 0, "retry_backoff": "fixed", "timeout_seconds": 5, "queue": "x", "grace_seconds": 3}'
    )
    assert read_policy(text) == Policy(max_retries=0, retry_backoff=Backoff.FIXED, timeout_seconds=5)


def test_a_result_is_kept_as_json() -> None:
    assert encode_result({"a": [1, "ü"]}) == '{"a":[1,"ü"]}'
    assert encode_result(None) is None
    assert encode_result(math.nan) == "null"


def test_a_result_over_the_cap_leaves_a_note() -> None:
    kept = encode_result("x" * RESULT_LIMIT)
    assert kept is not None
    note = msgspec.json.decode(kept)
    assert note["truncated"] is True
    assert str(RESULT_LIMIT + 2) in note["note"]
    assert len(kept) < 2000
    assert encode_result("x" * (RESULT_LIMIT - 2)) == '"' + "x" * (RESULT_LIMIT - 2) + '"'


@pytest.mark.parametrize("value", ["nul \0 inside", "\ud800", object(), {1j}, {"a": "\0"}])
def test_a_result_that_json_or_postgres_cannot_hold_leaves_a_note(value: object) -> None:
    kept = encode_result(value)
    assert kept is not None
    assert msgspec.json.decode(kept)["truncated"] is True
    assert "\\u0000" not in kept


def test_an_error_is_told_with_the_end_of_its_traceback() -> None:
    def inner() -> None:
        raise ValueError("bad\0value")

    try:
        inner()
    except ValueError as error:
        text = describe(error)
    assert text.startswith("ValueError: bad�value\n")
    assert "inner" in text


def test_a_long_error_is_cut() -> None:
    assert len(describe(ValueError("x" * 100_000))) <= ERROR_LIMIT


def test_an_error_that_cannot_be_told_is_named() -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe(Odd()) == "Odd"


def test_text_is_cleaned_for_postgres() -> None:
    assert clean("a\0b", 10) == "a�b"
    assert clean("a\ud800b", 10) == "a?b"
    assert clean("abcdef", 4) == "abc…"


def test_errors_that_differ_in_numbers_belong_together() -> None:
    one = error_group("TimeoutError: order 1234 of user u-77 took 3.5 s\n\n  File …")
    other = error_group("TimeoutError: order 99 of user u-1 took 12.25 s")
    assert one == other
    assert one != error_group("ValueError: order 99 of user u-1 took 12.25 s")
