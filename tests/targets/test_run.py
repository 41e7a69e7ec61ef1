"""What an error becomes."""

from __future__ import annotations

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
