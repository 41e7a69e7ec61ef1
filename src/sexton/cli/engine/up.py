"""`sexton up`: everything on this machine, under one supervisor."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sexton.cli import DONE, NOT_DONE, REFUSED
from sexton.cli.engine.options import NONE, NodeOptions, Port, Workers
from sexton.config import Settings, load, misspelt
from sexton.engine.logs import set_up_logging
from sexton.errors import InvalidField, SextonError
from sexton.postgres.server import default_data_directory
from sexton.printable import printable

if TYPE_CHECKING:
    from sexton.engine.up.directory import Up

TRY = "jobs add hello --schedule 'every 5s' --handler sexton.log --follow"


def up(
    *,
    data: Annotated[Path | None, Parameter(help="Directory of the private PostgreSQL.")] = None,
    database_url: Annotated[
        str | None, Parameter(help="Use this PostgreSQL instead of the private one.")
    ] = None,
    port: Port = None,
    workers: Workers = None,
    options: NodeOptions = NONE,
    shards: Annotated[
        int | None, Parameter(help="Number of shards in a new private PostgreSQL. Default: 64.")
    ] = None,
) -> int:
    """Start Sexton on this machine.

    Runs the api, a scheduler and workers, on a private PostgreSQL unless one is
    given, and restarts processes that die. Ctrl-C stops it cleanly; a second Ctrl-C
    at once.
    """
    from sexton.engine.up.machine import supervise

    set_up_logging()
    given = {
        **options.settings(),
        "data": data.absolute() if data else None,
        "database_url": database_url,
        "port": port,
        "workers": workers,
    }
    roles = given.pop("roles")  # its parts have roles of their own
    try:
        settings = load({**given, "roles": roles, "shards": shards})
        for name, meant in misspelt(os.environ).items():
            print(
                printable(f"sexton: {name} is not a setting, so it is ignored: did you mean {meant}?"),
                file=sys.stderr,
            )
        other = asyncio.run(
            supervise(
                settings,
                given=given,
                announce=lambda running, link: announce(running, settings, link),
                shards=shards,
            )
        )
    except SextonError as error:
        explain(error, database_url)
        return REFUSED if isinstance(error, InvalidField) else NOT_DONE
    if other is not None:
        where = f" on {_short(other.data)}" if other.data else ""
        shows, stops = f"{command(other.address)} status", _stopping(other)
        width = max(len(shows), len(stops))
        print(
            f"Sexton is already running{where}: process {other.pid}, {_where(other)}\n"
            f"  {shows:<{width}}  shows how it is\n"
            f"  {stops:<{width}}  stops it"
        )
        chosen = {**given, "roles": roles, "shards": shards, "data": None, "database_url": None}
        if ignored := [f"--{name.replace('_', '-')}" for name, value in chosen.items() if value is not None]:
            print(
                f"sexton: these options have no effect on the one that is running: {', '.join(ignored)}\n"
                "  stop it, and start again",
                file=sys.stderr,
            )
            return NOT_DONE
    else:
        logging.getLogger("sexton").info("stopped")  # print would fail if the terminal is gone
    return DONE


def announce(running: Up, settings: Settings, link: str | None = None) -> None:
    """Print its address and a command to try; `link` signs a browser in."""
    lines = []
    if running.moved_from and running.address is not None:  # 0 asks for any
        lines.append(f"Port {running.moved_from} is taken: using {running.address.rsplit(':', 1)[1]}.")
    lines += [
        f"Sexton is up: {_where(running)}",
        f"  data     {_short(running.data)}, a private PostgreSQL"
        if running.data
        else "  data     your PostgreSQL",
    ]
    if running.workers:
        queues = "" if settings.queues == "*" else f", for {settings.queues}"
        spaces = f", in {settings.namespaces}" if settings.namespaces else ""
        app = f", with {settings.app}" if settings.app else ""
        lines.append(f"  workers  {running.workers}{queues}{spaces}{app}")
    if link is not None:
        lines += [f"  sign in  {link}", "           once, within 10 minutes; sexton login makes another link"]
    if running.address is not None:
        lines += [
            "Try it from another terminal:",
            f"  {'SEXTON_API_KEY=… ' if settings.api_keys else ''}{command(running.address)} {TRY}",
        ]
    lines.append("Ctrl-C stops everything.")
    print("\n".join(lines), flush=True)


def _where(running: Up) -> str:
    return running.address or f"{' + '.join(running.roles)}, no api"


def command(address: str | None = None) -> str:
    """The command that runs this program from the current directory against this address."""
    program = Path(sys.argv[0])
    if program.name == "sexton" and program.exists():
        found = shutil.which("sexton")
        if found and Path(found).samefile(program):
            words = "sexton"
        else:
            words = shlex.quote(_relative(program))
    elif sys.argv[1:2] == ["sexton"] and program.is_file():  # a program with sexton as a command: manage.py
        words = f"{shlex.quote(_relative(Path(sys.executable)))} {shlex.quote(_relative(program))} sexton"
    else:
        words = f"{shlex.quote(_relative(Path(sys.executable)))} -m sexton"
    if address is None or address == "http://127.0.0.1:7390":
        return words
    return f"SEXTON_URL={shlex.quote(address)} {words}"


def _stopping(running: Up) -> str:
    """The command that stops another `sexton up`."""
    if running.data is None:
        return f"kill {running.pid}"
    usual = Path(os.environ.get("SEXTON_DATA") or default_data_directory()).expanduser().absolute()
    return f"{command()} stop" + (
        "" if running.data == usual else f" --data {shlex.quote(str(running.data))}"
    )


def explain(error: SextonError, database_url: str | None) -> None:
    hint = error.hint
    if error.code == "not_migrated":
        option = " --database-url …" if database_url else ""
        hint = f"run: {command()} migrate{option}"
    print(printable(f"sexton: {error.message}" + (f"\n  {hint}" if hint else "")), file=sys.stderr)


def _relative(path: Path) -> str:
    """Relative, if it is below the current directory; links stay, since an environment's python is one."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would leave the environment
    try:
        return str(absolute.relative_to(Path.cwd()))
    except ValueError:
        return str(absolute)


def _short(path: Path) -> str:
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)
