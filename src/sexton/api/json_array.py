"""Very many items as one JSON array, written as they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

MEDIA_TYPE = "application/json"


async def json_array(parts: AsyncIterator[Sequence[Any]]) -> AsyncIterator[bytes]:
    """The items of all parts, each on a line of its own."""
    mark = b"[\n"
    async for part in parts:
        if part:
            yield mark + b",\n".join(msgspec.json.encode(item) for item in part)
            mark = b",\n"
    yield b"[]\n" if mark == b"[\n" else b"\n]\n"
