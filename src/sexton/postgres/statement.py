"""The texts of the statements: files, one each, in `statements/`.

What several of them share is written once: a line `-- include: NAME` stands for `statements/parts/NAME.sql`,
which says at its head what it expects around it. A part includes no other, so that the statement itself names
all that it is made of.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

STATEMENTS = resources.files("sexton.postgres").joinpath("statements")
INCLUDE = re.compile(r"^[ ]*-- include: *(\S+) *$", re.MULTILINE)


def load(name: str, folder: Traversable = STATEMENTS) -> str:
    """The whole text of `statements/NAME.sql`, with its parts in their places."""

    def part(line: re.Match[str]) -> str:
        wanted = line[1]
        try:
            text = folder.joinpath("parts", f"{wanted}.sql").read_text("utf-8")
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

    return INCLUDE.sub(part, folder.joinpath(f"{name}.sql").read_text("utf-8"))
