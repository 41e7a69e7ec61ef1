"""What the commands of `app.content` share: the application that they belong to, and how they read what they
are given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sexton.config import Settings
from sexton.content.model import Entity
from sexton.content.spec import ScheduleMove
from sexton.errors import InvalidField
from sexton.postgres.database import Database
from sexton.postgres.page import Page
from sexton.postgres.transaction import Context
from sexton.refusal import converted

LARGEST_PAGE = 1000

Given = ParamSpec("Given")
Spec = TypeVar("Spec")
Answered = TypeVar("Answered")


class ContentCaller(Protocol):
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


class ContentCalls:
    """Commands on content of an application."""

    def __init__(self, app: ContentCaller) -> None:
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


def read_fields(kind: type[Spec], given: Mapping[str, Any]) -> Spec:
    """A specification; what is None was not given, except for the rule of a move."""
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
