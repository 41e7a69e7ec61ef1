"""Calls the listeners of an application with the recorded events.

Each listener has its own queue, and gets one event after another: a slow listener, or one that never returns,
delays only itself. Nothing waits for listeners, and their events are not stored: events that are left when
the process ends are lost.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from sexton.printable import counted
from sexton.runs.events import EventName, RunEvent
from sexton.runs.outcomes import Again, End, Successes
from sexton.targets.arguments import name_of
from sexton.targets.handler import is_coroutine_function
from sexton.targets.providers import Providers, Resources, needs_of
from sexton.targets.run import RunContext, describe
from sexton.targets.threads import Threads

log = logging.getLogger("sexton")

LONGEST_LINE = 10_000
STOP_SECONDS = 5.0

#: It takes a `RunEvent`, and other parameters that the application provides by their types.
Listener = Callable[..., Any]
Listeners = Mapping[EventName, Sequence[Listener]]
Heard = Mapping[int, RunContext]


class Audience:
    """The listeners of a worker. `heard` are the runs that a batch of outcomes has kept for them."""

    def __init__(self, listeners: Listeners, resources: Resources) -> None:
        functions = {function for each in listeners.values() for function in each}
        threads = Threads(len(functions), "sexton-listener")
        lines = {function: _Line(function, resources, threads) for function in functions}
        self._lines = list(lines.values())
        self._by_name = {name: [lines[each] for each in these] for name, these in listeners.items() if these}
        self._threads = threads
        #: Whether a batch keeps its runs for listeners, and whether also those that succeed.
        self.listens = bool(self._by_name)
        self.hears_success = "succeeded" in self._by_name

    def start(self) -> None:
        for line in self._lines:
            line.start()

    async def idle(self) -> None:
        """Wait until the listeners have all events."""
        for line in self._lines:
            await line.events.join()

    async def stop(self) -> None:
        """Give the listeners a while for the remaining events, then drop those."""
        try:
            await asyncio.wait_for(self.idle(), STOP_SECONDS)
        except TimeoutError:
            untold = sum(line.events.qsize() for line in self._lines)
            log.warning("the worker stops without its listeners; they missed %s", counted(untold, "event"))
        for line in self._lines:
            line.stop()
        self._threads.shutdown()

    def done(self, heard: Heard, done: Successes, lost: set[int]) -> None:
        if self.hears_success:
            columns = zip(done.runs, done.started, done.finished, done.results, strict=True)
            for number, started, finished, result in columns:
                if number in heard and number not in lost:
                    value = None if result is None else msgspec.json.decode(result)
                    self._tell("succeeded", heard[number], started, finished, result=value)

    def ended(self, heard: Heard, rows: Iterable[End], lost: set[int]) -> None:
        for number, _, started, finished, status, reason, _, message, _ in rows:
            if number not in heard or number in lost:
                continue
            if status == "dead":
                self._tell("failed", heard[number], started, finished, error=message, reason=reason)
                self._tell("dead", heard[number], started, finished, error=message, reason=reason)
            elif status == "cancelled":
                self._tell("cancelled", heard[number], started, finished, reason=reason)

    def again(self, heard: Heard, rows: Iterable[Again], lost: set[int]) -> None:
        for number, _, started, finished, delay, outcome, message in rows:
            if number in heard and number not in lost and outcome != "snoozed":
                self._tell("failed", heard[number], started, finished, error=message, retry_seconds=delay)

    def _tell(self, name: EventName, run: RunContext, started: float, finished: float, **more: Any) -> None:
        lines = self._by_name.get(name)
        if lines is None:
            return
        event = RunEvent(
            name=name,
            run_id=run.run_id,
            job_id=run.job_id,
            job_name=run.job_name,
            attempt=run.attempt,
            scheduled_at=run.scheduled_at,
            trigger=run.trigger.value,
            payload=run.payload,
            idempotency_key=run.idempotency_key,
            started_at=datetime.fromtimestamp(started, UTC),
            finished_at=datetime.fromtimestamp(finished, UTC),
            **more,
        )
        for line in lines:
            line.add(event)


class _Line:
    """The events for one listener."""

    def __init__(self, listener: Listener, resources: Resources, threads: Threads) -> None:
        self._listener = listener
        self._name = name_of(listener)
        self._coroutine = is_coroutine_function(listener)
        self._resources = resources
        self._needs = check_listener(listener, resources.providers)
        self._threads = threads
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._dropped = 0
        self.events: asyncio.Queue[RunEvent] = asyncio.Queue(LONGEST_LINE)

    def start(self) -> None:
        self._task = asyncio.create_task(self._tell_all(), name=f"listener {self._name}")

    def stop(self) -> None:
        self._stopping = True
        if self._task is not None:
            self._task.cancel()

    def add(self, event: RunEvent) -> None:
        try:
            self.events.put_nowait(event)
        except asyncio.QueueFull:
            if not self._dropped:
                log.warning(
                    "the listener %s is too slow: more than %d events wait for it; later ones are dropped",
                    self._name,
                    LONGEST_LINE,
                )
            self._dropped += 1

    async def _tell_all(self) -> None:
        while True:
            event = await self.events.get()
            try:
                await self._tell(event)
            except BaseException as error:
                if isinstance(error, asyncio.CancelledError) and self._stopping:
                    raise
                log.warning(
                    "the listener %s failed at %s of %s (%s): %s",
                    self._name,
                    event.name,
                    event.job_name,
                    event.run_id,
                    describe(error),
                )
            finally:
                self.events.task_done()
            if self._dropped and self.events.empty():
                log.warning("the listener %s missed %s", self._name, counted(self._dropped, "event"))
                self._dropped = 0

    async def _tell(self, event: RunEvent) -> None:
        given = {name: await self._resources.get(kind) for name, kind in self._needs.items()}
        call = partial(self._listener, event, **given)
        if self._coroutine:
            await call()
            return
        value = await asyncio.wrap_future(self._threads.submit(call))
        if inspect.isawaitable(value):
            await value


def check_listener(listener: Listener, providers: Providers) -> dict[str, Any]:
    """What a listener needs beside the event. Raises `InvalidField` if the application does not provide
    it."""
    what = f"the listener {name_of(listener)}"
    needs = needs_of(listener, what, after=1, field="listener")
    for parameter, kind in needs.items():
        providers.check(kind, f"{parameter}= of {what}")
    return needs
