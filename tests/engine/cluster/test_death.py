"""How a process ended, and what that says of what it ran. That it is reported is tested with the sweeper."""

from __future__ import annotations

import signal

import pytest

from sexton.engine.cluster.death import ProcessEnd, end_of


@pytest.mark.parametrize(
    ("code", "end"),
    [
        (0, ProcessEnd("exit code 0", own=True)),
        (3, ProcessEnd("exit code 3", own=True)),
        (-signal.SIGSEGV, ProcessEnd("signal 11 (SIGSEGV)", own=True)),
        (-signal.SIGABRT, ProcessEnd("signal 6 (SIGABRT)", own=True)),
        (-signal.SIGKILL, ProcessEnd("signal 9 (SIGKILL)", own=False)),
        (-signal.SIGTERM, ProcessEnd("signal 15 (SIGTERM)", own=False)),
        (-40, ProcessEnd("signal 40", own=False)),
    ],
)
def test_a_process_is_ended_by_its_own_code_or_from_outside(code: int, end: ProcessEnd) -> None:
    assert end_of(code) == end
