"""Jobs that an application declares in its code.

A job is changed only if it belongs to the application and its declaration differs from the last one, so edits
by people stay. A job that the code no longer declares is paused, once no live node declares it. If another
job has one of the names, nothing is done and `Conflict` is raised.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from shlex import quote

import msgspec
from asyncpg import Record

from sexton.errors import Conflict, InvalidField, NameTaken, NotFound
from sexton.jobs.create import create
from sexton.jobs.edit import replace
from sexton.jobs.read import schedule_warnings
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import pause, resume
from sexton.jobs.stored import target_of
from sexton.jobs.view import JobView
from sexton.model import encode_id
from sexton.postgres.transaction import Context
from sexton.schedules.parse import Kind, kind_of
from sexton.targets.handler import own_target

log = logging.getLogger("sexton")


@dataclass(slots=True)
class Declared:
    """What was done, by the names of the jobs; `refused` with the reason."""

    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


async def check_names(context: Context, app: str, jobs: Mapping[str, JobSpec]) -> None:
    """Raise `Conflict` if a job that the application did not declare has one of the names."""
    _check_rows(app, await _rows(context, app, jobs))


async def declare(
    context: Context, app: str, jobs: Mapping[str, JobSpec], handlers: Collection[str] = ()
) -> Declared:
    """Create and change the jobs of an application as it declares them, or raise `Conflict` if another job
    has one of their names. All processes of the application may call this at once. `handlers` are its
    handlers beside those named after the jobs."""
    done = Declared()
    rows = await _rows(context, app, jobs)
    _check_rows(app, rows)
    live = {row["name"]: row for row in rows if row["live"]}
    over = {(row["name"], row["declaration"]) for row in rows if not row["live"]}
    for name, given in jobs.items():
        spec = msgspec.structs.replace(given, target=own_target(target_of(given), app, {*jobs, *handlers}))
        declaration = fingerprint(spec)
        try:
            if name in live:
                await _align(context, app, spec, declaration, live[name], done)
            elif (name, declaration) not in over or kind_of(spec.schedule) is not Kind.ONCE:
                _tell(await create(context, spec, app=app, declaration=declaration), app)
                done.created.append(name)
        except NameTaken:
            # Another process created the job first. If it is not the application's, `check_names` refuses it.
            await check_names(context, app, {name: spec})
        except (InvalidField, Conflict, NotFound) as error:
            done.refused[name] = str(error)
            log.error("could not update the declared job %s of %s: %s", name, app, error)
    done.paused = await pause_vanished(context, app, jobs)
    return done


async def pause_vanished(context: Context, app: str, jobs: Mapping[str, JobSpec]) -> list[str]:
    """Pause the jobs that no process of the application declares now, and return their names."""
    gone = [
        row
        for row in await _rows(context, app, jobs)
        if row["live"] and row["app"] == app and row["name"] not in jobs and row["status"] == "active"
    ]
    if not gone:
        return []
    mine = f"{socket.gethostname()}:{os.getpid()}:"
    rows = await context.fetch("jobs/list_declared_elsewhere", app=app, mine=mine)
    elsewhere = {row["handler"] for row in rows}
    paused = []
    for row in gone:
        if row["name"] not in elsewhere:
            job_id = encode_id("j", row["id"])
            try:
                await pause(context, job_id, reason=vanished(app))
            except (Conflict, NotFound):
                continue  # It ended meanwhile.
            paused.append(row["name"])
            log.warning("the job %s is no longer declared by %s: it is paused", row["name"], app)
    return paused


def fingerprint(spec: JobSpec) -> str:
    """Changes with every field of a declaration."""
    return hashlib.blake2b(msgspec.json.encode(spec, order="deterministic"), digest_size=16).hexdigest()


def vanished(app: str) -> str:
    return f"no longer declared by the application {app}"


async def _align(
    context: Context, app: str, spec: JobSpec, declaration: str, row: Record, done: Declared
) -> None:
    if row["declaration"] != declaration:
        job, _ = await replace(context, spec.name, spec, app=app, declaration=declaration)
        _tell(job, app)
        done.changed.append(spec.name)
    if row["status"] == "paused" and row["paused_reason"] == vanished(app):
        await resume(context, encode_id("j", row["id"]))
        done.resumed.append(spec.name)


def _tell(job: JobView, app: str) -> None:
    """Log the warnings of the schedule of a new or changed job. Its worker is about to start, so warnings
    about workers would come too early."""
    for warning in schedule_warnings(job):
        log.warning("the job %s of %s: %s", job.name, app, warning)


def _check_rows(app: str, rows: Collection[Record]) -> None:
    taken = [row for row in rows if row["live"] and (row["app"] != app or row["declaration"] is None)]
    if not taken:
        return
    row, more = taken[0], f", and {len(taken) - 1} more" if len(taken) > 1 else ""
    owner = row["app"] if row["declaration"] is not None else None
    whose = f"a job of the application {owner}" if owner else "a job that no application declares"
    hint = (
        f"give the job of {app} another name=, or delete the other: sexton jobs delete {quote(row['name'])}"
    )
    if owner:
        hint += f'; if the two are one application, name it: Sexton(name="{owner}")'
    raise Conflict(
        "name_taken",
        f"{app} declares a job {row['name']}, and the name {row['name']} belongs to {whose},"
        f" {encode_id('j', row['id'])}{more}",
        hint=hint,
    )


async def _rows(context: Context, app: str, jobs: Mapping[str, JobSpec]) -> list[Record]:
    return await context.fetch("jobs/list_declared", app=app, names=list(jobs))
