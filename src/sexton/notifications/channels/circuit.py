"""A circuit breaker for a provider. The caller gives the time.

After a number of failures in a row the circuit opens for a while: no message is tried, and no attempt is
counted. Then one message is sent as a probe, and its result closes the circuit or opens it again.
"""

from __future__ import annotations

from sexton.notifications.channels.base import Accepted, Deferred, Failed, Rejected, SendResult, Unclear

THRESHOLD = 10
PAUSE_SECONDS = 30.0
LONGEST_PAUSE = 3600.0


class ProviderCircuit:
    def __init__(self, threshold: int = THRESHOLD, pause_seconds: float = PAUSE_SECONDS) -> None:
        self.threshold = threshold
        self.pause_seconds = pause_seconds
        self.failures = 0
        self.open_until = 0.0
        self.reason = ""

    def left(self, now: float) -> float:
        """The seconds until the circuit allows a try."""
        return max(0.0, self.open_until - now)

    @property
    def probing(self) -> bool:
        """Whether the next message is a probe."""
        return self.open_until > 0

    def open(self, now: float, seconds: float, reason: str) -> None:
        self.open_until = max(self.open_until, now + min(seconds, LONGEST_PAUSE))
        self.reason = reason

    def close(self) -> None:
        self.failures, self.open_until, self.reason = 0, 0.0, ""

    def note(self, results: list[SendResult], now: float) -> bool:
        """Update the circuit with results, in order. Returns whether they opened it. Failures after that are
        replaced by `Deferred` in the list, because these messages were certainly not sent."""
        opened = False
        if results and all(type(result) is Accepted for result in results):
            self.close()
            return False
        for place, result in enumerate(results):
            match result:
                case Accepted() | Rejected():
                    if not opened:
                        self.close()
                case Failed(reason=reason, ours=False):
                    if opened:
                        results[place] = Deferred(self.reason, self.left(now))
                        continue
                    self.failures += 1
                    if self.threshold and (self.probing or self.failures >= self.threshold):
                        self.open(now, self.pause_seconds, f"{self.failures} failures in a row: {reason}")
                        opened = True
                case Deferred(reason=reason, seconds=seconds) if not opened:
                    # The provider asks for a pause.
                    self.open(now, seconds, reason)
                    opened = True
                case Failed() | Unclear() | Deferred():
                    pass
        return opened
