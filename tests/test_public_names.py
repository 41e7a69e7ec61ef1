"""What users may import is pinned: a name is added or removed here on purpose or not at all."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sexton
import sexton.schedules


def test_sexton() -> None:
    assert sexton.__all__ == [
        "Backfill",
        "Calendar",
        "Cancel",
        "JobView",
        "Occurrence",
        "Retry",
        "Run",
        "RunEvent",
        "RunFailed",
        "RunView",
        "Schedule",
        "ScheduleError",
        "Sexton",
        "SextonError",
        "Snooze",
        "Tally",
        "Wait",
        "Why",
        "__version__",
        "next_after_many",
        "parse",
    ]
    for name in sexton.__all__:
        assert getattr(sexton, name) is not None
    assert set(sexton.__all__) <= set(dir(sexton))


def test_schedules() -> None:
    assert sorted(sexton.schedules.__all__) == [
        "Calendar",
        "Occurrence",
        "Schedule",
        "next_after_many",
        "parse",
    ]
    for name in sexton.schedules.__all__:
        assert getattr(sexton.schedules, name) is not None


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = sexton.nonsense


def test_importing_sexton_loads_no_engine() -> None:
    script = "import sys, sexton; print([name for name in sys.modules if name.startswith('sexton.')])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
