"""What a handler prints and logs is in the log of its run, and nothing else is."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import subprocess
import sys
import textwrap
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sexton.targets.capture import Capture, CapturedRecords, CapturedStream
from sexton.targets.detached import Detached
from sexton.targets.handler import Handler, OpenHandlers
from sexton.targets.run import CAPPED, LOG_LINES, RunContext, execute
from tests.waiting import PATIENCE

log = logging.getLogger("shop.reports")


class Lines(Detached):
    """What the run's log has."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[str, str]] = []

    def log(self, run: RunContext, level: str, message: str) -> None:
        self.kept.append((level, message))


async def nothing() -> None:
    """To happen after the end of the run."""


async def lines_of(
    handler: Handler, *, capture: bool = True, after: Callable[[], Awaitable[object]] = nothing
) -> list[tuple[str, str]]:
    """The log of a run that this handler carries out."""
    feedback = Lines()
    run = feedback.run("{}", None, 60)
    handlers = OpenHandlers({"mine": handler}, threads=2, capture=capture)
    step = handlers.step("mine")
    assert step is not None
    hooks = Capture()
    hooks.start()
    try:
        await execute(run, step)
        run.ended = True
        await after()
    finally:
        hooks.stop()
    await handlers.close()
    return feedback.kept


async def test_print_and_logging_of_a_coroutine(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(run: RunContext) -> None:
        print("one", 1)
        print("two\nthree", end="")
        await asyncio.sleep(0)
        print(" and a half")
        print("\n \n")
        print("wrong", file=sys.stderr)
        sys.stdout.writelines(["four\n", "five"])
        log.info("said %s", "so")
        log.critical("bad")
        log.debug("not shown: the level is info")

    with caplog.at_level(logging.INFO):
        kept = await lines_of(handler)
    assert kept == [
        ("info", "one 1"),
        ("info", "two"),
        ("info", "three and a half"),
        ("warning", "wrong"),
        ("info", "four"),
        ("info", "said so"),
        ("error", "bad"),
        ("info", "five"),
    ]
    assert "".join(capsys.readouterr()) == "one 1\ntwo\nthree and a half\n\n \n\nfour\nfivewrong\n"
    assert caplog.messages == ["said so", "bad"]


async def test_those_of_a_plain_function_its_tasks_and_its_threads() -> None:
    def plain(run: RunContext) -> None:
        print("in a thread")
        log.warning("there")

    async def with_tasks(run: RunContext) -> None:
        async def task(number: int) -> None:
            print("task", number)

        await asyncio.gather(task(1), task(2))
        await asyncio.to_thread(print, "and a thread")

    assert await lines_of(plain) == [("info", "in a thread"), ("warning", "there")]
    assert await lines_of(with_tasks) == [("info", "task 1"), ("info", "task 2"), ("info", "and a thread")]


async def test_what_others_print_is_not_kept() -> None:
    turn, over = asyncio.Event(), asyncio.Event()

    async def other() -> None:
        await turn.wait()
        print("from another task")
        log.warning("so it is")
        threading.Thread(target=print, args=["from a thread of another task"]).start()
        over.set()

    async def handler(run: RunContext) -> None:
        print("before")
        turn.set()
        await over.wait()
        print("after")

    beside = asyncio.create_task(other())
    assert await lines_of(handler) == [("info", "before"), ("info", "after")]
    await beside


async def test_two_runs_at_once_keep_their_own() -> None:
    both = asyncio.Barrier(2)

    async def handler(run: RunContext) -> None:
        name = asyncio.current_task()
        for number in range(3):
            await both.wait()
            print(id(name), number)

    first, second = await asyncio.gather(lines_of(handler), lines_of(handler))
    assert len(first) == len(second) == 3
    assert len({line.split()[0] for _, line in first}) == 1
    assert first[0] != second[0]


async def test_an_exception_is_logged_with_its_traceback_in_one_entry() -> None:
    async def handler(run: RunContext) -> None:
        try:
            raise ValueError("no paper")
        except ValueError:
            log.exception("the printer")

    [(level, text)] = await lines_of(handler)
    assert level == "error"
    assert text.startswith("the printer\nTraceback (most recent call last):\n")
    assert text.endswith("ValueError: no paper")


async def test_a_line_of_logging_on_the_standard_output_is_kept_once() -> None:
    loud = logging.getLogger("shop.loud")
    loud.propagate = False

    async def handler(run: RunContext) -> None:
        loud.addHandler(logging.StreamHandler(sys.stdout))
        loud.warning("hear this")

    try:
        assert await lines_of(handler) == [("warning", "hear this")]
    finally:
        loud.handlers.clear()


async def test_lines_of_sexton_itself_are_not_the_handlers() -> None:
    async def handler(run: RunContext) -> None:
        logging.getLogger("sexton").warning("ours")
        logging.getLogger("sexton.handlers").warning("ours too")
        logging.getLogger("sextons").warning("yours")

    assert await lines_of(handler) == [("warning", "yours")]


async def test_a_bar_of_progress_is_one_line() -> None:
    async def handler(run: RunContext) -> None:
        for percent in range(0, 101, 10):
            sys.stderr.write(f"\r{percent} %")
        sys.stderr.write("\n")
        print("windows\r\n", end="")

    assert await lines_of(handler) == [("warning", "100 %"), ("info", "windows")]


async def test_it_is_bounded_as_the_log_of_a_run_is() -> None:
    async def lines(run: RunContext) -> None:
        for number in range(LOG_LINES + 5):
            print(number)

    async def endless(run: RunContext) -> None:
        for _ in range(200):
            sys.stdout.write("x" * 10_000)

    kept = await lines_of(lines)
    assert len(kept) == LOG_LINES
    assert kept[-1] == ("warning", CAPPED)
    kept = await lines_of(endless)
    assert kept[-1] == ("warning", CAPPED)
    assert sum(len(line) for _, line in kept) <= 1024 * 1024 + 1000


async def test_what_is_said_after_the_end_is_not_kept() -> None:
    later: list[asyncio.Task[None]] = []
    go = asyncio.Event()

    async def straggler() -> None:
        await go.wait()
        print("too late")

    async def handler(run: RunContext) -> None:
        later.append(asyncio.create_task(straggler()))

    async def after() -> None:
        go.set()
        await asyncio.gather(*later)

    assert await lines_of(handler, after=after) == []


async def test_a_format_that_does_not_fit_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)

    async def handler(run: RunContext) -> None:
        log.warning("%d apples", "no")

    # Not through the handlers of pytest, which would raise.
    log.propagate = False
    try:
        assert await lines_of(handler) == [("warning", "%d apples")]
    finally:
        log.propagate = True


async def test_it_can_be_switched_off() -> None:
    async def handler(run: RunContext) -> None:
        print("loud")
        log.warning("loud, too")
        await run.log("kept")

    assert await lines_of(handler, capture=False) == [("info", "kept")]


async def test_those_of_sexton_need_none() -> None:
    handlers = OpenHandlers({}, capture=True)
    assert handlers.step("sexton.noop") is handlers.handlers["sexton.noop"]
    await handlers.close()


class Over(io.StringIO):
    """As programs colour their output."""

    def __init__(self, below: Any) -> None:
        super().__init__()
        self.below = below

    def write(self, text: str) -> int:
        self.below.write(text)
        return len(text)


@contextmanager
def streams() -> Iterator[None]:
    """The streams and the factory of a fresh interpreter, and what was there is back at the end."""
    before = sys.stdout, sys.stderr, logging.getLogRecordFactory()
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    logging.setLogRecordFactory(logging.LogRecord)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before[:2]
        logging.setLogRecordFactory(before[2])


def test_workers_of_a_process_share_the_hooks_and_the_last_one_takes_them_away() -> None:
    with streams():
        own = sys.stdout
        first, second = Capture(), Capture()
        first.start()
        stream: Any = sys.stdout
        second.start()
        assert sys.stdout is stream
        first.stop()
        first.stop()
        assert sys.stdout is stream
        assert isinstance(logging.getLogRecordFactory(), CapturedRecords)
        second.stop()
        assert sys.stdout is own
        assert logging.getLogRecordFactory() is logging.LogRecord


def test_a_stream_outlives_the_calls_of_print_that_use_it() -> None:
    with streams():
        capture = Capture()
        capture.start()
        stream = weakref.ref(sys.stdout)
        capture.stop()
        gc.collect()
        assert stream() is not None


async def test_a_stream_over_the_hooks_is_not_kept_twice() -> None:
    with streams():
        below = Capture()
        below.start()
        sys.stdout = Over(sys.stdout)

        async def handler(run: RunContext) -> None:
            print("once")

        assert await lines_of(handler) == [("info", "once")]
        below.stop()


def test_what_was_put_over_the_hooks_stays() -> None:
    with streams():
        capture = Capture()
        capture.start()
        assert isinstance(sys.stdout, CapturedStream)
        other = sys.stdout = io.StringIO()
        capture.stop()
        assert sys.stdout is other


def test_a_process_without_streams_is_no_problem() -> None:
    with streams():
        sys.stdout = None
        capture = Capture()
        capture.start()
        assert sys.stdout is None
        capture.stop()


SCRIPT = """
    import logging, sys
    from sexton.targets.capture import Capture

    Capture().start()
    logging.getLogger("shop").warning("the last resort still speaks")
    logging.basicConfig(format="%(name)s says %(message)s")
    logging.getLogger("shop").warning("hello")
    print(sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.fileno())
    sys.stdout.flush()
"""


def test_the_console_is_as_it_was() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", textwrap.dedent(SCRIPT)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stderr == "the last resort still speaks\nshop says hello\n"
    assert done.stdout == "utf-8 False 1\n"
