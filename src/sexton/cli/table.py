"""What a table of commands is made of."""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    path: str  # "jobs.queues:pause": a function of a module of this package
    summary: str


class Group(NamedTuple):
    summary: str
    commands: dict[str, Command]
