"""The handlers of the fault tests, loaded by the workers. Each writes down, outside the database, that it
began and that it is about to return: one line per event, in a file per process, appended in one go."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import secrets
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from sexton import Run, Sexton

VARIABLE = "FAULTS_LOG"
# A file beside the lines.
LET_GO = "let-go"

app = Sexton(name="faults")


@app.handler("work")
async def work(run: Run) -> None:
    """Takes as long as the payload says."""
    note(run, "start")
    if run.payload:
        await asyncio.sleep(run.payload)
    note(run, "end")


@app.handler("hold")
async def hold(run: Run) -> None:
    """Takes until the cluster lets go."""
    note(run, "start")
    while not (Path(os.environ[VARIABLE]) / LET_GO).exists():
        await asyncio.sleep(0.1)
    note(run, "end")


@app.handler("effect")
async def effect(run: Run) -> None:
    """Writes a row in the transaction that finishes the run."""
    note(run, "start")
    async with run.transaction() as connection:
        await connection.execute("insert into effects values ($1, $2)", run._attempt.job, run.scheduled_at)
        note(run, "end")


@app.handler("block")
async def block(run: Run) -> None:
    """Keeps the event loop from doing anything else."""
    note(run, "start")
    time.sleep(run.payload)
    note(run, "end")


@app.handler("stubborn")
async def stubborn(run: Run) -> None:
    """Does not end when it is told to."""
    note(run, "start")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


@app.handler("overrun")
def overrun(run: Run) -> None:
    """A thread that goes on beyond its time."""
    note(run, "start")
    time.sleep(run.payload)


def stop_iteration() -> None:
    next(iter(()))


def leave() -> None:
    sys.exit("it left")


def ask_to_stop() -> None:
    raise KeyboardInterrupt("it asked")


def close() -> None:
    raise GeneratorExit("it closed")


def cancel() -> None:
    raise asyncio.CancelledError("it cancelled")


def stop_loop() -> None:
    raise Odd("it is odd")


def several() -> None:
    raise BaseExceptionGroup("several", [ValueError("one"), Odd("two"), StopIteration(3)])


def fail() -> None:
    raise ValueError("it is wrong")


class Odd(BaseException):
    """Not an `Exception`: what catches those lets it through."""


#: How a handler may end beside returning, and what is to be recorded of it.
ENDS: dict[str, tuple[Callable[[], None], str]] = {
    "StopIteration": (stop_iteration, "StopIteration"),
    "SystemExit": (leave, "SystemExit: it left"),
    "KeyboardInterrupt": (ask_to_stop, "KeyboardInterrupt: it asked"),
    "GeneratorExit": (close, "GeneratorExit: it closed"),
    "CancelledError": (cancel, "CancelledError: the handler was cancelled from within"),
    "BaseException": (stop_loop, "Odd: it is odd"),
    "BaseExceptionGroup": (
        several,
        "BaseExceptionGroup: several (3 sub-exceptions): ValueError: one; Odd: two",
    ),
    "Exception": (fail, "ValueError: it is wrong"),
}


@app.handler("raises")
async def raises(run: Run) -> None:
    """Ends as the payload says, without ever waiting."""
    note(run, "start")
    ENDS[run.payload][0]()


@app.handler("raises_later")
async def raises_later(run: Run) -> None:
    """As the one before, after it has waited."""
    note(run, "start")
    await asyncio.sleep(0)
    ENDS[run.payload][0]()


@app.handler("raises_in_task")
async def raises_in_task(run: Run) -> None:
    """In a task of its own, which it waits for."""
    note(run, "start")

    async def part() -> None:
        ENDS[run.payload][0]()

    await asyncio.create_task(part())


@app.handler("raises_in_thread")
def raises_in_thread(run: Run) -> None:
    note(run, "start")
    ENDS[run.payload][0]()


def exit_at_once() -> None:
    os._exit(3)


def abort() -> None:
    os.abort()


def fault() -> None:
    """Read where nothing is."""
    ctypes.string_at(0)


#: How a handler may end its whole process, and how that is told.
CRASHES: dict[str, tuple[Callable[[], object], str]] = {
    "exit": (exit_at_once, "exit code 3"),
    "abort": (abort, "signal 6 (SIGABRT)"),
    "fault": (fault, "signal 11 (SIGSEGV)"),
}


@app.handler("crashes")
async def crashes(run: Run) -> None:
    """Ends the process as the payload says."""
    note(run, "start")
    await asyncio.sleep(0.1)
    CRASHES[run.payload][0]()


@app.handler("crashes_in_thread")
def crashes_in_thread(run: Run) -> None:
    note(run, "start")
    time.sleep(0.1)
    CRASHES[run.payload][0]()


@app.handler("forks")
async def forks(run: Run) -> None:
    """Its child goes on as if it were the worker, in the way that the payload says."""
    note(run, "start")
    child = os.fork()
    if not child:
        await lose_way(run.payload)
        return
    await asyncio.to_thread(os.waitpid, child, 0)
    note(run, "end")


@app.handler("forks_in_thread")
def forks_in_thread(run: Run) -> None:
    note(run, "start")
    child = os.fork()
    if not child:
        asyncio.run(lose_way(run.payload))
        return
    os.waitpid(child, 0)
    note(run, "end")


#: What a child does that should have called os._exit().
WAYS = ("return", "raise", "exit", "wait")


async def lose_way(how: str) -> None:
    match how:
        case "raise":
            raise ValueError
        case "exit":
            sys.exit()
        case "wait":
            await asyncio.sleep(0)


#: What is being carried out, by the attempt: under a name that cannot recur.
EXECUTIONS: dict[int, str] = {}


def note(run: Run, event: str) -> None:
    attempt = id(run._attempt)
    if event == "start":
        EXECUTIONS[attempt] = secrets.token_hex(8)
    line = {
        "run": run._attempt.id,
        "fired_at": run._attempt.fired_at.isoformat(),
        "claim": run._attempt.claim,
        "process": os.getpid(),
        "job": run._attempt.job,
        "scheduled_at": run.scheduled_at.isoformat(),
        "event": event,
        "at": time.time(),
        "execution": EXECUTIONS[attempt],
    }
    os.write(_file(), (json.dumps(line) + "\n").encode())


@cache
def _file() -> int:
    path = Path(os.environ[VARIABLE]) / f"{os.getpid()}.jsonl"
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
