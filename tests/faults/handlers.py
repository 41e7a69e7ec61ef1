"""The handlers of the fault tests, loaded by the workers. Each writes down, outside the database, that it
began and that it is about to return: one line per event, in a file per process, appended in one go."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from functools import cache
from pathlib import Path

from sexton.app import Run, Sexton

VARIABLE = "FAULTS_LOG"

app = Sexton(name="faults")


@app.handler("work")
async def work(run: Run) -> None:
    """Takes as long as the payload says."""
    note(run, "start")
    if run.payload:
        await asyncio.sleep(run.payload)
    note(run, "end")


@app.handler("effect")
async def effect(run: Run) -> None:
    """Writes a row in the transaction that finishes the run."""
    note(run, "start")
    async with run.transaction() as connection:
        await connection.execute("insert into effects values ($1, $2)", run.job, run.scheduled_at)
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


def note(run: Run, event: str) -> None:
    line = {
        "run": run.id,
        "claim": run.claim,
        "process": os.getpid(),
        "scheduled_at": run.scheduled_at.isoformat(),
        "event": event,
        "at": time.time(),
    }
    os.write(_file(), (json.dumps(line) + "\n").encode())


@cache
def _file() -> int:
    path = Path(os.environ[VARIABLE]) / f"{os.getpid()}.jsonl"
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
