"""The console's client has the types of the OpenAPI document."""

from __future__ import annotations

from tests import console_types


def test_the_types_are_not_stale() -> None:
    assert console_types.FILE.read_text("utf-8") == console_types.text(), "run: make console-types"
