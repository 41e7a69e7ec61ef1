"""Jobs that are set aside because it cannot be worked out when they are due: each is written down, so that
`why`, the job itself, `doctor` and the metrics show it, until the job is edited or can be worked out again.

A problem belongs to a revision of its job: an edit is all it takes to be rid of it.
"""

from __future__ import annotations

from datetime import datetime

from sexton.errors import SextonError
from sexton.jobs.planning import schedule_of
from sexton.postgres.database import Connection, Database

LONGEST = 1000


class Problems:
    """Collects what a scheduler sets aside, and writes it down between firings."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._found: dict[int, tuple[int, str]] = {}

    def add(self, job_id: int, revision: int, problem: str | None) -> None:
        self._found[job_id] = (revision, (problem or "it cannot be planned")[:LONGEST])

    async def write(self) -> None:
        """What is known already is not written again."""
        if not self._found:
            return
        found, self._found = self._found, {}
        revisions, problems = zip(*found.values(), strict=True)
        await self._database.fetch("report_problems", list(found), list(revisions), list(problems))


async def forget_solved(database: Database, connection: Connection, *, now: datetime | None = None) -> int:
    """Remove the problems of jobs that are gone, were edited, or can be worked out after all, as after an
    upgrade; how many."""
    solved = []
    for row in await connection.fetch(database.statement("list_problems")):
        if row["schedule"] is None:
            solved.append(row["job_id"])
            continue
        moment = now or row["now"]
        try:
            schedule = schedule_of(dict(row))
            schedule.next_after(row["scheduled_at"])
            schedule.next_after(max(row["scheduled_at"], moment))
        except (SextonError, OverflowError):
            continue
        solved.append(row["job_id"])
    if solved:
        await connection.execute(
            database.sql("delete from sexton.problems where job_id = any($1::bigint[])"), solved
        )
    return len(solved)
