"""What an error becomes."""

from __future__ import annotations

from sexton.config import load
from sexton.errors import InvalidField
from sexton.targets.run import ERROR_LIMIT, clean, describe


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
