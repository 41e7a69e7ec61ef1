"""What `app.content` and `app.notify` share: their application, and how they read arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from itertools import islice
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sexton.config import Settings
from sexton.content.model import Entity
from sexton.content.spec import ScheduleMove
from sexton.errors import InvalidField, RefusedLines
from sexton.postgres.database import Database
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context
from sexton.refusal import converted

LARGEST_PAGE = 1000
CHUNK = 1000

Given = ParamSpec("Given")
Spec = TypeVar("Spec")
Answered = TypeVar("Answered")


class Caller(Protocol):
    """What the commands need of their application."""

    @property
    def settings(self) -> Settings: ...

    def connected(self) -> AbstractAsyncContextManager[Database]: ...

    async def _call(
        self,
        command: Callable[Concatenate[Context, Given], Awaitable[Answered]],
        /,
        *args: Given.args,
        **kwargs: Given.kwargs,
    ) -> Answered: ...


class AppPart:
    """A part of an application: commands on one subject."""

    def __init__(self, app: Caller) -> None:
        self._app = app

    async def _pages(
        self, list_page: Callable[..., Awaitable[Page[Answered]]], limit: int, *given: Any, **filters: Any
    ) -> list[Answered]:
        """Up to `limit` of a list, page after page."""
        found: list[Answered] = []
        cursor = None
        async with self._app.connected():
            while len(found) < limit:
                most = min(limit - len(found), LARGEST_PAGE)
                page = await self._app._call(list_page, *given, cursor=cursor, limit=most, **filters)
                found += page.items
                cursor = page.cursor
                if cursor is None:
                    break
        return found

    async def _chunks(
        self, make: Callable[..., Awaitable[list[str]]], items: Iterable[Mapping[str, Any]]
    ) -> list[str]:
        """Make things in chunks, each whole or not at all; their ids. `RefusedLines` counts all items."""
        made: list[str] = []
        rest = iter(items)
        async with self._app.connected():
            while chunk := [*islice(rest, CHUNK)]:
                with counted_from(len(made)):
                    made += await self._app._call(make, chunk)
        return made


@contextmanager
def counted_from(number: int) -> Iterator[None]:
    """Make `RefusedLines` count from the first chunk: this many lines came before the present chunk."""
    try:
        yield
    except RefusedLines as refused:
        raise RefusedLines([(number + line, why) for line, why in refused.errors]) from None


def read_fields(kind: type[Spec], given: Mapping[str, Any]) -> Spec:
    """A specification from arguments. None means not given, except for the rule of a move."""
    kept = {
        name: value
        for name, value in given.items()
        if value is not None or (kind is ScheduleMove and name == "recurrence_rule")
    }
    return converted(kept, kind, code="bad_value")


def read_entity(text: object, field: str = "entity") -> Entity:
    kind, mark, number = text.partition("/") if isinstance(text, str) else ("", "", "")
    if not (kind and mark and number):
        raise InvalidField(
            "bad_value", f"{text!r} is not an entity", field=field, hint="write type/id, such as post/42"
        )
    return Entity(kind, number)
