"""Rows by their ids, and as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg
import msgspec

from sexton.model import decode_id
from sexton.refusal import not_found

View = TypeVar("View", bound=msgspec.Struct)


def from_row(view: type[View], row: asyncpg.Record | Mapping[str, Any], **given: Any) -> View:
    """A view of a row: the fields that are `given`, and each other field from the column of its name.

    A field without a column raises `TypeError`, also if it has a default: a statement that lacks a column
    must not show the default as if it were the value."""
    names = _columns(view, tuple(row.keys()), tuple(given))
    return view(**{name: row[name] for name in names}, **given)


@lru_cache(maxsize=1024)
def _columns(view: type[msgspec.Struct], columns: tuple[str, ...], given: tuple[str, ...]) -> tuple[str, ...]:
    """The fields that come from columns. Cached: each statement is checked once, not each row."""
    names = tuple(name for name in view.__struct_fields__ if name not in given)
    if missing := [name for name in names if name not in columns]:
        raise TypeError(
            f"the statement has no column for {', '.join(missing)} of {view.__name__}: add it, or give it"
        )
    return names


def number_of(prefix: str, ref: str, kind: str) -> int:
    """The number in the id of a `kind` of thing. Refuses a text that is no such id: there is no such
    thing."""
    number = decode_id(prefix, ref)
    if number is None:
        raise not_found(kind, ref)
    return number
