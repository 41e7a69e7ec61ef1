"""A lease as its owner sees it: a right that ends by itself unless it is renewed.

The owner trusts it only until a margin before its end, counted on the monotonic clock from the moment before
the renewal was sent: an answer may have been under way for long, and clocks do not run alike on all machines.
"""

from __future__ import annotations

from sexton import clock

# A tenth of the lease; of a short one at least this, for a process may also be paused for a moment.
SHORTEST_MARGIN = 0.25


def trusted_until(before: float, seconds: float) -> float:
    """Until when a lease of so many seconds is trusted, if its renewal was sent at `before`."""
    return before + seconds - max(seconds / 10, SHORTEST_MARGIN)


class Lease:
    """Whether a lease is trusted, and since when it has been without a gap."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.trusted_until = 0.0
        self.steady_since = 0.0

    def renewed(self, before: float) -> None:
        """A renewal that was sent at `before` has succeeded."""
        if before >= self.trusted_until:
            self.steady_since = before
        self.trusted_until = trusted_until(before, self.seconds)

    def lost(self) -> None:
        self.trusted_until = 0.0

    def trusted(self) -> bool:
        return clock.monotonic() < self.trusted_until

    def steady(self, seconds: float) -> bool:
        """Whether it has been renewed without a gap for so long."""
        return self.trusted() and clock.monotonic() - self.steady_since >= seconds
