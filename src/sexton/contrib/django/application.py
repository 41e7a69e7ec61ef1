"""The application of a Django project: its handlers get working database connections.

Django closes connections that are broken or too old at the start and the end of a request. A worker has no
requests: without this module, a thread whose connection broke would fail forever.
"""

from __future__ import annotations

import functools
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections  # type: ignore[import-untyped]

from sexton.app import Sexton
from sexton.targets.handler import Handler, is_coroutine_function


class DjangoApplication(Sexton):
    """Made once for a project, by `sexton.contrib.django.project`."""

    def _register(self, name: str, function: Handler) -> None:
        if _behind(self.handlers.get(name)) is not function:
            super()._register(name, with_connections(function))

    def _ref(self, job: str | Handler) -> str:
        for name, function in self.handlers.items():
            if _behind(function) is job:
                return name
        return super()._ref(job)


def with_connections(handler: Handler) -> Handler:
    """The handler; before and after it, connections of its thread are closed if Django would not use them in
    another request. For a coroutine, these are the connections of the thread of `sync_to_async`, as in
    Django."""
    if is_coroutine_function(handler):

        @functools.wraps(handler)
        async def call_coroutine(*given: Any, **named: Any) -> Any:
            await sync_to_async(close_old_connections)()
            try:
                return await handler(*given, **named)
            finally:
                await sync_to_async(close_old_connections)()

        return call_coroutine

    @functools.wraps(handler)
    def call(*given: Any, **named: Any) -> Any:
        close_old_connections()
        try:
            return handler(*given, **named)
        finally:
            close_old_connections()

    return call


def _behind(function: Handler | None) -> Any:
    return getattr(function, "__wrapped__", None)
