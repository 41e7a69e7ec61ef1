"""Handlers: coroutines run in the worker's event loop, plain functions in its threads."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import logging
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Annotated, Any, NoReturn

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.model import Failure
from sexton.refusal import about, check_text
from sexton.targets.arguments import Arguments
from sexton.targets.base import TargetKind, TargetServices
from sexton.targets.providers import ProviderFailed, Providers, Resources
from sexton.targets.run import RunContext, Step, describe

log = logging.getLogger("sexton.handlers")

LEFT_BEHIND = 1000

#: What a call in a thread has returned, or what it has raised.
Ended = tuple[Any, BaseException | None]

#: It takes the run, arguments that the payload has by name, or both: see `Arguments`.
Handler = Callable[..., Any]


async def noop(run: RunContext) -> None:
    """Does nothing, successfully."""


async def log_payload(run: RunContext) -> None:
    """Writes the payload to the worker's log and to the run's."""
    text = run.payload_json or "null"
    log.info("%s (%s, attempt %d): %s", run.job_name, run.run_id, run.attempt, text)
    await run.log(text)


async def fail(run: RunContext) -> None:
    """Fails every time: for trying out retries and dead letters."""
    raise RuntimeError(f"sexton.fail always fails (attempt {run.attempt})")


BUILT_IN: Mapping[str, Handler] = {"sexton.noop": noop, "sexton.log": log_payload, "sexton.fail": fail}


class HandlerKind(TargetKind[str]):
    """`{"handler": "name"}`: a Python function of the worker's application."""

    name = "handler"
    spec = Annotated[str, about("The name of a handler that some worker knows.")]
    example = "name"

    def check(self, spec: str, payload: Any, field: str) -> None:
        check_text(spec, field, 200)

    def need(self, spec: str) -> str:
        return spec

    def served(self, settings: Settings) -> tuple[str, ...]:
        """A worker lists its handlers by themselves."""
        return ()

    def open(self, services: TargetServices) -> OpenHandlers:
        return OpenHandlers(services.handlers, services.resources, threads=services.settings.concurrency)


class OpenHandlers:
    """The handlers of a worker by name; those of Sexton are always among them. Raises `InvalidField` if one
    needs what nothing provides."""

    def __init__(
        self, handlers: Mapping[str, Handler], resources: Resources | None = None, threads: int = 32
    ) -> None:
        self._resources = resources or Resources(Providers())
        self.handlers: dict[str, Handler] = {**BUILT_IN, **handlers}
        # A thread cannot be stopped: another takes the slot of one that overran its time. Threads are
        # made only when none is free, so that there are no more than runs at a time and those left behind.
        self._threads = HandlerThreads(threads + LEFT_BEHIND)
        self.left_behind = 0
        self._steps = {name: self._step(handler) for name, handler in self.handlers.items()}

    def step(self, spec: str) -> Step | None:
        return self._steps.get(spec)

    def _step(self, handler: Handler) -> Step:
        arguments = Arguments(handler, self._resources.providers)
        arguments.check_needs(self._resources.providers)
        coroutine = is_coroutine_function(handler)
        needs, resources = tuple(arguments.needs.items()), self._resources
        if arguments.run and not arguments.names and not needs:
            return handler if coroutine else functools.partial(self._in_thread, handler)

        async def filled(run: RunContext) -> Any:
            try:
                given = arguments.read(run.payload_json)
                for name, kind in needs:
                    given[name] = await resources.get(kind)
            except InvalidField as error:
                return Failure(f"{error.code}: {error}", permanent=True)
            except ProviderFailed as error:
                return Failure(str(error))
            call = (
                functools.partial(handler, run, **given)
                if arguments.run
                else functools.partial(handler, **given)
            )
            return await call() if coroutine else await self._in_thread(lambda _: call(), run)

        return filled

    async def _in_thread(self, handler: Handler, run: RunContext) -> Any:
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        thread = self._threads.submit(functools.partial(context.run, handler, run))
        try:
            value, error = await asyncio.wrap_future(thread, loop=loop)
        except asyncio.CancelledError:
            if not thread.cancelled() and not thread.done():
                self.left_behind += 1
                log.warning(
                    "%r was stopped, but its thread goes on: %d like it; look at run.cancelled now and then",
                    run,
                    self.left_behind,
                )
                thread.add_done_callback(functools.partial(self._caught_up, loop))
            raise
        if isinstance(error, StopIteration):
            return Failure(describe(error))  # it cannot leave a coroutine
        if error is not None:
            raise error
        return await value if inspect.isawaitable(value) else value

    def _caught_up(self, loop: asyncio.AbstractEventLoop, thread: Future[Ended]) -> None:
        """In the thread; the loop may be closed long since."""

        def count() -> None:
            self.left_behind -= 1

        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(count)

    async def close(self) -> None:
        """Threads cannot be stopped; what still runs is left behind."""
        self._threads.close()


class HandlerThreads:
    """At most so many threads, each made when none is free. The process ends without waiting for them: those
    of `ThreadPoolExecutor` are joined at its end, and a handler that never returns would keep it alive."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made = 0
        self._process = os.getpid()
        self._free = threading.Semaphore(0)
        self._calls: SimpleQueue[tuple[Future[Ended], Callable[[], Any]] | None] = SimpleQueue()

    def submit(self, call: Callable[[], Any]) -> Future[Ended]:
        """From the event loop only."""
        future: Future[Ended] = Future()
        self._calls.put((future, call))
        if not self._free.acquire(blocking=False) and self._made < self._most:
            self._made += 1
            threading.Thread(target=self._serve, name=f"sexton-handler_{self._made}", daemon=True).start()
        return future

    def close(self) -> None:
        """Each thread ends when it is free."""
        while not self._calls.empty():
            if waiting := self._calls.get():
                waiting[0].cancel()
        for _ in range(self._made):
            self._calls.put(None)

    def _serve(self) -> None:
        while (taken := self._calls.get()) is not None:
            future, call = taken
            if future.set_running_or_notify_cancel():
                # As a value: a future refuses some exceptions, and would never be done.
                ended: Ended
                try:
                    ended = (call(), None)
                except BaseException as error:
                    ended = (None, error)
                if os.getpid() != self._process:
                    end_fork()
                future.set_result(ended)
                del ended
            del taken, future, call
            self._free.release()


def end_fork() -> NoReturn:
    """End a process that a handler has forked off and that did not end by itself: it must not go on as a copy
    of the worker."""
    log.critical(
        "a process that a handler has forked off came back to the code of the worker, and is ended: "
        "call os._exit() at its end, or use subprocess"
    )
    os._exit(os.EX_SOFTWARE)


def is_coroutine_function(handler: Handler) -> bool:
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - an object whose __call__ is a coroutine function
    )
