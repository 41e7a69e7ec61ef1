"""What the documentation shows is what happens: every example in it is run.

    ```python     a session (`>>>`) whose answers are compared, or code that must run; one namespace a page
    ```console    `$ command` lines, run by a shell, and exactly what they print; `> ` continues a command
    ```text       not run

Tables headed `schedule | in words` are examples too: each schedule is explained and compared. No other fences
and no indented blocks are allowed, so that nothing escapes.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sexton.schedules import parse

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
LANGUAGES = {"python", "console", "text"}


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path, text: str) -> Iterator[Block]:
    """The fenced blocks of a page; `line` is that of the fence."""
    fence = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for match in fence.finditer(text):
        yield Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2])


def commands_of(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with the output shown below it."""
    command, output = "", ""
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], ""
        elif line.startswith("> ") and not output:
            command += line[2:]
        else:
            output += line
    if not command:
        raise AssertionError("a console block without a command")
    yield command, output


def run_commands(block: str) -> None:
    here = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    for command, shown in commands_of(block):
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env=os.environ | here | {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=60,
        )
        assert _without_trailing_space(done.stdout) == _without_trailing_space(shown), command


def run_python(blocks: list[Block]) -> None:
    """One page: what one block defines, the next ones may use."""
    names: dict[str, object] = {"__name__": "__docs__"}
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    for block in blocks:
        if ">>> " not in block.text:
            exec(compile("\n" * block.line + block.text, block.page, "exec"), names)
            continue
        examples = doctest.DocTestParser().get_examples(block.text)
        session = doctest.DocTest(examples, {}, block.name, str(block.page), block.line, None)
        session.globs = names
        said: list[str] = []
        failed, _ = runner.run(session, out=said.append, clear_globs=False)
        assert not failed, "".join(said)


def run_tables(text: str) -> int:
    """The rows of tables that explain schedules; how many there were."""
    rows = 0
    for table in re.findall(r"^\| schedule \| in words \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE):
        for row in table.splitlines():
            cells = re.fullmatch(r"\| `(.+?)` +\| (.+?) +\|", row)
            assert cells, f"not a schedule and its words: {row}"
            schedule = cells[1].replace("\\|", "|")
            explained = parse(schedule, timezone="UTC", anchor="2026-11-02T09:00", key="docs").explain()
            assert explained.removesuffix(", UTC") == cells[2], schedule
            rows += 1
    return rows


def _without_trailing_space(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


ALL_BLOCKS = [block for page in PAGES for block in blocks_of(page, page.read_text("utf-8"))]
CONSOLE_BLOCKS = [block for block in ALL_BLOCKS if block.language == "console"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_examples(page: Path) -> None:
    run_python([block for block in ALL_BLOCKS if block.page == page and block.language == "python"])


@pytest.mark.parametrize("block", CONSOLE_BLOCKS, ids=lambda block: block.name)
def test_command_line_examples(block: Block) -> None:
    run_commands(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_schedules(page: Path) -> None:
    text = page.read_text("utf-8")
    assert run_tables(text) >= text.count("| in words |")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_whether_it_is_run(page: Path) -> None:
    text = page.read_text("utf-8")
    blocks = list(blocks_of(page, text))
    assert [block.name for block in blocks if block.language not in LANGUAGES] == []
    assert text.count("\n```") == 2 * len(blocks), "a fence is not closed"
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\n\n( {4}.*)", outside) == [], "an indented block is not run: fence it"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", ">>> 1 + 1\n3\n"),
        ("python", "raise ValueError\n"),
        ("console", "$ echo one\ntwo\n"),
        ("console", "$ echo one\n"),
        ("console", "no command\n"),
    ],
)
def test_an_example_that_drifts_is_caught(language: str, text: str) -> None:
    block = Block(ROOT / "page.md", 1, language, text)
    with pytest.raises((AssertionError, ValueError)):
        run_python([block]) if language == "python" else run_commands(text)


def test_words_that_drift_are_caught() -> None:
    head = "| schedule | in words |\n|---|---|\n"
    assert run_tables(head + "| `0 9 * * 1` | At 09:00 on Monday |\n") == 1
    with pytest.raises(AssertionError):
        run_tables(head + "| `0 9 * * 1` | At 09:00 on Tuesday |\n")
