"""Several programs with `Sexton()` on one database: each has its handlers to itself."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from sexton import Sexton
from sexton.errors import InvalidField
from sexton.jobs.create import create
from sexton.jobs.validation import read_spec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.filter import RunFilter
from sexton.runs.read import list_runs, require_job
from sexton.runs.why import why
from tests.waiting import until

PATIENCE = 60

PROGRAM = """
import sys
from sexton import Sexton

app = Sexton(sys.argv[1], name={name!r})

{body}

app.run()
"""
SOON = {"schedule": "every 1s", "max_runs": 1}
JOB = """
@app.job("every 1s", name={name!r}{more})
async def handler(run):
    print(app.name, run.job_name, flush=True)
"""
HANDLER = """
@app.handler({name!r})
async def handler(run):
    print(app.name, run.job_name, flush=True)
"""


def job(name: str, more: str = "") -> str:
    return JOB.format(name=name, more=more)


def handler(name: str) -> str:
    return HANDLER.format(name=name)


class Program:
    """A process with an application of its own."""

    def __init__(self, file: Path, database_url: str) -> None:
        self.file = file
        self.said: list[str] = []
        with file.with_suffix(".log").open("w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(file), database_url],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=file.parent,
            )

    async def says(self, line: str) -> None:
        """Wait until it prints this line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while line not in self.said:
                read = await asyncio.to_thread(self.process.stdout.readline)
                assert read, self.log
                self.said.append(read.strip())
        self.said.clear()

    @property
    def log(self) -> str:
        return self.file.with_suffix(".log").read_text(encoding="utf-8")

    async def joined(self, database: Database) -> None:
        """Wait until it is a worker."""

        async def live() -> bool:
            async with database.connection() as connection:
                return bool(
                    await connection.fetchval(
                        database.sql("select 'worker' = any (roles) from sexton.nodes where app = $1"),
                        self.file.stem,
                    )
                )

        await until(live)

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await self.ended()

    async def ended(self) -> int:
        return await asyncio.to_thread(self.process.wait, PATIENCE)


Start = Callable[..., Program]


@pytest_asyncio.fixture
async def start(tmp_path: Path, database_url: str) -> AsyncIterator[Start]:
    started: list[Program] = []

    def start(file: str, *parts: str, name: str = "") -> Program:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(PROGRAM.format(name=name or None, body="".join(parts)), encoding="utf-8")
        started.append(Program(path, database_url))
        return started[-1]

    yield start
    for program in started:
        program.process.kill()
        program.process.communicate()


async def executed(database: Database) -> dict[str, set[str]]:
    """The applications whose workers have run each job."""
    async with database.connection() as connection:
        rows = await connection.fetch(
            database.sql(
                """select job.name, node.app
                from sexton.history as run
                join sexton.jobs as job on job.id = run.job_id
                join sexton.nodes as node on node.id = run.node"""
            )
        )
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["name"], set()).add(row["app"])
    return found


async def explained(database: Database, name: str) -> list[str]:
    context = Context(database)
    return [each.text for each in await why(context, await require_job(context, name))]


async def test_each_of_two_programs_runs_its_own_jobs_only(start: Start, database: Database) -> None:
    one = start("one.py", job("report"), job("only-one"))
    await one.says("one report")
    # Its handler has the name of a job that the other one has declared.
    two = start("two.py", job("only-two"), handler("report"))
    await two.says("two only-two")
    await one.says("one report")
    await one.stop()
    await two.says("two only-two")
    await two.says("two only-two")
    assert await executed(database) == {"report": {"one"}, "only-one": {"one"}, "only-two": {"two"}}
    report = await require_job(Context(database), "report")
    page = await list_runs(Context(database), RunFilter(job=report))
    assert "pending" in {run.status for run in page.items}
    assert any(
        "no worker of the application one has the handler report" in line
        for line in await explained(database, "report")
    )


async def test_a_job_with_the_name_of_another_programs_job_is_refused_at_the_start(
    start: Start, database: Database
) -> None:
    one = start("one.py", job("report", ", priority=0"))
    await one.says("one report")
    two = start("two.py", job("report"), job("only-two"))
    assert await two.ended() != 0
    assert "the name report belongs to a job of the application one" in two.log
    assert 'Sexton(name="one")' in two.log
    await one.says("one report")
    assert await executed(database) == {"report": {"one"}}
    jobs = await Sexton(database.url, name="look").list()
    assert [(each.name, each.priority, each.revision) for each in jobs] == [("report", 0, 1)]


async def test_sexton_up_tells_a_refusal_once_and_ends(tmp_path: Path, database: Database) -> None:
    await create(Context(database), read_spec({**SOON, "name": "report"}))
    (tmp_path / "shop.py").write_text(
        f"from sexton import Sexton\napp = Sexton()\n{job('report')}", encoding="utf-8"
    )
    command = [sys.executable, "-m", "sexton", "up", "--app", "shop:app", "--workers", "2", "--port", "0"]
    environment = {**os.environ, "SEXTON_DATABASE_URL": database.url}
    ended = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 1
    assert ended.stderr.count("the name report belongs to a job that no application declares") == 1
    assert "the application cannot be started" in ended.stderr
    assert ended.stdout == ""


async def test_two_files_with_one_name_are_refused_while_the_first_lives(
    start: Start, database: Database
) -> None:
    one = start("a/main.py", job("report"))
    await one.says("main report")
    two = start("b/main.py", job("report"))
    assert await two.ended() != 0
    assert f"another program on this machine is the application main: {one.file}" in two.log
    assert "Sexton(name=" in two.log
    await one.says("main report")
    await one.stop()
    after = start("b/main.py", job("report"))
    await after.says("main report")
    await after.stop()


@pytest.mark.parametrize(
    ("name", "files"),
    [("", ("main.py", "main.py")), ("shop", ("1/main.py", "2/main.py"))],
    ids=["in one place", "in places of their own, with a name"],
)
async def test_versions_of_one_application_run_side_by_side(
    start: Start, name: str, files: tuple[str, str]
) -> None:
    old = start(files[0], job("kept"), job("dropped"), name=name)
    await old.says(f"{name or 'main'} dropped")
    new = start(files[1], job("kept", ", payload=2"), job("added"), name=name)
    await new.says(f"{name or 'main'} added")
    await old.says(f"{name or 'main'} dropped")
    await old.stop()
    await new.says(f"{name or 'main'} kept")
    assert await new.stop() == 0


async def test_a_job_made_elsewhere_says_which_application_it_means(start: Start, database: Database) -> None:
    context = Context(database)
    one = start("one.py", handler("tick"))
    await one.joined(database)
    first = await create(context, read_spec({**SOON, "name": "bare", "target": {"handler": "tick"}}))
    assert first.warnings == []
    await one.says("one bare")
    two = start("two.py", handler("tick"))
    await two.joined(database)
    with pytest.raises(InvalidField, match="write one:tick or two:tick"):
        await create(context, read_spec({**SOON, "name": "which", "target": {"handler": "tick"}}))
    for app, program in (("two", two), ("one", one)):
        named = {**SOON, "name": f"for-{app}", "target": {"handler": f"{app}:tick"}}
        await create(context, read_spec(named))
        await program.says(f"{app} for-{app}")
