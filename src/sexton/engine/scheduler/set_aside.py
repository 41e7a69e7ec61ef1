"""Jobs that are set aside because their schedule cannot say when they are due. Each is recorded with the
reason, which `why`, the job itself, `doctor` and the metrics show, until the job is edited or its schedule
works again.

A record belongs to a revision of its job: an edit is enough to remove it.
"""

from __future__ import annotations

from sexton.errors import SextonError
from sexton.jobs.planning import schedule_of
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context, command

LONGEST = 1000


class SetAside:
    """Collects what a scheduler sets aside, and records it between firings."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: dict[int, tuple[int, str]] = {}

    def add(self, job_id: int, revision: int, problem: str | None) -> None:
        self._found[job_id] = (revision, (problem or "it cannot be planned")[:LONGEST])

    async def write(self) -> None:
        """What is recorded already is not written again."""
        if not self._found:
            return
        found, self._found = self._found, {}
        revisions, problems = zip(*found.values(), strict=True)
        await self._database.execute(
            "firing/set_aside", jobs=list(found), revisions=list(revisions), problems=list(problems)
        )


@command
async def forget_solved(context: Context) -> int:
    """Remove the records of jobs that are gone, were edited, or whose schedule works again, as after an
    upgrade; returns how many."""
    solved = []
    for row in await context.fetch("firing/list_set_aside"):
        if row["schedule"] is None:
            solved.append(row["job_id"])
            continue
        try:
            schedule = schedule_of(dict(row))
            schedule.next_after(row["scheduled_at"])
            schedule.next_after(max(row["scheduled_at"], context.now or row["now"]))
        except (SextonError, OverflowError):
            continue
        solved.append(row["job_id"])
    if solved:
        await context.execute("firing/forget_set_aside", jobs=solved)
    return len(solved)
