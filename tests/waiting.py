"""Waiting for what must come true: generously, for a busy machine is no failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 180.0


async def until(condition: Callable[[], object]) -> None:
    """Until a condition holds, or a coroutine function answers so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = condition()
            if await answer if asyncio.iscoroutine(answer) else answer:
                return
            await asyncio.sleep(0.02)
