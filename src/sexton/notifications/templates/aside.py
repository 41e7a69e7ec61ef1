"""Work on the texts of templates in a thread of its own: it may take seconds, and the process answers others
meanwhile.

Parsers and compilers call themselves for what is inside something else, and a full stack ends the whole
process. So the stack of the thread holds as much as texts may have inside each other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

STACK_BYTES = 64 * 1024 * 1024
# Of two that set the size of the process at once, one thread would get the other's.
_SIZE = threading.Lock()

Given = ParamSpec("Given")
Result = TypeVar("Result")


async def aside(work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """The result of the work."""
    made: Future[Result] = Future()

    def run() -> None:
        made.set_running_or_notify_cancel()
        try:
            made.set_result(work(*args, **kwargs))
        except BaseException as error:  # the caller raises it
            made.set_exception(error)

    with _SIZE:
        before = threading.stack_size(STACK_BYTES)
        try:
            threading.Thread(target=run, name="sexton templates").start()
        finally:
            threading.stack_size(before)
    return await asyncio.wrap_future(made)
