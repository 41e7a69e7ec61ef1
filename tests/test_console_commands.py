"""Each command that the console shows to be copied is one that the command line takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from sexton.cli import app
from sexton.cli.table import GROUPS

SOURCES = Path(__file__).parent.parent / "console" / "src"
COMMAND = re.compile(r"""command=(?:"([^"]*)"|\{\s*(["'`])((?:\\.|(?!\2).)*)\2\s*\})""")


def commands() -> list[str]:
    found = set()
    for source in SOURCES.rglob("*.tsx"):
        for plain, _, quoted in COMMAND.findall(source.read_text("utf-8")):
            found.add(re.sub(r"\\(.)", r"\1", plain or re.sub(r"\$\{[^}]*\}", "name", quoted)))
    return sorted(each for each in found if each.startswith("sexton"))


def test_there_are_some() -> None:
    assert len(commands()) > 15


@pytest.mark.parametrize("command", commands())
def test_the_command_line_takes_it(command: str) -> None:
    _, *tokens = shlex.split(command)
    if tokens == [tokens[0], "--help"]:
        assert tokens[0] in GROUPS
        return
    app().parse_args(tokens, exit_on_error=False, print_error=False)
