"""The example of a handler does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

EXAMPLE = Path(__file__).parents[2] / "examples" / "targets" / "handler.py"


def test_example(database_url: str) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE],
        env=os.environ | {"SEXTON_DATABASE_URL": database_url},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "success {'hello': 'world'}\n"), done.stderr
