"""Rows by their ids, and as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import asyncpg
import msgspec

from sexton.model import decode_id
from sexton.refusal import not_found

View = TypeVar("View", bound=msgspec.Struct)


def from_row(view: type[View], row: asyncpg.Record | Mapping[str, Any], **given: Any) -> View:
    """A view of a row: the fields that are `given`, and each other field from the column of its name."""
    same = {name: row[name] for name in view.__struct_fields__ if name not in given and name in row}
    return view(**same, **given)


def number_of(prefix: str, ref: str, kind: str) -> int:
    """The number in the id of a `kind` of thing. Refuses a text that is no such id: there is no such
    thing."""
    number = decode_id(prefix, ref)
    if number is None:
        raise not_found(kind, ref)
    return number
