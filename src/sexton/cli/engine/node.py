"""`sexton node`: one process in some roles. `sexton up` starts several; in a fleet each is started alone."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sexton.cli import DONE, NOT_DONE, REFUSED
from sexton.cli.engine.options import NONE, NodeOptions
from sexton.config import Settings, load
from sexton.engine import crash
from sexton.engine.logs import set_up_logging
from sexton.engine.process import run_to_end
from sexton.engine.up.listen import address_of, listen
from sexton.engine.up.supervisor import REPLACE
from sexton.errors import InvalidField, SextonError, user_frames
from sexton.printable import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sexton.app import Sexton
    from sexton.engine.node import Node
    from sexton.postgres.database import Database

log = logging.getLogger("sexton")


def node(
    *,
    options: NodeOptions = NONE,
    listen_fd: Annotated[int | None, Parameter(help="Descriptor of an inherited socket to serve on.")] = None,
    begun_fd: Annotated[
        int | None, Parameter(help="Descriptor where the process notes which runs have begun.")
    ] = None,
    database_url: Annotated[str | None, Parameter(help="The PostgreSQL to use.")] = None,
    port: Annotated[int | None, Parameter(help="Port that the api listens on. Default: 7390.")] = None,
    check: Annotated[
        bool, Parameter(help="Load the application, check that it can start, and exit.")
    ] = False,
) -> int:
    """Run one node in the given roles until it is told to stop."""
    set_up_logging()
    logging.getLogger("asyncpg").setLevel(logging.ERROR)  # the code that needed a lost connection reports it
    try:
        crash.check()
        settings = load({**options.settings(), "database_url": database_url, "port": port})
        if check:
            asyncio.run(_check(settings))
        else:
            return run_to_end(_until_stopped(settings, listen_fd, begun_fd))
    except SextonError as error:
        print(printable(f"sexton: {error}"), file=sys.stderr)
        return REFUSED if isinstance(error, InvalidField) else NOT_DONE
    return DONE


async def _check(settings: Settings) -> None:
    """Load the application; with a database, check whether its workers may start there."""
    from sexton.postgres.database import Database

    app, url = _load_app(settings.app), settings.database_url
    if app is None or url is None or "worker" not in settings.role_names():
        return
    database = await Database.open(
        url, schema=settings.schema, size=1, timeout=settings.statement_timeout_seconds
    )
    try:
        await app._check_start(database)
    finally:
        await database.close()


async def _until_stopped(settings: Settings, listen_fd: int | None, begun_fd: int | None) -> int:
    """Run until a signal; the exit code. A signal also ends waiting for the database at the start."""
    if settings.database_url is None:
        raise InvalidField(
            "no_database",
            "no database is given",
            field="database_url",
            hint="pass --database-url, or use: sexton up",
        )
    stop, started = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    running = asyncio.create_task(_run(settings, settings.database_url, listen_fd, begun_fd, started, stop))

    def told() -> None:
        stop.set()
        if not started.is_set():
            running.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told)
    with contextlib.suppress(asyncio.CancelledError):
        return await running
    return DONE


async def _run(
    settings: Settings,
    url: str,
    listen_fd: int | None,
    begun_fd: int | None,
    started: asyncio.Event,
    stop: asyncio.Event,
) -> int:
    from sexton.engine.cluster.egress import decide_egress
    from sexton.engine.node import Node
    from sexton.postgres.database import Database, patiently

    roles = settings.role_names()
    app = _load_app(settings.app)
    database = await patiently(
        lambda: Database.open(url, schema=settings.schema, timeout=settings.statement_timeout_seconds)
    )
    decided = await patiently(lambda: decide_egress(database, settings, roles))
    made = Node(
        decided,
        database,
        roles=roles,
        handlers=app.handlers if app else None,
        app=app._application if app else None,
        providers=app._providers if app else None,
        listeners=app._listeners if app else None,
        origin=app._origin() if app else None,
        begun=begun_fd,
    )
    try:
        if app is not None and "worker" in roles:
            await patiently(lambda: app._check_start(database))
        await made.start()
        started.set()
        try:
            async with (
                _declared(app, database)
                if app is not None and "worker" in roles
                else contextlib.nullcontext(),
                _api(made, listen_fd) if "api" in roles else _metrics(made),
            ):
                worn_out = await made.work_until(stop)
        finally:
            await made.stop()
        if worn_out:
            log.error("this process exits with code %d: start it again", REPLACE)
        return REPLACE if worn_out else DONE
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def _api(made: Node, listen_fd: int | None) -> AsyncIterator[None]:
    """Serve the API beside the node."""
    from sexton.api.application import make_app
    from sexton.api.server import serving
    from sexton.postgres.replica import Replica

    settings = made.settings
    listening = (
        listen(settings.host, settings.port, ports=1)
        if listen_fd is None
        else contextlib.closing(socket.socket(fileno=listen_fd))
    )
    replica = Replica(settings.replica_url, made.database) if settings.replica_url else None
    application = make_app(made.database, settings, made, replica)
    try:
        with listening as listener:
            async with serving(application, listener):
                yield
    finally:
        if replica is not None:
            await replica.close()


@contextlib.asynccontextmanager
async def _metrics(made: Node) -> AsyncIterator[None]:
    """Without an api, serve metrics and health only on the configured port."""
    settings = made.settings
    if settings.metrics_port is None:
        yield
        return
    from sexton.api.application import WATCHED, make_app
    from sexton.api.server import serving

    application = make_app(made.database, settings, made, only=WATCHED)
    with listen(settings.host, settings.metrics_port) as listener:
        log.info("metrics at %s/metrics", address_of(settings.host, listener.getsockname()[1]))
        async with serving(application, listener):
            yield


@contextlib.asynccontextmanager
async def _declared(app: Sexton, database: Database) -> AsyncIterator[None]:
    """Create and change the declared jobs, and pause those that vanish from the code."""
    from sexton.postgres.database import patiently

    await patiently(lambda: app._declare(database))
    keeper = app._keeper(database)
    keeper.start()
    try:
        yield
    finally:
        await keeper.stop()


def _load_app(path: str | None) -> Sexton | None:
    """The object named by module:name; modules are also searched in the current directory."""
    if path is None:
        return None
    from sexton.app import Sexton

    module, _, name = path.partition(":")
    if module.endswith(".py"):
        there = f"write {Path(module).stem}:{name or 'app'}, in the directory of the file"
        raise InvalidField("bad_app", f"{module} is a file, not a module", field="app", hint=there)
    sys.path.insert(0, "")
    hint = "write module:name, such as reports:app"
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            raise InvalidField(
                "bad_app", f"{path} cannot be loaded: {error}", field="app", hint=hint
            ) from error
        trace = [*traceback.format_list(user_frames(error)), *traceback.format_exception_only(error)]
        raise InvalidField(
            "bad_app", f"{path} cannot be loaded:\n{''.join(trace).rstrip()}", field="app"
        ) from error
    found = getattr(loaded, name or "app", None)
    if not isinstance(found, Sexton):
        wrong = (
            f"{path} is not a Sexton application" if found is not None else f"{module} has no {name or 'app'}"
        )
        raise InvalidField("bad_app", wrong, field="app", hint=hint)
    found._check_providers()
    return found
