"""Devices receive push messages. A recipient can have several, and a message goes to each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from sexton.notifications.channels.base import Accepted, Deferred, Failed, Rejected, SendResult, Unclear

# The result of a message if its devices differ: the first kind in this order. It is accepted if one device
# has it.
ORDER = (Accepted, Unclear, Failed, Deferred, Rejected)


def device_key(key: str, device: Mapping[str, Any]) -> str:
    """The key of a message for one device; it does not depend on the other devices."""
    text = msgspec.json.encode(device, order="deterministic")
    return f"{key}.{sha256(text).hexdigest()[:12]}"


def join_devices(results: Sequence[SendResult]) -> tuple[int, str | None]:
    """The place of the result that counts for the message, and a note about the others."""
    places = sorted(range(len(results)), key=lambda place: ORDER.index(type(results[place])))
    first = places[0]
    others = [results[place] for place in places if type(results[place]) is not type(results[first])]
    if not others:
        return first, None
    alike = len(results) - len(others)
    reasons = "; ".join(dict.fromkeys(getattr(each, "reason", "") for each in others))
    return first, f"{alike} of {len(results)} devices; the others: {reasons}"
