"""Handlers: how each form is called."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from sexton.model import Target
from sexton.targets.python import BUILT_IN, PythonTarget, is_coroutine_function


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
    target = PythonTarget({"mine": handler}, threads=1)
    step = target.step(Target(handler="mine"))
    assert step is not None
    run: Any = None
    assert await step(run) == expected
    await target.close()


def test_only_coroutine_functions_run_in_the_loop() -> None:
    assert is_coroutine_function(coroutine)
    assert is_coroutine_function(Callable())
    assert not is_coroutine_function(function)


async def test_unknown_handlers_are_left_alone_and_built_in_ones_known() -> None:
    target = PythonTarget({})
    assert target.step(Target(handler="nobody")) is None
    for name in BUILT_IN:
        assert target.step(Target(handler=name)) is not None
    await target.close()
