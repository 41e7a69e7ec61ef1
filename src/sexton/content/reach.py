"""Sexton's own database while actions are carried out. That it is away for a moment is no fault of an action:
its run comes again, and this does not count as a try."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from sexton.content.adapters.base import NotNow
from sexton.errors import Unavailable
from sexton.postgres.database import NOT_NOW

AGAIN_SECONDS = 1.0


@contextmanager
def own_database() -> Iterator[None]:
    """Raises `NotNow` where the database cannot be reached, or is stopped in the middle."""
    try:
        yield
    except (*NOT_NOW, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, Unavailable) as error:
        raise NotNow(f"the database cannot be reached: {error}", AGAIN_SECONDS) from error
