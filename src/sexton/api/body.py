"""The body of an answer, encoded."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from sexton import clock
from sexton.refusal import about

# How many items of a list are encoded at a time.
SLICE = 50


class ServerSentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a stream, as browsers read them."""

    event: Annotated[str, about("What kind of event it is.")]
    data: Annotated[str, about("JSON.")]
    id: Annotated[str | None, about("For `Last-Event-ID`.")] = None


async def encoded(body: Any) -> bytes:
    """Encode an answer. A list is encoded in slices, so that other tasks can run in between: an encoder in a
    thread would hold the interpreter's lock as long."""
    if body is None or isinstance(body, bytes):
        return body or b""
    if not isinstance(body, list) or len(body) <= SLICE:
        return msgspec.json.encode(body)
    parts = []
    for start in range(0, len(body), SLICE):
        parts.append(msgspec.json.encode(body[start : start + SLICE])[1:-1])
        await clock.sleep(0)
    return b"[" + b",".join(parts) + b"]"
