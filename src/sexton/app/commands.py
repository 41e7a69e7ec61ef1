"""Commands on jobs: everything that an application can ask of its database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

import msgspec

from sexton import clock
from sexton.app.declarations import Declarations
from sexton.app.fields import JobFields, Status, When, duration_of, with_schedule
from sexton.config import Settings
from sexton.errors import InvalidField, RunFailed
from sexton.jobs import bulk, create, edit, read, state
from sexton.jobs.filter import JobFilter
from sexton.jobs.spec import JobSpec
from sexton.jobs.view import JobView
from sexton.postgres.database import Database
from sexton.postgres.shared import Opening, SharedDatabase, configured_database
from sexton.postgres.transaction import Context
from sexton.runs import trigger
from sexton.runs.read import LIVE, get_run, list_runs, require_job, run_number
from sexton.runs.view import RunView, Why
from sexton.runs.why import why
from sexton.targets.handler import Handler

CHUNK = 5000
# How often `result` asks: the pause doubles.
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.05, 1.0

Given = ParamSpec("Given")
Result = TypeVar("Result")
# `list` is a command below.
Jobs = list[JobView]
Ids = list[str]
Runs = list[RunView]
Explained = list[Why]


class Commands(Declarations):
    """The part of an application that asks its database. A job is named by its id, its name, or the function
    that it was declared with."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name, given)
        self._shared = SharedDatabase(
            lambda patient: configured_database(self.settings, self.name, patient=patient)
        )
        self._rehearsed = False

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Database]:
        """Hold the database open, for a program that only makes or looks at jobs. Commands outside of it open
        and close it each time; those of one event loop at the same time share it."""
        async with self._shared.held() as database:
            yield database

    @contextmanager
    def _rehearsing(
        self, settings: Settings, opening: Opening, now: Callable[[], datetime]
    ) -> Iterator[None]:
        """For the block, live in another database and another time: `sexton.testing` does the work of the
        node."""
        if self._rehearsed or self._shared.used:
            raise RuntimeError(
                f"the application {self.name} is in use already: enter engine(…) first, and within it "
                "connected(), running() or the test client of a web application"
            )
        own = self.settings, self._shared, self._now
        self.settings, self._shared, self._now = settings, SharedDatabase(opening), now
        self._rehearsed = True
        try:
            yield
        finally:
            self.settings, self._shared, self._now = own
            self._rehearsed = False

    async def schedule(
        self,
        handler: str | Handler | None = None,
        *,
        at: datetime | str | None = None,
        after: timedelta | str | None = None,
        schedule: When | None = None,
        payload: Any = None,
        name: str | None = None,
        **fields: Unpack[JobFields],
    ) -> JobView:
        """Make a job for a handler (or another `target`): once, `at` a time or `after` a while (a `timedelta`
        or "10m"), or by a `schedule`. A handler is a function of this application or its name, or the name of
        one of another: `app:name`, or the name alone if only one application has it."""
        own = {"at": at, "after": after, "schedule": schedule, "payload": payload, "name": name}
        spec = self._spec(handler, {**own, **fields})
        return await self._call(create.create, spec, app=self.name)

    async def schedule_many(self, handler: str | Handler | None, items: Iterable[Mapping[str, Any]]) -> Ids:
        """Make many jobs for a handler, each given by what `schedule` takes; their ids, in order.

        They are made in chunks of 5,000, each whole or not at all. `RefusedLines` tells which ones are wrong
        (counted from 1); chunks before it stay.
        """
        made: list[bulk.Put] = []
        chunk: list[JobSpec] = []
        async with self.connected():
            for item in items:
                try:
                    chunk.append(self._spec(handler, item))
                except InvalidField as error:
                    raise bulk.RefusedLines([(len(made) + len(chunk) + 1, error)]) from None
                if len(chunk) == CHUNK:
                    made += await self._call(bulk.create_many, chunk, first_line=len(made) + 1, app=self.name)
                    chunk = []
            made += await self._call(bulk.create_many, chunk, first_line=len(made) + 1, app=self.name)
        return [each.job_id for each in made]

    async def get(self, job: str | Handler) -> JobView:
        """A job as it is now; raises `NotFound`."""
        return await self._call(read.get, self._ref(job))

    async def list(
        self,
        *,
        status: Status | None = None,
        label: str | None = None,
        name: str | None = None,
        target: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Jobs:
        """Jobs in the order in which they were made, `after` the one with this id."""
        page = await self._call(
            read.list_jobs, JobFilter(status, label, name, target), cursor=after, limit=limit
        )
        return page.items

    async def history(self, job: str | Handler, *, limit: int = 20, skipped: bool = False) -> Runs:
        """What a job has done, the latest first; with `skipped`, also what it has not done, and why."""
        async with self.connected():
            number = await self._call(require_job, self._ref(job))
            page = await self._call(list_runs, job=number, skipped=skipped, limit=limit)
        return page.items

    async def why(
        self, job: str | Handler, *, at: datetime | None = None, past: int = 10, ahead: int = 3
    ) -> Explained:
        """What became of a job's occurrences, and why: the latest and the next, or those nearest to `at`."""
        async with self.connected():
            number = await self._call(require_job, self._ref(job))
            return await self._call(why, number, at=at, past=past, ahead=ahead)

    async def edit(
        self, /, job: str | Handler, *, expected_revision: int | None = None, **changes: Any
    ) -> JobView:
        """Change some fields of a job, its schedule included; None puts one back to its default. With
        `expected_revision`, only if the job has not been edited since."""
        if "schedule" in changes:
            changes = with_schedule(changes.pop("schedule"), changes)
        return await self._call(
            edit.edit, self._ref(job), self._own(changes), expected_revision=expected_revision
        )

    async def pause(
        self, job: str | Handler, *, reason: str | None = None, until: datetime | None = None
    ) -> JobView:
        """Stop firing, `until` a time or `resume`. Runs that have fired go on; what falls due meanwhile is
        recorded as skipped."""
        return await self._call(state.pause, self._ref(job), reason=reason, until=until)

    async def resume(self, job: str | Handler) -> JobView:
        """End a pause."""
        return await self._call(state.resume, self._ref(job))

    async def reschedule(
        self, job: str | Handler, *, at: datetime | str | None = None, after: timedelta | str | None = None
    ) -> JobView:
        """Move the next run of a job to a time, or to a while from now (a `timedelta` or "10m"); afterwards
        its schedule goes on."""
        if (at is None) == (after is None):
            raise InvalidField("missing_field", "give one of at= and after=", field="at", hint='after="10m"')
        moment = at if at is not None else clock.now() + duration_of(after)
        return await self._call(edit.reschedule, self._ref(job), moment)

    async def run_now(self, job: str | Handler, *, payload: Any = msgspec.UNSET) -> str:
        """Run a job once, now; the run's id."""
        if payload is not msgspec.UNSET and self._ref(job) in self.jobs:
            self._check_payload(self._ref(job), payload)
        return await self._call(trigger.run_now, self._ref(job), payload=payload)

    async def result(self, run_id: str, *, timeout: float | None = None) -> Any:
        """Wait until a run has ended; what its handler returned. Raises `RunFailed` if it did not end in
        success, `TimeoutError` if it has not ended after `timeout` seconds."""
        pause = FIRST_LOOK_SECONDS
        async with asyncio.timeout(timeout), self.connected():
            while (run := await self._call(get_run, run_number(run_id))).status in LIVE:
                await clock.sleep(pause)
                pause = min(2 * pause, LOOK_SECONDS)
        if run.status != "success":
            raise RunFailed(run_id, run.status, run.error or run.reason)
        return run.result

    async def backfill(
        self, job: str | Handler, start: datetime, end: datetime, *, dry_run: bool = False
    ) -> trigger.Backfill:
        """Run the occurrences of a past range (both ends included) once more, with the job as it is now; with
        `dry_run`, only say how many there are."""
        return await self._call(trigger.backfill, self._ref(job), start, end, dry_run=dry_run)

    async def delete(self, job: str | Handler, *, cancel_running: bool = False) -> None:
        """Delete a job, and cancel its runs that wait; with `cancel_running`, also those that run. Its
        history stays."""
        await self._call(state.delete, self._ref(job), cancel_running=cancel_running)

    async def cancel_run(self, run_id: str, *, reason: str | None = None) -> str:
        """`cancelled` if the run was waiting, `requested` if it runs."""
        return await self._call(trigger.cancel_run, run_id, reason=reason)

    async def _call(
        self,
        command: Callable[Concatenate[Context, Given], Awaitable[Result]],
        /,
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Result:
        async with self.connected() as database:
            return await command(Context(database, actor=self.name), *args, **kwargs)
