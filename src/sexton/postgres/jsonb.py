"""Columns of jsonb: PostgreSQL takes and gives them as text."""

from __future__ import annotations

from typing import Any

import msgspec


def json_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def json_or_null(value: Any) -> str | None:
    """The same, but None becomes the null of SQL, not that of JSON."""
    return None if value is None else json_text(value)


def json_value(column: Any) -> Any:
    """The value of a column: from its text, or as it is if it is none."""
    return msgspec.json.decode(column) if isinstance(column, str) else column
