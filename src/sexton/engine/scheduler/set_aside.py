"""Jobs that are set aside because their schedule cannot compute their next time. A record holds the reason,
which `why`, the job itself, `doctor` and the metrics show, until a caller edits the job or its schedule works
again.

A record belongs to a revision of its job: any edit removes it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sexton.errors import SextonError
from sexton.jobs.planning import schedule_of
from sexton.model import encode_id
from sexton.postgres.audit_entry import Source
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context, command

LONGEST = 1000


class SetAside:
    """Collects what a scheduler sets aside, and records it between firings."""

    def __init__(self, database: Database, node: str | None = None) -> None:
        self._context = Context(database, source=Source("sexton", node))
        self._found: dict[int, tuple[int, str]] = {}

    def add(self, job_id: int, revision: int, problem: str | None) -> None:
        self._found[job_id] = (revision, (problem or "it cannot be planned")[:LONGEST])

    async def write(self) -> None:
        """Write the new records."""
        if not self._found:
            return
        found, self._found = self._found, {}
        await _record(self._context, found)


@command
async def _record(context: Context, found: Mapping[int, tuple[int, str]]) -> None:
    revisions, problems = zip(*found.values(), strict=True)
    rows = await context.fetch(
        "firing/set_aside", jobs=list(found), revisions=list(revisions), problems=list(problems)
    )
    for row in rows:
        context.changed(
            "job.set_aside",
            encode_id("j", row["id"]),
            row["name"],
            after={"problem": row["problem"]},
            job_id=row["id"],
            namespace=row["namespace"],
        )


@command
async def forget_solved(context: Context) -> int:
    """Remove the records of jobs that are gone or were edited, or whose schedule works again, as after an
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
        context.changed(
            "job.planned_again",
            encode_id("j", row["job_id"]),
            row["name"],
            before={"problem": row["problem"]},
            job_id=row["job_id"],
            namespace=row["namespace"],
        )
    if solved:
        await context.execute("firing/forget_set_aside", jobs=solved)
    return len(solved)
