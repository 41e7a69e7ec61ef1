"""The ground of every measurement: a schema, jobs in it, processes, and what they used."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from sexton.errors import Unavailable
from sexton.maintenance import make_partitions
from sexton.model import shard_of
from sexton.postgres.database import Database
from sexton.postgres.migrate import migrate
from sexton.schedules import Schedule

SCHEMA = "sexton_bench"
SHARDS = 64
HANDLER = "sexton.noop"
CHUNK = 50_000


@dataclass(slots=True)
class Process:
    """A Sexton process under measurement."""

    role: str
    handle: asyncio.subprocess.Process

    def cpu_seconds(self) -> float:
        return cpu_seconds([self.handle.pid])

    def peak_memory(self) -> int:
        """The most memory it ever had, in bytes."""
        for line in Path(f"/proc/{self.handle.pid}/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return 0


@dataclass(slots=True)
class Ground:
    """A database to measure on."""

    database: Database
    lane: int = 0
    processes: list[Process] = field(default_factory=list)

    async def fill(self, schedule: Schedule, jobs: int, due_at: datetime) -> None:
        """So many jobs of one schedule, all due at one instant."""
        key = UUID(schedule.timing_key)
        target = f'{{"handler":"{HANDLER}"}}'
        async with self.database.connection() as connection:
            for first in range(1, jobs + 1, CHUNK):
                ids = range(first, min(first + CHUNK, jobs + 1))
                await connection.copy_records_to_table(
                    "jobs",
                    schema_name=SCHEMA,
                    columns=["id", "name", "kind", "schedule", "timezone", "timing_key", "target"],
                    records=[
                        (
                            number,
                            f"bench-{number}",
                            schedule.kind,
                            schedule.text,
                            schedule.timezone,
                            key,
                            target,
                        )
                        for number in ids
                    ],
                    timeout=300,
                )
                await self.fill_timers(connection, ids, key, due_at)
            await connection.execute(f"analyze {SCHEMA}.jobs")
            await connection.execute(f"analyze {SCHEMA}.timers")

    async def fill_timers(self, connection: object, ids: Iterable[int], key: UUID, due_at: datetime) -> None:
        await connection.copy_records_to_table(  # type: ignore[attr-defined]
            "timers",
            schema_name=SCHEMA,
            columns=[
                "job_id",
                "shard",
                "revision",
                "timing_key",
                "scheduled_at",
                "due_at",
                "lane",
                "priority",
            ],
            records=[
                (number, shard_of(number, SHARDS), 1, key, due_at, due_at, self.lane, 2) for number in ids
            ],
            timeout=300,
        )

    async def now(self) -> datetime:
        async with self.database.connection() as connection:
            answer: datetime = await connection.fetchval("select clock_timestamp()")
            return answer

    async def start(self, role: str, **settings: object) -> Process:
        environment = {
            **os.environ,
            "SEXTON_DATABASE_URL": self.database.url,
            "SEXTON_SCHEMA": SCHEMA,
            **{f"SEXTON_{name.upper()}": str(value) for name, value in settings.items()},
        }
        handle = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sexton", "node", "--roles", role, env=environment
        )
        process = Process(role, handle)
        self.processes.append(process)
        return process

    def check(self) -> None:
        """A process that died would be waited for in vain."""
        for process in self.processes:
            if process.handle.returncode is not None:
                raise Unavailable(
                    "bench_failed", f"the {process.role} process ended with {process.handle.returncode}"
                )

    async def stop(self) -> None:
        for process in self.processes:
            if process.handle.returncode is None:
                process.handle.send_signal(signal.SIGTERM)
        for process in self.processes:
            await process.handle.wait()
        self.processes.clear()

    async def clear(self) -> None:
        async with self.database.connection() as connection:
            tables = ", ".join(f"{SCHEMA}.{table}" for table in ("timers", "runs", "history", "jobs"))
            await connection.execute(f"truncate {tables}")

    async def backend_pids(self) -> list[int]:
        """The database's processes, if they run here."""
        async with self.database.connection() as connection:
            postmaster = await connection.fetchval("select pg_backend_pid()")
        parent = _parent(postmaster)
        if parent is None:
            return []
        return [
            parent,
            *(int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(int(path.name)) == parent),
        ]


@asynccontextmanager
async def ground(url: str) -> AsyncIterator[Ground]:
    """A fresh schema; gone afterwards."""
    database = await Database.open(url, schema=SCHEMA, timeout=600)
    try:
        async with database.connection() as connection:
            await connection.execute(f"drop schema if exists {SCHEMA} cascade")
        await migrate(database, shards=SHARDS)
        await make_partitions(database)
        made = Ground(database)
        async with database.connection() as connection:
            made.lane = await connection.fetchval(
                f"insert into {SCHEMA}.lanes (queue, target, handler) values ('default', 'handler', $1) returning id",
                HANDLER,
            )
        try:
            yield made
        finally:
            await made.stop()
            async with database.connection() as connection:
                await connection.execute(f"drop schema if exists {SCHEMA} cascade")
    finally:
        await database.close()


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of processes that are alive."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _parent(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
    except (FileNotFoundError, PermissionError):
        return None
    return int(fields[1])


def second_after(moment: datetime, seconds: float) -> datetime:
    """A whole second at least so far ahead."""
    later = moment + timedelta(seconds=seconds + 1)
    return later.replace(microsecond=0)
