"""The declarations of an application: its handlers, and the jobs in its code."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar, Unpack

from sexton import clock
from sexton.app.fields import JobFields, When, duration_of, with_schedule
from sexton.config import Settings, check_names, load
from sexton.engine.worker.audience import Listener, check_listener
from sexton.errors import InvalidField
from sexton.jobs.spec import JobSpec
from sexton.jobs.timing import read_schedule
from sexton.jobs.validation import read_spec
from sexton.model import MissedWindow
from sexton.runs.events import EVENTS, EventName
from sexton.targets.arguments import Arguments, name_of
from sexton.targets.handler import BUILT_IN, Handler, own_target
from sexton.targets.providers import Providers, Provision
from sexton.targets.table import load_kinds

AnyHandler = TypeVar("AnyHandler", bound=Callable[..., Any])


class Declarations:
    """The part of an application that needs no database."""

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        self.name = name
        self.handlers: dict[str, Handler] = {}
        self.jobs: dict[str, JobSpec] = {}
        self._providers = Providers()
        self._listeners: dict[EventName, list[Listener]] = {}
        self._arguments: dict[str, Arguments] = {}
        check_names(given)
        self._given = given
        #: What `after=` counts from.
        self._now = clock.now

    @cached_property
    def settings(self) -> Settings:
        """The settings: the arguments, then the environment, then sexton.toml."""
        settings = load(self._given)
        load_kinds(settings)
        return settings

    def job(
        self,
        schedule: When,
        *,
        name: str | None = None,
        payload: Any = None,
        **fields: Unpack[JobFields],
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Declare a job: the function is its handler, and gives its name unless `name` does.

        `schedule` is text in any of its forms, a `timedelta` (an interval), a `datetime` (a single time), or
        a `Schedule` from `sexton.parse`, with its zone and policies. `fields` are those of a job, such as
        `timezone`, `max_retries` or `overlap`.

            @app.job(timedelta(minutes=5), max_retries=3, overlap="SKIP")
            def poll() -> None:  # a plain function runs in a thread
                print("polling")
        """
        if callable(schedule):
            raise InvalidField(
                "bad_schedule",
                "@app.job has no schedule",
                field="schedule",
                hint='write @app.job("0 9 * * 1-5") above the function',
            )

        def register(function: AnyHandler) -> AnyHandler:
            own = name or name_of(function)
            spec = self._read(with_schedule(schedule, {"name": own, "payload": payload, **fields}))
            read_schedule(spec, clock.now())
            arguments = Arguments(function, self._providers)
            if spec.target is None:
                arguments.check(payload)
            self._register(own, function)
            self.jobs[own] = spec
            return function

        return register

    def handler(self, name: str) -> Callable[[AnyHandler], AnyHandler]:
        """Register a handler without a schedule, under this name.

        @app.handler("remind")
        async def remind(run: Run, what: str) -> None:  # `what` comes from the payload
            await run.log(f"remember: {what}")
        """
        if callable(name):
            raise InvalidField(
                "bad_name",
                "@app.handler has no name",
                field="name",
                hint=f'write @app.handler("{name_of(name)}") above the function',
            )

        def register(function: AnyHandler) -> AnyHandler:
            self._register(name, function)
            return function

        return register

    def provide(self, kind: Any, make: Callable[..., Any], *, enter: bool = True) -> Provision:
        """Provide objects that handlers need: a parameter of the type `kind` gets the object that `make`
        returns, and is not filled from the payload.

        `make` is a function or a coroutine function. It returns the object; or yields it and closes it
        afterwards; or returns a context manager, which is entered unless `enter` is false. It is called in
        the event loop. Its own parameters are provided by their types, too. Each process that carries runs
        out calls it once, when the object is needed for the first time. The object is closed when the process
        stops, after the last run. While `make` fails, the attempts that need the object fail.

        The last provider of a type is used. As a block (`with app.provide(Pool, FakePool): …`) it is replaced
        by the previous one at the end: for tests. A running application keeps the providers that it started
        with.

            class Mail:
                def send(self, text: str) -> str:
                    return f"sent: {text}"

            app.provide(Mail, Mail)

            @app.handler("greet")
            def greet(run: Run, name: str, mail: Mail) -> str:
                return mail.send(f"hello {name}")
        """
        before = self._providers.put(kind, make, enter=enter)
        self._read_arguments()

        def put_back() -> None:
            self._providers.put_back(kind, before)
            self._read_arguments()

        return Provision(put_back)

    def on(self, event: EventName) -> Callable[[AnyHandler], AnyHandler]:
        """Call a function whenever a run was recorded as `succeeded`, `failed` (any attempt, including the
        last), `dead` (it is not retried) or `cancelled`.

        It gets a `RunEvent`, and further parameters that are provided by their types. It is called in the
        process of the worker that carried the run out, after the outcome was recorded: a coroutine in the
        event loop, a plain function in a thread, one event after another. Its errors are logged and have no
        other effect. This is best effort: events are lost if the process dies, and there is none for an end
        that no worker has recorded (a run that expired, whose worker crashed too often, or whose end a
        service reported).

            @app.on("dead")
            async def page(event: RunEvent) -> None:
                print(event.job_name, event.run_id, event.attempt, event.error)
        """
        if event not in EVENTS:
            raise InvalidField(
                "unknown_event",
                f"there is no event {getattr(event, '__name__', event)}",
                field="event",
                hint=f'write @app.on("failed"), or another of {", ".join(EVENTS)}',
            )

        def register(function: AnyHandler) -> AnyHandler:
            self._listeners.setdefault(event, []).append(function)
            return function

        return register

    def _check_providers(self) -> None:
        """Raise `InvalidField` if a handler or a listener needs what is not provided. Done at every start."""
        for arguments in self._arguments.values():
            arguments.check_needs(self._providers)
        for listener in {each for these in self._listeners.values() for each in these}:
            check_listener(listener, self._providers)

    def _read_arguments(self) -> None:
        self._arguments = {
            name: Arguments(function, self._providers) for name, function in self.handlers.items()
        }

    def _register(self, name: str, function: Handler) -> None:
        if name in BUILT_IN or self.handlers.get(name, function) is not function:
            raise InvalidField(
                "handler_taken",
                f"there is a handler {name} already",
                field="name",
                hint="give it another name=",
            )
        self._arguments[name] = Arguments(function, self._providers)
        self.handlers[name] = function

    def _spec(self, handler: str | Handler | None, given: Mapping[str, Any]) -> JobSpec:
        """The job that the arguments of `schedule` describe."""
        if not isinstance(given, Mapping):
            raise InvalidField(
                "bad_type",
                f"an item is a {type(given).__name__}, not a mapping",
                field="items",
                hint='give the arguments of schedule(): {"at": …, "payload": …}',
            )
        fields = dict(given)
        at, after, schedule = (fields.pop(name, None) for name in ("at", "after", "schedule"))
        if [at, after, schedule].count(None) != 2:
            raise InvalidField(
                "bad_schedule",
                "exactly one of at=, after= and schedule= is required",
                field="schedule",
                hint="write at= for a single time, after= for a delay from now, or schedule=",
            )
        if after is not None:
            at = self._now() + duration_of(after)
            # Even if the delay is so short that the time has passed when the job is made.
            if fields.get("missed_window") is None:
                fields["missed_window"] = MissedWindow.RUN_ONCE
        if at is not None:
            if not isinstance(at, datetime | str):
                raise InvalidField(
                    "bad_time",
                    f"at= is a {type(at).__name__}",
                    field="at",
                    hint="give a datetime with its zone, or a delay: after=timedelta(minutes=5)",
                )
            fields["kind"] = "once"
        fields = with_schedule(schedule if at is None else at, fields)
        if handler is not None:
            fields["target"] = {"handler": self._ref(handler)}
            self._check_payload(self._ref(handler), fields.get("payload"))
        elif fields.get("target") is None:
            raise InvalidField("bad_target", "no handler was given", field="target", hint="pass a handler")
        if fields.get("name") is None:
            fields["name"] = f"{self._ref(handler) if handler else 'http'}-{secrets.token_hex(6)}"
        return self._read(self._own(fields))

    def _check_payload(self, handler: str, payload: Any) -> None:
        """Refuse a payload that a handler of this application cannot be called with."""
        if handler in self._arguments:
            self._arguments[handler].check(payload)

    def _own(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of a job whose target names the application of the handler, if that is this one."""
        target = fields.get("target")
        own = own_target(target, self.name, self.handlers) if isinstance(target, Mapping) else target
        return {**fields, "target": own} if "target" in fields else dict(fields)

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
            f"{name_of(job)} is not a handler of this application",
            field="handler",
            hint="decorate it with @app.job(…) or @app.handler(name)",
        )
