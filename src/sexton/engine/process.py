"""Running a process of Sexton's to its end, whatever the handlers in it do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger("sexton")

T = TypeVar("T")


def run_to_end(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, but only what `main` itself raises ends it. SystemExit and KeyboardInterrupt leave
    the event loop from whichever task raises them: that of a handler must not take all others with it. Who
    waits for that task is told by asyncio. Signals must have handlers of their own."""
    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(main)
        while True:
            try:
                return runner.get_loop().run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                if task.done():
                    raise
                log.warning("a task of a handler has raised %r; the process goes on", error)
