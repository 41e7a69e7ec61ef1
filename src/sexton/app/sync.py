"""The commands of an application for programs without an event loop: scripts, threads, Django views.

They are the commands of `Commands`, carried out in one background thread with its own event loop, which keeps
the database open between them.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from sexton.app.commands import CHUNK, Commands, Ids
from sexton.app.content import ContentCommands
from sexton.app.notify import NotifyCommands
from sexton.app.part import counted_from
from sexton.targets.handler import Handler

Given = ParamSpec("Given")
Result = TypeVar("Result")
Command = Callable[Concatenate[Commands, Given], Coroutine[Any, Any, Result]]


def _waiting(command: Command[Given, Result]) -> Callable[Concatenate[SyncClient, Given], Result]:
    """Make a coroutine a function that waits for its result."""

    @functools.wraps(command)
    def wait(self: SyncClient, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        return self._wait(command, *args, **kwargs)

    return wait


Part = TypeVar("Part")


def _waiting_in(
    part: Callable[[Commands], Part],
    command: Callable[Concatenate[Part, Given], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[SyncPart, Given], Result]:
    """Make a coroutine of a part of an application a function that waits for its result."""

    @functools.wraps(command)
    def wait(self: SyncPart, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        async def call(app: Commands) -> Result:
            return await command(part(app), *args, **kwargs)

        call.__name__ = f"{self._name}.{command.__name__}"
        return self._client._wait(call)

    return wait


class SyncClient:
    """`app.sync`: the commands of an application, to be called from any thread without an event loop.

    Each has the parameters and the result of the coroutine of its name. The first one starts a thread and
    opens the database; both end with the program, or with `close()`. A forked process gets its own. Inside a
    running event loop they are refused: they would block it.
    """

    def __init__(self, app: Commands) -> None:
        self._app = app
        self._pid = os.getpid()
        self._starting = threading.Lock()
        self._thread: _LoopThread | None = None
        self._inherited: _LoopThread | None = None

    schedule = _waiting(Commands.schedule)
    get = _waiting(Commands.get)
    list = _waiting(Commands.list)
    history = _waiting(Commands.history)
    why = _waiting(Commands.why)
    edit = _waiting(Commands.edit)
    pause = _waiting(Commands.pause)
    resume = _waiting(Commands.resume)
    reschedule = _waiting(Commands.reschedule)
    run_now = _waiting(Commands.run_now)
    result = _waiting(Commands.result)
    backfill = _waiting(Commands.backfill)
    delete = _waiting(Commands.delete)
    restore = _waiting(Commands.restore)
    cancel_run = _waiting(Commands.cancel_run)
    pause_many = _waiting(Commands.pause_many)
    resume_many = _waiting(Commands.resume_many)
    run_many = _waiting(Commands.run_many)
    label_many = _waiting(Commands.label_many)
    delete_many = _waiting(Commands.delete_many)

    def schedule_many(self, handler: str | Handler | None, items: Iterable[Mapping[str, Any]]) -> Ids:
        # The items are read in the caller's thread: a generator may depend on it.
        made: Ids = []
        rest = iter(items)
        while chunk := [*islice(rest, CHUNK)]:
            with counted_from(len(made)):
                made += self._wait(Commands.schedule_many, handler, chunk)
        return made

    schedule_many.__doc__ = Commands.schedule_many.__doc__

    @functools.cached_property
    def content(self) -> SyncContent:
        """The commands of `app.content`."""
        return SyncContent(self)

    @functools.cached_property
    def notify(self) -> SyncNotify:
        """The commands of `app.notify`."""
        return SyncNotify(self)

    def close(self) -> None:
        """Close the database and end the thread. A later command starts them again."""
        self._after_fork()
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

    def _wait(self, command: Command[Given, Result], /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        _refuse_in_event_loop(command)
        self._after_fork()
        with self._starting:
            if self._thread is None:
                self._thread = _LoopThread(self._app)
            done = self._thread.submit(functools.partial(command, self._app, *args, **kwargs))
        try:
            return done.result()
        except CancelledError:
            raise RuntimeError("app.sync was closed while this command waited") from None
        except BaseException:
            done.cancel()  # such as KeyboardInterrupt: stop the command
            raise

    def _after_fork(self) -> None:
        """A forked process has only the object of its parent's thread, and must not use its connections."""
        if self._pid != os.getpid():
            self._inherited, self._thread = self._thread, None
            self._pid, self._starting = os.getpid(), threading.Lock()


class SyncPart:
    """Commands of a part of an application, to be called without an event loop."""

    _name: str

    def __init__(self, client: SyncClient) -> None:
        self._client = client


def _content(app: Commands) -> ContentCommands:
    return app.content


class SyncContent(SyncPart):
    """`app.sync.content`: the commands of `app.content`, to be called without an event loop."""

    _name = "content"
    schedule = _waiting_in(_content, ContentCommands.schedule)
    schedule_many = _waiting_in(_content, ContentCommands.schedule_many)
    window = _waiting_in(_content, ContentCommands.window)
    get = _waiting_in(_content, ContentCommands.get)
    list = _waiting_in(_content, ContentCommands.list)
    reschedule = _waiting_in(_content, ContentCommands.reschedule)
    cancel = _waiting_in(_content, ContentCommands.cancel)
    skip = _waiting_in(_content, ContentCommands.skip)
    run = _waiting_in(_content, ContentCommands.run)
    approve = _waiting_in(_content, ContentCommands.approve)
    save = _waiting_in(_content, ContentCommands.save)
    entity = _waiting_in(_content, ContentCommands.entity)
    calendar = _waiting_in(_content, ContentCommands.calendar)
    executions = _waiting_in(_content, ContentCommands.executions)
    release = _waiting_in(_content, ContentCommands.release)
    get_release = _waiting_in(_content, ContentCommands.get_release)
    list_releases = _waiting_in(_content, ContentCommands.list_releases)
    check_release = _waiting_in(_content, ContentCommands.check_release)
    reschedule_release = _waiting_in(_content, ContentCommands.reschedule_release)
    cancel_release = _waiting_in(_content, ContentCommands.cancel_release)
    run_release = _waiting_in(_content, ContentCommands.run_release)
    approve_release = _waiting_in(_content, ContentCommands.approve_release)
    add_items = _waiting_in(_content, ContentCommands.add_items)
    remove_item = _waiting_in(_content, ContentCommands.remove_item)


class _LoopThread:
    """A thread with an event loop, in which the database of an application is open from the first command
    on."""

    def __init__(self, app: Commands) -> None:
        self._app = app
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._opening: asyncio.Lock
        self._opened = False
        self._open = AsyncExitStack()
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready)), name="sexton-sync", daemon=True
        )
        self._thread.start()
        ready.wait()

    def submit(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Future[Result]:
        return asyncio.run_coroutine_threadsafe(self._connected(call), self._loop)

    def close(self) -> None:
        atexit.unregister(self.close)
        if self._pid != os.getpid():
            return  # at the end of a fork
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self, ready: threading.Event) -> None:
        """Run until `close`. Commands that still wait are cancelled, as `asyncio.run` does."""
        self._loop, self._stop, self._opening = asyncio.get_running_loop(), asyncio.Event(), asyncio.Lock()
        ready.set()
        async with self._open:
            await self._stop.wait()

    async def _connected(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        async with self._opening:
            if not self._opened:
                await self._open.enter_async_context(self._app.connected())
                self._opened = True
                # Registered after the stop of the private PostgreSQL, so that it runs before it.
                atexit.register(self.close)
        return await call()


def _refuse_in_event_loop(command: Callable[..., Any]) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    name = command.__name__
    raise RuntimeError(f"app.sync.{name}(…) would block the running event loop: write await app.{name}(…)")


def _notify(app: Commands) -> NotifyCommands:
    return app.notify


class SyncNotify(SyncPart):
    """`app.sync.notify`: the commands of `app.notify`, to be called without an event loop."""

    _name = "notify"
    __call__ = _waiting_in(_notify, NotifyCommands.__call__)
    many = _waiting_in(_notify, NotifyCommands.many)
    get = _waiting_in(_notify, NotifyCommands.get)
    list = _waiting_in(_notify, NotifyCommands.list)
    why = _waiting_in(_notify, NotifyCommands.why)
    cancel = _waiting_in(_notify, NotifyCommands.cancel)
    reschedule = _waiting_in(_notify, NotifyCommands.reschedule)
    resend = _waiting_in(_notify, NotifyCommands.resend)
    confirm = _waiting_in(_notify, NotifyCommands.confirm)
    schedule = _waiting_in(_notify, NotifyCommands.schedule)
    schedules = _waiting_in(_notify, NotifyCommands.schedules)
    change_schedule = _waiting_in(_notify, NotifyCommands.change_schedule)
    delete_schedule = _waiting_in(_notify, NotifyCommands.delete_schedule)
    digest = _waiting_in(_notify, NotifyCommands.digest)
    add_event = _waiting_in(_notify, NotifyCommands.add_event)
    sequence = _waiting_in(_notify, NotifyCommands.sequence)
    enter = _waiting_in(_notify, NotifyCommands.enter)
    leave = _waiting_in(_notify, NotifyCommands.leave)
    event = _waiting_in(_notify, NotifyCommands.event)
    recipient = _waiting_in(_notify, NotifyCommands.recipient)
    erase = _waiting_in(_notify, NotifyCommands.erase)
    template = _waiting_in(_notify, NotifyCommands.template)
