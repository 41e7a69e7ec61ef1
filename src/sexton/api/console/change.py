"""What consoles are told of: which kinds of things have changed, and how an event is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec

from sexton.model import encode_id
from sexton.refusal import about

Kind = Literal["jobs", "runs", "dead", "queues", "cluster", "content", "campaigns", "access"]
KINDS: tuple[Kind, ...] = ("jobs", "runs", "dead", "queues", "cluster", "content", "campaigns", "access")

# By the beginning of the action's name in the audit; what is not here belongs to notifications.
KIND_OF_ACTIONS: dict[str, Kind] = {
    "job": "jobs", "jobs": "jobs", "timers": "jobs",
    "run": "runs", "runs": "runs", "dead": "dead", "queue": "queues",
    "node": "cluster", "shards": "cluster", "partition": "cluster", "setting": "cluster",
    "content": "content", "release": "content", "adapter": "content", "feed": "content",
    "calendar_feed": "access",
    "key": "access", "namespace": "access", "session": "access", "secret": "access", "secrets": "access",
    "webhook_secret": "access", "sign_in_link": "access", "audit": "access",
}  # fmt: skip

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Jobs and runs that a change names.
MOST_IDS = 100


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed: lists of these kinds are to be read again."""

    kinds: Annotated[list[Kind], about("The kinds of things that have changed.")]
    job_ids: Annotated[list[str], about("Jobs that have changed, or whose runs have; up to 100.")] = []
    run_ids: Annotated[list[str], about("Runs that have ended; up to 100.")] = []
    more: Annotated[bool, about("True if more have changed.")] = False


EVERYTHING = Changed(kinds=list(KINDS), more=True)


@dataclass(slots=True)
class SeenChanges:
    """What has changed in a namespace since the last look."""

    kinds: set[Kind] = field(default_factory=set)
    jobs: set[int] = field(default_factory=set)
    jobs_of_runs: set[int] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    more: bool = False

    def entry(self, action: str, job: int | None) -> None:
        self.kinds.add(kind_of(action))
        if job is not None:
            self.jobs.add(job)

    def ended(self, run: int | None, job: int) -> None:
        self.kinds.add("runs")
        self.jobs_of_runs.add(job)
        if run is not None:
            self.runs.add(run)

    def done(self) -> Changed | None:
        if not self.kinds:
            return None
        jobs, runs = sorted(self.jobs | self.jobs_of_runs), sorted(self.runs)
        return Changed(
            kinds=sorted(self.kinds),
            job_ids=[encode_id("j", number) for number in jobs[:MOST_IDS]],
            run_ids=[encode_id("r", number) for number in runs[:MOST_IDS]],
            more=self.more or len(jobs) > MOST_IDS or len(runs) > MOST_IDS,
        )


def kind_of(action: str) -> Kind:
    """Which lists a change concerns, from the name of its action in the audit."""
    return KIND_OF_ACTIONS.get(action.partition(".")[0], "campaigns")


def encoded(kind: str, data: Any, at: datetime | None = None) -> bytes:
    """An event as it is sent. Its id is the database's time in microseconds."""
    number = b"" if at is None else b"id: %d\n" % ((at - EPOCH) // timedelta(microseconds=1))
    return b"%sevent: %s\ndata: %s\n\n" % (number, kind.encode(), msgspec.json.encode(data))


def instant_of(event_id: str | None) -> datetime | None:
    """The instant that an id of an event stands for; None if it is none of ours."""
    if event_id is None or not event_id.isascii() or not event_id.isdigit() or len(event_id) > 17:
        return None
    return EPOCH + timedelta(microseconds=int(event_id))
