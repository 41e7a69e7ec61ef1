"""Real processes on a real PostgreSQL, each behind a proxy of its own, and what can be done to them.

A `Cluster` is a database with nodes. Waiting is always for a condition, with a deadline that is only reached
when something is wrong; what the nodes said is then shown with the error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg

from sexton.engine import crash
from sexton.jobs.bulk import create_many
from sexton.jobs.spread import jitter_of
from sexton.model import decode_id
from sexton.postgres.database import Connection, Database
from sexton.postgres.migrate import Migration
from sexton.postgres.transaction import Context
from tests.faults import handlers
from tests.faults.checker import Job, Ledger, Report, check, read_ledger
from tests.faults.fork_server import ForkServer
from tests.faults.member import Member, Process
from tests.faults.oracle import Cron, Every, Rule
from tests.faults.proxy import Proxy
from tests.faults.servers import POLL_SECONDS, Server, migrate_database

ROOT = Path(__file__).parent.parent.parent
NUMBERS = count(1)
# What the harness hears of a fault itself.
LOST = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.OperatorInterventionError)
EAGER = {"retry_base_seconds": 1, "retry_backoff": "fixed", "max_retries": 100}


@dataclass(frozen=True)
class Scale:
    """How long and how much: short for every day, long for `make chaos`."""

    jobs: int
    shards: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    lease: float = 4.0
    worker_lease: float = 15.0
    rounds: int = 1  # how many times a fault is repeated
    turns: int = 1  # how often every job runs before the fault, and after it
    patience: float = 60.0  # deadline of every wait


SHORT = Scale(
    jobs=12,
    shards=8,
    lease=1.0,
    worker_lease=1.5,
    settings={
        "lease_seconds": 1.0,
        "renew_seconds": 0.25,
        "worker_lease_seconds": 1.5,
        "heartbeat_seconds": 0.5,
        "sweep_seconds": 0.5,
        "poll_seconds": 0.25,
    },
)
LONG = Scale(jobs=400, shards=64, rounds=3, turns=4, patience=180.0)


class Cluster:
    """Nodes on a database of their own, and the jobs that they are to carry out."""

    def __init__(
        self, server: Server, fork_server: ForkServer, scale: Scale, directory: Path, name: str
    ) -> None:
        self.server = server
        self.fork_server = fork_server
        self.scale = scale
        self.name = name
        self.members: list[Member] = []
        self.jobs: list[Job] = []
        #: Jobs whose occurrences a scenario accounts for by itself.
        self.apart: set[int] = set()
        #: When the database had lost transactions, if it has.
        self.rewound_at: datetime | None = None
        self.figures: dict[str, float] = {}
        self.random = random.Random(name)
        self.marks: list[datetime] = []
        self.ledger = Ledger([])
        #: The program that nodes are, if they are not to be forked, and its variables beside the settings.
        self.program: list[str] | None = None
        self.variables: dict[str, str] = {}
        self._logs = directory / "nodes"
        self._lines = directory / "handlers"
        self._connection: Connection | None = None
        self._connected_to = ""
        self._asking = asyncio.Lock()

    # Making it.

    async def make(self, template: str) -> None:
        self._logs.mkdir()
        self._lines.mkdir()
        await self.server.administer(f"create database {self.name} template {template}")
        await self.fetch("create table effects (job_id bigint not null, scheduled_at timestamptz not null)")

    async def migrate(self, known: Sequence[Migration]) -> None:
        await migrate_database(self.server.database_url(self.name), self.scale.shards, known)

    async def remove(self) -> None:
        for member in self.members:
            if member.alive:
                member.thaw()
                await member.kill()
            end_session(member.process.pid)
            for proxy in member.proxies:
                await proxy.stop()
        if self._connection is not None:
            self._connection.terminate()
        await self.server.administer(f"drop database {self.name} with (force)")

    async def start(self, roles: str, *, crash_at: str | None = None, **settings: Any) -> Member:
        """Start a node; it is waited for by waiting for what it should do."""
        return await self.run("node", "--roles", roles, crash_at=crash_at, **settings)

    async def run(self, *command: str, crash_at: str | None = None, **settings: Any) -> Member:
        """Start a command of Sexton's behind proxies of its own."""
        proxies = [Proxy(path) for path in self.server.sockets]
        for proxy in proxies:
            await proxy.start()
        hosts = ",".join(f"127.0.0.1:{proxy.port}" for proxy in proxies)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        values = {
            **self.scale.settings,
            "port": port,
            "metrics_port": port,
            "app": "tests.faults.handlers:app",
            **settings,
        }
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SEXTON_")},
            **{f"SEXTON_{name.upper()}": str(value) for name, value in values.items()},
            "SEXTON_DATABASE_URL": f"postgresql://sexton@{hosts}/{self.name}?sslmode=disable",
            handlers.VARIABLE: str(self._lines),
            **self.variables,
        }
        if crash_at is not None:
            environment[crash.VARIABLE] = crash_at
        log = self._logs / f"{len(self.members)}-{command[-1]}.log"
        process: Process
        if self.program is None:
            process = await self.fork_server.run(*command, cwd=ROOT, environment=environment, output=log)
        else:
            process = await _start(*self.program, *command, environment=environment, output=log)
        member = Member(process, command[-1], proxies, log, port)
        self.members.append(member)
        return member

    async def add_jobs(self) -> None:
        """A mixture, repeated: plain, slow, with an effect, without overlap, strict about what is missed."""
        begin = (await self.now()).replace(microsecond=0) + timedelta(seconds=2)
        seconds = 1 if self.scale.jobs < 100 else 2
        every = f"every {seconds}s"
        kinds: list[tuple[str, dict[str, Any]]] = [
            (every, {}),
            (every, {}),
            (every, {"payload": 0.3}),
            ("* * * * * *" if seconds == 1 else "*/2 * * * * *", {"timezone": "Asia/Tokyo"}),
            ("*/2 * * * * *", {"timezone": "America/New_York"}),
            (every, {"target": {"handler": "effect"}, **EAGER}),
            (every, {"overlap": "SKIP", "payload": 0.1}),
            (every, {"overlap": "QUEUE_ONE"}),
            (every, {"grace_seconds": 1, "missed_window": "RUN_ONCE"}),
            (every, {"grace_seconds": 1, "missed_window": "RUN_ALL"}),
            (every, {"grace_seconds": 1, "missed_window": "SKIP"}),
            (every, {}),
        ]  # fmt: skip
        rows = []
        for number in range(self.scale.jobs):
            schedule, fields = kinds[number % len(kinds)]
            rows.append(_spec(f"job-{number}", schedule, begin, fields))
        await self._create(rows, begin)

    async def add_job(self, name: str, schedule: str, **fields: Any) -> Job:
        """One more, of a kind of its own."""
        [job] = await self.add_more([(name, schedule, fields)])
        return job

    async def add_more(self, specs: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[Job]:
        """Several (name, schedule, fields), each of a kind of its own."""
        begin = (await self.now()).replace(microsecond=0) + timedelta(seconds=1)
        before = len(self.jobs)
        await self._create([_spec(name, text, begin, fields) for name, text, fields in specs], begin)
        return self.jobs[before:]

    async def add_apart(self, specs: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[int]:
        """Those that the checker leaves to the scenario; their ids."""
        made = [job.id for job in await self.add_more(specs)]
        del self.jobs[-len(made) :]
        self.apart.update(made)
        return made

    async def _create(self, rows: list[dict[str, Any]], begin: datetime) -> None:
        database = await Database.open(self.server.database_url(self.name), size=1)
        try:
            created = await create_many(Context(database), rows)
        finally:
            await database.close()
        # On a busy machine the beginning may be over by now: a job owes nothing from before it was made.
        made = {row["id"]: row["created_at"] for row in await self.fetch("select * from sexton.jobs")}
        for row, put in zip(rows, created, strict=True):
            number = decode_id("j", put.job_id)
            assert number is not None
            self.jobs.append(
                Job(
                    number,
                    row["name"],
                    _rule(row, begin),
                    max(begin - timedelta(milliseconds=500), made[number]),
                    effects=row["target"] == {"handler": "effect"},
                    limit=row.get("max_runs"),
                    lenient="overlap" in row or "grace_seconds" in row,
                    jitter=timedelta(seconds=jitter_of(number, row.get("jitter_seconds", 0))),
                )
            )

    def let_go(self) -> None:
        """Let the handlers go that hold their runs."""
        (self._lines / handlers.LET_GO).touch()

    # Looking at it.

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """Straight from the server, not through a proxy. On a connection that is kept, for most of this is
        waiting: making one costs more than asking. One that the fault has ended is made again."""
        async with self._asking:
            url = self.server.database_url(self.name)
            if self._connection is not None:
                with contextlib.suppress(*LOST):
                    if self._connected_to == url:
                        return await self._connection.fetch(statement, *arguments)
                self._connection.terminate()
            # Without a cache of statements: tables change here.
            self._connection, self._connected_to = await asyncpg.connect(url, statement_cache_size=0), url
            return await self._connection.fetch(statement, *arguments)

    async def value(self, statement: str, *arguments: Any) -> Any:
        return (await self.fetch(statement, *arguments))[0][0]

    async def set_default(self, name: str, value: str) -> None:
        """A setting of the whole server, for sessions that are there as for new ones; ours may write."""
        connection = await asyncpg.connect(
            self.server.url, server_settings={"default_transaction_read_only": "off"}
        )
        try:
            await connection.execute(f"alter system set {name} = {value}")
            await connection.execute("select pg_reload_conf()")
        finally:
            await connection.close()

    async def now(self) -> datetime:
        at: datetime = await self.value("select clock_timestamp()")
        return at

    async def mark(self) -> None:
        """The fault happens, or ends, now: recovery is measured from here."""
        self.marks.append(await self.now())

    async def leaders(self) -> dict[Member, list[int]]:
        """Who leads which shards, according to the database."""
        rows = await self.fetch(
            """select n.name, array_agg(s.id) as shards
            from sexton.shards s join sexton.nodes n on n.id = s.holder group by n.name"""
        )
        shards = {int(row["name"].split(":")[-2]): list(row["shards"]) for row in rows}
        return {member: shards[member.process.pid] for member in self.members if member.process.pid in shards}

    async def leader(self) -> Member:
        """One that leads something, and lives."""
        await self.until(lambda: self._has_leader(), "a node leads")
        return self.random.choice([member for member in await self.leaders() if member.alive])

    async def _has_leader(self) -> bool:
        return any(member.alive for member in await self.leaders())

    def living(self, role: str) -> list[Member]:
        return [member for member in self.members if role in member.roles and member.alive]

    # Waiting.

    async def until(self, condition: Callable[[], Awaitable[Any]], what: str) -> None:
        """Wait for a condition."""
        deadline = time.monotonic() + self.scale.patience
        while not await condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited in vain for: {what}\n{self.said()}")
            await asyncio.sleep(POLL_SECONDS)

    async def until_true(self, statement: str, *arguments: Any) -> None:
        async def condition() -> Any:
            return await self.value(statement, *arguments)

        await self.until(condition, statement)

    async def turn(self, times: int | None = None) -> None:
        """Let every job run some times from now on."""
        now = await self.now()
        times = self.scale.turns if times is None else times
        await self.until_true(
            """select count(*) filter (where ended >= $2) = count(*) from (
                select j.id, (
                    select count(*) from sexton.history h
                    where h.job_id = j.id and h.run_id is not null and h.scheduled_at > $1
                ) as ended
                from sexton.jobs j where j.name like 'job-%'
            ) as turned""",
            now,
            times,
        )

    async def taken_over(self, member: Member) -> None:
        """Wait until the others lead what the member has led."""

        async def condition() -> bool:
            return member not in await self.leaders()

        await self.until(condition, f"the shards of {member} are taken over")

    async def leads(self, member: Member) -> None:
        """Wait until the member leads something."""

        async def condition() -> bool:
            return member in await self.leaders()

        await self.until(condition, f"{member} leads")

    async def recovered(self) -> None:
        """Wait until nothing is overdue, neither a timer nor a run."""
        await self.until_true(
            """select not exists (select from sexton.timers where due_at < clock_timestamp() - interval '1 s')
            and not exists (select from sexton.runs where due_at < clock_timestamp() - interval '1 s')"""
        )

    async def gone(self, member: Member) -> int:
        """Wait for the end of a process; its exit code."""

        async def condition() -> bool:
            return not member.alive

        await self.until(condition, f"{member} is gone")
        return await member.process.wait()

    async def pass_seconds(self, seconds: float) -> None:
        """Wait until the database's clock has moved on: for faults that last so long."""
        end = await self.now() + timedelta(seconds=seconds)
        await self.until(lambda: self._is_past(end), f"{seconds} s")

    async def _is_past(self, moment: datetime) -> bool:
        return await self.now() > moment

    async def holds(self, worker: Member) -> bool:
        """Whether the worker has runs in hand."""
        return bool(await self._node(worker, "exists (select from sexton.runs r where r.node = n.id)"))

    async def holds_lease(self, member: Member) -> bool:
        return bool(await self._node(member, "n.state = 'live' and n.lease_until > clock_timestamp()"))

    async def declared_dead(self, worker: Member) -> bool:
        return bool(await self._node(worker, "n.state = 'dead'"))

    async def _node(self, member: Member, what: str) -> Any:
        pattern = f"%:{member.process.pid}:%"
        rows = await self.fetch(f"select {what} from sexton.nodes n where name like $1 order by id", pattern)
        return rows[0][0] if rows else None

    # Measuring.

    async def measure_failover(self, shards: Sequence[int]) -> None:
        """How long after the mark the first job of each shard fired; the worst so far is kept."""
        waited = await self.value(
            """select extract(epoch from max(first) - $2)::float8 from (
                select t.shard, min(f.fired_at) as first
                from sexton.timers t
                join (
                    select job_id, fired_at from sexton.history where run_id is not null
                    union all select job_id, fired_at from sexton.runs
                ) as f on f.job_id = t.job_id
                where t.shard = any ($1::smallint[]) and f.fired_at > $2
                group by t.shard
            ) as fires""",
            list(shards),
            self.marks[-1],
        )
        self.figures["failover"] = max(self.figures.get("failover", 0.0), waited or 0.0)

    # The end.

    async def settled(self) -> Report:
        """Wait until everything up to now is accounted for and ended, and check it."""
        until = await self.now()
        with contextlib.suppress(AssertionError):  # then the report says what is missing
            await self.until_true(
                """select not exists (select from sexton.timers where scheduled_at <= $1)
                and not exists (select from sexton.runs where scheduled_at <= $1)""",
                until,
            )
        connection = await asyncpg.connect(self.server.database_url(self.name))
        try:
            self.ledger = await read_ledger(connection, self.jobs, self._lines, self.apart)
        finally:
            await connection.close()
        self.ledger.rewound_at = self.rewound_at
        return check(self.ledger, until)

    def said(self, lines: int = 15) -> str:
        """The last words of every node."""
        parts = []
        for member in self.members:
            text = member.log.read_text("utf-8", "replace").splitlines()[-lines:]
            state = "alive" if member.alive else f"left with {member.process.returncode}"
            parts.append("\n".join([f"--- {member} ({state})", *text]))
        return "\n".join(parts)


@asynccontextmanager
async def cluster(
    server: Server, fork_server: ForkServer, scale: Scale, *, migrated: bool = True
) -> AsyncIterator[Cluster]:
    """A database without nodes, and without tables if it is not to be migrated."""
    template = await server.template(scale.shards) if migrated else "template1"
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        made = Cluster(server, fork_server, scale, Path(directory), f"faults_{next(NUMBERS)}")
        await made.make(template)
        try:
            yield made
        finally:
            await made.remove()


async def _start(*command: str, environment: Mapping[str, str], output: Path) -> asyncio.subprocess.Process:
    with output.open("wb") as file:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=ROOT,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )


def end_session(leader: int) -> None:
    """Kill what a process that is gone has started."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(process.name)) == leader:
                os.kill(int(process.name), signal.SIGKILL)


def _spec(name: str, schedule: str, begin: datetime, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The first occurrence is after `begin`, whatever the kind of schedule."""
    kind = (
        {"anchor": begin}
        if schedule.startswith("every")
        else {"starts_at": begin - timedelta(milliseconds=500)}
    )
    return {"name": name, "schedule": schedule, "target": {"handler": "work"}, **kind, **fields}


def _rule(row: Mapping[str, Any], begin: datetime) -> Rule:
    schedule: str = row["schedule"]
    if schedule.startswith("every "):
        return Every(int(schedule.removeprefix("every ").removesuffix("s")), begin.astimezone(UTC))
    if schedule == "FREQ=SECONDLY":
        return Every(1, begin.astimezone(UTC))
    return Cron(schedule, row.get("timezone", "UTC"))
