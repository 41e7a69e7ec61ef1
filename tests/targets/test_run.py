"""What an error becomes."""

from __future__ import annotations

import pytest

from sexton.config import load
from sexton.errors import InvalidField
from sexton.model import Cancel, Failure
from sexton.targets.detached import Detached
from sexton.targets.run import ERROR_LIMIT, RunContext, Stop, clean, describe, execute


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
            raise SystemExit

    assert describe(Odd()) == "Odd"


def test_a_group_is_told_with_what_it_consists_of() -> None:
    def wrong(text: str) -> Exception:
        try:
            raise ValueError(text)
        except ValueError as error:
            return error

    inner = ExceptionGroup("inner", [wrong("two"), wrong("three")])
    text = describe(ExceptionGroup("outer", [wrong("one"), inner]))
    assert text.splitlines()[0] == (
        "ExceptionGroup: outer (2 sub-exceptions): ValueError: one; "
        "ExceptionGroup: inner (2 sub-exceptions): ValueError: two; ValueError: three"
    )
    assert text.count("in wrong") == 3


def test_of_a_large_group_a_part_is_told() -> None:
    text = describe(ExceptionGroup("many", [ValueError(str(number)) for number in range(1000)]))
    assert "ValueError: 0" in text
    assert "ValueError: 999" not in text


async def test_a_stop_iteration_of_a_coroutine_is_told_as_what_it_was() -> None:
    async def ends() -> None:
        raise StopIteration("the last")

    with pytest.raises(RuntimeError) as caught:
        await ends()
    assert describe(caught.value).startswith("StopIteration: the last\n")


async def test_what_a_stopped_run_raises_does_not_hide_why_it_was_stopped() -> None:
    async def step(run: RunContext) -> None:
        run.stop = why
        raise ValueError("while it cleaned up")

    detached = Detached()
    why: Stop = "timeout"
    outcome = await execute(detached.run("{}", None, 3), step)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "timeout"
    assert outcome.error.startswith(
        "timeout: it was stopped after 3 seconds, and then raised ValueError: while it cleaned up\n"
    )
    why = "cancel"
    assert await execute(detached.run("{}", None, 3), step) == Cancel("cancelled")
    why = "shutdown"
    assert await execute(detached.run("{}", None, 3), step) is None


def test_text_is_cleaned_for_postgres() -> None:
    assert clean("a\0b", 10) == "a�b"
    assert clean("a\ud800b", 10) == "a?b"
    assert clean("abcdef", 4) == "abc…"


def test_a_traceback_begins_with_the_users_code_even_if_it_is_long() -> None:
    def even(depth: int) -> None:
        if depth:
            odd(depth - 1)
        else:
            load({"no_such_setting": 1})

    def odd(depth: int) -> None:
        even(depth - 1)

    try:
        even(30)
    except InvalidField as error:
        lines = describe(error).splitlines()
    assert lines[2].endswith("in test_a_traceback_begins_with_the_users_code_even_if_it_is_long")
    assert "  …" in lines
    assert any('load({"no_such_setting"' in line for line in lines[-2:])
