"""Handlers: coroutines run in the worker's event loop, plain functions in its threads.

A handler belongs to an application: `app:name`. The name alone means the handler of the application that has
it, if there is only one. The name of an application has no colon, so the first colon ends it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from sexton.config import Settings
from sexton.errors import InvalidField
from sexton.model import Failure, Release
from sexton.refusal import about, check_text
from sexton.targets.arguments import Arguments
from sexton.targets.base import TargetKind, TargetServices
from sexton.targets.capture import captured
from sexton.targets.face import Run
from sexton.targets.providers import ProviderFailed, Providers, Resources
from sexton.targets.run import RunContext, Step
from sexton.targets.threads import Threads

log = logging.getLogger("sexton.handlers")

NO_THREAD_SECONDS = 5.0
LONGEST_NAME = 200

#: It takes the run, arguments that the payload has by name, or both: see `Arguments`.
Handler = Callable[..., Any]


async def noop(run: RunContext) -> None:
    """Does nothing, successfully."""


async def log_payload(run: RunContext) -> None:
    """Writes the payload to the worker's log and to the run's."""
    text = run.payload_json or "null"
    log.info("%s (%s, attempt %d): %s", run.job_name, run.run_id, run.attempt, text)
    await run.log(text)


async def fail(run: RunContext) -> None:
    """Fails every time: for trying out retries and dead letters."""
    raise RuntimeError(f"sexton.fail always fails (attempt {run.attempt})")


BUILT_IN: Mapping[str, Handler] = {"sexton.noop": noop, "sexton.log": log_payload, "sexton.fail": fail}


def full_name(app: str, name: str) -> str:
    return f"{app}:{name}"


def split_name(text: str) -> tuple[str | None, str]:
    """The application, if one is named, and the handler."""
    app, colon, name = text.partition(":")
    return (app, name) if colon else (None, text)


def is_shared(name: str) -> bool:
    """Whether a name stands for the only application that has it: it names none, and is not one of
    Sexton's."""
    return ":" not in name and name not in BUILT_IN


def by_full_name(app: str, handlers: Mapping[str, Handler]) -> dict[str, Handler]:
    """The handlers of an application under every name that a target may use."""
    full = {full_name(app, name): handler for name, handler in handlers.items()}
    return {**full, **{name: handler for name, handler in handlers.items() if ":" not in name}}


def own_target(target: Mapping[str, Any], app: str, handlers: Collection[str]) -> dict[str, Any]:
    """A target in the code of an application, as it is stored: its own handlers get the name of the
    application."""
    name = target.get("handler")
    if isinstance(name, str) and name in handlers and name not in BUILT_IN:
        return {"handler": full_name(app, name)}
    return dict(target)


def contested(name: str, apps: Sequence[str]) -> str:
    """The message about a name that several applications have."""
    return f"several applications have a handler {name} ({', '.join(apps)})"


def check_application(name: str, field: str) -> str:
    """Refuse a text that cannot be the name of an application."""
    check_text(name, field, LONGEST_NAME)
    if ":" in name:
        raise InvalidField(
            "bad_name",
            f"the name of the application {name} has a colon",
            field=field,
            hint='leave it out: "app:name" is the handler name of the application app',
        )
    return name


class HandlerKind(TargetKind[str]):
    """`{"handler": "name"}` or `{"handler": "app:name"}`: a Python function of the worker's application."""

    name = "handler"
    spec = Annotated[str, about("The name of a handler, or `app:name` of one of several applications.")]
    example = "name"

    def check(self, spec: str, payload: Any, field: str) -> None:
        app, name = split_name(spec)
        check_text(name, field, LONGEST_NAME)
        if app is not None:
            check_application(app, field)

    def need(self, spec: str) -> str:
        return spec

    def served(self, settings: Settings) -> tuple[str, ...]:
        """Nothing: a worker lists its handlers separately."""
        return ()

    def open(self, services: TargetServices) -> OpenHandlers:
        return OpenHandlers(
            services.handlers,
            services.resources,
            threads=services.settings.concurrency,
            capture=services.settings.capture_output,
        )


class OpenHandlers:
    """The handlers of a worker by name, always with those of Sexton. Raises `InvalidField` if no provider
    makes what a handler needs."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        resources: Resources | None = None,
        *,
        threads: int = 32,
        capture: bool = False,
    ) -> None:
        self._resources = resources or Resources(Providers())
        self.handlers: dict[str, Handler] = {**BUILT_IN, **handlers}
        self.threads = Threads(threads, "sexton-handler")
        self._steps = {
            name: captured(self._step(handler)) if capture and name not in BUILT_IN else self._step(handler)
            for name, handler in self.handlers.items()
        }

    def step(self, spec: str) -> Step | None:
        return self._steps.get(spec)

    def _step(self, handler: Handler) -> Step:
        arguments = Arguments(handler, self._resources.providers)
        arguments.check_needs(self._resources.providers)
        coroutine = is_coroutine_function(handler)
        needs, resources = tuple(arguments.needs.items()), self._resources
        if any(handler is each for each in BUILT_IN.values()):
            return handler
        if arguments.run and not arguments.names and not needs:
            # No additional coroutine: every run would pay for it.
            return (lambda run: handler(Run(run))) if coroutine else partial(self._in_thread, handler)

        async def filled(run: RunContext) -> Any:
            try:
                given = arguments.read(run.payload_json)
                for name, kind in needs:
                    given[name] = await resources.get(kind)
            except InvalidField as error:
                return Failure(f"{error.code}: {error}", permanent=True)
            except ProviderFailed as error:
                return Failure(str(error))
            call = partial(handler, Run(run), **given) if arguments.run else partial(handler, **given)
            return await call() if coroutine else await self._in_thread(lambda _: call(), run)

        return filled

    async def _in_thread(self, handler: Handler, run: RunContext) -> Any:
        try:
            call = self.threads.submit(contextvars.copy_context().run, handler, Run(run))
        except RuntimeError as error:
            return Release(NO_THREAD_SECONDS, f"no thread can be started for it: {error}")
        try:
            value = await asyncio.wrap_future(call)
        except asyncio.CancelledError:
            call.cancel()
            if call.left:
                log.warning(
                    "%r was stopped, but its thread goes on (%d such threads): let it check run.cancelled",
                    run,
                    self.threads.left_behind,
                )
            raise
        return await value if inspect.isawaitable(value) else value

    async def close(self) -> None:
        """Close the threads. They cannot be stopped: running calls are left behind."""
        self.threads.shutdown()


def is_coroutine_function(handler: Handler) -> bool:
    while isinstance(handler, partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - an object whose __call__ is a coroutine function
    )
