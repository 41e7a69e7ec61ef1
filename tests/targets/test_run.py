"""What a run's policy is read from, and what an error becomes."""

from __future__ import annotations

from sexton.model import Backoff
from sexton.targets.run import ERROR_LIMIT, AttemptPolicy, clean, describe, read_policy


def test_a_policy_is_read_from_the_options_of_a_job() -> None:
    text = (
        '{"max_retries": 0, "retry_backoff": "fixed", "timeout_seconds": 5, "queue": "x", "grace_seconds": 3}'
    )
    assert read_policy(text) == AttemptPolicy(max_retries=0, retry_backoff=Backoff.FIXED, timeout_seconds=5)


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
