"""The unit tests of the console, with the Node of PyPI: `npm test` in console/ runs the same."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
CONSOLE = ROOT / "console"
LONGEST_SECONDS = 600


def test_the_units_of_the_console() -> None:
    """Its types, and its tests."""
    builder = _builder()
    try:
        node = builder.install()
    except builder.CannotBuild as error:
        why = str(error).splitlines()[-1] if str(error) else "npm failed"
        print(f"!!! SKIPPED the unit tests of the console: {why}", file=sys.__stderr__)
        pytest.skip(f"the packages of the console cannot be installed: {why}")
    for command in (["typescript/bin/tsc", "--noEmit"], ["vitest/vitest.mjs", "run", "--reporter=dot"]):
        done = subprocess.run(
            [node, f"node_modules/{command[0]}", *command[1:]],
            cwd=CONSOLE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:]


def _builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module
