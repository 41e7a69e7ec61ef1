"""What is kept of a handler's result."""

from __future__ import annotations

import math

import msgspec
import pytest

from sexton.runs.outcomes import RESULT_LIMIT, encode_result


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
