"""The imports of the packages form a graph that points one way, the modules of a package import each other in
no cycle, and only `clock.py` reads the time or sleeps.

Read from the source with `ast`, so that imports inside functions and under TYPE_CHECKING count as well.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

PACKAGE = Path(__file__).parent.parent / "src" / "sexton"

# From the bottom up. A module may import from the layers below its own and from its own package.
LAYERS = (
    {"errors", "clock", "printable"},
    {"connections", "schedules", "model", "refusal"},
    {"config"},
    {"postgres"},
    {"security"},
    {"targets"},
    {"jobs"},
    {"runs"},
    {"engine"},
    {"content", "notifications"},
    {"app"},
    {"api", "cli", "testing", "__main__"},
    {"contrib"},
)
FACES = LAYERS[-2]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# Packages whose modules still import each other.
CYCLIC = {"schedules", "targets"}

# What only the package of its framework may import: everything else works where it is not installed.
FRAMEWORKS = {"django": "contrib.django", "wagtail": "contrib.django", "asgiref": "contrib.django"}

# The top-level package only names what is public: a module may import the version from it, nothing else.
ROOT_NAMES = {"__version__"}

# Calls that read the time or wait, by their dotted name once import aliases are undone.
CLOCK_CALLS = {
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.clock_gettime",
    "time.clock_gettime_ns",
    "time.gmtime",
    "time.localtime",
    "time.sleep",
    "asyncio.sleep",
}


def violations(source: str, module: str) -> list[str]:
    """What `module` ("cli.schedules", "" for the package itself) does against the rules."""
    tree = ast.parse(source)
    found = [
        f"{module or 'sexton'}:{line}: imports {target}"
        for line, target in _sexton_imports(tree, module)
        if not _may_import(module, target)
    ]
    found += [
        f"{module or 'sexton'}:{line}: imports {name}"
        for line, name in _framework_imports(tree)
        if not module.startswith(FRAMEWORKS[name])
    ]
    if module != "clock":
        found += [f"{module or 'sexton'}:{line}: uses {name}" for line, name in _clock_uses(tree)]
    return found


def _may_import(module: str, target: str) -> bool:
    if target.removeprefix("sexton.") in ROOT_NAMES or not module:
        return True
    importer, imported = module.split(".")[0], target.removeprefix("sexton.").split(".")[0]
    if importer == imported:
        return True
    # The faces share what they show: `sexton node` serves the api.
    neighbours = {importer, imported} <= FACES
    return imported in RANK and (RANK[importer] > RANK[imported] or neighbours)


def _sexton_imports(tree: ast.Module, module: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "sexton":
                    yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, f"relative names (write sexton.… in {module})"
            elif node.module == "sexton":
                for alias in node.names:
                    yield node.lineno, f"sexton.{alias.name}"
            elif node.module and node.module.startswith("sexton."):
                yield node.lineno, node.module


def _framework_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        firsts = {name.split(".")[0] for name in names}
        yield from ((node.lineno, first) for first in sorted(firsts & set(FRAMEWORKS)))


def cycles(sources: Mapping[str, str]) -> list[list[str]]:
    """The groups of modules that import each other, directly or through others, given the source of each."""
    graph = {
        module: {target for target in _imported(source, sources) if target != module}
        for module, source in sources.items()
    }
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += graph[module]
        reached[start] = seen
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in graph
        if module in reached[module]
    }
    return [list(group) for group in sorted(groups)]


def _imported(source: str, known: Collection[str]) -> Iterator[str]:
    """The modules that one imports. `from sexton.jobs import edit` imports the module and not its package."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [part if part.removeprefix("sexton.") in known else str(node.module) for part in parts]
        yield from (name.removeprefix("sexton.") for name in names if name.removeprefix("sexton.") in known)


def _clock_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            name = _dotted(node, names)
            if name in CLOCK_CALLS:
                yield node.lineno, name


def _dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """`dt.now` as `datetime.datetime.now`, whatever the module was imported as."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, names)
        return f"{owner}.{node.attr}" if owner else None
    return None


def _module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def test_every_module_keeps_the_rules() -> None:
    found = [
        violation
        for path in sorted(PACKAGE.rglob("*.py"))
        for violation in violations(path.read_text(encoding="utf-8"), _module_name(path))
    ]
    assert found == []


def test_no_modules_import_each_other() -> None:
    sources = {_module_name(path): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    inside = {cycle[0].split(".")[0] for cycle in cycles(sources)}
    assert inside - CYCLIC == set(), "import the one from the other, or put what both need into a third"
    assert CYCLIC - inside == set(), "this package has no cycle any more: strike it off"


def test_a_cycle_is_found() -> None:
    sources = {
        "jobs.a": "from sexton.jobs import b",
        "jobs.b": "def f():\n    from sexton.jobs.c import x",
        "jobs.c": "if TYPE_CHECKING:\n    import sexton.jobs.a",
        "jobs.d": "from sexton.jobs.a import y\nfrom sexton.jobs.d import z",
        "jobs": "from sexton.jobs.e import f",
        "jobs.e": "from sexton.jobs import a",
    }
    assert cycles(sources) == [["jobs.a", "jobs.b", "jobs.c"]]


def test_every_module_has_a_layer() -> None:
    top = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert top - {"__init__"} <= set(RANK)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("errors", "from sexton.schedules import parse"),
        ("schedules.cron", "import sexton.jobs.planning"),
        ("schedules.cron", "def f():\n    from sexton.postgres.database import Database"),
        ("schedules.cron", "from sexton import parse"),
        ("schedules.cron", "from sexton import cli"),
        ("schedules.cron", "from . import zones"),
        ("schedules.cron", "from sexton.connections.address import Address"),
        ("jobs.planning", "if TYPE_CHECKING:\n    import sexton.engine.scheduler.scheduler as s"),
        ("targets.run", "from sexton.jobs.spec import JobSpec"),
        ("runs.why", "from sexton.engine.node import Node"),
        ("engine.node", "from sexton.api.jobs.jobs import routes"),
        ("cli.schedules", "from sexton.nowhere import anything"),
        ("cli.schedules", "from sexton.contrib.django.project import app"),
        ("app.declarations", "def f():\n    import django.db"),
        ("contrib.flask.project", "from django.db import models"),
    ],
)
def test_an_upward_import_is_caught(module: str, source: str) -> None:
    assert violations(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "schedules.cron",
            "from sexton.errors import ScheduleError\nfrom sexton.schedules.zone import Zone",
        ),
        ("cli.schedules", "from sexton import __version__\nfrom sexton.schedules import parse"),
        ("engine.scheduler.scheduler", "from sexton.engine.cluster.leadership import Leadership"),
        ("engine.node", "import sexton.runs.why"),
        ("cli.node", "from sexton.api import make_api"),
        ("contrib.django.apps", "import django.apps\nfrom sexton.cli import main"),
        ("", "from sexton.schedules import parse"),
        ("clock", "import time\ntime.sleep(1)"),
        ("engine.loop", "import time\nimport datetime\ndatetime.timedelta(seconds=1)\ntime.strftime('%Y')"),
    ],
)
def test_a_downward_import_is_allowed(module: str, source: str) -> None:
    assert violations(source, module) == []


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import datetime\ndatetime.now()",
        "from datetime import datetime as dt\ndt.utcnow()",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "import datetime as d\nd.date.today()",
        "import time\ntime.time()",
        "from time import time\ntime()",
        "from time import monotonic as tick\nstarted = tick",
        "import time as t\ndef f():\n    t.sleep(1)",
        "import asyncio\nasync def f():\n    await asyncio.sleep(1)",
        "from asyncio import sleep\nasync def f():\n    await sleep(1)",
    ],
)
def test_reading_the_time_is_caught(source: str) -> None:
    assert violations(source, "engine.loop")
