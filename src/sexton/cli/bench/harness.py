"""What every measurement uses: a schema with jobs, processes, and the resources that they used."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any
from uuid import UUID

import asyncpg

from sexton import clock
from sexton.errors import Unavailable
from sexton.jobs.spread import shard_of
from sexton.postgres import locks
from sexton.postgres.database import BY_KEY, Connection, Database
from sexton.postgres.migrate import migrate
from sexton.postgres.partitions import make_partitions
from sexton.schedules import Schedule

SCHEMA = "sexton_bench"
SHARDS = 64
HANDLER = "sexton.noop"
CHUNK = 50_000

# A measurement that takes longer has failed.
PATIENCE_SECONDS = 900
READY_SECONDS = 60
STOP_SECONDS = 45

# Settings of the caller that would change the result.
NOT_INHERITED = {"SEXTON_APP", "SEXTON_QUEUES", "SEXTON_DATA", "SEXTON_NODE"}

JOB_COLUMNS = ["id", "name", "kind", "schedule", "timezone", "anchor", "timing_key", "target", "options"]
TIMER_COLUMNS = ["job_id", "shard", "revision", "timing_key", "scheduled_at", "due_at", "lane", "priority"]

Say = Callable[[str], None]


@dataclass(slots=True)
class BenchProcess:
    """A Sexton process under measurement."""

    role: str
    handle: asyncio.subprocess.Process
    said: IO[bytes]

    def cpu_seconds(self) -> float:
        return clock.cpu_seconds(self.handle.pid)

    def peak_memory(self) -> int:
        """The most memory it ever had, in bytes; 0 where the system does not tell."""
        with suppress(OSError):
            for line in Path(f"/proc/{self.handle.pid}/status").read_text("ascii").splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0

    def last_words(self) -> str:
        self.said.seek(0)
        return self.said.read().decode("utf-8", "replace")[-2000:].strip()


@dataclass(slots=True)
class Usage:
    """Processor time that was used, in seconds; that of the database only if it runs on this machine."""

    python: float
    database: float | None

    def since(self, before: Usage) -> Usage:
        if self.database is None or before.database is None:
            return Usage(self.python - before.python, None)
        return Usage(self.python - before.python, self.database - before.database)


@dataclass(slots=True)
class SharedSchedule:
    """A schedule that jobs share, and their first occurrence."""

    schedule: Schedule
    first_at: datetime
    key: UUID = field(init=False)
    columns: tuple[object, ...] = field(init=False)

    def __post_init__(self) -> None:
        schedule = self.schedule
        self.key = UUID(schedule.timing_key)
        self.columns = (schedule.kind, schedule.text, schedule.timezone, schedule.anchor, self.key)


@dataclass(slots=True)
class Ground:
    """A database to measure on."""

    database: Database
    watch: asyncpg.Connection[asyncpg.Record]
    postmaster: int | None
    lane: int = 0
    queue_url: str = "postgres"
    processes: list[BenchProcess] = field(default_factory=list)

    async def fill(
        self,
        ids: Sequence[int],
        rules: Sequence[SharedSchedule],
        *,
        jitter: Callable[[int], float] | None = None,
        options: str = "{}",
    ) -> None:
        """Insert jobs with their timers; the rules are used in turn."""
        target = f'{{"handler":"{HANDLER}"}}'
        async with self.database.connection() as connection:
            for start in range(0, len(ids), CHUNK):
                chosen = [(job, rules[job % len(rules)]) for job in ids[start : start + CHUNK]]
                await connection.copy_records_to_table(
                    "jobs",
                    schema_name=SCHEMA,
                    columns=JOB_COLUMNS,
                    records=[(job, f"bench-{job}", *rule.columns, target, options) for job, rule in chosen],
                    timeout=300,
                )
                await connection.copy_records_to_table(
                    "timers",
                    schema_name=SCHEMA,
                    columns=TIMER_COLUMNS,
                    records=[
                        (
                            job,
                            shard_of(job, SHARDS),
                            1,
                            rule.key,
                            rule.first_at,
                            rule.first_at
                            if jitter is None
                            else rule.first_at + timedelta(seconds=jitter(job)),
                            self.lane,
                            2,
                        )
                        for job, rule in chosen
                    ],
                    timeout=300,
                )

    async def settle(self) -> None:
        """Vacuum, analyze and checkpoint, so that this work does not happen while measuring."""
        async with self.database.connection() as connection:
            for table in ("jobs", "timers"):
                await connection.execute(f"vacuum (analyze) {SCHEMA}.{table}", timeout=600)
            with suppress(asyncpg.InsufficientPrivilegeError):
                await connection.execute("checkpoint", timeout=600)

    async def clear(self) -> None:
        async with self.database.connection() as connection:
            tables = ", ".join(f"{SCHEMA}.{table}" for table in ("timers", "runs", "history", "jobs"))
            await connection.execute(f"truncate {tables}")

    async def now(self) -> datetime:
        async with self.database.connection() as connection:
            answer: datetime = await connection.fetchval("select clock_timestamp()")
            return answer

    async def sleep_until(self, moment: datetime) -> None:
        now = await self.now()
        await clock.sleep(max(0.0, (moment - now).total_seconds()))

    async def start(self, role: str, **settings: str) -> BenchProcess:
        """Start a node; `settings` are variables of its environment."""
        environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        environment |= {
            "SEXTON_DATABASE_URL": self.database.url,
            "SEXTON_SCHEMA": SCHEMA,
            "SEXTON_QUEUE_URL": self.queue_url,
            **settings,
        }
        said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        handle = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "sexton",
            "node",
            "--roles",
            role,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
        process = BenchProcess(role, handle, said)
        self.processes.append(process)
        return process

    async def ready(self, workers: int) -> None:
        """Wait until a scheduler leads every shard and the workers have joined."""
        ready = f"""select (select count(*) from {SCHEMA}.shards where holder is not null) = $1
            and (select count(*) from {SCHEMA}.nodes where roles = '{{worker}}' and state = 'live') = $2"""
        await self.wait_for(ready, SHARDS, workers, patience=READY_SECONDS)

    async def wait_for(
        self, question: str, *arguments: object, every: float = 0.1, patience: float = PATIENCE_SECONDS
    ) -> None:
        """Ask until the answer is true. The question must be cheap, so that it does not affect the
        measurement."""
        began = clock.monotonic()
        while not await self.watch.fetchval(question, *arguments):
            self.check()
            if clock.monotonic() - began > patience:
                raise Unavailable(
                    "bench_failed", f"not done after {patience} seconds", hint="measure fewer jobs"
                )
            await clock.sleep(every)

    def check(self) -> None:
        """Raise `Unavailable` if a process has died."""
        for process in self.processes:
            if process.handle.returncode is not None:
                raise Unavailable(
                    "bench_failed",
                    f"the {process.role} ended with {process.handle.returncode}: {process.last_words()}",
                )

    async def stop(self, *roles: str) -> None:
        """Stop the processes, or only those of some roles."""
        ending = [process for process in self.processes if not roles or process.role in roles]
        for process in ending:
            if process.handle.returncode is None:
                process.handle.send_signal(signal.SIGTERM)
        for process in ending:
            try:
                await asyncio.wait_for(process.handle.wait(), STOP_SECONDS)
            except TimeoutError:
                process.handle.kill()
                await process.handle.wait()
            process.said.close()
            self.processes.remove(process)

    def usage(self) -> Usage:
        """What the processes and the database have used until now."""
        python = sum(process.cpu_seconds() for process in self.processes)
        return Usage(python, None if self.postmaster is None else _family_cpu_seconds(self.postmaster))

    def peak_megabytes(self, role: str) -> float:
        peaks = [process.peak_memory() for process in self.processes if process.role == role]
        return round(max(peaks, default=0) / 1e6, 1)


@asynccontextmanager
async def ground(url: str, queue_url: str = "postgres") -> AsyncIterator[Ground]:
    """A new schema, dropped afterwards."""
    database = await Database.open(url, schema=SCHEMA, timeout=600, name="sexton bench")
    watch = await asyncpg.connect(url, command_timeout=600, server_settings=BY_KEY)
    try:
        if not await watch.fetchval("select pg_try_advisory_lock($1)", locks.BENCH):
            raise Unavailable("bench_running", "another measurement is under way in this database")
        await watch.execute(f"drop schema if exists {SCHEMA} cascade")
        await migrate(database, shards=SHARDS)
        await make_partitions(database)
        made = Ground(database, watch, await _local_postmaster(watch), queue_url=queue_url)
        made.lane = await watch.fetchval(
            f"""insert into {SCHEMA}.lanes (queue, target, handler)
                values ('default', 'handler', $1) returning id""",
            HANDLER,
        )
        try:
            yield made
        finally:
            await made.stop()
            await watch.execute(f"drop schema if exists {SCHEMA} cascade")
    finally:
        await watch.close()
        await database.close()


def per_thousand(seconds: float | None, runs: int) -> float | None:
    return None if seconds is None else round(seconds / runs * 1000, 4)


def account(ledger: Mapping[str, Any], expected: int, runs: int, used: Usage) -> dict[str, Any]:
    """The faults and the lateness in the ledger, and the processor time of each thousand measured runs."""
    return {
        "lost": expected - ledger["distinct"],
        "doubled": ledger["rows"] - ledger["distinct"],
        "early": ledger["early"],
        "late_p50_seconds": round(ledger["p50"], 4),
        "late_p99_seconds": round(ledger["p99"], 4),
        "late_max_seconds": round(ledger["latest"], 4),
        "database_cpu_seconds_per_thousand": per_thousand(used.database, runs),
        "python_cpu_seconds_per_thousand": per_thousand(used.python, runs),
    }


def second_after(moment: datetime, seconds: float) -> datetime:
    """A whole second at least this far ahead."""
    later = moment + timedelta(seconds=seconds + 1)
    return later.replace(microsecond=0)


async def _local_postmaster(connection: Connection) -> int | None:
    """The process of the database server, if it runs on this machine."""
    backend: int = await connection.fetchval("select pg_backend_pid()")
    try:
        command = Path(f"/proc/{backend}/cmdline").read_bytes()
        parent = int(_stat(backend)[1])
    except (OSError, IndexError):
        return None
    return parent if command.startswith(b"postgres:") else None


def _family_cpu_seconds(postmaster: int) -> float:
    """The server, its processes, and those that have ended."""
    seconds = clock.cpu_seconds(postmaster)
    with suppress(OSError):
        ended = _stat(postmaster)[13:15]
        seconds += sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            pid = int(entry.name)
            if int(_stat(pid)[1]) == postmaster:
                seconds += clock.cpu_seconds(pid)
    return seconds


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
