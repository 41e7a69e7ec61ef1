"""Runs a process of Sexton to its end, whatever the handlers in it do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger("sexton")

T = TypeVar("T")


def run_to_end(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, but only an error of `main` itself ends it. SystemExit and KeyboardInterrupt leave
    the event loop from any task: raised in a handler, they must not end all others. asyncio passes them to
    the waiter of that task. Signals must have their own handlers."""
    with asyncio.Runner() as runner:
        task = runner.get_loop().create_task(main)
        while True:
            try:
                return runner.get_loop().run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as error:
                if task.done():
                    raise
                log.warning("a task of a handler has raised %r; the process goes on", error)
