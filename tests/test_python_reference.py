"""docs/python.md is what the docstrings say, has everything that is public, and nothing else."""

from __future__ import annotations

import re

import sexton
from tests import python_reference as reference


def test_the_page_is_not_stale() -> None:
    assert reference.PAGE.read_text("utf-8") == reference.page(), "run: make docs"


def test_every_public_name_is_on_the_page() -> None:
    text = reference.PAGE.read_text("utf-8")
    for name in sexton.__all__:
        if name != "__version__":
            assert re.search(rf"`{name}\b", text), name


def test_every_member_of_an_application_is_on_the_page_and_no_other() -> None:
    listed = {name for names in reference.APPLICATION.values() for name in names}
    assert listed == {name for name in dir(sexton.Sexton(name="shop")) if not name.startswith("_")}


def test_every_member_of_a_run_is_on_the_page_and_no_other() -> None:
    text = reference.PAGE.read_text("utf-8")
    assert set(re.findall(r"^### `run\.(\w+)`$", text, re.MULTILINE)) == set(reference.public(sexton.Run))


def test_every_example_is_a_block_of_code() -> None:
    prose = re.sub(r"^```.*?^```", "", reference.PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^(?:>>>|@app|await|print\(|for .+:).*", prose, re.MULTILINE) == []


def test_errors_have_their_codes() -> None:
    known = reference.codes()
    assert known["name_taken"][0] in ("Conflict", "NameTaken")
    assert known["count_changed"] == ("Conflict", "… now, and … were expected")
    assert {"run_failed", "lease_lost", "refused_lines", "job_completed", "out_of_range"} <= known.keys()
