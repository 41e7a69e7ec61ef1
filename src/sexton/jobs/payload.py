"""Payloads: JSON of any shape and limited size."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sexton.errors import InvalidField
from sexton.postgres.transaction import Context

LARGEST_PAYLOAD = 256 * 1024


def check_payload_size(context: Context, payload: Any, limit: int | None, field: str = "payload") -> None:
    """Refuse a payload that is larger than its namespace allows."""
    if limit is None or payload is None:
        return
    size = len(encode_payload(payload, field).encode())
    if size > limit:
        raise InvalidField(
            "payload_too_large",
            f"the {field} has {size:,} bytes as JSON, and the namespace {context.namespace} allows {limit:,}",
            field=field,
            hint="store the data elsewhere and pass a reference, or ask an admin for a larger payload_bytes",
        )


def encode_payload(payload: Any, field: str = "payload") -> str:
    """The payload as JSON text for the database."""
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
