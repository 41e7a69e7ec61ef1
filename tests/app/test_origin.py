"""Where an application comes from, and that another process finds all of it there."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

# Loads it as a process of its own does, and says which handlers it has.
LOADER = """
import json, sys
from sexton.app.isolated import load_application
from sexton.engine.worker.isolation import Origin
origin = json.loads(sys.argv[1])
sys.path[:] = origin["path"]
app = load_application(Origin(**origin))
print(json.dumps([app.name, app._application.file, sorted(app.handlers)]))
"""
TOLD = """
import json
import msgspec
print(json.dumps(msgspec.structs.asdict(app._origin())))
"""
SHOP = """
from sexton import Sexton
app = Sexton()
@app.handler("sell")
async def sell(run): ...
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def said_by(*command: str, folder: Path) -> Any:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=90
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def loaded(origin: Any, folder: Path) -> Any:
    return said_by("-c", LOADER, json.dumps(origin), folder=folder)


def test_a_program_is_loaded_without_being_run(tmp_path: Path) -> None:
    """What stands under `if __name__ == "__main__"` is left out."""
    path = write(tmp_path, "shop.py", f'{SHOP}\nif __name__ == "__main__":\n{textwrap.indent(TOLD, "    ")}')
    origin = said_by("shop.py", folder=tmp_path)
    assert (origin["program_file"], origin["modules"]) == (str(path), [])
    assert loaded(origin, tmp_path) == ["shop", str(path), ["sell"]]


@pytest.mark.parametrize(
    "running",
    [
        "app.run()",
        "import asyncio\nasync def main():\n    async with app.running(): ...\nasyncio.run(main())",
    ],
)
def test_a_program_that_runs_whatever_its_name_is_stopped_there(tmp_path: Path, running: str) -> None:
    write(tmp_path, "shop.py", f"{SHOP}\n{TOLD}\nraise SystemExit")
    origin = said_by("shop.py", folder=tmp_path)
    path = write(tmp_path, "shop.py", f"{SHOP}\n{running}\nraise RuntimeError('it went on')")
    assert loaded(origin, tmp_path) == ["shop", str(path), ["sell"]]


def test_a_program_that_is_started_as_a_module(tmp_path: Path) -> None:
    write(tmp_path, "stores/__init__.py", "")
    write(tmp_path, "stores/parts.py", "number = 1")
    text = f"from .parts import number\n{SHOP}\nif __name__ == '__main__':\n{textwrap.indent(TOLD, '    ')}"
    path = write(tmp_path, "stores/shop.py", text)
    origin = said_by("-m", "stores.shop", folder=tmp_path)
    assert origin["program_module"] == "stores.shop"
    assert loaded(origin, tmp_path) == ["stores.shop", str(path), ["sell"]]


def test_handlers_in_other_modules_are_found(tmp_path: Path) -> None:
    """The program only imports them: it is not needed, and not loaded."""
    path = write(tmp_path, "shop.py", SHOP)
    write(
        tmp_path,
        "sales.py",
        """
        import functools
        from shop import app
        @app.handler("return")
        def take_back(run): ...
        @app.handler("twice")
        @functools.wraps(take_back)
        def twice(run): ...
        app.handler("later")(functools.partial(take_back))
        """,
    )
    write(tmp_path, "main.py", f"from shop import app\nimport sales\n{TOLD}\nraise SystemExit")
    origin = said_by("main.py", folder=tmp_path)
    assert (origin["program_file"], sorted(origin["modules"])) == (None, ["sales", "shop"])
    assert loaded(origin, tmp_path) == ["shop", str(path), ["later", "return", "sell", "twice"]]


def test_a_program_without_a_file_cannot_be_loaded(tmp_path: Path) -> None:
    origin = said_by("-c", f"{SHOP}\n{TOLD}", folder=tmp_path)
    assert origin["obstacle"] == "the program that made it has no file"
