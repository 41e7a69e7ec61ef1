"""The tests stand where the code stands, and the pages about the code lead through it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sexton"
TESTS = ROOT / "tests"

# Folders of tests that belong to no package: what they test is named beside them.
APART = {
    "console": "the web console in a real browser",
    "examples": "the programs in examples/",
    "faults": "whole clusters that lose their parts",
    "servers": "the harness that installs and starts real servers",
}


def test_tests_stand_in_the_folder_of_what_they_test() -> None:
    """`tests/a/b/test_c.py` is about `src/sexton/a/b/`: about its module `c`, or a behaviour of that name."""
    lost = [
        str(path.relative_to(ROOT))
        for path in TESTS.rglob("test_*.py")
        if (folder := path.parent.relative_to(TESTS)).parts
        and folder.parts[0] not in APART
        and not (SOURCE / folder / "__init__.py").exists()
    ]
    assert lost == []


def test_a_module_has_one_place_of_tests() -> None:
    """A test named after a module stands in the module's folder, not in another one."""
    modules = {
        path.stem: path.parent.relative_to(SOURCE) for path in SOURCE.rglob("*.py") if path.stem != "__init__"
    }
    counts: dict[str, int] = {}
    for path in SOURCE.rglob("*.py"):
        counts[path.stem] = counts.get(path.stem, 0) + 1
    astray = []
    for path in TESTS.rglob("test_*.py"):
        folder, name = path.parent.relative_to(TESTS), path.stem.removeprefix("test_")
        if not folder.parts or folder.parts[0] in APART:
            continue  # about the project as a whole
        # A name that several packages use says nothing about where its tests belong.
        if counts.get(name) == 1 and modules[name] != folder:
            astray.append(f"{path.relative_to(ROOT)}: {name}.py is in {modules[name]}")
    assert astray == []


def test_every_package_has_tests() -> None:
    packages = {path.parent.relative_to(SOURCE) for path in SOURCE.rglob("__init__.py")}
    # The brokers of the message target are tested through it.
    bare = [
        str(package)
        for package in sorted(packages)
        if not any((TESTS / package).rglob("test_*.py")) and package.name != "brokers"
    ]
    assert bare == []


def test_no_module_is_longer_than_a_reader_keeps_in_mind() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > 500} == {}


def test_one_firing_is_followed_through_twelve_files() -> None:
    steps = re.findall(
        r"^## (\d+)\. \[[^]]+\]\(\.\./(\S+)\)", (ROOT / "docs/firing.md").read_text("utf-8"), re.MULTILINE
    )
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert 0 < len(steps) <= 12
    assert all((ROOT / path).is_file() for _, path in steps)
    assert steps[0][1].endswith("api/jobs/jobs.py")
    assert steps[-1][1].endswith("runs/why.py")


VAGUE = re.compile(r"\b(?:somebody|nobody|whoever|anybody|everybody)\b", re.IGNORECASE)
# The name of an account; and in tests any text, since it may be the name of something that is not there.
ACCOUNT, QUOTED = re.compile(r'"nobody"'), re.compile(r'(?<!")"[^"]+"(?!")')
TEXTS = (
    "*.md", "docs/**/*.md", "src/sexton/**/*.py", "src/sexton/**/*.sql", "console/src/**/*.ts",
    "console/src/**/*.tsx", "examples/**/*.py", "examples/**/*.md", "bench/**/*.py", "tests/**/*.py",
)  # fmt: skip


def is_vague(line: str, names: re.Pattern[str]) -> bool:
    return VAGUE.search(names.sub("", line).replace("_", " ")) is not None and "NOBODY" not in line


def test_the_prose_names_who_acts() -> None:
    """Say worker, caller, owner, lease: an indefinite person makes the reader guess."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for pattern in TEXTS
        for path in ROOT.glob(pattern)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if is_vague(line, QUOTED if path.is_relative_to(TESTS) else ACCOUNT) and path != Path(__file__)
    ]
    assert found == []


def test_a_vague_person_is_found_also_in_a_message() -> None:
    assert is_vague('    raise Unavailable("busy", "somebody else has it")', ACCOUNT)
    assert not is_vague('    for name in ("postgres", "nobody"):', ACCOUNT)
    assert not is_vague('    await get_queue(context, "nobody")', QUOTED)


def test_a_class_has_a_name_of_its_own() -> None:
    """One name for one thing, one thing per name."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
