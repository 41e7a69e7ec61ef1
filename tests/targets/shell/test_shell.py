"""Commands: what they get, how they end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sexton.config import Settings
from sexton.engine.worker.worker import Worker
from sexton.errors import InvalidField
from sexton.jobs.create import create
from sexton.jobs.validation import read_spec
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.read import get_run
from sexton.security import secrets
from sexton.targets.shell.step import SUPERVISED
from tests.seeding import (
    QUIET,
    Store,
    drained,
    settled,
    working,
)
from tests.targets.carrying import end_of, waiting
from tests.waiting import PATIENCE

SHELL = "/bin/sh"


@asynccontextmanager
async def shell_worker(database: Database, **changes: Any) -> AsyncIterator[Worker]:
    allowed = {
        "allow_shell": True,
        "shell_commands": f"{SHELL},cat,no-such-program",
        "shell_variables": "MINE,TOKEN,APP_*",
        **changes,
    }
    async with working(database, {}, **allowed) as worker:
        yield worker


async def carry_out(
    database: Database, shell: dict[str, Any], settings: dict[str, Any] | None = None, **job: Any
) -> tuple[Store, int]:
    """A run of this command by a worker that may."""
    store, run = await waiting(database, {"shell": shell}, **job)
    async with shell_worker(database, **(settings or {})) as worker:
        await drained(worker)
    return store, run


async def lines(store: Store) -> list[tuple[str, str]]:
    rows = await store.fetch("select level, message from sexton.run_logs order by level, message")
    return [(row["level"], row["message"]) for row in rows]


async def test_the_payload_comes_on_the_standard_input_and_the_output_is_kept(database: Database) -> None:
    store, run = await carry_out(database, {"command": ["cat"]}, payload={"n": "ü"})
    status, result, _ = await end_of(store, run)
    assert status == "success"
    assert result["exit_code"] == 0
    assert json.loads(result["output"]) == {"n": "ü"}


async def test_without_a_payload_the_standard_input_is_empty(database: Database) -> None:
    store, run = await carry_out(database, {"command": ["cat"]})
    _, result, _ = await end_of(store, run)
    assert result["output"] == ""


async def test_the_command_sees_its_ids_and_nothing_of_the_worker(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXTON_SECRET_KEY", "worker-key")
    monkeypatch.setenv("DATABASE_PASSWORD", "worker-password")
    store, run = await carry_out(database, {"script": "env", "environment": {"MINE": "yes"}})
    _, result, _ = await end_of(store, run)
    seen = dict(line.split("=", 1) for line in result["output"].splitlines())
    job = (await store.history(run))["job_id"]
    assert seen["SEXTON_RUN_ID"] == encode_id("r", run)
    assert seen["SEXTON_JOB_ID"] == encode_id("j", job)
    assert seen["SEXTON_ATTEMPT"] == "1"
    assert seen["SEXTON_SCHEDULED_AT"] == "2030-05-01T12:00:00Z"
    assert seen["SEXTON_TRIGGER"] == "schedule"
    assert seen["SEXTON_IDEMPOTENCY_KEY"].startswith(encode_id("j", job))
    assert seen["MINE"] == "yes"
    assert "DATABASE_PASSWORD" not in seen
    assert "SEXTON_SECRET_KEY" not in seen


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "PYTHONPATH", "IFS"])
async def test_a_job_sets_only_the_variables_that_the_worker_allows(database: Database, name: str) -> None:
    store, run = await carry_out(database, {"script": "env", "environment": {name: "/tmp"}}, max_retries=3)
    status, _, error = await end_of(store, run)
    assert status == "dead"
    assert error == (
        f"jobs may not set the variable {name} on this worker: "
        "its setting shell_variables allows MINE, TOKEN, APP_*"
    )


async def test_a_prefix_allows_the_variables_that_begin_with_it(database: Database) -> None:
    store, run = await carry_out(database, {"script": "echo $APP_MODE", "environment": {"APP_MODE": "night"}})
    assert (await end_of(store, run))[1]["output"] == "night"


async def test_programs_are_found_when_the_worker_starts_and_not_where_a_job_runs(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, says in (("operator", "right"), ("job", "wrong")):
        program = tmp_path / place / "tool"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho {says}; echo $PATH\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f".:{tmp_path / 'operator'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    shell = {"command": ["tool"], "directory": str(tmp_path / "job")}
    store, run = await waiting(database, {"shell": shell})
    async with shell_worker(database, shell_commands="tool") as worker:
        monkeypatch.setenv("PATH", str(tmp_path / "job"))
        await drained(worker)
    assert (await end_of(store, run))[1]["output"] == f"right\n{tmp_path / 'operator'}:/usr/bin:/bin"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as another account")
async def test_commands_run_as_the_account_that_the_worker_names(database: Database) -> None:
    settings = {"shell_user": "nobody"}
    store, run = await carry_out(database, {"script": "id -un; echo $USER"}, settings)
    assert (await end_of(store, run))[1]["output"] == "nobody\nnobody"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as another account")
async def test_a_directory_is_entered_as_the_account_of_the_command(
    database: Database, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    inside = tmp_path / "inside"
    inside.mkdir()
    shell = {"script": "ls", "directory": str(inside)}
    store, run = await carry_out(database, shell, {"shell_user": "nobody"}, max_retries=3)
    status, _, error = await end_of(store, run)
    assert (status, error) == ("dead", f"the command cannot be started: Permission denied: {inside}")


@pytest.mark.skipif(not SUPERVISED, reason="there is no supervisor")
async def test_what_a_job_sets_does_not_reach_the_supervisor(database: Database) -> None:
    """It may be root's, and a variable such as LD_LIBRARY_PATH would let the job's code into it."""
    shell = {"script": "echo $MINE; cat /proc/$PPID/environ", "environment": {"MINE": "yes"}}
    store, run = await carry_out(database, shell)
    assert (await end_of(store, run))[1]["output"] == "yes"


async def test_a_worker_refuses_an_account_that_is_not_there(database: Database) -> None:
    with pytest.raises(InvalidField, match="there is no account no-such-account"):
        async with shell_worker(database, shell_user="no-such-account"):
            pass


async def test_words_are_not_read_by_a_shell(database: Database, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    words = [SHELL, "-c", 'printf "%s" "$1"', "sh", f"$(touch {canary}); `touch {canary}`"]
    store, run = await carry_out(database, {"command": words})
    assert (await end_of(store, run))[1]["output"] == words[-1]
    assert not canary.exists()


@pytest.mark.parametrize(
    ("shell", "status", "error"),
    [
        ({"script": "echo one; echo two >&2; exit 3"}, "dead", "exit code 3: two"),
        ({"script": "exit 3", "success_codes": [0, 3]}, "success", None),
        ({"script": "kill -9 $$"}, "dead", "signal 9"),
        (
            {"command": ["no-such-program"]},
            "dead",
            "there is no program no-such-program on this worker's machine",
        ),
        ({"command": ["cat"], "directory": "/no/such/place"}, "dead", "the command cannot be started"),
    ],
)
async def test_how_a_command_ends(
    database: Database, shell: dict[str, Any], status: str, error: str | None
) -> None:
    store, run = await carry_out(database, shell)
    ended, _, said = await end_of(store, run)
    assert ended == status
    assert (said or "").startswith(error or "")


async def test_some_codes_are_worth_a_retry_and_some_are_not(database: Database) -> None:
    shell = {"script": "exit 75", "permanent_codes": [2]}
    store, run = await carry_out(database, shell, max_retries=3)
    assert (await store.live(run))["state"] == "failed"
    store, run = await carry_out(database, {"script": "exit 2", "permanent_codes": [2]}, max_retries=3)
    row = await store.history(run)
    assert (row["status"], row["reason"]) == ("dead", "permanent")


async def test_both_streams_are_in_the_log_and_the_result_is_capped(database: Database) -> None:
    script = "echo fine; echo careful >&2; seq -f 'line %g' 300; head -c 200000 /dev/zero | tr '\\0' x"
    store, run = await carry_out(database, {"script": script})
    _, result, _ = await end_of(store, run)
    assert result["truncated"] is True
    assert len(result["output"]) <= 17 * 1024
    logged = await lines(store)
    assert ("info", "fine") in logged
    assert ("warning", "careful") in logged
    assert ("info", "line 300") in logged


async def test_secrets_reach_the_environment_and_are_masked_in_what_it_says(database: Database) -> None:
    settings = Settings(secret_key=secrets.new_key())
    await secrets.keep(Context(database), settings, "mail", "s3cret-value")
    script = "echo got $TOKEN; echo bad $TOKEN >&2; exit 1"
    store, run = await waiting(
        database,
        {"shell": {"script": script, "environment": {"TOKEN": "${secret:mail}"}}},
    )
    async with shell_worker(database, secret_key=settings.secret_key) as worker:
        await drained(worker)
    _, _, error = await end_of(store, run)
    assert error == "exit code 1: bad •••"
    assert ("info", "got •••") in await lines(store)


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def pids_in(folder: Path, count: int) -> Callable[[], bool]:
    return lambda: sum(bool(path.read_text().strip()) for path in folder.iterdir()) >= count


def stubborn(folder: Path) -> str:
    """A shell and a child of its own that do not end when they are asked to."""
    inner = f"trap '' TERM; echo $$ > {shlex.quote(str(folder / 'inner'))}; while :; do sleep 0.05; done"
    outer = f"echo $$ > {shlex.quote(str(folder / 'outer'))}"
    return f"trap '' TERM; sh -c {shlex.quote(inner)} & {outer}; while :; do sleep 0.05; done"


@pytest.mark.parametrize("polite", [True, False])
async def test_a_command_that_is_cancelled_is_gone_with_its_children(
    database: Database, tmp_path: Path, polite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sexton.targets.shell.step.END_SECONDS", 60.0 if polite else 0.0)
    script = (
        f"setsid sleep 1000 & echo $! > {tmp_path / 'inner'}; echo $$ > {tmp_path / 'outer'}; wait"
        if polite
        else stubborn(tmp_path)
    )
    store, run = await waiting(database, {"shell": {"script": script}})
    async with shell_worker(database) as worker:
        node = await worker.joined()
        await worker.claimer.find_lanes()
        worker.runner.take(
            await worker.queue.claim(node, worker.state.lanes, 10, now=worker.state.now()), node
        )
        await eventually(pids_in(tmp_path, 2))
        worker.runner.cancel([run])
        await settled(worker)
    pids = [int(path.read_text()) for path in tmp_path.iterdir()]
    await eventually(lambda: not any(map(is_alive, pids)))
    assert (await end_of(store, run))[0] == "cancelled"


async def test_what_a_command_leaves_in_the_background_does_not_keep_the_run(
    database: Database, tmp_path: Path
) -> None:
    left = tmp_path / "left"
    store, run = await carry_out(database, {"script": f"sleep 1000 & echo $! > {left}; echo done"})
    assert (await end_of(store, run))[1]["output"] == "done"
    await eventually(lambda: not is_alive(int(left.read_text())))


@pytest.mark.parametrize(
    "leave",
    [
        "setsid sh -c 'echo $$ > {left}; exec sleep 1000' &",
        "(env -i setsid sh -c 'echo $$ > {left}; exec sleep 1000' </dev/null >/dev/null 2>&1 &) &",
    ],
)
async def test_a_child_that_left_the_process_group_is_killed_and_does_not_keep_the_run(
    database: Database, tmp_path: Path, leave: str
) -> None:
    left = tmp_path / "left"
    script = f"{leave.format(left=left)}\nwhile ! [ -s {left} ]; do :; done; echo done"
    store, run = await carry_out(database, {"script": script}, timeout_seconds=60)
    status, result, _ = await end_of(store, run)
    assert (status, result["output"]) == ("success", "done")
    assert not is_alive(int(left.read_text()))


async def test_a_worker_serves_only_the_commands_it_was_told_to(database: Database) -> None:
    store, run = await waiting(database, {"shell": {"command": ["tac"]}})
    async with shell_worker(database) as worker:
        await drained(worker)
    async with working(database, {}, shell_commands="tac") as worker:
        await drained(worker)
    assert (await store.live(run))["state"] == "pending"
    async with working(database, {}, allow_shell=True, shell_commands="tac") as worker:
        await drained(worker)
    assert (await end_of(store, run))[0] == "success"


async def test_a_run_that_no_worker_may_serve_says_so(database: Database) -> None:
    store, run = await waiting(database, {"shell": {"command": ["tac"]}})
    async with working(database, {}, now=lambda: None) as worker:
        await worker.joined()
        target = {"shell": {"command": ["tac"]}}
        job = await create(
            Context(database), read_spec({"name": "x", "schedule": "@daily", "target": target})
        )
        await store.execute("update sexton.runs set available_at = now()")
        shown = await get_run(Context(database, now=await store.value("select now()")), run)
    assert "no live worker serves shell:tac" in job.warnings[0]
    assert "--allow-shell --shell-commands tac" in (shown.waiting_for or "")


def test_a_worker_that_may_run_commands_must_say_which() -> None:
    with pytest.raises(Exception, match="no command is allowed"):
        Settings(allow_shell=True).check()
    assert QUIET.allowed_commands() == []


def test_the_names_of_variables_are_checked() -> None:
    with pytest.raises(InvalidField, match="'\\*' is not the name of a variable"):
        Settings(shell_variables="TOKEN,*").check()
