"""What happens, as it happens, for all consoles of a process: one reader, however many there are.

While a console is connected, the feed looks once a second: the overview of each namespace that is watched,
what was changed (from the audit) and what has ended (from history), and the jobs and runs that pages have
open. Each event is encoded once, and handed to all that may see it; so are the answers of the lists that
consoles show: see `followed`. What a console has missed while it was
away is told from a memory of the last minutes; if it was away for longer, it reads everything again.

What was written by a transaction that commits late is found by looking back over some seconds again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any

import asyncpg
import msgspec

from sexton import clock
from sexton.api.console.change import EPOCH, EVERYTHING, KINDS, Changed, Kind, SeenChanges, encoded
from sexton.api.console.followed import LARGEST_ANSWER, FollowedLists, FollowedQuestion
from sexton.api.console.open_console import Console, make_room
from sexton.engine.overview import Overview, OverviewReader
from sexton.errors import Unavailable
from sexton.model import encode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.refusal import about
from sexton.runs.filter import RunFilter
from sexton.runs.read import list_runs
from sexton.runs.view import RunView

log = logging.getLogger("sexton.api")

LOOK_SECONDS = 1.0
# Between two looks the feed rests for so many times as long as one took; of a look that took long, for twice
# as long: consoles hear of a change within two seconds.
REST, LONG_REST, LONG_SECONDS = 10, 2, 1.0
HEARTBEAT_SECONDS = 5.0
# An overview that has not changed is sent again after so long.
REPEAT_SECONDS = 10.0
# How far each look goes back over what was seen: transactions commit late.
OVERLAP = timedelta(seconds=3)
# For how long changes are remembered, for consoles that come back.
MEMORY_SECONDS = 300.0
MOST_ROWS, MOST_WATCHED, LATEST_RUNS = 2000, 500, 20
# Of each run that is watched, so many new lines are read, however many others write.
LEAST_LINES = 50
# Namespaces that are looked at in one look; the others have their turn in the next ones.
MOST_NAMESPACES = 20


class FeedBeat(msgspec.Struct, frozen=True):
    at: Annotated[datetime, about("The time of the server.")]


class LatestRuns(msgspec.Struct, frozen=True):
    """The latest runs of a job, live ones first."""

    job_id: Annotated[str, about("The job.")]
    runs: Annotated[list[RunView], about("Its latest runs and skipped occurrences.")]


class Feed:
    """`follow` it. It reads only while there are consoles."""

    def __init__(self, database: Database, reader: OverviewReader) -> None:
        self._database = database
        self._reader = reader
        self.consoles: set[Console] = set()
        self.looks = 0
        self._task: asyncio.Task[None] | None = None
        self._at: datetime | None = None
        #: Of each watched namespace: since when it is read, and until when it was.
        self._read: dict[str, tuple[datetime, datetime]] = {}
        self._overviews: dict[tuple[str, bool], tuple[bytes, Overview, float]] = {}
        self._seen: deque[tuple[datetime, tuple[str, int]]] = deque()
        self._known: set[tuple[str, int]] = set()
        self._memory: deque[tuple[datetime, str, Changed]] = deque()
        self._told: dict[str, int] = {}
        self._began: datetime | None = None
        self._lists = FollowedLists()
        self._runs: dict[int, tuple[Any, ...]] = {}
        self._beat_at = 0.0
        self._turn = 0
        self._stopping = False

    def told(self, namespace: str) -> int:
        """How many changes of a namespace the consoles were told of; it only grows."""
        return self._told.get(namespace, 0)

    def check_room(self, console: Console) -> None:
        """Raises `too_many_feeds` if there is no room for another console."""
        make_room(self.consoles, console)

    async def follow(
        self,
        console: Console,
        *,
        since: datetime | None = None,
        seconds: float | None = None,
        questions: Sequence[FollowedQuestion] = (),
    ) -> AsyncIterator[bytes]:
        """Events for a console, as they are sent. `since`: until when it knows everything; `questions`: what
        it shows."""
        if (other := make_room(self.consoles, console)) is not None:
            other.end()
            self.consoles.discard(other)
        until = None if seconds is None else clock.monotonic() + seconds
        self.consoles.add(console)
        self._start()
        try:
            self._lists.add(console, questions)
            yield (
                b"retry: 2000\n\n"
                + encoded("heartbeat", FeedBeat(clock.now()))
                + self._missed(console, since)
            )
            if console.audience in self._overviews:
                console.tell(self._overviews[console.audience][0])
                console.wake()
            while not console.ended and not self._stopping:
                if until is None:
                    await console.news.wait()
                else:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(console.news.wait(), max(0.0, until - clock.monotonic()))
                console.news.clear()
                while events := console.take():
                    yield events
                if until is not None and clock.monotonic() >= until:
                    return
        finally:
            self.consoles.discard(console)
            self._lists.remove(console)

    def stop(self) -> None:
        """End all of them: the process is about to stop."""
        self._stopping = True
        for console in self.consoles:
            console.end()

    async def close(self) -> None:
        self.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        await self._lists.close()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._began = self._at = None
            self._read.clear()
            self._task = asyncio.create_task(self._run(), name="sexton feed")

    async def _run(self) -> None:
        told = False
        while self.consoles and not self._stopping:
            began = clock.monotonic()
            try:
                await self.look()
                told = False
            except (Unavailable, asyncpg.PostgresError) as error:
                if not told:
                    log.warning("the feed of events cannot read the database: %s", error)
                    told = True
                self._tell(
                    self.consoles, encoded("unavailable", {"detail": "the database cannot be read now"})
                )
            except Exception:
                # The consoles go on with what they have; the next look may do better.
                log.exception("the feed of events failed to read changes")
            for console in self.consoles:
                console.wake()
            took = clock.monotonic() - began
            rest = min(took * REST, max(took * LONG_REST, LONG_SECONDS))
            await clock.sleep(max(LOOK_SECONDS - took, rest))
        self._overviews.clear()
        self._memory.clear()
        self._runs.clear()

    async def look(self) -> None:
        """One look at the database, and what it has to tell."""
        self.looks += 1
        consoles = list(self.consoles)
        watched = sorted({console.namespace for console in consoles})
        for namespace in self._read.keys() - set(watched):
            del self._read[namespace]
        namespaces = self._next_namespaces(watched)
        changes: dict[str, SeenChanges] = {namespace: SeenChanges() for namespace in namespaces}
        async with self._database.connection() as connection:
            context = Context(self._database, connection=connection)
            at = await self._database.time(connection)
            since = min([at, *(self._read[each][1] for each in namespaces if each in self._read)]) - OVERLAP
            try:
                await self._read_changes(context, since, at, changes)
                overviews = await self._read_overviews(context, consoles, namespaces)
                await self._look_at_watched(context, consoles, since, at, changes)
            except BaseException:
                # Nothing of it was told: the next look finds it again.
                while self._seen and self._seen[-1][0] == at:
                    self._known.discard(self._seen.pop()[1])
                raise
        news = [
            (audience, self._compare(overview, audience, changes[audience[0]], at))
            for audience, overview in overviews.items()
        ]
        self._at = at
        for namespace in namespaces:
            self._read[namespace] = self._read.get(namespace, (at, at))[0], at
        self._began = self._began or at
        for namespace, change in changes.items():
            if (changed := change.done()) is not None:
                self._memory.append((at, namespace, changed))
                self._told[namespace] = self.told(namespace) + 1
                listeners = [each for each in consoles if each.namespace == namespace]
                self._tell(listeners, encoded("changed", changed, at))
                self._lists.changed(namespace, change)
        # After the changes: a console that has heard the id of an event has heard of the changes before it.
        for audience, event in news:
            if event is not None:
                self._tell((each for each in self.consoles if each.audience == audience), event)
        while self._memory and (at - self._memory[0][0]).total_seconds() > MEMORY_SECONDS:
            self._began = self._memory.popleft()[0]
        if clock.monotonic() >= self._beat_at:
            self._beat_at = clock.monotonic() + HEARTBEAT_SECONDS
            self._tell(consoles, encoded("heartbeat", FeedBeat(clock.now()), at))

    def _next_namespaces(self, namespaces: list[str]) -> list[str]:
        if len(namespaces) <= MOST_NAMESPACES:
            return namespaces
        self._turn = (self._turn + MOST_NAMESPACES) % len(namespaces)
        return [namespaces[(self._turn + n) % len(namespaces)] for n in range(MOST_NAMESPACES)]

    async def _read_changes(
        self, context: Context, since: datetime, at: datetime, changes: dict[str, SeenChanges]
    ) -> None:
        """What was changed and what has ended, each once; the first time also what is a moment old: a console
        may show an answer from before that."""
        oldest = min([since, *(read - OVERLAP for _, read in self._read.values())]) - OVERLAP
        while self._seen and self._seen[0][0] < oldest:
            self._known.discard(self._seen.popleft()[1])
        names = list(changes)
        entries = await context.fetch(
            "reading/list_changes_since", since=since, namespaces=names, most=MOST_ROWS
        )
        ended = await context.fetch("reading/list_ended_since", since=since, namespaces=names, most=MOST_ROWS)
        for row in entries:
            if self._is_new(("audit", row["id"]), at):
                changes[row["namespace"]].entry(row["action"], row["job_id"])
        for row in ended:
            key = ("run", row["run_id"]) if row["run_id"] is not None else ("skipped", row["job_id"])
            if self._is_new(key, at):
                changes[row["namespace"]].ended(row["run_id"], row["job_id"])
        # Where not all was read, what is missing may be of any of these namespaces.
        unread: set[Kind] = {"runs"} if len(ended) == MOST_ROWS else set()
        unread |= set(KINDS) if len(entries) == MOST_ROWS else set()
        for change in changes.values() if unread else ():
            change.kinds |= unread
            change.more = True

    def _is_new(self, key: tuple[str, int], at: datetime) -> bool:
        if key in self._known:
            return False
        self._known.add(key)
        self._seen.append((at, key))
        return True

    async def _read_overviews(
        self, context: Context, consoles: list[Console], namespaces: list[str]
    ) -> dict[tuple[str, bool], Overview]:
        """Those of the audiences in these namespaces."""
        found = {}
        for namespace, sees_cluster in sorted({each.audience for each in consoles}):
            if namespace in namespaces:
                one = replace(context, namespace=namespace)
                found[namespace, sees_cluster] = await self._reader.read(one, sees_cluster=sees_cluster)
        return found

    def _compare(
        self, overview: Overview, audience: tuple[str, bool], change: SeenChanges, at: datetime
    ) -> bytes | None:
        """Say which lists have changed by an overview. Returns its event, if it differs from the last one."""
        before = self._overviews.get(audience)
        now = clock.monotonic()
        if before is not None:
            old = before[1]
            if old.live != overview.live or old.running != overview.running:
                change.kinds |= {"runs"}
            if old.queues != overview.queues:
                change.kinds |= {"queues"}
            if old.dead != overview.dead:
                change.kinds |= {"dead"}
            if (old.nodes, old.shards) != (overview.nodes, overview.shards):
                change.kinds |= {"cluster"}
            still = msgspec.structs.replace(old, at=EPOCH) == msgspec.structs.replace(overview, at=EPOCH)
            if still and now - before[2] < REPEAT_SECONDS:
                return None
        event = encoded("overview", overview, at)
        self._overviews[audience] = (event, overview, now)
        return event

    async def _look_at_watched(
        self,
        context: Context,
        consoles: list[Console],
        since: datetime,
        at: datetime,
        changes: dict[str, SeenChanges],
    ) -> None:
        """Jobs and runs that pages have open: how their runs stand, and what they log."""
        jobs = sorted({each.job for each in consoles if each.job is not None})[:MOST_WATCHED]
        runs = sorted({each.run for each in consoles if each.run is not None})[:MOST_WATCHED]
        if not jobs and not runs:
            self._runs.clear()
            return
        each = max(LATEST_RUNS, MOST_ROWS // len(jobs)) if jobs else 0
        rows = await context.fetch("reading/list_watched_runs", run_ids=runs, job_ids=jobs, each=each)
        live = {row["id"]: row for row in rows}
        states = {number: (row["state"], row["attempt"], row["claim"]) for number, row in live.items()}
        progress = {("progress", number): row["progress"] for number, row in live.items()}
        changed_jobs = {
            row["job_id"]
            for number, row in live.items()
            if self._runs.get(number, (None,))[:3] != states[number]
        }
        changed_jobs |= {number for each in changes.values() for number in each.jobs_of_runs}
        for number in changed_jobs & set(jobs):
            await self._tell_runs(context, number, [each for each in consoles if each.job == number])
        for console in consoles:
            if console.run is not None and console.run in live:
                now = progress["progress", console.run]
                if now is not None and self._runs.get(console.run, (None,) * 4)[3] != now:
                    event = {"run_id": encode_id("r", console.run), "progress": msgspec.Raw(now.encode())}
                    console.tell(encoded("progress", event))
        if runs:
            await self._tell_lines(context, consoles, runs, since, at)
        for number in self._runs.keys() - live.keys():
            for console in consoles:
                if console.run == number:
                    ended = Changed(kinds=["runs"], run_ids=[encode_id("r", number)])
                    console.tell(encoded("changed", ended))
        self._runs = {number: (*states[number], progress["progress", number]) for number in live}

    async def _tell_runs(self, context: Context, job: int, consoles: list[Console]) -> None:
        """The latest runs of a job that pages show."""
        one = Context(self._database, consoles[0].namespace, connection=context.connection)
        page = await list_runs(one, RunFilter(job=job, skipped=True), limit=LATEST_RUNS)
        event = encoded("runs", LatestRuns(encode_id("j", job), page.items))
        if len(event) > LARGEST_ANSWER:  # their results are large
            event = encoded("changed", Changed(kinds=["runs"], job_ids=[encode_id("j", job)]))
        self._tell(consoles, event)

    async def _tell_lines(
        self, context: Context, consoles: list[Console], runs: list[int], since: datetime, at: datetime
    ) -> None:
        each = max(LEAST_LINES, MOST_ROWS // len(runs))
        for row in await context.fetch("reading/list_new_lines", run_ids=runs, since=since, each=each):
            if self._is_new(("line", hash(tuple(row.values()))), at):
                line = {**dict(row), "run_id": encode_id("r", row["run_id"])}
                self._tell((one for one in consoles if one.run == row["run_id"]), encoded("log", line))

    def _missed(self, console: Console, since: datetime | None) -> bytes:
        """What a console that comes back has not heard of."""
        if since is None:
            return b""
        began, _ = self._read.get(console.namespace, (None, None))
        if self._began is None or began is None or since < max(began, self._began):
            return encoded("changed", EVERYTHING, self._at)
        missed = [
            each for at, namespace, each in self._memory if at > since and namespace == console.namespace
        ]
        return b"".join(encoded("changed", each, self._at) for each in missed)

    def _tell(self, consoles: Iterable[Console], event: bytes) -> None:
        for console in consoles:
            console.tell(event)
