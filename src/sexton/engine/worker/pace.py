"""How far ahead of its free slots a worker claims: a few hundredths of a second of work.

It follows from how fast the worker has been lately, and is nothing at all while its handlers are slow.
"""

from __future__ import annotations

from collections.abc import Callable

AHEAD_SECONDS = 0.05


class Pace:
    """`more` is set by the claimer: there was more to claim than there was room for."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.ahead = 0
        self.more = False
        #: Called when there is room again and there was more. The claimer sets it.
        self.on_room: Callable[[], None] = lambda: None

    def room_again(self) -> None:
        if self.more:
            self.on_room()

    def measured(self, runs: int, seconds: float) -> None:
        """So many runs were carried out in this time. It tells something only of a worker that could have
        had more."""
        if self.more:
            wanted = runs / max(seconds, 0.001) * AHEAD_SECONDS
            self.ahead = int(min(self.most, (self.ahead + wanted) / 2))

    def slow_down(self) -> None:
        self.ahead = 0
