"""Makes all checks of a contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Subject = TypeVar("Subject")


async def check_all(
    subject: Subject, checks: Iterable[Callable[[Subject], Awaitable[None]]], name: str
) -> None:
    """Make each check of the subject called `name`; raise what is wrong as one `ExceptionGroup`."""
    wrong: list[Exception] = []
    for check in checks:
        try:
            await check(subject)
        except Exception as error:
            error.add_note(f"in the check {getattr(check, '__name__', check)}")
            wrong.append(error)
    if wrong:
        raise ExceptionGroup(f"{name} does not keep the contract", wrong)
