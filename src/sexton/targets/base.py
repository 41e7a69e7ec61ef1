"""What a kind of target is to the worker."""

from __future__ import annotations

from typing import Protocol

from sexton.execution import Step
from sexton.model import Target


class TargetKind(Protocol):
    """Turns a job's target into the step that carries its runs out."""

    def step(self, target: Target) -> Step | None:
        """None: this worker cannot serve it."""
        ...

    async def close(self) -> None: ...
