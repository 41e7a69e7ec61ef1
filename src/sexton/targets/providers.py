"""Resources that handlers need beside their payload, such as a pool of connections. A provider makes each.

A handler names a resource by the type of a parameter. Each process that carries runs out makes it once, on
first use, and closes it after the last run. It does not make it at the start: then one missing service would
stop every job of the application, and the scheduler. So only the attempts that need it fail, and are tried
again.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from sexton.errors import InvalidField
from sexton.targets.face import Run
from sexton.targets.run import describe

log = logging.getLogger("sexton")

CLOSE_SECONDS = 10.0

# Common types, which no provider may claim.
COMMON = frozenset(
    (str, int, float, bool, bytes, list, dict, tuple, set, frozenset, type(None), object, Any, Run)
)


@dataclass(frozen=True, slots=True)
class Provider:
    """Makes the resource of a type. `needs` are its own parameters, with their types."""

    type: Any
    make: Callable[..., Any]
    enter: bool
    needs: Mapping[str, Any]


class Providers(Mapping[Any, Provider]):
    """The providers of an application, by the type that they make."""

    def __init__(self, known: Mapping[Any, Provider] | None = None) -> None:
        self._known: dict[Any, Provider] = {**(known or {})}

    def __getitem__(self, kind: Any) -> Provider:
        return self._known[kind]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def put(self, kind: Any, make: Callable[..., Any], *, enter: bool) -> Provider | None:
        """Use this provider from now on; returns the previous one."""
        if _is_common(kind):
            what = f"every parameter of type {name_of(kind)} would be provided"
            raise _refuse(what, "kind", 'provide a type of your own: a class, or NewType("Token", str)')
        if not callable(make):
            what = f"what provides {name_of(kind)} is a {type(make).__name__}, and cannot be called"
            raise _refuse(what, "make", "give a function that makes it, such as lambda: pool")
        before = self._known.get(kind)
        self._known[kind] = Provider(kind, make, enter, needs_of(make, f"the provider of {name_of(kind)}"))
        return before

    def put_back(self, kind: Any, before: Provider | None) -> None:
        """Restore the state before `put`."""
        if before is None:
            self._known.pop(kind, None)
        else:
            self._known[kind] = before

    def find(self, annotation: Any) -> Any:
        """The provided type for the type of a parameter: the type itself, or its part beside None; None if
        neither is provided."""
        for kind in (annotation, *_beside_none(annotation)):
            try:
                if kind in self._known:
                    return kind
            except TypeError:
                pass  # it cannot be hashed, as in Annotated[int, []]
        return None

    def check(self, kind: Any, needed_by: str, above: tuple[Any, ...] = ()) -> None:
        """Refuse, with `InvalidField`, a type that has no provider, or that needs itself."""
        if kind in above:
            chain = " needs ".join(name_of(each) for each in (*above[above.index(kind) :], kind))
            raise _refuse(chain, "handler", "let one of them be made without the other")
        provider = self._known.get(kind)
        if provider is None:
            known = ", ".join(map(name_of, self._known)) or "nothing"
            raise InvalidField(
                "no_provider",
                f"{needed_by} needs a {name_of(kind)}, and the application provides {known}",
                field="handler",
                hint=f"write app.provide({name_of(kind)}, …), with a function that makes one",
            )
        for parameter, need in provider.needs.items():
            self.check(need, f"{parameter}= of the provider of {name_of(kind)}", (*above, kind))


class Provision:
    """The result of `app.provide`. As a block, `with app.provide(Pool, FakePool): …`, it restores the
    previous provider at the end."""

    def __init__(self, put_back: Callable[[], None]) -> None:
        self._put_back = put_back

    def __enter__(self) -> None:
        """Provided already."""

    def __exit__(self, *_: object) -> None:
        self._put_back()


class ProviderFailed(Exception):
    """The text names the resource and the error."""


class Resources:
    """The resources that the providers of an application have made in this process."""

    def __init__(self, providers: Providers) -> None:
        self.providers = Providers(providers)
        # The context of the program, not of the run that needs a resource first.
        self._context = contextvars.copy_context()
        self.values: dict[Any, Any] = {}
        self._held: dict[Any, _Held] = {}

    async def get(self, kind: Any) -> Any:
        """The resource of a type; the first caller makes it. Raises `ProviderFailed`; the next caller tries
        again. If the caller is cancelled, it is made all the same: others may wait for it."""
        if kind in self.values:
            return self.values[kind]
        held = self._held.get(kind)
        if held is None:
            held = self._held[kind] = _Held()
            held.task = asyncio.get_running_loop().create_task(
                self._hold(self.providers[kind], held), context=self._context.copy()
            )
        await held.made.wait()
        if held.error is not None:
            raise ProviderFailed(held.error)
        return held.value

    async def close(self) -> None:
        """Close all resources, the last one first. A resource that fails to close, or takes too long, does
        not stop the others from closing."""
        self.values.clear()
        for held in self._held.values():
            if held.task is not None and not held.made.is_set():
                held.task.cancel()
        for kind, held in reversed(list(self._held.items())):
            held.over.set()
            assert held.task is not None
            done, _ = await asyncio.wait([held.task], timeout=CLOSE_SECONDS)
            if not done:
                log.warning(
                    "%s is not closed after %g s: Sexton no longer waits", name_of(kind), CLOSE_SECONDS
                )
                held.task.cancel()
        self._held.clear()

    async def _hold(self, provider: Provider, held: _Held) -> None:
        """Make a resource and close it in the same task, since context managers may belong to their task."""
        try:
            async with AsyncExitStack() as stack:
                try:
                    held.value = await self._make(provider, stack)
                except BaseException as error:
                    said = error.args[0] if isinstance(error, ProviderFailed) else describe(error)
                    held.error = f"the provider of {name_of(provider.type)} failed: {said}"
                    self._held.pop(provider.type, None)
                    raise
                self.values[provider.type] = held.value
                # In the order of making: a resource comes after the resources that it needs.
                self._held[provider.type] = self._held.pop(provider.type, held)
                held.made.set()
                await held.over.wait()
        except BaseException as error:
            if held.error is None:
                log.warning("%s could not be closed: %s", name_of(provider.type), describe(error))
        finally:
            held.made.set()

    async def _make(self, provider: Provider, stack: AsyncExitStack) -> Any:
        needs = {name: await self.get(kind) for name, kind in provider.needs.items()}
        make = provider.make
        if inspect.isasyncgenfunction(make):
            return await stack.enter_async_context(asynccontextmanager(make)(**needs))
        if inspect.isgeneratorfunction(make):
            return stack.enter_context(contextmanager(make)(**needs))
        made = make(**needs)
        if inspect.isawaitable(made) and not (provider.enter and hasattr(made, "__aenter__")):
            made = await made
        if provider.enter and hasattr(made, "__aenter__"):
            return await stack.enter_async_context(made)
        if provider.enter and hasattr(made, "__enter__"):
            return stack.enter_context(made)
        return made


class _Held:
    """A resource, and the task that makes it and closes it in the end."""

    def __init__(self) -> None:
        self.task: asyncio.Task[None] | None = None
        self.made = asyncio.Event()
        self.over = asyncio.Event()
        self.value: Any = None
        self.error: str | None = None


def name_of(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)


def _is_common(kind: Any) -> bool:
    try:
        return kind in COMMON
    except TypeError as error:
        raise _refuse(f"{kind!r} is no type: {error}", "kind", "give a class") from None


def _beside_none(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return ()
    return tuple(each for each in typing.get_args(annotation) if each is not type(None))


def needs_of(
    function: Callable[..., Any], what: str, *, after: int = 0, field: str = "make"
) -> dict[str, Any]:
    """The types of the parameters without a default, `after` the first ones, which the caller gives. `what`
    names the function in refusals."""
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    except ValueError:
        return {}  # written in C: it does not say what it takes
    except Exception as error:
        hint = "import it where the program runs, not for type checkers only"
        raise _refuse(f"{what} has a type that cannot be read: {error}", field, hint) from error
    needs = {}
    for each in parameters[after:]:
        if each.default is not each.empty or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        if each.annotation is each.empty or each.kind is each.POSITIONAL_ONLY:
            hint = f"write {each.name}: Type, with a type that is provided, or give it a default"
            raise _refuse(f"{what} takes {each.name}, and does not say of which type", field, hint)
        needs[each.name] = each.annotation
    return needs


def _refuse(what: str, field: str, hint: str) -> InvalidField:
    return InvalidField("bad_provider", what, field=field, hint=hint)
