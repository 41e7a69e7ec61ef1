"""`docs/django.md` leads through the project of the examples: what it shows is there, and happens."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.live_docs import Session, running_server
from tests.test_docs import blocks_of, commands_of

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "django.md"
PROJECT = ROOT / "examples" / "django"
BLOCKS = list(blocks_of(PAGE, PAGE.read_text("utf-8")))


def test_the_files_that_are_shown_are_those_of_the_example() -> None:
    shown = [block for block in BLOCKS if block.file]
    assert len(shown) >= 4
    for block in shown:
        assert block.text in (PROJECT / block.file).read_text("utf-8"), block.name


def test_the_commands_do_what_is_shown(tmp_path: Path) -> None:
    project = shutil.copytree(PROJECT, tmp_path / "project")
    consoles = [block for block in BLOCKS if block.language == "console"]
    assert consoles
    with running_server(project, {}, None, ("manage.py", "sexton")) as server:
        session = Session(server)
        for block in consoles:
            for command, shown in commands_of(block.text):
                session.run_command(command, shown)


def test_every_block_is_shown_run_or_text() -> None:
    assert [block.name for block in BLOCKS if block.language == "python" and not block.file] == []
