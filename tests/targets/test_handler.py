"""Handlers: how each form is called."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any

import pytest

from sexton.errors import InvalidField
from sexton.model import Failure
from sexton.targets.detached import Detached
from sexton.targets.handler import BUILT_IN, OpenHandlers, is_coroutine_function
from sexton.targets.run import execute


async def coroutine(run: Any) -> str:
    return "coroutine"


def function(run: Any) -> str:
    return "function"


def returns_awaitable(run: Any) -> Any:
    return coroutine(run)


class Callable:
    async def __call__(self, run: Any) -> str:
        return "object"


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (coroutine, "coroutine"),
        (function, "function"),
        (returns_awaitable, "coroutine"),
        (functools.partial(coroutine), "coroutine"),
        (functools.partial(function), "function"),
        (Callable(), "object"),
    ],
)
async def test_every_form_of_handler_is_called(handler: Any, expected: str) -> None:
    target = OpenHandlers({"mine": handler}, threads=1)
    step = target.step("mine")
    assert step is not None
    run: Any = None
    assert await step(run) == expected
    await target.close()


def test_only_coroutine_functions_run_in_the_loop() -> None:
    assert is_coroutine_function(coroutine)
    assert is_coroutine_function(Callable())
    assert not is_coroutine_function(function)


async def test_unknown_handlers_are_left_alone_and_built_in_ones_known() -> None:
    target = OpenHandlers({})
    assert target.step("nobody") is None
    for name in BUILT_IN:
        assert target.step(name) is not None
    await target.close()


@pytest.mark.parametrize(
    "error",
    [
        StopIteration("value"),
        StopAsyncIteration("value"),
        GeneratorExit("value"),
        SystemExit("value"),
        KeyboardInterrupt("value"),
        asyncio.CancelledError("value"),
        BaseException("value"),
        ExceptionGroup("value", [ValueError("value")]),
    ],
)
async def test_whatever_a_function_raises_is_its_end(error: BaseException) -> None:
    def raises(run: Any) -> None:
        raise error

    target = OpenHandlers({"mine": raises}, threads=1)
    step = target.step("mine")
    assert step is not None
    for _ in range(2):
        outcome = await execute(Detached().run("{}", None, 60), step)
        assert isinstance(outcome, Failure)
        assert outcome.error.startswith(type(error).__name__)
        assert not outcome.permanent
    await target.close()


def test_a_generator_is_no_handler() -> None:
    def plain(run: Any) -> Any:
        yield

    async def coroutine(run: Any) -> Any:
        yield

    for handler in (plain, coroutine):
        with pytest.raises(InvalidField, match="has a yield: calling it does nothing"):
            OpenHandlers({"mine": handler})


async def test_a_thread_that_does_not_end_takes_no_others_place() -> None:
    go, started = threading.Event(), threading.Event()

    def stuck(run: Any) -> None:
        started.set()
        go.wait(60)

    target = OpenHandlers({"stuck": stuck, "mine": function}, threads=1)
    step, mine = target.step("stuck"), target.step("mine")
    assert step is not None
    assert mine is not None
    run: Any = None
    for count in (1, 2, 3):
        started.clear()
        task = asyncio.ensure_future(step(run))
        await asyncio.to_thread(started.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert target.threads.left_behind == count
        assert await mine(run) == "function"
    go.set()
    while target.threads.left_behind:
        await asyncio.sleep(0)
    await target.close()
