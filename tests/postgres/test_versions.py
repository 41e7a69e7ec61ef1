"""The store on another version than the private PostgreSQL has: the same tests, on the one of Debian."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.address import address

# Partitions and retention, firing and catching up, claiming, finishing and retries, limits, leading, the API.
STORE = (
    "tests/postgres/test_partitions.py",
    "tests/engine/scheduler/test_scheduler.py",
    "tests/engine/worker/test_claimer.py",
    "tests/engine/worker/test_outcome_writer.py",
    "tests/engine/upkeep/test_sweeper.py",
    "tests/engine/worker/test_limited_claims.py",
    "tests/engine/cluster/test_leadership.py",
    "tests/api/jobs/test_jobs.py::test_the_example_of_the_documentation_makes_a_job",
    "tests/api/jobs/test_jobs.py::test_run_now_and_cancel",
    "tests/api/jobs/test_jobs.py::test_backfill_shows_first_what_it_would_do",
)


@pytest.mark.servers
def test_the_store_works_on_this_version() -> None:
    url = address("SEXTON_TEST_POSTGRESQL_URL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *STORE],
        cwd=Path(__file__).parent.parent.parent,
        env={**environment, "SEXTON_TEST_DATABASE_URL": url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
