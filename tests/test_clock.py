"""Instants as text, and processor time of another process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from sexton import clock

WORK = "import time; sum(range(10**6)); print(time.process_time(), flush=True); input()"


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 6, 8, 15, tzinfo=timezone(timedelta(hours=2))), "2026-06-08T13:00:00Z"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59.999999Z"),
        # In UTC it would be in the year 0.
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), "0001-01-01T00:00:00+14:00"),
    ],
)
def test_an_instant_as_text(at: datetime, text: str) -> None:
    assert clock.iso(at) == text


def test_the_processor_time_of_a_process_is_what_it_says_itself() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        said = float(process.stdout.readline())
        seen = clock.cpu_seconds(process.pid)
        process.communicate(b"\n")
    # It has gone on for a moment since it said so.
    assert 0 < said <= seen < said + 1


def test_its_own() -> None:
    before = time.process_time()
    assert before <= clock.cpu_seconds(os.getpid()) <= time.process_time()


def test_one_that_has_ended_has_none() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert clock.cpu_seconds(process.pid) == 0
