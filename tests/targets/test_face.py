"""A handler sees of its run what it may use, and nothing else."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any

import pytest

from sexton import Run
from sexton.targets.detached import Detached
from sexton.targets.handler import BUILT_IN, OpenHandlers

PUBLIC = {
    "attempt", "cancelled", "deadline", "idempotency_key", "job_id", "job_name", "late_seconds", "log",
    "missed", "payload", "progress", "run_id", "scheduled_at", "token", "transaction", "trigger",
}  # fmt: skip
WHEN = datetime(2026, 6, 1, tzinfo=UTC)


def names(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def plain(seen: list[Any]) -> Any:
    return lambda run: seen.append(run)


def coroutine(seen: list[Any]) -> Any:
    async def handle(run: Run) -> None:
        seen.append(run)

    return handle


def with_arguments(seen: list[Any]) -> Any:
    async def handle(run: Run, n: int) -> None:
        seen.append(run)

    return handle


def plain_with_arguments(seen: list[Any]) -> Any:
    def handle(run: Run, n: int) -> None:
        seen.append(run)

    return handle


@pytest.mark.parametrize("make", [plain, coroutine, with_arguments, plain_with_arguments])
async def test_every_sort_of_handler_gets_a_run_with_these_names_only(make: Any) -> None:
    seen: list[Any] = []
    handlers = OpenHandlers({"work": make(seen)}, capture=True)
    step = handlers.step("work")
    assert step is not None
    attempt = Detached().run(
        "{}", {"n": 1}, 60, id=33, job_id=34, name="report", attempt=2, scheduled_at=WHEN
    )
    await step(attempt)
    await handlers.close()
    [run] = seen
    assert isinstance(run, Run)
    assert names(run) == PUBLIC
    assert (run.run_id, run.job_id, run.job_name, run.payload) == ("r_11", "j_12", "report", {"n": 1})
    assert (run.scheduled_at, run.attempt, run.trigger, run.missed) == (WHEN, 2, "manual", False)
    assert (run.cancelled, run.idempotency_key.startswith("test:")) == (False, True)
    assert run.late_seconds >= 0
    assert run.deadline > WHEN
    assert repr(run) == "<run r_11 of report, attempt 2>"


async def test_what_is_said_is_said_by_the_attempt() -> None:
    feedback = Detached()
    run = Run(feedback.run("{}", None, 60))
    await run.log("one")
    _ = run.log("two", "warning")  # awaiting is optional
    await run.progress(0.5, "half")
    assert feedback.lines == ["one", "two"]
    assert await run.token() == "1.test"


def test_everything_says_what_it_is() -> None:
    for name in PUBLIC:
        assert inspect.getdoc(getattr(Run, name)), name


async def test_handlers_of_sexton_itself_work_on_the_attempt() -> None:
    handlers = OpenHandlers({})
    feedback = Detached()
    for name in BUILT_IN:
        step = handlers.step(name)
        assert step is BUILT_IN[name]
    await BUILT_IN["sexton.log"](feedback.run("{}", {"n": 1}, 60))
    assert feedback.lines == ['{"n":1}']
    await handlers.close()
