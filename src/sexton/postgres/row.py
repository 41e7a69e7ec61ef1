"""Rows as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import asyncpg
import msgspec

View = TypeVar("View", bound=msgspec.Struct)


def from_row(view: type[View], row: asyncpg.Record | Mapping[str, Any], **given: Any) -> View:
    """A view of a row: what is `given`, and each other field from the column of its name."""
    same = {name: row[name] for name in view.__struct_fields__ if name not in given and name in row}
    return view(**same, **given)
