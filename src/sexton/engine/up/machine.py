"""What `sexton up` runs: a database, the processes of one machine, and a supervisor that restarts them.

The supervisor opens the listening socket and passes it to the api. So a restarted api has the same address,
and meanwhile connections wait instead of failing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from sexton.connections.loopback import is_loopback
from sexton.engine import crash
from sexton.engine.begun import make_descriptor, take_begun
from sexton.engine.cluster.death import UNREPORTED, end_of, report_death
from sexton.engine.cluster.egress import decide_egress
from sexton.engine.up.directory import DataDirectory, Up
from sexton.engine.up.listen import address_of, answers, listen
from sexton.engine.up.supervisor import Child, Stop, Supervisor
from sexton.errors import Conflict, SextonError, Unavailable
from sexton.postgres.database import Database, patiently
from sexton.postgres.migrate import migrate, require_migrated, require_shards
from sexton.postgres.server import PrivateServer, default_data_directory
from sexton.postgres.servers import reason
from sexton.postgres.transaction import Context
from sexton.security.access import own_name, own_user, require_keys
from sexton.security.principal import owner
from sexton.security.secrets import key_file, key_source, with_key_at_start
from sexton.security.sessions import SIGN_IN_PATH, make_link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from sexton.config import Settings

log = logging.getLogger("sexton")

TELL_SECONDS = 5.0


async def supervise(
    settings: Settings,
    *,
    given: Mapping[str, Any],
    announce: Callable[[Up, str | None], None],
    shards: int | None = None,
) -> Up | None:
    """Run Sexton on this machine until asked to stop.

    `given` are the settings that the children cannot find by themselves; `shards` is the number that the
    caller asked for. On loopback, `announce` gets a link that signs a browser in; it is not stored. If
    another process has locked the data directory, this returns its owner at once.
    """
    crash.check()
    roles = settings.role_names()
    if "api" in roles:
        require_keys(settings)
    with contextlib.ExitStack() as stack:
        private: PrivateServer | None = None
        directory: DataDirectory | None = None
        if settings.database_url is None:
            private = PrivateServer(settings.data or default_data_directory())
            directory = DataDirectory(private.data)
            if (owner := stack.enter_context(directory.lock())) is not None:
                return owner
            stack.callback(private.release)
        stop = Stop()
        stop.on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        url = await asyncio.to_thread(private.start) if private else settings.database_url or ""
        preparing = asyncio.create_task(_prepare(url, settings, private=private is not None, shards=shards))
        if not await stop.unless(preparing):
            return None
        checked = {**given, "database_url": url, "roles": ",".join(roles)}
        if settings.app and not await stop.unless(asyncio.create_task(_check_app(_environment(checked)))):
            return None
        listener = stack.enter_context(listen(settings.host, settings.port)) if "api" in roles else None
        port = listener.getsockname()[1] if listener else settings.port
        up = Up(
            pid=os.getpid(),
            address=address_of(settings.host, port) if listener else None,
            workers=(settings.workers or default_workers()) if "worker" in roles else 0,
            data=private.data if private else None,
            moved_from=settings.port if port != settings.port else None,
            roles=tuple(roles),
        )
        if directory is not None:
            directory.name_owner(up)
        given = {**given, "data": None, "database_url": url, "port": port}
        if private is not None and settings.secret_key is None:
            given["secret_key"] = f"@{key_file(private.data)}"
        if private is not None and settings.outbox is None:
            # A private server is for trying Sexton out: messages without a provider go into files.
            given["outbox"] = str(private.data / "outbox")
        environment = _environment(given)
        children = _children(up, listener, environment, partial(_report_end, url, settings.schema))
        supervisor = Supervisor(children, grace_seconds=settings.grace_seconds)

        link: str | None = None

        async def ready() -> bool:
            nonlocal link
            if not await answering():
                return False
            if private is not None and up.address is not None and is_loopback(settings.host):
                link = await _sign_in_link(url, settings, settings.public_origin() or up.address)
            return True

        async def answering() -> bool:
            if listener is not None and not await answers(settings.host, port):
                return False
            if listener is not None and "scheduler" not in roles:
                return True
            # Workers may come later where an api answers.
            waited = ["scheduler"] if listener is not None else list(supervisor.processes)
            pids = [supervisor.processes[name].pid for name in waited if name in supervisor.processes]
            return await joined(url, settings.schema, pids)

        await supervisor.run(
            stop,
            ready=ready,
            announce=lambda: announce(up, link),
            tend=_tending(private) if private else None,
        )
    return None


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_workers() -> int:
    """All cores but one, which the scheduler and the database use."""
    return max(1, cores() - 1)


async def joined(url: str, schema: str, pids: list[int]) -> bool:
    """Whether each of these processes of this machine is a node by now."""
    try:
        async with _database(url, schema) as database:
            rows = await database.fetch("cluster/list_live_names")
    except Unavailable:
        return False
    found = {row["name"].rsplit(":", 1)[0] for row in rows}
    return bool(pids) and {f"{socket.gethostname()}:{pid}" for pid in pids} <= found


async def _sign_in_link(url: str, settings: Settings, origin: str) -> str | None:
    """A link for the user who runs the server; None if the database is away: that must not stop the start."""
    caller = owner(f"user:{own_name()}", f"user:{own_user()}")
    try:
        async with _database(url, settings.schema) as database:
            made = await make_link(Context(database, actor=caller.name), caller, key_source(settings))
    except (Unavailable, Conflict):
        return None  # the log of the api says what is wrong
    return f"{origin}{SIGN_IN_PATH}#{made.token}"


async def _check_app(environment: dict[str, str]) -> None:
    """Load the application once, in its own process, before several workers do: so an error is shown once,
    and ends the start however long the loading takes."""
    command = [sys.executable, "-m", "sexton", "node", "--check"]
    checking = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, env={**os.environ, **environment}
    )
    try:
        if await checking.wait():
            raise Unavailable("start_failed", "the application cannot be started.", hint="its error is above")
    finally:
        if checking.returncode is None:
            checking.kill()


async def _prepare(url: str, settings: Settings, *, private: bool, shards: int | None) -> None:
    """Migrate the private database; any other one must be migrated already."""

    async def attempt() -> None:
        async with _database(url, settings.schema) as database:
            if private:
                await migrate(database, shards=settings.shards)
            else:
                await require_migrated(database)
            if shards is not None:
                await require_shards(database, shards)
            # Before a worker asks for the decision.
            await decide_egress(database, settings, settings.role_names())
            if private:
                await with_key_at_start(Context(database), settings)

    await patiently(attempt)


@contextlib.asynccontextmanager
async def _database(url: str, schema: str) -> AsyncIterator[Database]:
    """A connection for a moment: most of the time the supervisor needs none."""
    database = await Database.open(url, schema=schema, size=1, name="sexton up")
    try:
        yield database
    finally:
        await database.close()


async def _report_end(url: str, schema: str, descriptor: int, code: int) -> bool:
    """Tell the database at once how a worker has ended, and which of its runs had begun: else its runs would
    wait for the end of its lease. `descriptor` is that of its memory. Returns whether it had worked."""
    if (begun := take_begun(descriptor)) is None:
        return False
    try:
        async with asyncio.timeout(TELL_SECONDS), _database(url, schema) as database:
            await report_death(database, begun, end_of(code))
    except UNREPORTED as error:
        log.warning("could not report the end of a worker: %s; its lease expires by itself", reason(error))
    return True


def _children(
    up: Up,
    listener: socket.socket | None,
    environment: dict[str, str],
    on_end: Callable[[int, int], Awaitable[bool]],
) -> list[Child]:
    """Each role has its own processes, so that handlers and callers never delay the scheduler. `on_end` gets
    the descriptor of a worker's memory, and its return code."""
    node = [sys.executable, "-m", "sexton", "node", "--roles"]
    children = []
    if listener is not None:
        descriptor = listener.fileno()
        children.append(Child("api", [*node, "api", f"--listen-fd={descriptor}"], environment, (descriptor,)))
    if "scheduler" in up.roles:
        children.append(Child("scheduler", [*node, "scheduler"], environment))
    for number in range(1, up.workers + 1):
        begun = make_descriptor()
        command = [*node, "worker", f"--begun-fd={begun}"]
        children.append(Child(f"worker {number}", command, environment, (begun,), partial(on_end, begun)))
    return children


def _environment(given: Mapping[str, Any]) -> dict[str, str]:
    """Settings as variables, because every user of the machine can read a command line."""
    return {f"SEXTON_{name.upper()}": str(value) for name, value in given.items() if value is not None}


def _tending(private: PrivateServer) -> Callable[[], Any]:
    async def tend() -> None:
        if not private.running():
            log.warning("the private PostgreSQL has died; it is started again")
            try:
                await asyncio.to_thread(private.start)
            except SextonError as error:
                log.error("%s", error)

    return tend
