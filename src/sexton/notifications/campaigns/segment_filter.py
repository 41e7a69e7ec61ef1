"""Compiles filters on recipients from JSON to jsonpath, which PostgreSQL evaluates.

    {"all": [{"field": "country", "in": ["DE", "AT"]}, {"not": {"field": "plan", "is": "free"}}]}

A field is one of the recipient's own (`user_id`, `email`, `phone`, `timezone`, `locale`) or the name of a
custom field, with dots for what is inside of it. Pure: no database here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sexton.errors import InvalidField

OWN_FIELDS = ("user_id", "email", "phone", "timezone", "locale")
DEEPEST = 8
MOST_CONDITIONS = 200
MOST_VALUES = 1000
EXAMPLE = '{"field": "country", "is": "DE"}'


def compile_filter(given: Any, field: str = "filter") -> str:
    """The jsonpath predicate of a filter, or `InvalidField`."""
    left = [MOST_CONDITIONS]
    return _compile(given, field, DEEPEST, left)


def _compile(given: Any, field: str, depth: int, left: list[int]) -> str:
    left[0] -= 1
    if depth == 0 or left[0] < 0:
        raise InvalidField(
            "too_many",
            "the filter is too large",
            field=field,
            hint=f"at most {MOST_CONDITIONS} conditions, {DEEPEST} levels deep",
        )
    if not isinstance(given, Mapping) or not given:
        raise _refused(field, "is not a condition")
    for word, joint in (("all", " && "), ("any", " || ")):
        if word in given:
            _only(given, (word,), field)
            parts = given[word]
            if not isinstance(parts, list) or not parts:
                raise _refused(f"{field}.{word}", "is not a list of conditions")
            inner = [
                _compile(each, f"{field}.{word}[{place}]", depth - 1, left)
                for place, each in enumerate(parts)
            ]
            return f"({joint.join(inner)})"
    if "not" in given:
        _only(given, ("not",), field)
        return f"!({_compile(given['not'], f'{field}.not', depth - 1, left)})"
    if "has" in given:
        _only(given, ("has",), field)
        return f"exists({_path(given['has'], f'{field}.has')})"
    return _condition(given, field)


def _condition(given: Mapping[str, Any], field: str) -> str:
    if "field" not in given:
        raise _refused(field, "names no field")
    path = _path(given["field"], f"{field}.field")
    tests = [name for name in given if name != "field"]
    if len(tests) != 1 or tests[0] not in TESTS:
        raise InvalidField(
            "bad_filter",
            f"{field} has the tests {', '.join(tests) or 'none'}",
            field=field,
            hint=f"give one of {', '.join(TESTS)}, such as {EXAMPLE}",
        )
    [test] = tests
    return TESTS[test](path, given[test], f"{field}.{test}")


def _path(name: Any, field: str) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or any(not part for part in name.split(".")):
        raise InvalidField("bad_filter", f"{field} is not a field", field=field, hint="such as country")
    if name in OWN_FIELDS:
        return f"$.{name}"
    inner = name.removeprefix("fields.")
    return "$.fields." + ".".join(_text(part) for part in inner.split("."))


def _equal(path: str, value: Any, field: str) -> str:
    if value is None:
        return f"({path} == null || !exists({path}))"
    return f"{path} == {_scalar(value, field)}"


def _any_of(path: str, value: Any, field: str) -> str:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_VALUES:
        raise InvalidField(
            "bad_filter", f"{field} is not a list of values", field=field, hint=f"1 to {MOST_VALUES} values"
        )
    parts = [f"{path} == {_scalar(each, f'{field}[{place}]')}" for place, each in enumerate(value)]
    return f"({' || '.join(parts)})"


def _compared(sign: str) -> Callable[[str, Any, str], str]:
    return lambda path, value, field: f"{path} {sign} {_scalar(value, field)}"


def _begins(path: str, value: Any, field: str) -> str:
    return f"{path} starts with {_string(value, field)}"


def _contains(path: str, value: Any, field: str) -> str:
    # In lax mode a path looks into an array by itself: "tags contains vip" is meant either way.
    return f'({path} == {_string(value, field)} || {path} like_regex {_string(value, field)} flag "q")'


def _exists(path: str, value: Any, field: str) -> str:
    if not isinstance(value, bool):
        raise InvalidField("bad_filter", f"{field} is {value!r}", field=field, hint="write true or false")
    return f"exists({path})" if value else f"!exists({path})"


def _negated(test: Callable[[str, Any, str], str]) -> Callable[[str, Any, str], str]:
    return lambda path, value, field: f"!({test(path, value, field)})"


TESTS: dict[str, Callable[[str, Any, str], str]] = {
    "is": _equal,
    "is_not": _negated(_equal),
    "in": _any_of,
    "not_in": _negated(_any_of),
    "above": _compared(">"),
    "at_least": _compared(">="),
    "below": _compared("<"),
    "at_most": _compared("<="),
    "begins_with": _begins,
    "contains": _contains,
    "exists": _exists,
}


def _scalar(value: Any, field: str) -> str:
    match value:
        case str():
            return _text(value)
        case bool() | int() | float():
            return msgspec.json.encode(value).decode()
        case _:
            raise InvalidField(
                "bad_filter", f"{field} is {value!r}", field=field, hint="give text, a number, true or false"
            )


def _string(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidField("bad_filter", f"{field} is {value!r}", field=field, hint="give text")
    return _text(value)


def _text(value: str) -> str:
    """A string of jsonpath: as in JSON."""
    if "\0" in value or len(value) > 1000:
        raise InvalidField(
            "bad_filter",
            "a text in the filter is too long, or contains the character U+0000",
            field="filter",
            hint="at most 1000 characters",
        )
    return msgspec.json.encode(value).decode()


def _only(given: Mapping[str, Any], names: tuple[str, ...], field: str) -> None:
    if extra := [name for name in given if name not in names]:
        raise InvalidField(
            "bad_filter",
            f"{field} has both {names[0]} and {extra[0]}",
            field=field,
            hint="put both into one list of all or any",
        )


def _refused(field: str, what: str) -> InvalidField:
    return InvalidField(
        "bad_filter", f"{field} {what}", field=field, hint=f"such as {EXAMPLE}, or all, any, not, has"
    )
