"""What `sexton up` is: a database, the processes of one machine, and somebody who looks after them.

The supervisor keeps the listening socket and hands it to the api, so a restarted api has the same address and
connections wait meanwhile instead of failing. Its children are in process groups of their own: Ctrl-C reaches
the supervisor alone, which then stops them in good order. Should it be killed, the kernel tells them to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import ipaddress
import json
import logging
import os
import signal
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from sexton import clock
from sexton.config import ROLES
from sexton.errors import InvalidField, SextonError, Unavailable
from sexton.postgres.database import Database, patiently
from sexton.postgres.migrate import migrate, require_migrated, require_shards
from sexton.postgres.server import PrivateServer, default_data_directory
from sexton.secrets import key_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sexton.config import Settings

log = logging.getLogger("sexton")

# How many ports after the one asked for are tried.
PORTS = 50
# A child that leaves with an error this soon after the very first start cannot work; later it is restarted.
HOPELESS_SECONDS = 10.0
SHORTEST_BACK_OFF, LONGEST_BACK_OFF = 0.5, 30.0
# Beyond the grace the nodes give to their runs, for giving the rest back and their own leaving: a worker that
# is killed before would be counted as crashed.
MARGIN_SECONDS = 15.0
TEND_SECONDS = 1.0
# How long another one on the same data may take to say who it is.
SETTLE_SECONDS = 15.0


@dataclass(frozen=True)
class Up:
    """Who is running, where."""

    pid: int
    address: str | None
    workers: int
    data: Path | None
    moved_from: int | None = None
    roles: tuple[str, ...] = ROLES


async def supervise(
    settings: Settings,
    *,
    given: Mapping[str, Any],
    announce: Callable[[Up], None],
    shards: int | None = None,
) -> Up | None:
    """Run Sexton on this machine until told to stop.

    `given` are the settings that the children cannot find by themselves; `shards` is how many were asked for.
    Returns at once, with who it is, if somebody else is running it on the same data.
    """
    roles = settings.role_names()
    if "api" in roles:
        refuse_open_door(settings)
    with contextlib.ExitStack() as stack:
        private: PrivateServer | None = None
        place: _Place | None = None
        if settings.database_url is None:
            private = PrivateServer(settings.data or default_data_directory())
            place = _Place(private.data)
            if (other := stack.enter_context(place.taken())) is not None:
                return other
            stack.callback(private.release)
        stop = Stop()
        stop.on(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        url = await asyncio.to_thread(private.start) if private else settings.database_url or ""
        preparing = asyncio.create_task(_prepare(url, settings, private=private is not None, shards=shards))
        if not await stop.unless(preparing):
            return None
        listener = stack.enter_context(listen(settings.host, settings.port)) if "api" in roles else None
        port = listener.getsockname()[1] if listener else settings.port
        up = Up(
            pid=os.getpid(),
            address=_address(settings.host, port) if listener else None,
            workers=(settings.workers or default_workers()) if "worker" in roles else 0,
            data=private.data if private else None,
            moved_from=settings.port if port != settings.port else None,
            roles=tuple(roles),
        )
        if place is not None:
            place.write(up)
        given = {**given, "data": None, "database_url": url, "port": port}
        if private is not None and settings.secret_key is None:
            given["secret_key"] = f"@{key_file(private.data)}"
        environment = _environment(given)
        supervisor = Supervisor(_children(up, listener, environment), grace_seconds=settings.grace_seconds)

        async def ready() -> bool:
            if listener is not None:
                return await answers(settings.host, port)
            return await joined(url, settings.schema, [each.pid for each in supervisor.processes.values()])

        await supervisor.run(
            stop,
            ready=ready,
            announce=lambda: announce(up),
            tend=_tending(private) if private else None,
        )
    return None


def refuse_open_door(settings: Settings) -> None:
    """An address that others can reach needs API keys."""
    if settings.api_keys or _is_loopback(settings.host):
        return
    raise InvalidField(
        "keys_required",
        f"Whoever reaches {settings.host} could run anything here: "
        "an address beyond loopback needs API keys.",
        field="host",
        hint="set SEXTON_API_KEYS to a long random text, or @FILE with one key per line; or leave --host out",
    )


def default_workers() -> int:
    """One core is for the scheduler and the database."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)


class Stop:
    """Being told to stop: once for good order, twice for at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()

    def on(self, *signals: signal.Signals) -> None:
        for each in signals:
            if signal.getsignal(each) is signal.SIG_IGN:
                continue  # as nohup wants it
            asyncio.get_running_loop().add_signal_handler(each, self)

    def __call__(self) -> None:
        (self.insisted if self.asked.is_set() else self.asked).set()

    async def unless(self, task: asyncio.Task[Any]) -> bool:
        """Wait for a task, whose error is raised; False if told to stop meanwhile."""
        asked = asyncio.create_task(self.asked.wait())
        try:
            await asyncio.wait([asked, task], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                return False
            task.result()
            return True
        finally:
            for each in (asked, task):
                each.cancel()
            await asyncio.gather(asked, task, return_exceptions=True)


@dataclass(frozen=True)
class Child:
    """One process to keep running."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()


class Supervisor:
    """Starts children, restarts those that die, and stops them all."""

    def __init__(self, children: list[Child], *, grace_seconds: float) -> None:
        self.children = children
        self.grace_seconds = grace_seconds
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self._stopping = asyncio.Event()

    async def run(
        self,
        stop: Stop,
        *,
        ready: Callable[[], Any],
        announce: Callable[[], None],
        tend: Callable[[], Any] | None = None,
    ) -> None:
        """Keep everything running until asked to stop; raises what makes going on pointless."""
        keepers = [asyncio.create_task(self._keep(child)) for child in self.children]
        others = [asyncio.create_task(self._announce(ready, announce))]
        if tend is not None:
            others.append(asyncio.create_task(_repeat(tend)))
        asked = asyncio.create_task(stop.asked.wait())
        try:
            done, _ = await asyncio.wait([asked, *keepers], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (asked, *others):
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._stop(stop, keepers)
        for task in done - {asked}:
            task.result()

    async def _keep(self, child: Child) -> None:
        """Run one child again and again."""
        failures = 0
        first = True
        while not self._stopping.is_set():
            began = clock.monotonic()
            process = self.processes[child.name] = await _spawn(child)
            if self._stopping.is_set():
                process.send_signal(signal.SIGTERM)
            code = await process.wait()
            lived = clock.monotonic() - began
            if self._stopping.is_set():
                return
            if first and code > 0 and lived < HOPELESS_SECONDS:
                raise Unavailable(
                    "start_failed",
                    f"{child.name} cannot start: it left with {code}.",
                    hint="what it said is above",
                )
            first = False
            failures = 0 if lived > LONGEST_BACK_OFF else failures + 1
            pause = min(LONGEST_BACK_OFF, SHORTEST_BACK_OFF * 2 ** (failures - 1)) if failures else 0.0
            log.warning("%s %s; it is started again in %.1f s", child.name, _how_it_ended(code), pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    async def _announce(self, ready: Callable[[], Any], announce: Callable[[], None]) -> None:
        while not await ready():
            await clock.sleep(0.05)
        announce()

    async def _stop(self, stop: Stop, keepers: list[asyncio.Task[None]]) -> None:
        """Ask the children to leave, wait as long as their runs may take, then make them."""
        self._stopping.set()
        self._signal(signal.SIGTERM)
        insisted = asyncio.create_task(stop.insisted.wait())
        gone = asyncio.create_task(asyncio.wait(keepers))
        await asyncio.wait(
            [insisted, gone],
            timeout=self.grace_seconds + MARGIN_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        insisted.cancel()
        self._signal(signal.SIGKILL)
        await gone
        await asyncio.gather(*keepers, return_exceptions=True)

    def _signal(self, number: signal.Signals) -> None:
        for process in self.processes.values():
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)


class _Place:
    """The data directory's note of who is up on it, and the lock that makes it true."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.note = data / "up.json"

    @contextlib.contextmanager
    def taken(self) -> Iterator[Up | None]:
        """Take the place for the block; gives who has it, if somebody has."""
        try:
            self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = (self.data / "up.lock").open("a", encoding="utf-8")
        except OSError as error:
            raise Unavailable(
                "data_directory_denied",
                f"{self.data} cannot be used: {error.strerror}.",
                hint="make it writable for you, or choose another directory with --data",
            ) from error
        with file:
            deadline = clock.monotonic() + SETTLE_SECONDS
            while not _locked(file):
                if (other := self.read()) is not None:
                    yield other
                    return
                if clock.monotonic() > deadline:
                    raise Unavailable(
                        "starting",
                        f"Another `sexton up` on {self.data} has been starting or stopping for a while.",
                        hint="look again in a moment",
                    )
                clock.block(0.05)
            self.note.unlink(missing_ok=True)
            try:
                yield None
            finally:
                self.note.unlink(missing_ok=True)

    def write(self, up: Up) -> None:
        note = {"pid": up.pid, "address": up.address, "workers": up.workers, "roles": up.roles}
        text = json.dumps(note)
        beside = self.note.with_suffix(".new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.note)

    def read(self) -> Up | None:
        """Who holds the lock; nobody yet, or nobody any more, while they start or stop."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Up(
            pid=note["pid"],
            address=note["address"],
            workers=note["workers"],
            data=self.data,
            roles=tuple(note.get("roles", ROLES)),
        )


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket on the port, or on the next one that is free."""
    try:
        family, *_, resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise InvalidField(
            "bad_host", f"{host} is not an address of this machine: {error.strerror}.", field="host"
        ) from error
    last = min(port + PORTS, 65536)
    for candidate in range(port, last):
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((resolved[0], candidate, *resolved[2:]))
                listener.listen(1024)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise InvalidField(
                    "bad_address",
                    f"{host}:{candidate} cannot be listened on: {error.strerror}.",
                    field="host" if error.errno == errno.EADDRNOTAVAIL else "port",
                    hint="choose others with --host and --port",
                ) from error
            yield listener
            return
    raise Unavailable(
        "no_free_port",
        f"The ports {port} to {last - 1} are all taken.",
        hint="choose another with --port",
    )


async def answers(host: str, port: int) -> bool:
    """Whether the api says that it is ready."""
    request = f"GET /readyz HTTP/1.1\r\nHost: {_authority(host, port)}\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(2):
            reader, writer = await asyncio.open_connection(_nearby(host), port)
            try:
                writer.write(request.encode())
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


async def joined(url: str, schema: str, pids: list[int]) -> bool:
    """Whether each of these processes of this machine is a node by now."""
    try:
        database = await Database.open(url, schema=schema, size=1, name="sexton up")
    except Unavailable:
        return False
    try:
        rows = await database.fetch("live_names")
    except Unavailable:
        return False
    finally:
        await database.close()
    found = {row["name"].rsplit(":", 1)[0] for row in rows}
    return bool(pids) and {f"{socket.gethostname()}:{pid}" for pid in pids} <= found


async def _prepare(url: str, settings: Settings, *, private: bool, shards: int | None) -> None:
    """The private database is migrated; another one must have been."""

    async def attempt() -> None:
        database = await Database.open(url, schema=settings.schema, size=1, name="sexton up")
        try:
            if private:
                await migrate(database, shards=settings.shards)
            else:
                await require_migrated(database)
            if shards is not None:
                await require_shards(database, shards)
        finally:
            await database.close()

    await patiently(attempt)


def _children(up: Up, listener: socket.socket | None, environment: dict[str, str]) -> list[Child]:
    """One process for api and scheduler, and the workers apart: their handlers must not keep it waiting."""
    node = [sys.executable, "-m", "sexton", "node", "--roles"]
    children = []
    ours = [role for role in up.roles if role != "worker"]
    if ours:
        descriptors = () if listener is None else (listener.fileno(),)
        options = [f"--listen-fd={descriptor}" for descriptor in descriptors]
        children.append(Child(" + ".join(ours), [*node, ",".join(ours), *options], environment, descriptors))
    workers = range(1, up.workers + 1)
    children += [Child(f"worker {number}", [*node, "worker"], environment) for number in workers]
    return children


def _environment(given: Mapping[str, Any]) -> dict[str, str]:
    """Settings as variables: what stands on a command line can be read by everybody on the machine."""
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


async def _repeat(tend: Callable[[], Any]) -> None:
    while True:
        await clock.sleep(TEND_SECONDS)
        try:
            await tend()
        except OSError as error:  # such as a full disk: the next time may be better
            log.error("the private PostgreSQL could not be looked after: %s", error)


async def _spawn(child: Child) -> asyncio.subprocess.Process:
    parent = os.getpid()

    def follow_parent() -> None:
        # In the child, before the program: SIGTERM when the parent is gone, also if it is gone already.
        if _PRCTL is not None:
            _PRCTL(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
            if os.getppid() != parent:
                os._exit(1)

    return await asyncio.create_subprocess_exec(
        *child.command,
        stdin=asyncio.subprocess.DEVNULL,
        env={**os.environ, **child.environment},
        pass_fds=child.descriptors,
        process_group=0,
        preexec_fn=follow_parent,
    )


_PR_SET_PDEATHSIG = 1
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def _how_it_ended(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"left with {code}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(host: str, port: int) -> str:
    return f"http://{_authority(host, port)}"


def _authority(host: str, port: int) -> str:
    host = _nearby(host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _nearby(host: str) -> str:
    """The address to reach it at from here: `0.0.0.0` means all of them."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
