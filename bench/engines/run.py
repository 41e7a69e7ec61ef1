"""The same hot second for other engines, beside Sexton, on the same private PostgreSQL in the same run.

    python bench/engines/run.py [--only sexton,graphile-worker,…] [--scale 1.0] [--json]

So many jobs are stored for one instant ahead, with the workers waiting; the seconds count from that instant
until the last one is executed and its end is recorded in the way of the engine. N is scaled to the engine's
speed. Each is set up as its documentation advises; the files beside this one say how. They are installed, on
the first run, into `.cache` beside this file: Python packages into a virtual environment of their own,
graphile-worker into node_modules (needs node and npm; without them it is left out, with a word).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from sexton import __version__, clock
from sexton.cli.bench.hot_second import hot_second
from sexton.engine.up.machine import default_workers
from sexton.postgres.database import BY_KEY
from sexton.postgres.server import private_server

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
PYTHON = CACHE / "python" / "bin" / "python"
NODE = CACHE / "node"
PACKAGES = [
    "pgqueuer[asyncpg]",
    "procrastinate",
    "apscheduler>=3,<4",
    "sqlalchemy",
    "psycopg[binary]",
    "psycopg2-binary",
    "uvloop",
]
PATIENCE_SECONDS = 300


@dataclass(frozen=True)
class Engine:
    """One of the others. `lead` is how many seconds ahead of the instant storing the jobs begins."""

    name: str
    jobs: int
    lead: float
    history: str
    measure: Callable[[Engine, str, int], Any]


async def graphile_worker(engine: Engine, url: str, jobs: int) -> float:
    program = ["node", str(HERE / "graphile_worker.cjs"), url]
    environment = {**os.environ, "NODE_PATH": str(NODE / "node_modules"), "NO_LOG_SUCCESS": "1"}
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            await stack.enter_async_context(running(program, environment))
        connection = await stack.enter_async_context(connected(url))
        due = await connection.fetchval("select clock_timestamp()") + timedelta(seconds=engine.lead)
        await connection.execute(
            """select count(graphile_worker.add_job('noop', '{}'::json, run_at := $1))
            from generate_series(1, $2::integer)""",
            due,
            jobs,
        )
        await connection.execute("vacuum analyze")
        return await until_done(
            connection, due, "select not exists (select from graphile_worker._private_jobs where id > 0)"
        )


async def pgqueuer(engine: Engine, url: str, jobs: int) -> float:
    program = [str(PYTHON), str(HERE / "pgqueuer_worker.py")]
    await call([*program, "install", url])
    due = await stored([*program, "enqueue", url, str(jobs), str(engine.lead)])
    async with running([*program, "work", url]), connected(url) as connection:
        await connection.execute("vacuum analyze")
        seconds = await until_done(connection, due, "select not exists (select from pgqueuer where id > 0)")
        recorded = await connection.fetchval(
            "select count(distinct job_id) from pgqueuer_log where status = 'successful'"
        )
        complain_unless(recorded == jobs, f"PgQueuer has recorded {recorded} of {jobs}")
        return seconds


async def procrastinate(engine: Engine, url: str, jobs: int) -> float:
    program = [str(PYTHON), str(HERE / "procrastinate_worker.py")]
    await call([*program, "install", url])
    due = await stored([*program, "enqueue", url, str(jobs), str(engine.lead)])
    async with running([*program, "work", url]), connected(url) as connection:
        await connection.execute("vacuum analyze")
        return await until_done(
            connection, due, "select not exists (select from procrastinate_jobs where status <> 'succeeded')"
        )


async def apscheduler(engine: Engine, url: str, jobs: int) -> float:
    program = [str(PYTHON), str(HERE / "apscheduler_worker.py")]
    due = await stored([*program, "enqueue", url, str(jobs), str(engine.lead)])
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    async with running([*program, "work", url, str(jobs)], environment) as process:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE_SECONDS)
        return float(line) - due.timestamp()


ENGINES = [
    Engine("graphile-worker", 100_000, 25, "none: done jobs are deleted", graphile_worker),
    Engine("PgQueuer", 30_000, 20, "a log row per change of state", pgqueuer),
    Engine("APScheduler 3", 3_000, 30, "none", apscheduler),
    Engine("Procrastinate", 2_000, 15, "the job's row and its events", procrastinate),
]


async def measure_all(url: str, names: list[str], scale: float) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    if not names or "sexton" in names:
        jobs = int(100_000 * scale)
        say(f"Sexton: {jobs:,} jobs")
        figures = await hot_second(url, jobs=jobs, workers=default_workers(), say=say)
        results.append(
            {"engine": "Sexton", "version": __version__, "history": "a row per run", **figures, **load()}
        )
    for engine in ENGINES:
        if names and engine.name.lower().split()[0] not in names:
            continue
        jobs = int(engine.jobs * scale)
        say(f"{engine.name}: {jobs:,} jobs")
        try:
            async with database(url, engine) as own:
                seconds = await engine.measure(engine, own, jobs)
        except (OSError, TimeoutError, RuntimeError, asyncpg.PostgresError) as error:
            say(f"{engine.name} could not be measured: {error!r}")
            results.append({"engine": engine.name, "error": repr(error)})
            continue
        results.append(
            {
                "engine": engine.name,
                "version": version(engine),
                "jobs": jobs,
                "seconds": round(seconds, 3),
                "per_second": round(jobs / seconds),
                "history": engine.history,
                **load(),
            }
        )
    return results


@contextlib.asynccontextmanager
async def database(url: str, engine: Engine) -> AsyncIterator[str]:
    """A database of its own, gone afterwards."""
    name = "engine_" + engine.measure.__name__
    async with connected(url) as connection:
        await connection.execute(f"drop database if exists {name} with (force)")
        await connection.execute(f"create database {name}")
    own = urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    if "graphile" in name:
        migrate = [
            "node",
            str(NODE / "node_modules" / ".bin" / "graphile-worker"),
            "-c",
            own,
            "--schema-only",
        ]
        await call(migrate)
    try:
        yield own
    finally:
        async with connected(url) as connection:
            await connection.execute(f"drop database if exists {name} with (force)")


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(url, command_timeout=PATIENCE_SECONDS, server_settings=BY_KEY)
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def running(
    program: list[str], environment: dict[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program that says `ready` and works until it is stopped."""
    process = await asyncio.create_subprocess_exec(
        *program, stdout=asyncio.subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        assert process.stdout is not None
        while (line := await asyncio.wait_for(process.stdout.readline(), 60)).strip() != b"ready":
            complain_unless(bool(line), f"{program[:2]} has ended with {process.returncode}")
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.communicate(), 15)
        except TimeoutError:
            process.kill()
            await process.communicate()


async def call(program: list[str]) -> str:
    process = await asyncio.create_subprocess_exec(
        *program,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    out, error = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    complain_unless(process.returncode == 0, error.decode()[-1000:])
    return out.decode()


async def stored(program: list[str]) -> datetime:
    """Store the jobs; the program says for which instant."""
    due = datetime.fromtimestamp(float((await call(program)).split()[-1]), UTC)
    complain_unless(due > clock.now() + timedelta(seconds=2), "storing the jobs took too long: lower --scale")
    return due


async def until_done(connection: asyncpg.Connection[asyncpg.Record], due: datetime, question: str) -> float:
    left = due - await connection.fetchval("select clock_timestamp()")
    complain_unless(left.total_seconds() > 1, "storing the jobs took too long: lower --scale")
    await clock.sleep(left.total_seconds())
    began = clock.monotonic()
    while not await connection.fetchval(question):
        complain_unless(clock.monotonic() - began < PATIENCE_SECONDS, "not done in time")
        await clock.sleep(0.1)
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return (now - due).total_seconds()


def complain_unless(fine: bool, why: str) -> None:
    if not fine:
        raise RuntimeError(why)


def install() -> None:
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n", "ascii")
    if not PYTHON.exists():
        say("installing PgQueuer, Procrastinate and APScheduler")
        subprocess.run([sys.executable, "-m", "venv", str(CACHE / "python")], check=True)
        subprocess.run([str(PYTHON), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if not (NODE / "node_modules" / "graphile-worker").exists() and shutil.which("npm"):
        say("installing graphile-worker")
        NODE.mkdir(exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(NODE), "graphile-worker"], check=False)


def version(engine: Engine) -> str:
    if engine.measure is graphile_worker:
        package = NODE / "node_modules" / "graphile-worker" / "package.json"
        found: str = json.loads(package.read_text("utf-8"))["version"]
        return found
    name = engine.measure.__name__
    program = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run(
        [str(PYTHON), "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()


def load() -> dict[str, float]:
    return {"load_average": round(os.getloadavg()[0], 2)}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def show(results: list[dict[str, Any]]) -> None:
    print(f"{'engine':<17}{'version':<10}{'jobs':>9}{'seconds':>10}{'per second':>12}  history of runs")
    for one in results:
        if "error" in one:
            print(f"{one['engine']:<17}{one['error'][:80]}")
            continue
        print(
            f"{one['engine']:<17}{one['version']:<10}{one['jobs']:>9,}{one['seconds']:>10.2f}"
            f"{one['per_second']:>12,}  {one['history']}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="names, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer jobs")
    parser.add_argument("--json", action="store_true", help="one object as the last line")
    options = parser.parse_args()
    install()
    names = [name.strip().lower() for name in options.only.split(",") if name.strip()]
    with (
        tempfile.TemporaryDirectory(prefix="sexton-engines-") as directory,
        private_server(Path(directory)) as url,
    ):
        results = asyncio.run(measure_all(url, names, options.scale))
    show(results)
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "python": platform.python_version(), "engines": results}))


if __name__ == "__main__":
    main()
