"""Jobs that stand in an application's code, brought in line with it.

A job is touched only if it belongs to the application and its declaration is another one than last time: what
people changed meanwhile stays. One that has vanished from the code is paused, once no live node declares it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from asyncpg import Record

from sexton.errors import Conflict, InvalidField, NotFound
from sexton.jobs.create import NameTaken, create
from sexton.jobs.edit import replace
from sexton.jobs.read import schedule_warnings
from sexton.jobs.spec import JobSpec
from sexton.jobs.state import pause, resume
from sexton.jobs.view import JobView
from sexton.model import encode_id
from sexton.postgres.transaction import Context
from sexton.schedules.parse import Kind, kind_of

log = logging.getLogger("sexton")


@dataclass(slots=True)
class Declared:
    """What was done, by the names of the jobs; `refused` with the reason."""

    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    paused: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


async def declare(context: Context, app: str, jobs: Mapping[str, JobSpec]) -> Declared:
    """Bring the jobs of an application in line. Safe to do from all its processes at once."""
    done = Declared()
    rows = await _rows(context, app, jobs)
    live = {row["name"]: row for row in rows if row["live"]}
    over = {(row["name"], row["declaration"]) for row in rows if not row["live"]}
    for name, spec in jobs.items():
        declaration = fingerprint(spec)
        try:
            if name in live:
                await _align(context, app, spec, declaration, live[name], done)
            elif (name, declaration) not in over or kind_of(spec.schedule) is not Kind.ONCE:
                _tell(await create(context, spec, app=app, declaration=declaration), app)
                done.created.append(name)
        except NameTaken:
            continue  # Another process of the application was faster.
        except (InvalidField, Conflict, NotFound) as error:
            done.refused[name] = str(error)
            log.error("the job %s of %s was not brought in line: %s", name, app, error)
    done.paused = await pause_vanished(context, app, jobs)
    return done


async def pause_vanished(context: Context, app: str, jobs: Mapping[str, JobSpec]) -> list[str]:
    """Pause the jobs that no process of the application declares any more; their names."""
    gone = [
        row
        for row in await _rows(context, app, jobs)
        if row["live"] and row["app"] == app and row["name"] not in jobs and row["status"] == "active"
    ]
    if not gone:
        return []
    mine = f"{socket.gethostname()}:{os.getpid()}:"
    rows = await context.fetch("jobs/list_declared_elsewhere", app=app, mine=mine, now=context.now)
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
    if row["app"] != app or row["declaration"] is None:
        raise Conflict(
            "name_taken",
            f"the name {spec.name} belongs to job {encode_id('j', row['id'])}, which {app} did not declare",
            hint="give the job another name=, or delete that one",
        )
    if row["declaration"] != declaration:
        job, _ = await replace(context, spec.name, spec, app=app, declaration=declaration)
        _tell(job, app)
        done.changed.append(spec.name)
    if row["status"] == "paused" and row["paused_reason"] == vanished(app):
        await resume(context, encode_id("j", row["id"]))
        done.resumed.append(spec.name)


def _tell(job: JobView, app: str) -> None:
    """What the schedule of a new or changed job may be mistaken for. Its worker is about to start, so other
    warnings would come too early."""
    for warning in schedule_warnings(job):
        log.warning("the job %s of %s: %s", job.name, app, warning)


async def _rows(context: Context, app: str, jobs: Mapping[str, JobSpec]) -> list[Record]:
    return await context.fetch("jobs/list_declared", namespace=context.namespace, app=app, names=list(jobs))
