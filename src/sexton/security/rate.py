"""How many requests a caller may send: a token bucket for each caller, in the memory of the process.

A bucket holds the requests of `BURST_SECONDS` and fills steadily. It costs no statement. Each process that
serves the API has its own buckets: a caller that spreads its requests over three processes may send three
times as many.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

from sexton import clock

# The requests of so many seconds may come at once after a pause.
BURST_SECONDS = 5.0
# Callers that are remembered; the one that was silent longest is forgotten first, and then has a full bucket.
MOST_CALLERS = 10_000


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request is allowed, and how many are left. A full bucket has `quota` requests, and takes
    `window_seconds` to fill."""

    policy: str
    allowed: bool
    quota: int
    window_seconds: int
    left: int
    #: Until the bucket is full again, and until it holds one request.
    full_seconds: int
    next_seconds: int

    def headers(self) -> dict[str, str]:
        """The fields of draft-ietf-httpapi-ratelimit-headers-10; and when to try again, if it is refused."""
        told = {
            "RateLimit-Policy": f'"{self.policy}";q={self.quota};w={self.window_seconds}',
            "RateLimit": f'"{self.policy}";r={self.left};t={self.full_seconds}',
        }
        return told if self.allowed else {**told, "Retry-After": str(self.next_seconds)}


class Buckets:
    """One bucket for each caller. `rate` is in requests per second; 0: no limit."""

    def __init__(self, policy: str, rate: float) -> None:
        self._policy = policy
        self._rate = rate
        #: By caller: how much was in its bucket, and when.
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, rate: float | None = None) -> Allowance | None:
        """Count a request of this caller; None: the caller has no limit. `rate` is the caller's own."""
        rate = self._rate if rate is None else rate
        if rate <= 0:
            return None
        quota, now = burst_of(rate), clock.monotonic()
        level, at = self._levels.pop(caller, (float(quota), now))
        level = min(float(quota), level + (now - at) * rate)
        allowed = level >= 1
        level -= allowed
        self._levels[caller] = level, now
        if len(self._levels) > MOST_CALLERS:
            self._levels.popitem(last=False)
        return Allowance(
            self._policy,
            allowed,
            quota,
            math.ceil(quota / rate),
            int(level),
            math.ceil((quota - level) / rate),
            max(1, math.ceil((1 - level) / rate)),
        )


def burst_of(rate: float) -> int:
    """How many requests a full bucket holds."""
    return max(1, round(rate * BURST_SECONDS))
