"""`sexton node`: what keeps a single process from starting is said, not thrown."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Sexton
from tests.waiting import PATIENCE


def test_a_port_that_is_taken_is_told(sexton: Sexton, database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = sexton("node", "--roles", "api", "--database-url", database_url, "--port", port)
    assert (result.code, result.out) == (1, "")
    assert f"The port {port} is taken. (choose another with --port)" in result.err


def ask(address: str, path: str) -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection(address, timeout=PATIENCE)) as connection:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read()


def test_a_worker_shows_its_metrics_where_it_is_told_to(database_url: str) -> None:
    command = [sys.executable, "-m", "sexton", "node", "--roles", "worker", "--database-url", database_url]
    environment = os.environ | {"SEXTON_METRICS_PORT": "0"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        deadline = threading.Timer(120, process.kill)  # reading its log would wait for ever
        deadline.start()
        try:
            assert process.stderr is not None
            told = (re.search(r"metrics at http://(\S+)/metrics", line) for line in process.stderr)
            address = next(found[1] for found in told if found)
            assert b"sexton_runs_claimed_total" in ask(address, "/metrics")[1]
            assert ask(address, "/healthz")[0] == 200
            assert ask(address, "/api/v1/jobs")[0] == 404
        finally:
            deadline.cancel()
            process.terminate()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "\nraise ValueError('boom')",
            'broken:app cannot be loaded:\n  File "HERE/broken.py", line 2, in <module>',
        ),
        ("raise ValueError('boom')", "\nValueError: boom\n"),
        ("import no_such_thing", "\nModuleNotFoundError: No module named 'no_such_thing'\n"),
        ("import json\njson.none", 'File "HERE/broken.py", line 2, in <module>'),
        ("app = (", 'cannot be loaded:\n  File "HERE/broken.py", line 1\n    app = ('),
        ("from sexton import Sexton\nSexton().job('61 * * * *')(print)", "ScheduleError: minute 61"),
        ("app = 5", "broken:app is not a Sexton application"),
        ("ap = 5", "broken has no app"),
    ],
)
def test_an_application_that_cannot_be_loaded_is_told(tmp_path: Path, code: str, told: str) -> None:
    (tmp_path / "broken.py").write_text(code)
    nowhere = "postgresql://127.0.0.1:1/nothing"
    ended = subprocess.run(
        [sys.executable, "-m", "sexton", "node", "--app", "broken:app", "--database-url", nowhere],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert ended.returncode == 2, ended.stderr
    assert told.replace("HERE", str(tmp_path)) in ended.stderr
    assert "/sexton/" not in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("given", ["jobs/reports.py", "jobs/reports.py:app"])
def test_the_file_of_an_application_is_answered_with_its_module(given: str) -> None:
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "sexton",
            "node",
            "--app",
            given,
            "--database-url",
            "postgresql://127.0.0.1:1/no",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (ended.returncode, "write reports:app, in the directory of the file" in ended.stderr) == (2, True)
