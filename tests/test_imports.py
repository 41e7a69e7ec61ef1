"""Imports point downward, and only `clock.py` reads the time or sleeps.

Read from the source with `ast`, so that imports inside functions and under TYPE_CHECKING count as well.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parent.parent / "src" / "sexton"

# From the bottom up. A module may import from layers below its own and, within its layer, from itself
# and its neighbours.
LAYERS = (
    {"errors", "clock", "crash", "remedy", "journal"},
    {"schedules"},
    {"planning", "wheel", "model", "config", "connections", "telemetry", "loop"},
    {"postgres"},
    {
        "jobs",
        "ledger",
        "validation",
        "refusal",
        "payload",
        "timing",
        "target_rules",
        "http_rules",
        "placeholder",
        "text",
        "idempotency",
        "concurrency",
        "limits",
        "secrets",
    },
    {
        "scheduler",
        "horizon",
        "worker",
        "repertoire",
        "reporter",
        "watcher",
        "batch",
        "claimer",
        "report",
        "settler",
        "heartbeat",
        "execution",
        "cluster",
        "queues",
        "targets",
        "maintenance",
        "courier",
        "replanning",
        "problems",
    },
    {"node", "app", "machine", "supervisor", "place", "address", "benchmarks"},
    {"api", "cli", "client", "content", "notifications", "testing", "__main__"},
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# The top-level package only names what is public: anyone may ask it for the version, nobody for the rest.
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
    if module != "clock":
        found += [f"{module or 'sexton'}:{line}: uses {name}" for line, name in _clock_uses(tree)]
    return found


def _may_import(module: str, target: str) -> bool:
    if target.removeprefix("sexton.") in ROOT_NAMES or not module:
        return True
    importer, imported = module.split(".")[0], target.removeprefix("sexton.").split(".")[0]
    return imported in RANK and RANK[importer] >= RANK[imported]


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


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=_module_name)
def test_module_keeps_the_rules(path: Path) -> None:
    assert violations(path.read_text(encoding="utf-8"), _module_name(path)) == []


def test_every_module_has_a_layer() -> None:
    top = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert top - {"__init__"} <= set(RANK)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("errors", "from sexton.schedules import parse"),
        ("schedules.cron", "import sexton.planning"),
        ("schedules.cron", "def f():\n    from sexton.postgres.store import Store"),
        ("schedules.cron", "from sexton import parse"),
        ("schedules.cron", "from sexton import cli"),
        ("schedules.cron", "from . import zones"),
        ("planning", "if TYPE_CHECKING:\n    import sexton.scheduler as s"),
        ("worker", "from sexton.node import Node"),
        ("node", "from sexton.api.jobs import routes"),
        ("cli.schedules", "from sexton.nowhere import anything"),
    ],
)
def test_an_upward_import_is_caught(module: str, source: str) -> None:
    assert violations(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "schedules.cron",
            "from sexton.errors import ScheduleError\nfrom sexton.schedules.zones import Zone",
        ),
        ("cli.schedules", "from sexton import __version__\nfrom sexton.schedules import parse"),
        ("scheduler", "from sexton.cluster.leadership import Lease\nfrom sexton.postgres.store import Store"),
        ("node", "import sexton.worker"),
        ("", "from sexton.schedules import parse"),
        ("clock", "import time\ntime.sleep(1)"),
        ("worker", "import time\nimport datetime\ndatetime.timedelta(seconds=1)\ntime.strftime('%Y')"),
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
    assert violations(source, "worker")
