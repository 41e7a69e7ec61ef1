"""How far ahead of its free slots a worker claims: a few hundredths of a second of work.

It depends on how fast the worker was recently, and is 0 while its handlers are slow.
"""

from __future__ import annotations

from collections.abc import Callable

AHEAD_SECONDS = 0.05


class Pace:
    """The claimer sets `more`: there was more to claim than room."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.ahead = 0
        self.more = False
        #: Called when there is room again and there was more to claim. The claimer sets it.
        self.on_room: Callable[[], None] = lambda: None
        #: Called with the seconds until a run that was put back may be claimed again. The claimer sets it.
        self.on_return: Callable[[float], None] = lambda seconds: None

    def room_again(self) -> None:
        if self.more:
            self.on_room()

    def measured(self, runs: int, seconds: float) -> None:
        """The worker has carried out so many runs in this time. This says something only if there was more to
        claim."""
        if self.more:
            wanted = runs / max(seconds, 0.001) * AHEAD_SECONDS
            self.ahead = int(min(self.most, (self.ahead + wanted) / 2))

    def slow_down(self) -> None:
        self.ahead = 0
