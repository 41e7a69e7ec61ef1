"""Run pytest, with its files in memory; in CI, what has failed is run once more, alone, in one process.

    python -m tests.second_try [what to pass on to pytest]

A machine that stands still for a moment must not cost a whole run. Every test that needed its second try is
named in a line of its own: it is to be mended all the same. CI is where the variable CI is `true`, as in
.ci/run. Many failures at once, or a run that did not get to its end, are not tried again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from tests.memory import in_memory

MOST = 10
TIDY_SECONDS = 60


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """The exit code of pytest with these arguments, after the second try."""
    with in_memory(environment) as inside:
        return _run(arguments, inside)


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    if environment.get("CI") != "true":
        return _pytest(arguments, environment)
    with tempfile.TemporaryDirectory(prefix="sexton-tests-") as cache:
        kept = [*arguments, "-o", f"cache_dir={cache}"]
        code = _pytest(kept, environment)
        failed = _failed(cache)
        if code != 1 or not 0 < len(failed) <= MOST or not all("::" in test for test in failed):
            return code
        print(f"\n{len(failed)} failed: running them again, alone", flush=True)
        again = _pytest([*kept, "-n", "0", "--last-failed"], environment)
        left = _failed(cache)
    for test in failed:
        print(f"!!! SECOND TRY: {test} {'failed again' if test in left else 'passed'}", flush=True)
    return 0 if again == 0 and not left else code


def _pytest(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    process = subprocess.Popen([sys.executable, "-m", "pytest", *arguments], env=environment)
    try:
        return process.wait()
    except BaseException as stop:
        # pytest stops its servers before its files go. Ctrl-C has reached it, too; SIGTERM has not.
        if not isinstance(stop, KeyboardInterrupt):
            process.send_signal(signal.SIGINT)
        try:
            process.wait(TIDY_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
        raise


def _failed(cache: str) -> list[str]:
    """Tests that have failed and not passed since."""
    path = Path(cache, "v", "cache", "lastfailed")
    return sorted(json.loads(path.read_text("utf-8"))) if path.exists() else []


def heed_signals() -> None:
    """Stop in order at SIGTERM, and hear Ctrl-C, which a shell switches off in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _leave)


def _leave(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    heed_signals()
    try:
        sys.exit(run(sys.argv[1:], os.environ))
    except KeyboardInterrupt:
        sys.exit(130)
