"""Payloads: JSON of any shape, not too much of it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sexton.errors import InvalidField

LARGEST_PAYLOAD = 256 * 1024


def encode_payload(payload: Any, field: str = "payload") -> str:
    """A payload as the JSON that is stored."""
    try:
        encoded = msgspec.json.encode(payload)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidField(
            "bad_payload",
            f"the {field} is not JSON: {error}",
            field=field,
            hint="use objects, lists, text, numbers",
        ) from None
    if len(encoded) > LARGEST_PAYLOAD:
        raise InvalidField(
            "payload_too_large",
            f"the {field} has {len(encoded):,} bytes as JSON",
            field=field,
            hint=f"at most {LARGEST_PAYLOAD:,} are kept: store the data elsewhere and pass a reference",
        )
    if b"u0000" in encoded and re.search(rb"(?<!\\)(?:\\\\)*\\u0000", encoded):
        raise InvalidField(
            "nul_character", f"the {field} contains a NUL character", field=field, hint="remove it"
        )
    return encoded.decode()
