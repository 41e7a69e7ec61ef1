"""Long lists are cut into pages. A page ends with a cursor that names the last row shown, so that rows which
arrive meanwhile move nothing."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Generic, TypeVar

import msgspec

from sexton.errors import InvalidField

MOST_ROWS = 1000

Item = TypeVar("Item")


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Some rows, and the cursor that asks for the next page; None at the end."""

    items: list[Item]
    cursor: str | None = None


def encode_cursor(*place: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).rstrip(b"=").decode()


def decode_cursor(cursor: str, *types: Any) -> tuple[Any, ...]:
    """The place that a cursor names, or a refusal if we did not make it."""
    try:
        place = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
        return msgspec.json.decode(place, type=tuple[types])  # type: ignore[valid-type]
    except (msgspec.MsgspecError, binascii.Error, UnicodeError, ValueError) as error:
        raise InvalidField(
            "bad_cursor",
            "this cursor is not one that was given out",
            field="cursor",
            hint='follow the Link header with rel="next"',
        ) from error
