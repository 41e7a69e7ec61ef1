"""What handlers need beside their payload, such as a pool of connections: each is made by a provider.

A handler names what it needs by the type of a parameter. In each process that carries runs out it is made
once, when it is needed for the first time, and closed in the end, after the last run. Not at the start:
there, one service that is away would keep every job of the application from running, and the scheduler beside
it; so it only fails the attempts that need it, which are tried again.
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

# Types that parameters have for what they are, and not for where it comes from.
COMMON = frozenset(
    (str, int, float, bool, bytes, list, dict, tuple, set, frozenset, type(None), object, Any, Run)
)


@dataclass(frozen=True, slots=True)
class Provider:
    """Makes what is asked for by a type. `needs` are its own parameters, and the types that they ask for."""

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
        """Provide it so from now on; the provider before."""
        if _is_common(kind):
            raise InvalidField(
                "bad_provider",
                f"every parameter of type {name_of(kind)} would be provided",
                field="kind",
                hint='provide a type of your own: a class, or NewType("Token", str)',
            )
        if not callable(make):
            raise InvalidField(
                "bad_provider",
                f"what provides {name_of(kind)} is a {type(make).__name__}, and cannot be called",
                field="make",
                hint="give a function that makes it, such as lambda: pool",
            )
        before = self._known.get(kind)
        self._known[kind] = Provider(kind, make, enter, needs_of(make, f"the provider of {name_of(kind)}"))
        return before

    def put_back(self, kind: Any, before: Provider | None) -> None:
        """As it was before `put`."""
        if before is None:
            self._known.pop(kind, None)
        else:
            self._known[kind] = before

    def find(self, annotation: Any) -> Any:
        """The type to ask for, given the type of a parameter: itself, or what it is beside None; None if it
        is not provided."""
        for kind in (annotation, *_beside_none(annotation)):
            try:
                if kind in self._known:
                    return kind
            except TypeError:
                pass  # it cannot be hashed, as in Annotated[int, []]
        return None

    def check(self, kind: Any, needed_by: str, above: tuple[Any, ...] = ()) -> None:
        """Refuse, with `InvalidField`, what cannot be made: without a provider, or that needs itself."""
        if kind in above:
            chain = " needs ".join(name_of(each) for each in (*above[above.index(kind) :], kind))
            raise InvalidField(
                "bad_provider", f"{chain}", field="handler", hint="let one of them be made without the other"
            )
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
    """What `app.provide` returns: as a block, `with app.provide(Pool, FakePool): …`, the provider before it
    is back at the end."""

    def __init__(self, put_back: Callable[[], None]) -> None:
        self._put_back = put_back

    def __enter__(self) -> None:
        """Provided already."""

    def __exit__(self, *_: object) -> None:
        self._put_back()


class ProviderFailed(Exception):
    """The text says what was to be made and what went wrong."""


class Resources:
    """What the providers of an application have made in this process."""

    def __init__(self, providers: Providers) -> None:
        self.providers = Providers(providers)
        # Of the program, not of the run that happens to need it first.
        self._context = contextvars.copy_context()
        self.values: dict[Any, Any] = {}
        self._held: dict[Any, _Held] = {}

    async def get(self, kind: Any) -> Any:
        """The resource of a type, made now if it has not been made yet. Raises `ProviderFailed`; the next
        caller tries again. If the caller is cancelled, it is made nevertheless: others may wait for it."""
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
        """The last one first. One that fails to close, or takes too long, does not keep the others open."""
        self.values.clear()
        for held in self._held.values():
            if held.task is not None and not held.made.is_set():
                held.task.cancel()
        for kind, held in reversed(list(self._held.items())):
            held.over.set()
            assert held.task is not None
            done, _ = await asyncio.wait([held.task], timeout=CLOSE_SECONDS)
            if not done:
                log.warning("%s is not closed after %g s: left as it is", name_of(kind), CLOSE_SECONDS)
                held.task.cancel()
        self._held.clear()

    async def _hold(self, provider: Provider, held: _Held) -> None:
        """One task makes it and closes it: what it enters may belong to its task."""
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
                # In the order in which they are made: what it needs comes before it.
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
    """Something that was made, or is being made, by a task that closes it in the end."""

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
        raise InvalidField(
            "bad_provider", f"{kind!r} is no type: {error}", field="kind", hint="give a class"
        ) from None


def _beside_none(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return ()
    return tuple(each for each in typing.get_args(annotation) if each is not type(None))


def needs_of(
    function: Callable[..., Any], what: str, *, after: int = 0, field: str = "make"
) -> dict[str, Any]:
    """The types of the parameters without a default, `after` so many that are given otherwise. `what` names
    the function in refusals."""
    try:
        parameters = list(inspect.signature(function, eval_str=True).parameters.values())
    except ValueError:
        return {}  # written in C: it does not say what it takes
    except Exception as error:
        raise InvalidField(
            "bad_provider",
            f"{what} has a type that cannot be read: {error}",
            field=field,
            hint="import it where the program runs, not for type checkers only",
        ) from error
    needs = {}
    for each in parameters[after:]:
        if each.default is not each.empty or each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        if each.annotation is each.empty or each.kind is each.POSITIONAL_ONLY:
            raise InvalidField(
                "bad_provider",
                f"{what} takes {each.name}, and does not say of which type",
                field=field,
                hint=f"write {each.name}: Type, with a type that is provided, or give it a default",
            )
        needs[each.name] = each.annotation
    return needs
