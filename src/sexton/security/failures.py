"""Counts failures of callers, such as wrong keys and sign-ins, so that the API can slow such callers down."""

from __future__ import annotations

from collections import OrderedDict

from sexton import clock

MINUTE = 60.0
# Addresses that are remembered; the one that was silent longest is forgotten first.
MOST_ADDRESSES = 10_000


class Failures:
    """How many failures came within a minute of the first: from each address, and in all."""

    def __init__(self, most: int, altogether: int | None = None) -> None:
        self._most = most
        self._altogether = altogether
        #: By address: when its minute began, and how many came since.
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._all = (float("-inf"), 0)

    def note(self, address: str) -> int:
        """Count a failure; returns how many this address has had."""
        now = clock.monotonic()
        began, count = _within_minute(self._counts.pop(address, (now, 0)), now)
        self._counts[address] = began, count + 1
        if len(self._counts) > MOST_ADDRESSES:
            self._counts.popitem(last=False)
        began, together = _within_minute(self._all, now)
        self._all = began, together + 1
        return count + 1

    def too_many(self, address: str) -> bool:
        """Whether this address, or all addresses together, have had too many."""
        now = clock.monotonic()
        _, count = _within_minute(self._counts.get(address, (now, 0)), now)
        _, together = _within_minute(self._all, now)
        return count > self._most or (self._altogether is not None and together > self._altogether)


def _within_minute(known: tuple[float, int], now: float) -> tuple[float, int]:
    return (now, 0) if now - known[0] >= MINUTE else known
