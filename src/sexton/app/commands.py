"""Commands on jobs: everything that an application can ask of its database."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

import msgspec

from sexton import clock
from sexton.app.content import ContentCommands
from sexton.app.declarations import Declarations
from sexton.app.fields import JobFields, ManyJobs, Status, When, duration_of, filter_of, with_schedule
from sexton.app.notify import NotifyCommands
from sexton.config import Settings
from sexton.errors import InvalidField, RefusedLines, RunFailed
from sexton.jobs import bulk, create, edit, read, restore, state
from sexton.jobs.filter import JobFilter
from sexton.jobs.spec import JobSpec
from sexton.jobs.tally import Tally
from sexton.jobs.view import JobView
from sexton.postgres.audit_entry import LONGEST_REASON, Source
from sexton.postgres.database import Database
from sexton.postgres.shared import Opening, SharedDatabase, configured_database
from sexton.postgres.transaction import NAMESPACE, Context
from sexton.refusal import check_text
from sexton.runs import many, trigger
from sexton.runs.filter import LIVE, RunFilter
from sexton.runs.read import get_run, list_runs, require_job, run_number
from sexton.runs.view import RunView, Why
from sexton.runs.why import why
from sexton.security.namespaces import require_namespace
from sexton.targets.handler import Handler

CHUNK = 5000
# How often `result` polls: the pause doubles.
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.05, 1.0

Given = ParamSpec("Given")
Result = TypeVar("Result")
# `list` is a command below.
Jobs = list[JobView]
Ids = list[str]
Runs = list[RunView]
Explained = list[Why]


class Acting(msgspec.Struct, frozen=True):
    """Who acts, why, and for which request."""

    actor: str | None = None
    reason: str | None = None
    request_id: str | None = None


class Commands(Declarations):
    """The part of an application that uses its database. A job is named by its id, its name, or the function
    that it was declared with."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name, given)
        self._shared = SharedDatabase(
            lambda patient: configured_database(self.settings, self.name, patient=patient)
        )
        self._rehearsed = False
        self._namespace_known = False
        self._acting: ContextVar[Acting | None] = ContextVar("acting", default=None)

    @contextmanager
    def acting(
        self, actor: str | None = None, *, reason: str | None = None, request_id: str | None = None
    ) -> Iterator[None]:
        """In the block, commands act as another actor, for a reason, for a request; the audit records it.
        Otherwise the actor is `app:` and the name of the application."""
        for value, field in ((actor, "actor"), (reason, "reason"), (request_id, "request_id")):
            if value is not None:
                check_text(value, field, LONGEST_REASON)
        token = self._acting.set(Acting(actor, reason, request_id))
        try:
            yield
        finally:
            self._acting.reset(token)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Database]:
        """Keep the database open, for a program that only creates or reads jobs. Outside of it, each command
        opens and closes it; concurrent commands of one event loop share it."""
        async with self._shared.held() as database:
            yield database

    @cached_property
    def content(self) -> ContentCommands:
        """Publish, unpublish and archive entities at a local time: `app.content.schedule(…)`, …."""
        return ContentCommands(self)

    @cached_property
    def notify(self) -> NotifyCommands:
        """Messages at the right local time: `app.notify(…)`, `app.notify.why(…)`, …."""
        return NotifyCommands(self)

    @contextmanager
    def _rehearsing(
        self, settings: Settings, opening: Opening, now: Callable[[], datetime]
    ) -> Iterator[None]:
        """In the block, use another database and another clock: `sexton.testing` does the work of the
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
        """Make a job for a handler (or another `target`): once, `at` a time or `after` a delay (a `timedelta`
        or "10m"), or by a `schedule`. A handler is a function of this application or its name. For a handler
        of another application, write `app:name`, or its name if no other application has it.

            job = await app.schedule(report, after="10m", payload={"customer": "acme"}, name="acme")
            print(job.job_id, job.next_run_at)
            await app.schedule(target={"http": {"url": "https://example.com/hook"}}, schedule="@daily")
        """
        own = {"at": at, "after": after, "schedule": schedule, "payload": payload, "name": name}
        spec = self._spec(handler, {**own, **fields})
        return await self._call(create.create, spec, app=self.name)

    async def schedule_many(self, handler: str | Handler | None, items: Iterable[Mapping[str, Any]]) -> Ids:
        """Make many jobs for a handler, each from the arguments of `schedule`; their ids, in order.

        They are made in chunks of 5,000, each all or nothing. `RefusedLines` says which ones are wrong
        (counted from 1); earlier chunks stay.

            at = datetime(2100, 1, 1, tzinfo=UTC)
            ids = await app.schedule_many(report, ({"at": at, "name": f"bulk-{n}"} for n in range(100)))
        """
        made: list[bulk.Put] = []
        chunk: list[JobSpec] = []
        async with self.connected():
            for item in items:
                try:
                    chunk.append(self._spec(handler, item))
                except InvalidField as error:
                    raise RefusedLines([(len(made) + len(chunk) + 1, error)]) from None
                if len(chunk) == CHUNK:
                    made += await self._call(bulk.create_many, chunk, first_line=len(made) + 1, app=self.name)
                    chunk = []
            made += await self._call(bulk.create_many, chunk, first_line=len(made) + 1, app=self.name)
        return [each.job_id for each in made]

    async def get(self, job: str | Handler) -> JobView:
        """A job as it is now; raises `NotFound`.

        try:
            print((await app.get(report)).next_run_at)
        except NotFound:
            print("it is not there")
        """
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
        """Jobs in the order of creation, `after` the one with this id. `label` is `name` or
        `name=value`; a `name` that ends with `*` is a prefix; `target` is a kind of target or a handler.

            for job in await app.list(status="active", label="team=billing"):
                print(job.name, job.next_run_at)
        """
        page = await self._call(
            read.list_jobs, JobFilter(status, label, name, target), cursor=after, limit=limit
        )
        return page.items

    async def history(self, job: str | Handler, *, limit: int = 20, skipped: bool = False) -> Runs:
        """The runs of a job, the latest first; with `skipped`, also skipped occurrences with their
        reasons."""
        async with self.connected():
            number = await self._call(require_job, self._ref(job))
            page = await self._call(list_runs, RunFilter(job=number, skipped=skipped), limit=limit)
        return page.items

    async def why(
        self, job: str | Handler, *, at: datetime | None = None, past: int = 10, ahead: int = 3
    ) -> Explained:
        """What became of a job's occurrences, and why: the latest and the next, or those nearest to `at`.

        for each in await app.why(report, past=5, ahead=1):
            print(each.scheduled_at, each.text)
        """
        async with self.connected():
            number = await self._call(require_job, self._ref(job))
            return await self._call(why, number, at=at, past=past, ahead=ahead)

    async def edit(
        self, /, job: str | Handler, *, expected_revision: int | None = None, **changes: Any
    ) -> JobView:
        """Change some fields of a job, including its schedule; None resets a field to its default. With
        `expected_revision`, only if the job has not been edited since: otherwise it raises `Conflict`.

            await app.edit("acme", payload={"customer": "acme", "days": 30}, priority=1)
        """
        if "schedule" in changes:
            changes = with_schedule(changes.pop("schedule"), changes)
        return await self._call(
            edit.edit, self._ref(job), self._own(changes), expected_revision=expected_revision
        )

    async def pause(
        self, job: str | Handler, *, reason: str | None = None, until: datetime | None = None
    ) -> JobView:
        """Stop firing, `until` a time or `resume`. Runs that have fired continue; occurrences that fall due
        during the pause are skipped.

            await app.pause("acme", reason="the database moves")
            await app.resume("acme")
        """
        return await self._call(state.pause, self._ref(job), reason=reason, until=until)

    async def resume(self, job: str | Handler) -> JobView:
        """End a pause: the job continues with its next occurrence. If the time of a one-off job has passed,
        it follows `missed_window`."""
        return await self._call(state.resume, self._ref(job))

    async def reschedule(
        self, job: str | Handler, *, at: datetime | str | None = None, after: timedelta | str | None = None
    ) -> JobView:
        """Move the next run of a job to a time, or to a delay from now (a `timedelta` or "10m"); afterwards
        its schedule continues.

            await app.reschedule("acme", after=timedelta(hours=2))
        """
        if (at is None) == (after is None):
            raise InvalidField("missing_field", "give one of at= and after=", field="at", hint='after="10m"')
        moment = at if at is not None else clock.now() + duration_of(after)
        return await self._call(edit.reschedule, self._ref(job), moment)

    async def run_now(self, job: str | Handler, *, payload: Any = msgspec.UNSET) -> str:
        """Run a job once now, in addition to its schedule, with another `payload` if one is given; the run's
        id."""
        if payload is not msgspec.UNSET and self._ref(job) in self.jobs:
            self._check_payload(self._ref(job), payload)
        return await self._call(trigger.run_now, self._ref(job), payload=payload)

    async def result(self, run_id: str, *, timeout: float | None = None) -> Any:
        """Wait until a run has ended; the result of its handler, decoded from JSON. Raises `RunFailed` if it
        did not end in success, `TimeoutError` if it has not ended after `timeout` seconds. A result that
        cannot be stored (more than 64 KiB, or not JSON) is replaced by `{"truncated": true, "note": …}`.

            run_id = await app.run_now(report, payload={"customer": "acme"})
            try:
                print(await app.result(run_id, timeout=60))
            except RunFailed as error:
                print(error.status, error.error)
        """
        pause = FIRST_LOOK_SECONDS
        try:
            async with asyncio.timeout(timeout) as limit, self.connected():
                while (run := await self._call(get_run, run_number(run_id))).status in LIVE:
                    await clock.sleep(pause)
                    pause = min(2 * pause, LOOK_SECONDS)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"the run {run_id} has not ended after {timeout:g} s") from None
        if run.status != "success":
            raise RunFailed(run_id, run.status, run.error or run.reason)
        return run.result

    async def backfill(
        self, job: str | Handler, start: datetime, end: datetime, *, dry_run: bool = False
    ) -> trigger.Backfill:
        """Run the occurrences of a past range (both ends included) again, with the present definition of the
        job; with `dry_run`, only list them.

            week = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 8, tzinfo=UTC)
            print((await app.backfill(report, *week, dry_run=True)).scheduled_at)
        """
        return await self._call(trigger.backfill, self._ref(job), start, end, dry_run=dry_run)

    async def delete(self, job: str | Handler, *, cancel_running: bool = False) -> None:
        """Delete a job and cancel its waiting runs; with `cancel_running`, also its running ones. Its history
        stays."""
        await self._call(state.delete, self._ref(job), cancel_running=cancel_running)

    async def restore(self, job: str) -> JobView:
        """Restore a deleted job, named by its id or its former name. Occurrences that fell due in between are
        skipped."""
        return await self._call(restore.restore, job)

    async def cancel_run(self, run_id: str, *, reason: str | None = None) -> str:
        """Cancel a run: `cancelled` if it was waiting; `requested` if it is running, and its worker is asked
        to stop it."""
        return await self._call(trigger.cancel_run, run_id, reason=reason)

    async def pause_many(
        self,
        *,
        reason: str | None = None,
        until: datetime | None = None,
        dry_run: bool = False,
        expected: int | None = None,
        after: str | None = None,
        **chosen: Unpack[ManyJobs],
    ) -> Tally:
        """Pause all matching jobs, as `pause` does for one.

        print((await app.pause_many(label="team=billing", dry_run=True)).matched, "jobs")
        done = await app.pause_many(label="team=billing", reason="the database moves")
        print(done.done, done.unchanged, [each.message for each in done.refused])
        """
        work = partial(state.pause_all, reason=reason, until=until)
        return await self._act(work, chosen, dry_run, expected, after)

    async def resume_many(
        self,
        *,
        dry_run: bool = False,
        expected: int | None = None,
        after: str | None = None,
        **chosen: Unpack[ManyJobs],
    ) -> Tally:
        """Resume all matching jobs.

        await app.resume_many(status="paused")
        """
        return await self._act(state.resume_all, chosen, dry_run, expected, after)

    async def run_many(
        self,
        *,
        payload: Any = msgspec.UNSET,
        dry_run: bool = False,
        expected: int | None = None,
        after: str | None = None,
        **chosen: Unpack[ManyJobs],
    ) -> Tally:
        """Run all matching jobs once, now; `run_ids` has the ids of the runs."""
        return await self._act(partial(trigger.run_all, payload=payload), chosen, dry_run, expected, after)

    async def label_many(
        self,
        labels: Mapping[str, str | None],
        *,
        dry_run: bool = False,
        expected: int | None = None,
        after: str | None = None,
        **chosen: Unpack[ManyJobs],
    ) -> Tally:
        """Set these labels on all matching jobs; a label that is None is removed, other labels stay.

        await app.label_many({"team": "sales", "tier": None}, name="bulk-*")
        """
        return await self._act(partial(edit.relabel_all, labels=labels), chosen, dry_run, expected, after)

    async def delete_many(
        self,
        *,
        cancel_running: bool = False,
        dry_run: bool = False,
        expected: int | None = None,
        after: str | None = None,
        **chosen: Unpack[ManyJobs],
    ) -> Tally:
        """Delete all matching jobs, as `delete` does for one.

        await app.delete_many(name="bulk-*", expected=100)
        """
        work = partial(state.delete_all, cancel_running=cancel_running)
        return await self._act(work, chosen, dry_run, expected, after)

    async def _act(
        self, work: many.Work, chosen: ManyJobs, dry_run: bool, expected: int | None, after: str | None
    ) -> Tally:
        which = filter_of(chosen)
        if dry_run:
            return await self._call(many.count, which, after=after)
        return await self._call(many.act_on_all, work, which, expected=expected, after=after)

    async def _call(
        self,
        command: Callable[Concatenate[Context, Given], Awaitable[Result]],
        /,
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Result:
        async with self.connected() as database:
            context = self._context(database)
            if not self._namespace_known:
                await require_namespace(context)
                self._namespace_known = True
            return await command(context, *args, **kwargs)

    def _context(self, database: Database) -> Context:
        """Commands act in the application's namespace, as the actor that `acting` names."""
        caller = self._acting.get() or Acting()
        return Context(
            database,
            self.settings.namespace or NAMESPACE,
            actor=f"app:{self.name}" if caller.actor is None else caller.actor,
            source=Source("python", socket.gethostname()),
            request_id=caller.request_id,
            reason=caller.reason,
        )
