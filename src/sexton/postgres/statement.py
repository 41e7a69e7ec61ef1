"""The statements of Sexton: files, one each, in `statements/`, in folders by subject. A product keeps its own
in a folder `statements/` of its package.

A statement names its parameters, as `:job_id`; callers give them by name, and loading turns them into
positions. A line `-- include: NAME` stands for `statements/parts/NAME.sql`, a part that several statements
share; its head says what it expects around it. A part includes no other part, so the statement names all its
parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

STATEMENTS = resources.files("sexton.postgres").joinpath("statements")
PARTS = "parts"
#: The parameters that a `Context` fills in, where the caller gives no others.
OF_CONTEXT = ("namespace", "actor", "now")
INCLUDE = re.compile(r"^[ ]*-- include: *(\S+) *$", re.MULTILINE)
# A parameter, unless it stands in a comment or in a text; `::` is a cast.
PARAMETER = re.compile(r"--[^\n]*|'(?:[^']|'')*'|(?<![:\w]):([a-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Statement:
    """`text` as PostgreSQL takes it, and the names of its parameters in the order of their positions."""

    name: str
    text: str
    parameters: tuple[str, ...]
    #: Those of them that a `Context` fills in.
    parameters_of_context: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str, source: str) -> Statement:
        """Turn named parameters into positions."""
        positions: dict[str, int] = {}

        def position(found: re.Match[str]) -> str:
            if found[1] is None:
                return found[0]
            return f"${positions.setdefault(found[1], len(positions) + 1)}"

        text = PARAMETER.sub(position, source)
        return cls(name, text, tuple(positions), tuple(each for each in OF_CONTEXT if each in positions))

    def arguments(self, given: Mapping[str, Any]) -> list[Any]:
        """The values in the order of their positions."""
        if len(given) != len(self.parameters) or given.keys() != set(self.parameters):
            missing = sorted(set(self.parameters) - given.keys())
            unknown = sorted(given.keys() - set(self.parameters))
            raise TypeError(f"statements/{self.name}.sql lacks {missing} and does not take {unknown}")
        return [given[name] for name in self.parameters]


def load(name: str, folder: Traversable = STATEMENTS) -> Statement:
    """`statements/NAME.sql`, with its parts in their places."""

    def part(line: re.Match[str]) -> str:
        wanted = line[1]
        try:
            text = folder.joinpath(PARTS, f"{wanted}.sql").read_text("utf-8")
        except FileNotFoundError:
            raise LookupError(
                f"statements/{name}.sql includes {wanted}, but there is no statements/parts/{wanted}.sql: "
                "write it, or correct the line"
            ) from None
        if nested := INCLUDE.search(text):
            raise LookupError(
                f"statements/parts/{wanted}.sql includes {nested[1]}, but a part includes no other: "
                f"include {nested[1]} in statements/{name}.sql itself"
            )
        return text.rstrip("\n")

    source = folder.joinpath(*f"{name}.sql".split("/")).read_text("utf-8")
    return Statement.read(name, INCLUDE.sub(part, source))


def load_all() -> dict[str, Statement]:
    """Every statement by its name, such as `firing/fire`."""
    return {name: load(name, folder) for folder in folders("statements") for name in names(folder)}


def folders(name: str) -> Iterator[Traversable]:
    """The folders of this name in the packages of Sexton."""
    for package in sorted(resources.files("sexton").iterdir(), key=lambda entry: entry.name):
        if package.is_dir() and (found := package.joinpath(name)).is_dir():
            yield found


def names(folder: Traversable = STATEMENTS, prefix: str = "") -> Iterator[str]:
    """The names of all statements; parts are none."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and (prefix or entry.name != PARTS):
            yield from names(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".sql"):
            yield prefix + entry.name.removesuffix(".sql")
