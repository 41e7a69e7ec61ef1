"""A lease as its owner sees it: it ends unless the owner renews it.

The owner trusts it only until a margin before its end, counted on the monotonic clock from the moment before
it sent the renewal: an answer may take long, and the clocks of machines run at different speeds.
"""

from __future__ import annotations

from sexton import clock

# The margin is a tenth of the lease, but at least this: a process may also pause for a moment.
SHORTEST_MARGIN = 0.25


def trusted_until(before: float, seconds: float) -> float:
    """Until when to trust a lease of so many seconds whose renewal was sent at `before`."""
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
