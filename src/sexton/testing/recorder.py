"""A handler that records its calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sexton.targets.face import Run


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """The arguments of a handler in one attempt."""

    job_name: str
    run_id: str
    payload: Any
    scheduled_at: datetime
    trigger: str
    missed: bool
    attempt: int
    idempotency_key: str


class Recorder:
    """Register it as a handler, and check `calls`. `ends` says how each call ends, in order: an exception is
    raised, anything else is returned (`Retry`, `Snooze`, `Cancel` or a result). After the last, calls return
    None."""

    def __init__(self, ends: Iterable[Any] = ()) -> None:
        self.calls: list[RecordedCall] = []
        self._ends = iter(ends)

    async def __call__(self, run: Run) -> Any:
        self.calls.append(
            RecordedCall(
                run.job_name,
                run.run_id,
                run.payload,
                run.scheduled_at,
                run.trigger.value,
                run.missed,
                run.attempt,
                run.idempotency_key,
            )
        )
        end = next(self._ends, None)
        if isinstance(end, BaseException):
            raise end
        return end

    @property
    def payloads(self) -> list[Any]:
        return [call.payload for call in self.calls]
