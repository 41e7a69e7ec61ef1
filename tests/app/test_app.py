"""The Python API on a real database, with scheduler and worker in the test's own event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from sexton import Cancel, Retry, Run, Sexton, clock
from sexton.app.fields import JobFields
from sexton.engine.cluster.application import Application
from sexton.errors import Conflict, InvalidField, NotFound, RefusedLines, RunFailed, Unavailable
from sexton.jobs.spec import JobSpec
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.security.namespace_spec import NamespaceSpec
from sexton.security.namespaces import create_namespace

SOON = timedelta(milliseconds=400)
FAR = datetime(2100, 1, 1, tzinfo=UTC)
PATIENCE = 60


class Seen:
    """What a handler was called with, for the test to wait for."""

    def __init__(self) -> None:
        self.runs: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def note(self, run: Run) -> None:
        self.runs.put_nowait(
            {
                "payload": run.payload,
                "trigger": run.trigger,
                "attempt": run.attempt,
                "key": run.idempotency_key,
                "name": run.job_name,
            }
        )

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.runs.get(), PATIENCE)


@pytest.fixture
def app(database_url: str) -> Sexton:
    return Sexton(database_url, name="test")


async def test_a_program_serves_the_metrics_itself_while_it_runs(app: Sexton) -> None:
    with pytest.raises(Conflict, match="only while it runs"):
        _ = app.metrics
    async with app.running():
        assert b"sexton_rings_received_total" in generate_latest(app.metrics)


async def ended(app: Sexton, job: Any, status: str) -> Any:
    """Wait for the latest run of a job to end so."""
    async with asyncio.timeout(PATIENCE):
        while True:
            for run in await app.history(job):
                if run.status == status:
                    return run
            await clock.sleep(0.02)


async def test_a_declared_job_fires_and_is_recorded(app: Sexton) -> None:
    seen = Seen()

    @app.job("every 1s", payload={"n": 1})
    async def tick(run: Run) -> dict[str, int]:
        seen.note(run)
        return {"answer": 42}

    async with app.running():
        first = await seen.next()
        run = await ended(app, tick, "success")
    assert (first["payload"], first["trigger"], first["name"]) == ({"n": 1}, "schedule", "tick")
    assert first["key"] == f"{run.job_id}:{first['key'].partition(':')[2]}"
    assert run.result == {"answer": 42}


async def test_a_template_makes_the_key_that_the_handler_is_given(app: Sexton) -> None:
    seen = Seen()

    @app.job("every 1s", payload={"n": 7}, idempotency_key_template="tick-{{payload.n}}-{{year}}-{{unix}}")
    async def tick(run: Run) -> None:
        seen.note(run)

    async with app.running():
        first = await seen.next()
        run = await ended(app, tick, "success")
    assert first["key"].startswith("tick-7-2")
    assert run.idempotency_key.startswith("tick-7-2")


async def test_one_off_jobs_with_their_payload_and_plain_functions(app: Sexton) -> None:
    seen = Seen()
    loop = asyncio.get_running_loop()

    @app.handler("greet")
    def greet(run: Run) -> str:
        loop.call_soon_threadsafe(seen.note, run)
        return "done"

    async with app.running():
        job = await app.schedule(greet, at=clock.now() + SOON, payload={"to": "you"})
        assert (await seen.next())["payload"] == {"to": "you"}
        assert (await ended(app, job.job_id, "success")).result == "done"
        shown = await app.get(job.job_id)
        assert (shown.status, shown.last_outcome, shown.app) == ("completed", "success", "test")
        assert shown.name.startswith("greet-")
        await app.schedule("greet", schedule="0 0 1 1 *", name="yearly")
        await app.run_now("yearly", payload=5)
        manual = await seen.next()
        assert (manual["payload"], manual["trigger"]) == (5, "manual")


async def test_a_handler_says_how_its_run_ends(app: Sexton) -> None:
    seen = Seen()

    @app.handler("fickle")
    async def fickle(run: Run) -> Any:
        seen.note(run)
        return Retry(after=0) if run.attempt == 1 else Cancel("enough")

    async with app.running():
        job = await app.schedule(fickle, at=clock.now() + SOON)
        assert [(await seen.next())["attempt"] for _ in range(2)] == [1, 2]
        run = await ended(app, job.job_id, "cancelled")
    assert (run.attempt, run.reason) == (2, "enough")


async def test_many_at_once(app: Sexton, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sexton.app.commands.CHUNK", 10)

    @app.handler("note")
    async def note(run: Run) -> None: ...

    async with app.connected():
        ids = await app.schedule_many(note, ({"at": FAR, "payload": n} for n in range(25)))
        assert len(set(ids)) == 25
        assert (await app.get(ids[24])).payload == 24
        items: list[dict[str, Any]] = [{"at": FAR, "name": f"n-{n}"} for n in range(12)]
        items[11]["priority"] = 9
        with pytest.raises(RefusedLines) as caught:
            await app.schedule_many(note, items)
        assert caught.value.errors[0][0] == 12
        # The first chunk was whole.
        assert len(await app.list(name="n-*")) == 10
        page = await app.list(limit=20)
        assert len(await app.list(after=page[-1].job_id)) == 15


async def test_commands_work_outside_of_running_too(app: Sexton) -> None:
    @app.handler("note")
    async def note(run: Run) -> None: ...

    job, other = await asyncio.gather(
        app.schedule(note, schedule="0 9 * * *", name="daily", timezone="Europe/Berlin"),
        app.schedule(note, at="2100-01-01T09:00", timezone="Europe/Berlin"),
    )
    assert job.next_run_local is not None
    assert other.next_run_at == datetime(2100, 1, 1, 8, tzinfo=UTC)
    assert (await app.pause("daily", reason="freeze")).status == "paused"
    assert (await app.resume("daily")).status == "active"
    assert (await app.edit("daily", priority=0)).priority == 0
    run_id = await app.run_now("daily")
    assert await app.cancel_run(run_id) == "cancelled"
    assert [run.status for run in await app.history("daily")] == ["cancelled"]
    now = clock.now()
    # A day is longer or shorter where clocks change.
    assert (
        2 <= len((await app.backfill("daily", now - timedelta(days=3), now, dry_run=True)).scheduled_at) <= 4
    )
    await app.delete("daily")
    with pytest.raises(NotFound):
        await app.get("daily")


async def test_commands_work_from_every_event_loop(app: Sexton) -> None:
    """Also at the same time: connections belong to the loop that made them."""
    app.handler("later")(lambda run: None)
    async with app.running():

        async def elsewhere(name: str) -> list[str]:
            async with app.connected():
                await app.schedule("later", at=FAR, name=name)
                return [job.name for job in await app.list()]

        names = ["one", "two", "three"]
        listed = await asyncio.gather(*(asyncio.to_thread(asyncio.run, elsewhere(name)) for name in names))
        assert all(name in seen for name, seen in zip(names, listed, strict=True))
        await app.schedule("later", at=FAR, name="here")
        assert {job.name for job in await app.list()} == {*names, "here"}


async def test_declarations_are_brought_in_line_at_start(database_url: str) -> None:
    def make(payload: int, *names: str) -> Sexton:
        made = Sexton(database_url, name="shop")
        for name in names:

            @made.job("0 0 1 1 *", name=name, payload=payload)
            async def handler(run: Run) -> None: ...

        return made

    first = make(1, "a", "b")
    async with first.running():
        assert [job.payload for job in await first.list()] == [1, 1]
    second = make(2, "a")
    async with second.running():
        jobs = {job.name: job for job in await second.list()}
    assert (jobs["a"].payload, jobs["a"].revision) == (2, 2)
    assert (jobs["b"].status, jobs["b"].paused_reason) == (
        "paused",
        "no longer declared by the application shop",
    )


@pytest.mark.parametrize(
    ("schedule", "fields", "field"),
    [
        ("0 25 * * *", {}, "schedule"),
        ("0 9 * * *", {"timezone": "Mars"}, "timezone"),
        ("every 1m", {"priority": 9}, "priority"),
    ],
)
def test_a_bad_declaration_is_refused_where_it_stands(schedule: str, fields: Any, field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        Sexton(name="x").job(schedule, **fields)(lambda run: None)
    assert caught.value.field == field


def test_names_of_handlers_are_taken_once() -> None:
    app = Sexton(name="x")

    async def function(run: Run) -> None: ...

    app.handler("a")(function)
    app.job("every 1h", name="a")(function)
    assert list(app.handlers) == ["a"]
    for name in ("a", "sexton.noop"):
        with pytest.raises(InvalidField, match="already"):
            app.handler(name)(lambda run: None)


async def test_what_cannot_be_scheduled_is_refused() -> None:
    app = Sexton(name="x")

    async def stranger(run: Run) -> None: ...

    with pytest.raises(InvalidField, match="stranger is not a handler"):
        await app.schedule(stranger, at=FAR)
    with pytest.raises(InvalidField, match="one of at=, after= and schedule="):
        await app.schedule("x")
    with pytest.raises(InvalidField, match="no handler"):
        await app.schedule(at=FAR)


@pytest.mark.parametrize(
    ("at", "field", "words"),
    [
        (timedelta(minutes=5), "at", "a timedelta.*after="),
        ("every 5m", "schedule", "not an ISO-8601 time"),
        (datetime(2100, 1, 1), "schedule", "no time zone"),
    ],
)
async def test_at_is_a_single_moment(app: Sexton, at: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidField, match=words) as caught:
        await app.schedule("x", at=at)
    assert caught.value.field == field
    assert await app.list() == []


async def test_an_item_of_many_that_is_no_job_is_told_by_its_line(app: Sexton) -> None:
    items: Any = [{"at": FAR}, 5]
    with pytest.raises(RefusedLines, match="line 2: an item is a int, not a mapping") as caught:
        await app.schedule_many("x", items)
    assert [line for line, _ in caught.value.errors] == [2]


def test_a_decorator_without_its_brackets_is_refused() -> None:
    app: Any = Sexton(name="x")

    def remind(run: Run) -> None: ...

    for decorator, example in ((app.job, "@app.job("), (app.handler, '@app.handler("remind")')):
        with pytest.raises(InvalidField) as caught:
            decorator(remind)
        assert example in str(caught.value.hint)


def test_a_handler_is_refused_whose_arguments_have_no_name_or_no_known_type() -> None:
    app: Any = Sexton(name="x")

    def by_place(run: Run, other: int, /) -> None: ...
    def unknown(run: Run, other: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    for function, words in ((by_place, "cannot be given other by name"), (unknown, "cannot be read")):
        with pytest.raises(InvalidField, match=words):
            app.handler("a")(function)
    app.handler("b")(print)
    assert list(app.handlers) == ["b"]


async def test_handlers_get_their_arguments_from_the_payload(app: Sexton) -> None:
    @app.handler("report")
    async def report(run: Run, customer: str, days: int = 7) -> list[object]:
        return [customer, days, run.job_name]

    @app.handler("plain")
    def plain(since: datetime, tags: list[str] | None = None) -> list[object]:
        return [since.year, tags]

    @app.handler("bare")
    async def bare() -> str:
        return "nothing is needed"

    async with app.running():
        cases: list[tuple[Any, Any, Any]] = [
            (report, {"customer": "acme"}, ["acme", 7, "0"]),
            (report, {"customer": "acme", "days": 30}, ["acme", 30, "1"]),
            (plain, {"since": "2026-06-08T13:00:00Z"}, [2026, None]),
            (bare, None, "nothing is needed"),
        ]
        for number, (handler, payload, expected) in enumerate(cases):
            await app.schedule(
                handler, at=clock.now(), payload=payload, name=str(number), missed_window="RUN_ONCE"
            )
            assert (await ended(app, str(number), "success")).result == expected


async def test_a_payload_that_is_no_arguments_is_refused_and_fails_for_good(app: Sexton) -> None:
    @app.handler("report")
    async def report(customer: str, days: int = 7) -> None: ...

    for payload, field in (
        ({"customer": 5}, "payload.customer"),
        ({"customer": "acme", "dayz": 5}, "payload.dayz"),
        (None, "payload.customer"),
        ([1], "payload"),
    ):
        with pytest.raises(InvalidField) as caught:
            await app.schedule(report, at=FAR, payload=payload)
        assert caught.value.field == field
    with pytest.raises(InvalidField, match="customer is missing"):
        app.job("every 1h")(report)
    other = Sexton(app.settings.database_url, name="other")
    async with app.running():
        await other.schedule(
            "report", at=clock.now(), payload={"customer": 5}, name="wrong", missed_window="RUN_ONCE"
        )
        run = await ended(app, "wrong", "dead")
    assert run.reason == "permanent"
    assert "payload.customer: expected str, got int" in run.error


def test_an_unknown_setting_is_refused_at_once() -> None:
    with pytest.raises(InvalidField, match="did you mean concurrency") as caught:
        Sexton(name="x", concurency=5)
    assert caught.value.field == "concurency"


def test_every_field_of_a_job_can_be_given_in_python() -> None:
    own = {"name", "schedule", "payload"}  # parameters of their own
    assert set(JobFields.__annotations__) == set(JobSpec.__struct_fields__) - own


async def test_a_database_of_the_user_is_not_migrated_by_itself(server_url: str) -> None:
    empty = Sexton(server_url, name="x", schema="nothing_here")
    with pytest.raises(Unavailable) as caught:
        await empty.list()
    assert (caught.value.code, caught.value.hint) == ("not_migrated", "run: sexton migrate")


def test_an_application_is_named_after_its_module() -> None:
    assert Sexton().name == __name__
    assert Sexton()._application == Application(__name__, str(Path(__file__).resolve()), given=False)
    assert Sexton(name="shop")._application.given


@pytest.mark.parametrize(
    ("command", "name", "file"),
    [
        (["-m", "shop.jobs"], "shop.jobs", "shop/jobs.py"),
        (["-m", "shop"], "shop", "shop/__main__.py"),
        (["-c", "import shop.jobs"], "shop.jobs", "shop/jobs.py"),
        (["shop/jobs.py"], "jobs", "shop/jobs.py"),
        (["-c", "from sexton import Sexton; a = Sexton(); print(a.name, a._application.file)"], "app", None),
    ],
)
def test_the_name_does_not_depend_on_how_the_module_is_started(
    tmp_path: Path, command: list[str], name: str, file: str | None
) -> None:
    (tmp_path / "shop").mkdir()
    for each in ("__main__.py", "jobs.py"):
        (tmp_path / "shop" / each).write_text(
            "from sexton import Sexton\na = Sexton()\nprint(a.name, a._application.file)", encoding="utf-8"
        )
    said = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.strip()
    if file is None:
        assert said.startswith(f"{name} process ")
    else:
        assert said == f"{name} {(tmp_path / file).resolve()}"


@pytest.mark.parametrize("name", ["a:b", "", " ", "a\0b", "x" * 201])
def test_a_name_that_no_target_could_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidField) as caught:
        Sexton(name=name)
    assert caught.value.field == "name"


async def test_a_job_names_the_handler_of_its_application(app: Sexton) -> None:
    @app.handler("own")
    async def own(run: Run) -> None: ...

    made = [
        await app.schedule(own, at=FAR),
        await app.schedule("own", at=FAR),
        await app.schedule(at=FAR, target={"handler": "own"}),
        await app.schedule("foreign", at=FAR),
        await app.schedule("other:own", at=FAR),
        await app.get((await app.schedule_many(own, [{"at": FAR}]))[0]),
        await app.edit((await app.schedule("foreign", at=FAR)).job_id, target={"handler": "own"}),
    ]
    assert [job.target and job.target["handler"] for job in made] == [
        "test:own", "test:own", "test:own", "foreign", "other:own", "test:own", "test:own",
    ]  # fmt: skip
    assert made[0].name.startswith("own-")


async def test_an_application_declares_its_jobs_in_its_namespace(
    app: Sexton, database: Database, database_url: str
) -> None:
    seen = Seen()
    billing = Sexton(database_url, name="test", namespace="billing")
    billing.job("every 1s", name="tick")(seen.note)
    app.job("every 1h", name="tick")(lambda run: None)
    for attempt in (billing._check_start(database), billing.get("tick")):
        with pytest.raises(NotFound) as caught:
            await attempt
        assert caught.value.hint == "make it: sexton namespaces create billing"
    await create_namespace(Context(database), NamespaceSpec(name="billing"))
    async with app.running(), billing.running():
        assert (await seen.next())["name"] == "tick"
        shown = [await each.get("tick") for each in (app, billing)]
        assert [job.schedule for job in shown] == ["every 1h", "every 1s"]
        with pytest.raises(NotFound):
            await app.get(shown[1].job_id)
        assert billing._node is not None
        assert billing._node.worker is not None
        assert billing._node.worker.state.settings.namespace_names() == ["billing"]


async def test_an_application_that_must_not_start_leaves_nothing_behind(app: Sexton) -> None:
    app.job("every 1s", name="tick")(lambda run: None)
    other = Sexton(app.settings.database_url)
    other.name = app.name
    other._identity = Application(app.name, "/other.py", given=False)
    twin = Sexton(app.settings.database_url, name="twin")
    twin.job("every 1s", name="tick")(lambda run: None)
    async with app.running():
        for program, code in ((other, "application_taken"), (twin, "name_taken")):
            with pytest.raises(Conflict) as caught:
                async with program.running():
                    raise AssertionError("it runs")
            assert caught.value.code == code
        assert [(job.name, job.app, job.revision) for job in await app.list()] == [("tick", "test", 1)]
    async with other.running():
        assert other._node is not None


def test_the_script_of_the_documentation_runs_on_nothing_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    script = tmp_path / "reports.py"
    script.write_text(
        textwrap.dedent(
            """
            from sexton import Sexton

            app = Sexton()

            @app.job("every 1s", max_retries=3)
            async def weekly_report(run):
                print(app.name, run.job_name, run.trigger, flush=True)

            app.run()
            """
        ),
        encoding="utf-8",
    )
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    environment.pop("SEXTON_DATABASE_URL", None)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "reports weekly_report schedule\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_function_that_never_returns_does_not_keep_the_program_from_ending(
    tmp_path: Path, database_url: str
) -> None:
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, threading
            from sexton import Sexton

            app = Sexton(sys.argv[1], grace_seconds=0.1)

            @app.job("every 1s")
            def endless(run):
                print(run.run_id, flush=True)
                threading.Event().wait()

            app.run()
            """
        ),
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [sys.executable, str(script), database_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert process.stdout is not None
        run = process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()
    assert f"given back: endless ({run})" in said
    assert "Traceback" not in said


def test_a_program_whose_threads_are_used_up_finishes_what_it_has_and_ends(
    tmp_path: Path, database_url: str
) -> None:
    script = tmp_path / "wearing.py"
    script.write_text(
        textwrap.dedent(
            """
            import asyncio, sys, threading
            from sexton import Sexton
            from sexton.engine.worker import wear

            wear.MOST_LEFT = 2
            app = Sexton(sys.argv[1])

            @app.job("every 1s", timeout_seconds=1, max_retries=0)
            def endless(run):
                threading.Event().wait()

            @app.job("every 1s", max_runs=1)
            async def waits(run):
                while not app._node.worker.state.worn_out.is_set():
                    await asyncio.sleep(0.01)
                print("it has ended", flush=True)

            app.run()
            """
        ),
        encoding="utf-8",
    )
    ended = subprocess.run(
        [sys.executable, str(script), database_url],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "it has ended\n"), ended.stderr
    assert "the worker takes no more runs: 2 handlers go on although they were stopped" in ended.stderr
    assert "wearing has ended: too many of its handlers continued although they were stopped" in ended.stderr


@pytest.mark.parametrize("after", [timedelta(minutes=10), "in 10m", "600s"])
async def test_a_job_is_made_for_a_while_from_now(app: Sexton, after: Any) -> None:
    before = clock.now()
    job = await app.schedule("x", after=after)
    assert job.next_run_at is not None
    assert before <= job.next_run_at - timedelta(minutes=10) <= clock.now()


@pytest.mark.parametrize("after", [timedelta(seconds=-1), "soon", 600, timedelta.max])
async def test_what_is_no_while_is_refused(app: Sexton, after: Any) -> None:
    with pytest.raises(InvalidField, match="timedelta") as caught:
        await app.schedule("x", after=after)
    assert caught.value.field == "after"


async def test_the_result_of_a_run_can_be_awaited(app: Sexton) -> None:
    @app.handler("double")
    async def double(number: int) -> int | Cancel:
        return 2 * number if number else Cancel("nothing to do")

    job = await app.schedule(double, after=timedelta(days=1), payload={"number": 21})
    run = await app.run_now(job.job_id)
    with pytest.raises(TimeoutError, match=f"the run {run} has not ended after 0 s"):
        await app.result(run, timeout=0)
    async with app.running():
        assert await app.result(run) == 42
        cancelled = await app.run_now(job.job_id, payload={"number": 0})
        with pytest.raises(RunFailed, match="is cancelled: nothing to do") as caught:
            await app.result(cancelled)
    assert caught.value.status == "cancelled"
    with pytest.raises(NotFound):
        await app.result("r_none")


def test_a_schedule_is_a_timedelta_or_a_datetime_too() -> None:
    app = Sexton(name="x")
    app.job(timedelta(minutes=5), name="interval")(lambda run: None)
    app.job(FAR, name="once")(lambda run: None)
    assert app.jobs["interval"].schedule == "every 300s"
    assert app.jobs["once"].schedule == "2100-01-01T00:00:00+00:00"
    for wrong in (timedelta(0), timedelta(seconds=-5), timedelta(milliseconds=1500)):
        with pytest.raises(InvalidField) as caught:
            app.job(wrong)(lambda run: None)
        assert caught.value.field == "schedule"


async def test_the_next_run_is_moved(app: Sexton) -> None:
    job = await app.schedule("x", schedule="0 * * * *")
    moved = await app.reschedule(job.name, at=FAR)
    assert (moved.next_run_at, moved.moved_from) == (FAR, job.next_run_at)
    moved = await app.reschedule(job.name, after="10m")
    assert moved.next_run_at is not None
    assert timedelta(minutes=9) < moved.next_run_at - clock.now() <= timedelta(minutes=10, seconds=1)
    with pytest.raises(InvalidField, match="one of at= and after="):
        await app.reschedule(job.name)
    with pytest.raises(InvalidField, match="one of at= and after="):
        await app.reschedule(job.name, at=FAR, after="10m")


async def test_many_jobs_are_acted_on_by_what_they_have_in_common(app: Sexton) -> None:
    app.handler("later")(lambda run: None)
    async with app.connected():
        for number in range(3):
            await app.schedule("later", at=FAR, name=f"bulk-{number}", labels={"team": "sales"})
        await app.schedule("later", at=FAR, name="other")
        counted = await app.pause_many(label="team=sales", dry_run=True)
        assert (counted.matched, [each.name for each in counted.sample]) == (
            3,
            ["bulk-0", "bulk-1", "bulk-2"],
        )
        assert (await app.pause_many(name="bulk-*", reason="moves", expected=3)).done == 3
        assert (await app.get("bulk-1")).paused_reason == "moves"
        assert (await app.pause_many(name="bulk-*", reason="moves")).unchanged == 3
        assert (await app.resume_many(status="paused")).done == 3
        made = await app.run_many(label="team", payload={"n": 1})
        assert [(await app.history(f"bulk-{n}"))[0].run_id for n in range(3)] == made.run_ids
        assert (await app.label_many({"team": None, "tier": "1"}, label="team=sales")).done == 3
        assert (await app.get("bulk-2")).labels == {"tier": "1"}
        rest = await app.delete_many(label="tier", after=counted.sample[0].job_id)
        assert (rest.matched, [job.name for job in await app.list()]) == (2, ["bulk-0", "other"])
        with pytest.raises(Conflict) as refused:
            await app.delete_many(all=True, expected=1)
        assert refused.value.code == "count_changed"
        assert (await app.delete_many(all=True)).done == 2


@pytest.mark.parametrize(
    ("chosen", "field"), [({}, "filter"), ({"label": ""}, "label"), ({"lable": "team"}, "lable")], ids=str
)
async def test_many_jobs_that_are_not_named_are_refused(app: Sexton, chosen: Any, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        await app.delete_many(**chosen)
    assert refused.value.field == field
