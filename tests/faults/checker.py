"""The checker: holds what the ledger says, and what handlers wrote down outside the database, against what
should have happened.

`check` is pure: it is given a `Ledger` and says what is wrong with it. `read_ledger` reads one.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import asyncpg

from sexton.jobs.planning import HICCUP
from tests.faults.oracle import Rule, occurrences


@dataclass(frozen=True, slots=True)
class Job:
    """`since`: nothing is expected up to then. `effects`: its handler writes one row per success. `limit`: it
    fires so many times. `until`: nothing is expected after it. `lenient`: its policy, or what is done to it,
    lets occurrences be skipped; others have to fire them all, but for those that a later one ran for after a
    standstill."""

    id: int
    name: str
    rule: Rule
    since: datetime
    effects: bool = False
    limit: int | None = None
    lenient: bool = False
    until: datetime | None = None
    jitter: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Fired:
    """A run; `status` is `live` as long as it has not ended. Its number may be that of another run, which a
    failover has lost: together with `fired_at` it cannot recur."""

    run: int
    job: int
    scheduled_at: datetime
    fired_at: datetime
    status: str
    started_at: datetime | None = None
    claim: int = 0
    node: int | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """An occurrence that was not fired, or a counted range of them."""

    job: int
    scheduled_at: datetime
    until_at: datetime
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """What a handler wrote down: that it began, or that it is about to return. `execution` is the same in
    both, and cannot recur."""

    run: int
    fired_at: datetime
    claim: int
    process: int
    job: int
    scheduled_at: datetime
    event: Literal["start", "end"]
    at: datetime
    execution: str = ""


@dataclass(slots=True)
class Ledger:
    jobs: list[Job]
    fired: list[Fired] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    effects: list[tuple[int, datetime]] = field(default_factory=list)
    processes: dict[int, int] = field(default_factory=dict)  # node → process id
    rewound_at: datetime | None = None  # when the database had lost transactions


@dataclass(slots=True)
class Report:
    """What was found; the lists hold a sentence for each finding."""

    expected: int = 0
    fired: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    late: float = 0.0
    began_late: float = 0.0

    @property
    def findings(self) -> dict[str, list[str]]:
        named = {
            "lost": self.lost,
            "doubled": self.doubled,
            "early": self.early,
            "stale": self.stale,
            "unfinished": self.unfinished,
        }
        return {name: found for name, found in named.items() if found}

    def __str__(self) -> str:
        skipped = ", ".join(f"{count} {reason}" for reason, count in self.skipped.items()) or "0"
        counts = " · ".join(
            f"{name} {len(self.findings.get(name, ()))}"
            for name in ("lost", "doubled", "early", "stale", "unfinished")
        )
        head = f"expected {self.expected} · fired {self.fired} · skipped {skipped} · {counts}"
        details = [f"  {name}: {text}" for name, found in self.findings.items() for text in found[:5]]
        return "\n".join([f"{head} · late {self.late:.3f} s", *details])


def check(ledger: Ledger, until: datetime) -> Report:
    """Look at every occurrence up to `until`."""
    report = Report()
    _dispositions(ledger, until, report)
    _runs(ledger, until, report)
    _executions(ledger, report)
    return report


def _dispositions(ledger: Ledger, until: datetime, report: Report) -> None:
    """Every expected occurrence has exactly one; there are no others."""
    runs: dict[tuple[int, datetime], set[int]] = defaultdict(set)
    skips: dict[int, list[Skipped]] = defaultdict(list)
    for run in ledger.fired:
        runs[run.job, run.scheduled_at].add(run.run)
    for skip in ledger.skipped:
        skips[skip.job].append(skip)
    for job in ledger.jobs:
        # Beyond `until` nothing has to be there yet, but what is there has to be an occurrence.
        last = max([until, *(at for of, at in runs if of == job.id)])
        last = last if job.until is None else min(last, job.until)
        expected = list(occurrences(job.rule, job.since, last))[: job.limit]
        report.expected += sum(at <= until for at in expected)
        for at in expected:
            fired, skipped = len(runs.pop((job.id, at), ())), _skipped_at(skips[job.id], at)
            if at <= until:
                report.fired += fired
                report.skipped.update(skip.reason for skip in skipped)
            if fired + len(skipped) > 1:
                report.doubled.append(f"{job.name} at {_show(at)}: {fired} runs and {len(skipped)} skips")
            elif skipped and not job.lenient and not _overtaken(skipped[0], ledger.fired):
                report.lost.append(f"{job.name} at {_show(at)} was skipped ({skipped[0].reason})")
            elif fired + len(skipped) == 0 and at <= until:
                report.lost.append(f"{job.name} at {_show(at)}")
        for skip in skips[job.id]:
            there = sum(skip.scheduled_at <= at <= skip.until_at for at in expected)
            if there != skip.count and skip.until_at <= last:
                report.lost.append(f"{job.name}: {skip.count} recorded as {skip.reason}, there were {there}")
    for (number, at), fired_twice in runs.items():
        report.doubled.append(f"job {number} at {_show(at)} is no occurrence, yet fired: {fired_twice}")


def _skipped_at(skips: Sequence[Skipped], at: datetime) -> list[Skipped]:
    return [skip for skip in skips if skip.scheduled_at <= at <= skip.until_at]


def _overtaken(skip: Skipped, fired: Sequence[Fired]) -> bool:
    """Whether the next occurrence of the job ran for these, and a hiccup after them was over by then."""
    later = [run for run in fired if run.job == skip.job and run.scheduled_at > skip.until_at]
    following = min(later, key=lambda run: run.scheduled_at, default=None)
    return (
        skip.reason == "coalesced"
        and following is not None
        and following.fired_at - skip.scheduled_at > HICCUP
    )


def _runs(ledger: Ledger, until: datetime, report: Report) -> None:
    """Each run once, never early, and ended."""
    for run, times in Counter(run.run for run in ledger.fired).items():
        if times > 1:
            report.doubled.append(f"run {run} is in the ledger {times} times")
    for run_ in ledger.fired:
        seconds = (run_.fired_at - run_.scheduled_at).total_seconds()
        report.late = max(report.late, seconds)
        if seconds < 0:
            report.early.append(
                f"run {run_.run} was fired {-seconds:.6f} s before {_show(run_.scheduled_at)}"
            )
        if run_.started_at is not None:
            seconds = (run_.started_at - run_.scheduled_at).total_seconds()
            report.began_late = max(report.began_late, seconds)
            if seconds < 0:
                report.early.append(
                    f"run {run_.run} began {-seconds:.6f} s before {_show(run_.scheduled_at)}"
                )
        if run_.status == "live" and run_.scheduled_at <= until:
            report.unfinished.append(f"run {run_.run} of {_show(run_.scheduled_at)}")


def _executions(ledger: Ledger, report: Report) -> None:
    """What handlers did: under each claim once, not early, and the last claim is the one that counts."""
    anew = _begun_anew(ledger)
    noted = Counter(
        (line.run, line.fired_at, line.claim, line.event, line.execution in anew) for line in ledger.lines
    )
    for (run, _, claim, event, _), times in noted.items():
        if times > 1:
            report.doubled.append(f"run {run}, claim {claim}: {times} times {event}")
    # The newest claim of each run: of those that were lost, none counts once there is one after them.
    newest: dict[tuple[int, datetime], tuple[bool, int]] = defaultdict(lambda: (False, 0))
    ends: dict[tuple[int, datetime, int], list[Line]] = defaultdict(list)
    for line in ledger.lines:
        if line.at < line.scheduled_at:
            ahead = (line.scheduled_at - line.at).total_seconds()
            report.early.append(f"run {line.run} was carried out {ahead:.6f} s before its time")
        key = line.run, line.fired_at
        newest[key] = max(newest[key], (line.execution in anew, line.claim))
        if line.event == "end":
            ends[*key, line.claim].append(line)
    for run_ in (run for run in ledger.fired if run.status == "success"):
        process = None if run_.node is None else ledger.processes.get(run_.node)
        latest = newest[run_.run, run_.fired_at][1]
        ended = ends[run_.run, run_.fired_at, run_.claim]
        if run_.claim < latest:
            report.stale.append(f"run {run_.run}: claim {run_.claim} finished it after {latest} began")
        elif not ended:
            report.stale.append(f"run {run_.run}: a success, but no handler came to its end")
        elif all((end.job, end.scheduled_at) != (run_.job, run_.scheduled_at) for end in ended):
            report.stale.append(
                f"run {run_.run} of job {run_.job} at {_show(run_.scheduled_at)}: carried out as one of "
                f"job {ended[0].job} at {_show(ended[0].scheduled_at)}"
            )
        elif process is not None and all(process != end.process for end in ended):
            report.stale.append(
                f"run {run_.run}: finished by process {process}, which had not carried it out"
            )
    written = Counter(ledger.effects)
    for (number, at), times in written.items():
        if times > 1:
            report.doubled.append(f"job {number} at {_show(at)}: its effect is there {times} times")
    named = {job.id for job in ledger.jobs if job.effects}
    for run_ in ledger.fired:
        there = written[run_.job, run_.scheduled_at]
        if run_.job in named and run_.status != "live" and there != (run_.status == "success"):
            report.lost.append(f"run {run_.run} is {run_.status}, and its effect is there {there} times")


def _begun_anew(ledger: Ledger) -> set[str]:
    """What was carried out after the database had lost transactions: claims from before may be among them,
    and their numbers are given out again."""
    if ledger.rewound_at is None:
        return set()
    return {line.execution for line in ledger.lines if line.event == "start" and line.at > ledger.rewound_at}


# Reading a ledger.

RUNS = """
select run_id, job_id, scheduled_at, fired_at, status, started_at, claim, node
from sexton.history where run_id is not null and trigger in ('schedule', 'catch_up')
union all
select id, job_id, scheduled_at, fired_at, 'live', null, claim, null
from sexton.runs where trigger in ('schedule', 'catch_up')
"""
SKIPS = """
select job_id, scheduled_at, coalesce(until_at, scheduled_at), coalesce(occurrences, 1), reason
from sexton.history where run_id is null
"""


async def read_ledger(
    connection: asyncpg.Connection[Any], jobs: Sequence[Job], lines: Path, apart: Collection[int] = ()
) -> Ledger:
    """As it stands: all of it at the same instant, the log of the handlers after it. Without what is of the
    jobs `apart`."""
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        fired = [Fired(*row) for row in await connection.fetch(RUNS) if row["job_id"] not in apart]
        skipped = [Skipped(*row) for row in await connection.fetch(SKIPS) if row["job_id"] not in apart]
        effects = [(row[0], row[1]) for row in await connection.fetch("select * from effects")]
        nodes = await connection.fetch("select id, name from sexton.nodes")
    processes = {row["id"]: int(row["name"].split(":")[-2]) for row in nodes}
    written = [line for line in read_lines(lines) if line.job not in apart]
    return Ledger(list(jobs), fired, skipped, written, effects, processes)


def read_lines(directory: Path) -> Iterator[Line]:
    for path in directory.glob("*.jsonl"):
        for text in path.read_text("utf-8").splitlines():
            said = json.loads(text)
            yield Line(
                said["run"],
                datetime.fromisoformat(said["fired_at"]),
                said["claim"],
                said["process"],
                said["job"],
                datetime.fromisoformat(said["scheduled_at"]),
                said["event"],
                datetime.fromtimestamp(said["at"], UTC),
                said["execution"],
            )


def _show(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
