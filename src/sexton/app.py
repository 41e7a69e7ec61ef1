"""The Python API: an application, its handlers, and the jobs that it declares.

from sexton import Sexton

app = Sexton()

@app.job("0 9 * * 1", timezone="America/New_York")
async def weekly_report(run): ...

app.run()
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack

import msgspec

from sexton import clock
from sexton.config import Settings, check_names, load
from sexton.engine.cluster.egress import decide_egress
from sexton.engine.logs import set_up_logging
from sexton.engine.loop import Loop
from sexton.engine.node import Node
from sexton.errors import InvalidField, RunFailed, ScheduleError
from sexton.jobs import (
    bulk,
    create,
    declare,
    edit,
    read,
    state,
)
from sexton.jobs.spec import JobSpec
from sexton.jobs.timing import read_schedule
from sexton.jobs.validation import read_spec
from sexton.jobs.view import JobView
from sexton.model import (
    Backoff,
    MissedWindow,
    Overlap,
    RetryJitter,
)
from sexton.postgres.database import Database, patiently
from sexton.postgres.shared import SharedDatabase, configured_database
from sexton.postgres.transaction import Context
from sexton.runs import trigger
from sexton.runs.read import get_run, list_runs, require_job, run_number
from sexton.runs.view import RunView, Why
from sexton.runs.why import why
from sexton.schedules.interval import read_seconds
from sexton.targets.arguments import Arguments
from sexton.targets.handler import BUILT_IN, Handler
from sexton.targets.http.kind import HttpTarget
from sexton.targets.run import RunContext
from sexton.targets.table import load_kinds

log = logging.getLogger("sexton")

CHUNK = 5000
VANISHED_SECONDS = 30.0
LONGEST_AFTER = timedelta(days=36_525)
# How often `result` asks: the pause doubles.
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.05, 1.0
LIVE = ("pending", "running", "failed", "waiting")

#: What a handler is given.
Run = RunContext
Given = ParamSpec("Given")
Result = TypeVar("Result")
AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])
Jobs = list[JobView]
Ids = list[str]
Runs = list[RunView]
Explained = list[Why]


class JobFields(TypedDict, total=False):
    """The fields of a job that can be given beside its schedule: see `JobSpec`."""

    timezone: str | None
    kind: str | None
    anchor: datetime | str | None
    gap: str | None
    fold: str | None
    seconds: str | None
    starts_at: datetime | str | None
    ends_at: datetime | str | None
    exclude: Ids
    target: Mapping[str, Any] | None
    queue: str
    priority: int
    max_retries: int
    retry_backoff: Backoff | str
    retry_base_seconds: int
    retry_max_seconds: int
    retry_jitter: RetryJitter | str
    timeout_seconds: int
    missed_window: MissedWindow | str | None
    max_missed: int
    catch_up_seconds: int | None
    grace_seconds: int
    overlap: Overlap | str
    jitter_seconds: int
    expires_seconds: int | None
    max_runs: int | None
    idempotency_key_template: str | None
    concurrency_key: str | None
    dead_letter_target: Mapping[str, Any] | None
    keep_completed_seconds: int
    labels: dict[str, str]
    description: str | None
    owner: str | None


class Sexton:
    """An application. Without a database it uses a private PostgreSQL, shared by all processes of this user.

    `name` tells its declared jobs from those of others; it is the module's name unless given. Further
    keywords are settings (`data`, `schema`, `concurrency`, …).
    """

    def __init__(self, database_url: str | None = None, *, name: str | None = None, **settings: Any) -> None:
        self.name = name or _caller()
        self.handlers: dict[str, Handler] = {}
        self._arguments: dict[str, Arguments] = {}
        self.jobs: dict[str, JobSpec] = {}
        self.node: Node | None = None
        check_names(settings)
        self._given = {"database_url": database_url, **settings}
        self._shared = SharedDatabase(
            lambda patient: configured_database(self.settings, self.name, patient=patient)
        )

    @cached_property
    def settings(self) -> Settings:
        """What was given, over the environment, over sexton.toml."""
        settings = load(self._given)
        load_kinds(settings)
        return settings

    def job(
        self,
        schedule: str | timedelta | datetime,
        *,
        name: str | None = None,
        payload: Any = None,
        **fields: Unpack[JobFields],
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Declare a job: the function is its handler, and its name unless another is given. A `timedelta` is
        an interval, a `datetime` a single time."""
        if callable(schedule):
            raise InvalidField(
                "bad_schedule",
                "@app.job needs a schedule",
                field="schedule",
                hint='write @app.job("0 9 * * 1-5") above the function',
            )

        def register(function: AnyHandler) -> AnyHandler:
            own = name or _name_of(function)
            spec = self._read({"name": own, "schedule": _text_of(schedule), "payload": payload, **fields})
            read_schedule(spec, clock.now())
            arguments = Arguments(function)
            if spec.target is None:
                arguments.check(payload)
            self._register(own, function)
            self.jobs[own] = spec
            return function

        return register

    def handler(self, name: str) -> Callable[[AnyHandler], AnyHandler]:
        """Register a handler without a schedule, under this name."""
        if callable(name):
            raise InvalidField(
                "bad_name",
                "@app.handler needs a name",
                field="name",
                hint=f'write @app.handler("{_name_of(name)}") above the function',
            )

        def register(function: AnyHandler) -> AnyHandler:
            self._register(name, function)
            return function

        return register

    def run(self) -> None:
        """Run scheduler and worker in this process until Ctrl-C or SIGTERM."""
        set_up_logging()
        asyncio.run(self._until_stopped())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Sexton]:
        """Scheduler and worker inside an asyncio program, for as long as the block runs."""
        async with self._shared.held(patient=True) as database:
            roles = ("scheduler", "worker")
            settings = await patiently(lambda: decide_egress(database, self.settings, roles))
            node = Node(
                settings,
                database,
                roles=roles,
                handlers=self.handlers,
                app=self.name,
            )
            keeper = self.keeper(database)
            await node.start()
            try:
                await patiently(lambda: self.declare(database))
                keeper.start()
                self.node = node
                yield self
            finally:
                self.node = None
                await keeper.stop()
                await node.stop()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Database]:
        """Hold the database open, for a program that only makes or looks at jobs. Commands outside of it open
        and close it each time; those of one event loop at the same time share it."""
        async with self._shared.held() as database:
            yield database

    async def declare(self, database: Database) -> declare.Declared:
        """Bring the declared jobs in line; done at every start."""
        return await declare.declare(Context(database, actor=self.name), self.name, self.jobs)

    def keeper(self, database: Database) -> Loop:
        """Pauses what has vanished from the code, when the last node that declares it has gone."""
        return _Keeper(self, database)

    # Commands on jobs. A job is named by its id, its name, or the function that it was declared with.

    async def schedule(
        self,
        handler: str | Handler | None = None,
        *,
        at: datetime | str | None = None,
        after: timedelta | str | None = None,
        schedule: str | timedelta | datetime | None = None,
        payload: Any = None,
        name: str | None = None,
        **fields: Unpack[JobFields],
    ) -> JobView:
        """Make a job for a handler (or another `target`): once, `at` a time or `after` a while (a `timedelta`
        or "10m"), or by a `schedule`."""
        own = {"at": at, "after": after, "schedule": schedule, "payload": payload, "name": name}
        spec = self._spec(handler, {**own, **fields})
        return await self._call(create.create, spec, app=self.name)

    async def schedule_many(self, handler: str | Handler | None, items: Iterable[Mapping[str, Any]]) -> Ids:
        """Make many jobs for a handler, each given by what `schedule` takes; their ids, in order.

        They are made in chunks of 5,000, each whole or not at all. `RefusedLines` tells which ones are wrong
        (counted from 1); chunks before it stay.
        """
        made: Ids = []
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
        return made

    async def get(self, job: str | Handler) -> JobView:
        return await self._call(read.get, self._ref(job))

    async def list(
        self,
        *,
        status: str | None = None,
        label: str | None = None,
        name: str | None = None,
        target: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Jobs:
        """Jobs in the order in which they were made, `after` the one with this id."""
        page = await self._call(
            read.list_jobs, status=status, label=label, name=name, target=target, cursor=after, limit=limit
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
        self, job: str | Handler, *, expected_revision: int | None = None, **changes: Any
    ) -> JobView:
        return await self._call(edit.edit, self._ref(job), changes, expected_revision=expected_revision)

    async def pause(
        self, job: str | Handler, *, reason: str | None = None, until: datetime | None = None
    ) -> JobView:
        return await self._call(state.pause, self._ref(job), reason=reason, until=until)

    async def resume(self, job: str | Handler) -> JobView:
        return await self._call(state.resume, self._ref(job))

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
        return await self._call(trigger.backfill, self._ref(job), start, end, dry_run=dry_run)

    async def delete(self, job: str | Handler, *, cancel_running: bool = False) -> None:
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

    def _register(self, name: str, function: Handler) -> None:
        if name in BUILT_IN or self.handlers.get(name, function) is not function:
            raise InvalidField(
                "handler_taken",
                f"there is a handler {name} already",
                field="name",
                hint="give it another name=",
            )
        self._arguments[name] = Arguments(function)
        self.handlers[name] = function

    def _spec(self, handler: str | Handler | None, given: Mapping[str, Any]) -> JobSpec:
        if not isinstance(given, Mapping):
            raise InvalidField(
                "bad_type",
                f"a job is given by a {type(given).__name__}",
                field="items",
                hint='give what schedule() takes: {"at": …, "payload": …}',
            )
        fields = dict(given)
        at, after, schedule = (fields.pop(name, None) for name in ("at", "after", "schedule"))
        if [at, after, schedule].count(None) != 2:
            raise InvalidField(
                "bad_schedule",
                "give one of at=, after= and schedule=",
                field="schedule",
                hint="at= is for a single time, after= for one that far from now",
            )
        if after is not None:
            at = clock.now() + _duration(after)
            # However short it is: the time has not passed before the job was made.
            if fields.get("missed_window") is None:
                fields["missed_window"] = MissedWindow.RUN_ONCE
        if at is not None:
            if not isinstance(at, datetime | str):
                raise InvalidField(
                    "bad_time",
                    f"at= is a {type(at).__name__}",
                    field="at",
                    hint="give a moment with its zone, or a while: after=timedelta(minutes=5)",
                )
            fields["kind"] = "once"
        fields["schedule"] = _text_of(schedule if at is None else at)
        if handler is not None:
            fields["target"] = {"handler": self._ref(handler)}
            self._check_payload(self._ref(handler), fields.get("payload"))
        elif fields.get("target") is None:
            raise InvalidField("bad_target", "no handler was given", field="target", hint="pass a handler")
        if fields.get("name") is None:
            fields["name"] = f"{self._ref(handler) if handler else 'http'}-{secrets.token_hex(6)}"
        return self._read(fields)

    def _check_payload(self, handler: str, payload: Any) -> None:
        """Refuse what a handler of this application could not be called with."""
        if handler in self._arguments:
            self._arguments[handler].check(payload)

    def _read(self, fields: Mapping[str, Any]) -> JobSpec:
        if fields.get("target") or fields.get("dead_letter_target"):
            load_kinds(self.settings)
        return read_spec(fields)

    def _ref(self, job: str | Handler) -> str:
        if isinstance(job, str):
            return job
        for name, function in self.handlers.items():
            if function is job:
                return name
        raise InvalidField(
            "unknown_handler",
            f"{_name_of(job)} is not a handler of this application",
            field="handler",
            hint="decorate it with @app.job(…) or @app.handler(name)",
        )

    async def _until_stopped(self) -> None:
        stop, started = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        async def live() -> None:
            async with self.running():
                started.set()
                log.info("%s is running, with %d jobs; Ctrl-C stops it", self.name, len(self.jobs))
                await stop.wait()
                log.info("%s is stopping", self.name)

        def told() -> None:
            stop.set()
            if not started.is_set():
                living.cancel()  # it may be waiting for the database

        living = asyncio.create_task(live())
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError):  # not in the main thread
                loop.add_signal_handler(number, told)
        with suppress(asyncio.CancelledError):
            await living


class _Keeper(Loop):
    name = "declarations"

    def __init__(self, app: Sexton, database: Database) -> None:
        super().__init__()
        self._app = app
        self._database = database

    async def tick(self) -> float:
        context = Context(self._database, actor=self._app.name)
        await declare.pause_vanished(context, self._app.name, self._app.jobs)
        return VANISHED_SECONDS


def _name_of(function: Callable[..., Any]) -> str:
    name: str = getattr(inspect.unwrap(function), "__name__", type(function).__name__)
    return name


def _text_of(schedule: object) -> object:
    """A schedule as text; what else was given is refused where jobs are read."""
    if isinstance(schedule, datetime):
        return schedule.isoformat()
    if isinstance(schedule, timedelta):
        if schedule % timedelta(seconds=1):
            raise InvalidField(
                "bad_interval", f"{schedule} is not whole seconds", field="schedule", hint="round it"
            )
        return f"every {schedule // timedelta(seconds=1)}s"
    return schedule


def _duration(after: object) -> timedelta:
    """How long from now: at least 0, at most what a datetime can hold."""
    try:
        length = after
        if isinstance(after, str):
            length = timedelta(seconds=read_seconds(f"every {after.removeprefix('in ')}"))
        if isinstance(length, timedelta) and timedelta(0) <= length <= LONGEST_AFTER:
            return length
    except ScheduleError:
        pass  # refused below, in words that speak of after=
    raise InvalidField(
        "bad_interval", f"after= is {after!r}", field="after", hint='give timedelta(minutes=10) or "10m"'
    )


def _caller() -> str:
    """The module that made the application: the same whether it is imported or run as a script."""
    names = sys._getframe(2).f_globals
    module = str(names.get("__name__", "app"))
    return Path(str(names.get("__file__", "app"))).stem if module == "__main__" else module


__all__ = ["HttpTarget", "JobFields", "Run", "Sexton"]
