"""Every error Sexton raises on purpose.

    SextonError                 has a stable `code`, a message and, where one is known, a `hint`
    ├── InvalidField            input that was refused; `field` names what is wrong
    │   ├── ScheduleError       a schedule that cannot be read, or can be read in two ways
    │   └── RefusedLines        many jobs, of which some were refused
    ├── NotFound                there is no such job, run or dead letter
    ├── Conflict                the request clashes with the current state, such as another revision
    │   └── NameTaken           another job has the name
    ├── RunFailed               the run whose result was awaited did not end in success
    ├── LeaseLost               the run was taken over by another worker
    └── Unavailable             the database cannot be reached, or is not ready

A message says what happened and why; the hint says what to do about it. Codes never change once
released: the HTTP API, the command line and the logs all show them.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path

_OWN = str(Path(__file__).parent / "_").removesuffix("_")
# The frames between Sexton and the user's first line: the import system, and the threads of handlers.
_LIBRARY = Path(traceback.__file__).parent
_BETWEEN = ("<frozen ", *(str(_LIBRARY / name) for name in ("asyncio", "concurrent", "importlib")))


class SextonError(Exception):
    """The root of the tree: `code` is stable, `hint` says what to type next."""

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def to_dict(self) -> dict[str, object]:
        return {"code": self.code, "message": self.message, "hint": self.hint}


class InvalidField(SextonError):
    """Input that was refused: `field` is the one at fault."""

    def __init__(self, code: str, message: str, *, field: str, hint: str | None = None) -> None:
        super().__init__(code, message, hint=hint)
        self.field = field

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "field": self.field}


class ScheduleError(InvalidField):
    """A schedule was refused: `position` is the offset in its text, `field` the option at fault."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        position: int | None = None,
        field: str = "schedule",
        hint: str | None = None,
    ) -> None:
        super().__init__(code, message, field=field, hint=hint)
        self.position = position

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "position": self.position}


class RefusedLines(InvalidField):
    """Some jobs of a chunk were refused, so none of them was made. `errors` are the lines at fault, counted
    from 1, each with its error."""

    def __init__(self, errors: Sequence[tuple[int, SextonError]]) -> None:
        line, first = errors[0]
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        super().__init__(
            "refused_lines",
            f"line {line}: {first.message}{more}",
            field=f"line {line}",
            hint=first.hint or "correct these lines and send the chunk again",
        )
        self.errors = list(errors)

    def to_dict(self) -> dict[str, object]:
        lines = [{"line": line, **error.to_dict()} for line, error in self.errors]
        return {**super().to_dict(), "errors": lines}


class NotFound(SextonError):
    """There is no such thing."""


class Conflict(SextonError):
    """The request clashes with the current state."""


class NameTaken(Conflict):
    """Another live job has the name: `job_id` is its id."""

    def __init__(self, name: str, job_id: str, hint: str | None = None) -> None:
        super().__init__(
            "name_taken",
            f"the job {job_id} has the name {name} already",
            hint=hint or "choose another name, edit that job, or replace it: --replace, PUT /jobs/by-name/…",
        )
        self.field = "name"
        self.job_id = job_id

    def to_dict(self) -> dict[str, object]:
        return {**super().to_dict(), "field": self.field, "job_id": self.job_id}


class RunFailed(SextonError):
    """A run ended otherwise than in success: `status` is dead, cancelled or expired, `error` says why."""

    def __init__(self, run_id: str, status: str, error: str | None) -> None:
        super().__init__("run_failed", f"the run {run_id} is {status}: {error or 'no reason was given'}")
        self.status = status
        self.error = error


class LeaseLost(SextonError):
    """Another worker has taken the run over: nothing of this attempt may be kept."""

    def __init__(self, run_id: str) -> None:
        super().__init__("lease_lost", f"the run {run_id} was taken over by another worker")


class Unavailable(SextonError):
    """The database cannot be reached, or is not ready."""


def user_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The traceback from the user's first line on, without Sexton's own lines."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_OWN)]
    while theirs and theirs[0].filename.startswith(_BETWEEN):
        del theirs[0]
    return theirs
