"""The lines of the log."""

from __future__ import annotations

import logging
import subprocess
import sys

from sexton.engine.logs import UtcFormatter
from tests.waiting import PATIENCE


def test_times_have_their_zone() -> None:
    record = logging.LogRecord("sexton", logging.INFO, "", 0, "%d jobs", (3,), None)
    record.created = 1_780_923_600.123
    line = UtcFormatter("%(asctime)s %(levelname)s %(message)s").format(record)
    assert line == "2026-06-08 13:00:00.123Z INFO 3 jobs"


def test_a_program_that_has_set_logging_up_keeps_it() -> None:
    script = (
        "import logging; logging.basicConfig(format='mine %(message)s', level='INFO')\n"
        "from sexton.engine.logs import set_up_logging; set_up_logging(); logging.info('x')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert ended.stderr == "mine x\n"
