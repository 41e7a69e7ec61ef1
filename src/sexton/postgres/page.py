"""Long lists come in pages. A page ends with a cursor that names its last row, so that new rows move
nothing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from sexton.errors import InvalidField
from sexton.model import decode_id
from sexton.postgres.estimate import Total
from sexton.refusal import aware

MOST_ROWS = 1000
# A page ends after so many bytes of JSON, even with few rows: payloads and results can be large.
MOST_BYTES = 4 * 1024 * 1024

# Texts are in the order of their bytes: a prefix with this behind it comes after all texts with the prefix.
LAST_CHARACTER = "\U0010ffff"

Item = TypeVar("Item")
# The number of a row in a cursor.
Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Some rows, and the cursor that asks for the next page; None at the end. `total` is how many there are,
    where it has cost nothing to count them."""

    items: list[Item]
    cursor: str | None = None
    total: Total | None = None


def make_page(found: Sequence[tuple[str, Item]], limit: int) -> Page[Item]:
    """A page of rows, each with its cursor. The caller has fetched one row more than the limit. The page has
    at least one row, and no more bytes than a page may have."""
    items: list[Item] = []
    size = 0
    for _, item in found[:limit]:
        size += len(msgspec.json.encode(item))
        if items and size > MOST_BYTES:
            break
        items.append(item)
    return Page(items, found[len(items) - 1][0] if len(items) < len(found) else None)


def encode_cursor(*place: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def decode_cursor(cursor: str, *forms: Any) -> tuple[Any, ...]:
    """The place that a cursor names, in one of these forms of different lengths. Refuses a cursor that we did
    not make."""
    try:
        text = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
        parts = msgspec.json.decode(text, type=list[Any])
        [form] = [each for each in forms if len(each.__args__) == len(parts)]
        place: tuple[Any, ...] = msgspec.convert(parts, form)
        for part in place:
            if isinstance(part, datetime):
                aware(part, "cursor")
        return place
    except (msgspec.MsgspecError, binascii.Error, UnicodeError, ValueError, InvalidField) as error:
        raise _not_given_out("cursor") from error


def number_in_cursor(cursor: str, prefix: str, field: str = "cursor") -> int:
    """The number in a cursor that is the id of the last row shown."""
    number = decode_id(prefix, cursor)
    if number is None:
        raise _not_given_out(field)
    return number


def _not_given_out(field: str) -> InvalidField:
    return InvalidField(
        "bad_cursor",
        "this server did not make this cursor",
        field=field,
        hint='follow the Link header with rel="next"; in Python, pass on the cursor of the page before',
    )
