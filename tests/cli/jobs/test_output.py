"""Following the runs of a job."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from sexton import clock
from sexton.api.jobs import routes
from sexton.api.route import Route
from sexton.cli.client import Client
from sexton.cli.jobs.output import follow_runs

RUN = {
    "run_id": "r_1", "status": "success", "scheduled_at": "2026-06-01T12:00:00Z",
    "started_at": "2026-06-01T12:00:00Z", "finished_at": "2026-06-01T12:00:00Z",
}  # fmt: skip


class Hasty:
    """A server whose job fires for the last time, and is over, between the first two questions."""

    def __init__(self) -> None:
        self.questions = 0

    def ask(self, route: Route, *_: Any, **__: Any) -> Any:
        over = self.questions > 0
        self.questions += 1
        if route is routes.GET_JOB:
            return {"status": "completed" if over else "active"}
        return [RUN] if over else []


def test_a_run_that_comes_between_two_questions_is_shown(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(clock, "block", lambda _: None)
    assert follow_runs(cast(Client, Hasty()), {"job_id": "j_1"}, as_json=True) == 0
    shown = [msgspec.json.decode(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [run["run_id"] for run in shown] == ["r_1"]
