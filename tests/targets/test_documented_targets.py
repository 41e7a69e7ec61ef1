"""The examples are jobs that Sexton takes, one for each target, and all are listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sexton.connections.scheme import servers
from sexton.jobs.validation import read_spec

FOLDER = Path(__file__).parent.parent.parent / "examples" / "targets"
FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_taken(path: Path) -> None:
    spec = read_spec(path.read_bytes())
    assert spec.target is not None
    assert path.stem.split("-")[0] in (*spec.target, "dead")


def test_every_target_and_broker_has_an_example_and_all_are_listed() -> None:
    names = {path.stem for path in FILES}
    assert {"http", "celery", "shell"} <= names
    assert {f"message-{broker}" for broker in servers("message")} <= names
    listed = re.findall(r"\]\(([\w-]+\.json)\)", (FOLDER / "README.md").read_text("utf-8"))
    assert sorted(listed) == [path.name for path in FILES]
