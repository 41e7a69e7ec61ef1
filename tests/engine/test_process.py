"""What ends a process of Sexton's, and what does not."""

from __future__ import annotations

import asyncio
import sys

import pytest

from sexton.engine.process import run_to_end


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_task_that_leaves_does_not_take_the_others_along(error: type[BaseException]) -> None:
    async def part() -> None:
        raise error

    async def main() -> str:
        with pytest.raises(error):
            await asyncio.create_task(part())
        return "done"

    assert run_to_end(main()) == "done"


def test_the_program_itself_may_leave() -> None:
    async def main() -> None:
        await asyncio.sleep(0)
        sys.exit(3)

    with pytest.raises(SystemExit) as left:
        run_to_end(main())
    assert left.value.code == 3


def test_what_is_left_is_cancelled() -> None:
    cancelled = []

    async def part() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)

    async def main() -> asyncio.Task[None]:
        made = asyncio.create_task(part())
        await asyncio.sleep(0)
        return made

    assert run_to_end(main()).done()
    assert cancelled == [True]
