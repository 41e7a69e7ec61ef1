"""Errors of Sexton's own database while an action is carried out. They are no failure of the action: its run
is repeated, and this does not count as an attempt."""

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
    """Raise `NotNow` if the database cannot be reached, or stops during the block."""
    try:
        yield
    except (*NOT_NOW, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, Unavailable) as error:
        raise NotNow(f"the database cannot be reached: {error}", AGAIN_SECONDS) from error
