"""Threads for calls that may never return."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from sexton.targets.threads import Threads
from tests.waiting import PATIENCE, until

HANGS = """
import asyncio, threading
from sexton.targets.threads import Threads

async def main():
    asyncio.get_running_loop().set_default_executor(Threads(2, "test"))
    for _ in range(5):
        try:
            await asyncio.wait_for(asyncio.to_thread(threading.Event().wait), 0.01)
        except TimeoutError:
            pass
    print(await asyncio.to_thread(lambda: "done"))

asyncio.run(main())
"""


@pytest.fixture
def go() -> Iterator[threading.Event]:
    """What calls wait for that never return by themselves."""
    event = threading.Event()
    yield event
    event.set()


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("test_threads")}


@pytest.fixture
def threads() -> Iterator[Threads]:
    threads = Threads(2, "test_threads")
    yield threads
    threads.shutdown()


def test_no_more_are_made_than_are_needed(threads: Threads) -> None:
    for number in range(5):
        assert threads.submit(lambda number=number: number).result(60) == number
    # The one before may not be free yet when the next call comes.
    assert 1 <= len(names()) <= 2


async def test_others_wait_for_their_turn(threads: Threads, go: threading.Event) -> None:
    running = [threads.submit(go.wait, 60) for _ in range(2)]
    await until(lambda: all(call.running() for call in running))
    waiting = threads.submit(int, "3")
    assert waiting.cancel()
    other = threads.submit(int, "4")
    assert not other.done()
    go.set()
    assert other.result(60) == 4
    assert waiting.cancelled()


async def test_a_call_that_is_given_up_on_keeps_no_other_from_its_turn(
    threads: Threads, go: threading.Event
) -> None:
    for count in range(1, 6):
        stuck = threads.submit(go.wait, 60)
        await until(stuck.running)
        assert not stuck.cancel()
        assert not stuck.cancel()
        assert stuck.left
        assert threads.left_behind == count
    assert threads.submit(int, "3").result(60) == 3
    running = [threads.submit(go.wait, 60) for _ in range(2)]
    waiting = threads.submit(int, "4")
    await until(lambda: all(call.running() for call in running))
    assert not waiting.done()
    running[0].cancel()
    assert waiting.result(60) == 4
    go.set()
    await until(lambda: threads.left_behind == 0)
    await until(lambda: len(names()) <= 2)


def test_a_call_that_has_ended_is_not_left_behind(threads: Threads) -> None:
    call = threads.submit(int, "3")
    assert call.result(60) == 3
    assert not call.cancel()
    assert threads.left_behind == 0


@pytest.mark.parametrize("error", [StopIteration("it"), GeneratorExit("it")])
async def test_what_a_future_cannot_carry_is_carried(threads: Threads, error: BaseException) -> None:
    def raises() -> None:
        raise error

    with pytest.raises(RuntimeError, match=f"raised {type(error).__name__}") as caught:
        await asyncio.wrap_future(threads.submit(raises))
    assert caught.value.__cause__ is error


async def test_what_waits_at_the_end_is_dropped(threads: Threads, go: threading.Event) -> None:
    running = [threads.submit(go.wait, 60) for _ in range(2)]
    await until(lambda: all(call.running() for call in running))
    waiting = threads.submit(int, "3")
    threads.shutdown()
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="closed"):
        threads.submit(int, "4")


async def test_a_thread_that_cannot_be_started(
    threads: Threads, go: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a call that was refused is carried out later; one that another thread can take waits."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    called: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            threads.submit(called.append, "refused")
    assert threads.refused == "can't start new thread"
    running = threads.submit(go.wait, 60)
    await until(running.running)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        waiting = threads.submit(called.append, "waited")
    go.set()
    waiting.result(60)
    assert called == ["waited"]


def test_a_process_ends_though_its_calls_do_not() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
