"""Run the tests that need servers: install what is missing, start it on private ports, stop it afterwards.

    python -m tests.servers [--only redis,etcd] [what to pass on to pytest]

Servers that may not be installed here are named, one line each, and their tests are skipped.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from sexton import clock
from tests import second_try
from tests.servers.installation import install
from tests.servers.sandbox import Sandbox
from tests.servers.table import SERVERS, Server

PROGRAMS = Path(".servers")
START_SECONDS = 60.0


def main(arguments: Sequence[str]) -> int:
    names, rest = _read(arguments)
    chosen = [server for server in SERVERS if not names or server.name in names]
    second_try.heed_signals()
    missing = install(chosen, PROGRAMS)
    with ExitStack() as stack:
        environment = dict(os.environ)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sexton-servers-")))
        folder.chmod(0o755)
        started = [
            (server, *_start(server, folder, stack)) for server in chosen if server.name not in missing
        ]
        for server, sandbox, address in started:
            why = address if sandbox is None else _wait(server, sandbox, address)
            if why:
                missing[server.name] = why
            else:
                environment[server.variable] = address
        for server in chosen:
            if server.name in missing:
                environment[f"{server.variable}_MISSING"] = f"{server.name}: {missing[server.name]}"
        _shout(missing)
        code = _test(rest, environment)
    _shout(missing)
    return code


def _read(arguments: Sequence[str]) -> tuple[set[str], list[str]]:
    rest = list(arguments)
    if rest[:1] != ["--only"]:
        return set(), rest
    names = set(rest[1].split(",")) if len(rest) > 1 else set()
    unknown = names - {server.name for server in SERVERS}
    if unknown or not names:
        known = ", ".join(server.name for server in SERVERS)
        sys.exit(f"there is no server {', '.join(sorted(unknown)) or 'named'}: --only takes some of {known}")
    return names, rest[2:]


def _start(server: Server, folder: Path, stack: ExitStack) -> tuple[Sandbox | None, str]:
    """Its sandbox and its address; or nothing, and why it could not be started."""
    own = folder / server.name
    own.mkdir()
    sandbox = Sandbox(own, PROGRAMS)
    stack.callback(sandbox.close)
    try:
        return sandbox, server.start(sandbox)
    except Exception as error:
        return None, f"it could not be started: {error}"


def _wait(server: Server, sandbox: Sandbox, address: str) -> str | None:
    """Until it is ready; why it is not."""
    end = clock.monotonic() + START_SECONDS
    while clock.monotonic() < end:
        if why := sandbox.failed():
            return why
        if server.ready(address):
            print(f"{server.name}: {address}", flush=True)
            return None
        clock.block(0.1)
    return f"it was not ready within {START_SECONDS:.0f} s"


def _test(arguments: Sequence[str], environment: dict[str, str]) -> int:
    workers = [] if any(word.startswith("-n") for word in arguments) else ["-n", "auto"]
    return second_try.run(["-m", "servers", *workers, *arguments], environment)


def _shout(missing: dict[str, str]) -> None:
    for name, why in sorted(missing.items()):
        print(f"!!! SKIPPED: all tests of {name}, for it is not here: {why}", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
