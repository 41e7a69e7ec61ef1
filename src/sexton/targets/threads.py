"""Threads for calls that may never return.

A thread cannot be stopped. When the caller has given up waiting for a call, its thread is left behind: it
does not count any more, and another one takes its place. So a call that never returns keeps no other from its
turn, until there are too many of them for the process.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn

log = logging.getLogger("sexton")


class Threads(ThreadPoolExecutor):
    """At most so many threads beside those left behind, each made when none is free. The process ends without
    waiting for them; those of a mere `ThreadPoolExecutor` are joined at its end, and one call that never
    returns would keep it alive."""

    def __init__(self, most: int, name: str) -> None:
        super().__init__(max_workers=1)  # which it never makes
        self._most = most
        self._name = name
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._waiting: deque[tuple[ThreadCall, Callable[[], Any]]] = deque()
        self._made = 0
        self._free = 0
        self._closed = False
        self.left_behind = 0
        #: Why no further thread could be started, if that has happened: the system allows for no more.
        self.refused: str | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> ThreadCall:
        call = ThreadCall(self)
        with self._changed:
            if self._closed:
                raise RuntimeError("these threads are closed")
            self._waiting.append((call, functools.partial(fn, *args, **kwargs)))
            try:
                self._serve_waiting()
            except RuntimeError:
                self._waiting.pop()
                raise
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """What waits is dropped, and each thread ends when it is free. Nothing is waited for."""
        with self._changed:
            self._closed = True
            while self._waiting:
                self._waiting.popleft()[0].cancel()
            self._changed.notify_all()

    def leave(self, call: ThreadCall) -> None:
        """The caller has given up on a call that runs."""
        with self._changed:
            if call.over or call.left:
                return
            call.left = True
            self.left_behind += 1
            if self._waiting:
                self._serve_waiting()

    def _serve_waiting(self) -> None:
        """For a call that waits, if no free thread is there for it: a new one."""
        if self._free >= len(self._waiting):
            self._changed.notify()
        elif self._made - self.left_behind < self._most:
            name = f"{self._name}_{self._made}"
            try:
                threading.Thread(target=self._serve, name=name, daemon=True).start()
            except RuntimeError as error:
                self.refused = str(error)
                if self._made == self.left_behind:
                    raise  # else one of the others takes it in its turn
            else:
                self._made += 1

    def _serve(self) -> None:
        while (taken := self._take()) is not None:
            call, function = taken
            if call.set_running_or_notify_cancel():
                result, error = None, None
                try:
                    result = function()
                except BaseException as raised:
                    error = raised
                if os.getpid() != self._process:
                    end_fork()
                retire = self._end(call)
                if error is None:
                    call.set_result(result)
                else:
                    call.set_exception(_carried(error))
                if retire:
                    return
                del result, error
            del taken, call, function

    def _take(self) -> tuple[ThreadCall, Callable[[], Any]] | None:
        with self._changed:
            self._free += 1
            while not self._waiting and not self._closed:
                self._changed.wait()
            self._free -= 1
            if self._waiting:
                return self._waiting.popleft()
            self._made -= 1
            return None

    def _end(self, call: ThreadCall) -> bool:
        """Whether the thread is one too many: another has taken its place."""
        with self._changed:
            call.over = True
            if call.left:
                self.left_behind -= 1
            retire = self._made - self.left_behind > self._most
            self._made -= retire
            return retire


class ThreadCall(Future[Any]):
    """A call in a thread. One that runs cannot be cancelled, only left behind."""

    def __init__(self, threads: Threads) -> None:
        super().__init__()
        self._threads = threads
        self.over = False
        self.left = False

    def cancel(self) -> bool:
        if super().cancel():
            return True
        self._threads.leave(self)
        return False


def _carried(error: BaseException) -> BaseException:
    """What a future of asyncio carries: it refuses StopIteration and would never be done, and GeneratorExit
    would close the coroutines that wait for it."""
    if not isinstance(error, StopIteration | GeneratorExit):
        return error
    carrier = RuntimeError(f"a call in a thread raised {type(error).__name__}")
    carrier.__cause__ = error
    return carrier


def end_fork() -> NoReturn:
    """End a process that a handler has forked off and that did not end by itself: it must not go on as a copy
    of the worker."""
    log.critical(
        "a process that a handler has forked returned to the code of the worker, and is ended: "
        "call os._exit() at its end, or use subprocess"
    )
    os._exit(os.EX_SOFTWARE)
