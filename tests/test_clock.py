"""Processor time of another process."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from sexton import clock

WORK = "import time; sum(range(10**6)); print(time.process_time(), flush=True); input()"


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
