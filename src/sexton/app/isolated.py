"""The process for runs that may crash their process; `sexton.engine.worker.isolation` starts it.

It loads the application from its `origin`, carries out suspect runs until there are none, and exits. It also
exits when the worker that started it is gone: then its standard input ends.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.abc
import importlib.util
import logging
import os
import select
import signal
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from sexton.app import Sexton
from sexton.config import Settings, load
from sexton.engine.logs import set_up_logging
from sexton.engine.process import run_to_end
from sexton.engine.worker.isolation import STOP_SECONDS, IsolationAnswer, IsolationOrder, Origin
from sexton.engine.worker.suspects import SuspectClaimer
from sexton.engine.worker.worker import Worker
from sexton.errors import SextonError
from sexton.postgres.database import Database, patiently
from sexton.targets.run import describe

log = logging.getLogger("sexton")

# The module name that `multiprocessing` gives to the program in a process of its own.
PROGRAM = "__mp_main__"


class ApplicationLoaded(BaseException):
    """The program has reached the point where it would run its application: everything is loaded."""


def main(line: bytes) -> None:
    """Carry out the `IsolationOrder` of the first line of the standard input."""
    order = msgspec.json.decode(line, type=IsolationOrder)
    parent = Parent()
    set_up_logging()
    logging.getLogger("asyncpg").setLevel(logging.ERROR)
    try:
        settings = load(order.settings, environment={}, file=Path(os.devnull))
        app = load_application(order.origin)
    except BaseException as error:
        _answer(order, IsolationAnswer(obstacle=describe(error).partition("\n")[0]))
        raise SystemExit(1) from error
    run_to_end(_work(order, settings, app, parent))


class Parent:
    """The worker that started this process. A thread notices its end: a handler may block the event loop, and
    this process must not stay forever."""

    def __init__(self) -> None:
        self._lifeline = os.dup(0)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)  # handlers find nothing to read there
        self._left = threading.Event()

    def watch(self, on_gone: Callable[[], object], seconds: float) -> None:
        """Call `on_gone` when the worker is gone; then this process has this many seconds to exit."""
        threading.Thread(target=self._watch, args=(on_gone, seconds), daemon=True).start()

    def leave(self) -> None:
        self._left.set()

    @property
    def gone(self) -> bool:
        return bool(select.select([self._lifeline], [], [], 0)[0])

    def _watch(self, on_gone: Callable[[], object], seconds: float) -> None:
        while os.read(self._lifeline, 1024):
            continue
        if not self._left.is_set():
            on_gone()
            if not self._left.wait(seconds):
                os._exit(1)


async def _work(order: IsolationOrder, settings: Settings, app: Sexton | None, parent: Parent) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    parent.watch(lambda: loop.call_soon_threadsafe(stop.set), settings.grace_seconds + STOP_SECONDS)
    database = await patiently(
        lambda: Database.open(order.url, schema=settings.schema, timeout=settings.statement_timeout_seconds)
    )
    worker = Worker(
        database,
        settings,
        app.handlers if app is not None else {},
        app=app._application if app is not None else None,
        providers=app._providers if app is not None else None,
        listeners=app._listeners if app is not None else None,
        begun=order.begun,
        suspects=True,
    )
    loop.set_default_executor(worker.calls)
    try:
        if parent.gone:
            return  # other processes do the work
        await worker.start()
        lacking = sorted(set(order.handlers) - set(app.handlers if app is not None else ()))
        _answer(order, IsolationAnswer(lacking=lacking))
        assert isinstance(worker.claimer, SuspectClaimer)
        log.info("an isolated process is ready for runs that may crash their process")
        await _first(stop.wait(), worker.claimer.idle.wait(), worker.state.worn_out.wait())
        await worker.stop()
    except SextonError as error:
        _answer(order, IsolationAnswer(obstacle=str(error)))
        raise
    finally:
        parent.leave()
        await database.close()


async def _first(*waiting: Any) -> None:
    tasks = [asyncio.ensure_future(each) for each in waiting]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def _answer(order: IsolationOrder, answer: IsolationAnswer) -> None:
    """Answer the worker; called once."""
    try:
        os.write(order.answer, msgspec.json.encode(answer) + b"\n")
        os.close(order.answer)
    except OSError as error:  # the worker does not wait any longer
        log.warning("could not tell the worker: %s", error)


def load_application(origin: Origin) -> Sexton | None:
    """Load the application from its origin. Calls of `run` and `running` in its program have no effect
    here."""
    if origin.app is None:
        return None
    for name in ("run", "running"):
        setattr(Sexton, name, _stop_here)
    if origin.program_file or origin.program_module:
        _load_program(origin)
    for module in origin.modules:
        try:
            importlib.import_module(module)
        except ApplicationLoaded:
            continue
    made = [each for each in gc.get_objects() if isinstance(each, Sexton) and each.name == origin.app]
    if not made:
        raise LookupError(f"no application {origin.app} exists after its modules were imported")
    # If the program has made it several times, the complete one has the most handlers.
    app = max(made, key=lambda each: len(each.handlers))
    app._check_providers()
    return app


def _load_program(origin: Origin) -> None:
    module = types.ModuleType(PROGRAM)
    if origin.program_module is not None:
        spec = module.__spec__ = importlib.util.find_spec(origin.program_module)
        if spec is not None:
            module.__package__ = spec.parent
    else:
        assert origin.program_file is not None
        spec = importlib.util.spec_from_file_location(PROGRAM, origin.program_file)
    if spec is None or not isinstance(spec.loader, importlib.abc.InspectLoader):
        raise ImportError(f"{origin.program_module or origin.program_file} cannot be loaded")
    module.__file__ = spec.origin
    sys.modules[PROGRAM] = sys.modules["__main__"] = module
    code = spec.loader.get_code(spec.name)
    assert code is not None
    try:
        exec(code, module.__dict__)
    except ApplicationLoaded:
        return


def _stop_here(*_: Any, **__: Any) -> Any:
    raise ApplicationLoaded
