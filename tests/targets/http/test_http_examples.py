"""The examples of the http target work as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from sexton.jobs.validation import read_spec
from tests.cli.server import Server
from tests.waiting import PATIENCE

EXAMPLES = Path(__file__).parents[3] / "examples" / "targets"


def test_the_job_is_a_job() -> None:
    spec = read_spec((EXAMPLES / "http.json").read_bytes())
    assert spec.target is not None
    assert "http" in spec.target


def test_the_slow_service_reports(database_url: str) -> None:
    with Server(database_url, roles=("scheduler", "worker")) as server:
        done = subprocess.run(
            [sys.executable, EXAMPLES / "http_async.py"],
            env={**os.environ, "SEXTON_URL": server.url},
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("success {'parts': 5}")
