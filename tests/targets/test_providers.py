"""Providers: made once at first use, shared, closed in the end; failures harm only those who need them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Annotated, Any, NewType, Protocol

import pytest

from sexton.errors import InvalidField
from sexton.targets.providers import ProviderFailed, Providers, Resources

Token = NewType("Token", str)
Replica = Annotated["Pool", "replica"]


class Pool:
    """What is provided; `log` tells what became of it."""

    def __init__(self, log: list[str] | None = None) -> None:
        self.log = [] if log is None else log


class Entered(Pool):
    async def __aenter__(self) -> Entered:
        self.log.append("opened")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.log.append("closed")


class Awaited(Entered):
    """As the pool of asyncpg is: to be awaited, or entered."""

    def __await__(self) -> Iterator[Any]:
        raise AssertionError("entering is enough")


class Repository:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool


class Speaker(Protocol):
    def speak(self) -> str: ...


def resources(*given: tuple[Any, Callable[..., Any]], enter: bool = True) -> Resources:
    providers = Providers()
    for kind, make in given:
        providers.put(kind, make, enter=enter)
    return Resources(providers)


def forms(log: list[str]) -> dict[str, Callable[..., Any]]:
    """Every form of provider that opens and closes something."""

    async def coroutine() -> Pool:
        return Entered(log)

    async def async_generator() -> AsyncIterator[Pool]:
        log.append("opened")
        yield Pool(log)
        log.append("closed")

    def generator() -> Iterator[Pool]:
        log.append("opened")
        yield Pool(log)
        log.append("closed")

    return {
        "function": lambda: Entered(log),
        "awaitable": lambda: Awaited(log),
        "coroutine": coroutine,
        "async generator": async_generator,
        "generator": generator,
        "async context manager": asynccontextmanager(async_generator),
        "context manager": contextmanager(generator),
    }


@pytest.mark.parametrize("form", forms([]))
async def test_it_is_made_once_and_closed_in_the_end(form: str) -> None:
    log: list[str] = []
    made = resources((Pool, forms(log)[form]))
    assert log == []
    first, second = await asyncio.gather(made.get(Pool), made.get(Pool))
    assert isinstance(first, Pool)
    assert first is second is await made.get(Pool)
    assert log == ["opened"]
    await made.close()
    assert log == ["opened", "closed"]


async def test_what_must_not_be_entered_is_left_alone() -> None:
    made = resources((Pool, lambda: Entered()), (type(threading.Lock()), threading.Lock), enter=False)
    assert (await made.get(Pool)).log == []
    assert not (await made.get(type(threading.Lock()))).locked()
    await made.close()


async def test_what_needs_another_is_closed_before_it() -> None:
    log: list[str] = []

    async def repository(pool: Pool, size: int = 5) -> AsyncIterator[Repository]:
        yield Repository(pool)
        log.append("repository closed")

    made = resources((Repository, repository), (Pool, lambda: Entered(log)))
    assert (await made.get(Repository)).pool is await made.get(Pool)
    await made.close()
    assert log == ["opened", "repository closed", "closed"]


async def test_one_task_opens_and_closes_it() -> None:
    tasks = []

    async def make() -> AsyncIterator[Pool]:
        tasks.append(asyncio.current_task())
        yield Pool()
        tasks.append(asyncio.current_task())

    made = resources((Pool, make))
    await made.get(Pool)
    await made.close()
    assert tasks[0] is tasks[1] is not asyncio.current_task()


async def test_it_is_made_in_the_context_of_the_program() -> None:
    """Not in that of the run that needs it first."""
    run: ContextVar[str] = ContextVar("run", default="none")
    made = resources((Pool, lambda: Pool([run.get()])))
    run.set("r_1")
    assert (await made.get(Pool)).log == ["none"]
    await made.close()


async def test_a_failure_is_told_and_the_next_one_tries_again() -> None:
    calls: list[int] = []

    async def make() -> Pool:
        calls.append(len(calls))
        if len(calls) == 1:
            raise ConnectionError("the server is away")
        return Pool()

    made = resources((Pool, make), (Repository, Repository))
    failures = await asyncio.gather(made.get(Repository), made.get(Pool), return_exceptions=True)
    assert [type(each) for each in failures] == [ProviderFailed, ProviderFailed]
    text = str(failures[0])
    assert text.startswith(
        "the provider of Repository failed: the provider of Pool failed: ConnectionError: "
    )
    assert "the server is away" in text
    assert "in make" in text
    assert calls == [0]
    assert isinstance(await made.get(Pool), Pool)
    await made.close()


async def test_it_is_made_though_the_first_who_asked_has_gone() -> None:
    going, go_on = asyncio.Event(), asyncio.Event()

    async def make() -> Pool:
        going.set()
        await go_on.wait()
        return Pool()

    made = resources((Pool, make))
    first = asyncio.create_task(made.get(Pool))
    await going.wait()
    second = asyncio.create_task(made.get(Pool))
    first.cancel()
    go_on.set()
    assert isinstance(await second, Pool)
    assert first.cancelled()
    await made.close()


async def test_what_cannot_be_closed_does_not_keep_the_others_open(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.targets.providers.CLOSE_SECONDS", 0.01)
    log: list[str] = []

    def fails() -> Iterator[Repository]:
        yield Repository(Pool())
        raise OSError("no")

    async def hangs() -> AsyncIterator[Token]:
        yield Token("")
        await asyncio.Event().wait()

    made = resources((Pool, lambda: Entered(log)), (Repository, fails), (Token, hangs))
    for kind in (Pool, Repository, Token):
        await made.get(kind)
    await made.close()
    assert log == ["opened", "closed"]
    assert "Repository could not be closed: OSError: no" in caplog.text
    assert "Token is not closed after 0.01 s" in caplog.text


async def test_what_is_being_made_is_cancelled_at_the_end() -> None:
    going = asyncio.Event()

    async def make() -> Pool:
        going.set()
        await asyncio.Event().wait()
        raise AssertionError

    made = resources((Pool, make))
    asking = asyncio.create_task(made.get(Pool))
    await going.wait()
    await made.close()
    with pytest.raises(ProviderFailed, match="CancelledError"):
        await asking


@pytest.mark.parametrize(
    ("kind", "make", "words"),
    [
        (str, lambda: "x", "every parameter of type str"),
        (dict, dict, "every parameter of type dict"),
        (Any, lambda: 1, "every parameter of type"),
        (Pool, Pool(), "a Pool, and cannot be called"),
        ([], list, "is no type"),
        (Pool, lambda size: Pool(), "takes size, and does not say of which type"),
    ],
)
def test_what_is_no_provider_is_refused(kind: Any, make: Any, words: str) -> None:
    with pytest.raises(InvalidField, match=words) as caught:
        Providers().put(kind, make, enter=True)
    assert caught.value.code == "bad_provider"


def test_a_parameter_asks_for_its_type_or_what_it_is_beside_none() -> None:
    providers = Providers()
    for kind in (Pool, Token, Replica, Speaker):
        providers.put(kind, Pool, enter=True)
    assert providers.find(Pool) is Pool
    assert providers.find(Pool | None) is Pool
    assert providers.find(Token) is Token
    assert providers.find(Replica) == Replica
    assert providers.find(Speaker) is Speaker
    assert providers.find(Repository) is None
    assert providers.find(Annotated[int, []]) is None


def test_what_cannot_be_made_is_refused_before_it_is_needed() -> None:
    providers = Providers()
    providers.put(Repository, Repository, enter=True)
    with pytest.raises(InvalidField, match="pool= of the provider of Repository needs a Pool") as caught:
        providers.check(Repository, "repository= of report")
    assert caught.value.code == "no_provider"
    assert "app.provide(Pool, …)" in str(caught.value)

    def pool(repository: Repository) -> Pool:
        return repository.pool

    providers.put(Pool, pool, enter=True)
    with pytest.raises(InvalidField, match="Repository needs Pool needs Repository"):
        providers.check(Repository, "repository= of report")
