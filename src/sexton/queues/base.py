"""A doorbell tells workers that there may be something to claim.

Losing, doubling or reordering its rings costs time, never correctness: workers look by themselves every
`poll_seconds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

# What rang: runs to claim, a change of lanes, a run to cancel.
Ring = Literal["runs", "lanes", "cancels"]


class Doorbell(Protocol):
    async def listen(self, rung: Callable[[Ring], None]) -> None:
        """Call `rung` at every ring from now on; returns once it listens."""
        ...

    async def check(self) -> bool:
        """Whether it still listens; if not, it tries to again."""
        ...

    async def close(self) -> None: ...
