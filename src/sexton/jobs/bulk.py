"""Many jobs at once, by COPY: a chunk is made whole or not at all, and what is wrong is told by line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import asyncpg

from sexton import clock
from sexton.errors import InvalidField, SextonError
from sexton.jobs.change import HORIZON_SECONDS, NAMESPACE, Lane, lane_ids, within
from sexton.jobs.create import NameTaken
from sexton.jobs.payload import encode_payload
from sexton.jobs.spec import JobSpec
from sexton.jobs.stored import (
    concurrency_key_of,
    encoded,
    grace_of,
    jitter,
    lane_of,
    normal,
    options_of,
    overlap_of,
    target_of,
)
from sexton.jobs.timing import first_occurrence, read_schedule
from sexton.jobs.validation import read_spec
from sexton.jobs.zones import note_zones
from sexton.model import encode_id, shard_of
from sexton.postgres.database import Connection, Database
from sexton.postgres.migrate import shard_count
from sexton.postgres.transaction import Context
from sexton.schedules import Schedule

LARGEST_CHUNK = 20_000
MANY = 200  # from here on the work is done in a thread, so that the others go on
MOST_ERRORS = 100
SHARDS_TOLD = 1000  # a notification has at most 8,000 bytes

JOB_COLUMNS = (
    "id", "namespace", "name", "app", "kind", "schedule", "timezone", "anchor", "timing_key", "target",
    "payload", "options", "labels", "description", "owner", "declaration", "created_at", "updated_at",
)  # fmt: skip
TIMER_COLUMNS = (
    "job_id", "shard", "revision", "timing_key", "scheduled_at", "due_at", "max_runs", "lane", "priority",
    "overlap", "expires_seconds", "grace_seconds", "concurrency_key",
)  # fmt: skip

Item = bytes | str | Mapping[str, Any] | JobSpec
Line = TypeVar("Line")
Made = TypeVar("Made")
Faults = list[tuple[int, SextonError]]


class RefusedLines(InvalidField):
    """Nothing of the chunk was made: `errors` are the lines at fault, and why."""

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


async def create_many(
    database: Database,
    items: Sequence[Item],
    *,
    first_line: int = 1,
    namespace: str = NAMESPACE,
    app: str | None = None,
    connection: Connection | None = None,
    now: datetime | None = None,
) -> list[str]:
    """Make a chunk of jobs, from JSON lines, mappings or specifications; their ids, in order."""
    if not items:
        return []
    if len(items) > LARGEST_CHUNK:
        hint = f"send at most {LARGEST_CHUNK} at a time"
        raise InvalidField("too_many", f"{len(items)} jobs in one chunk", field="lines", hint=hint)
    specs: list[JobSpec] = []
    unread: RefusedLines | None = None
    try:
        specs = await _aside(len(items), _each, items, first_line, read_spec)
    except RefusedLines as error:
        unread = error

    async def work(inside: Connection) -> list[str]:
        try:
            if unread is not None:
                raise unread
            return await make(inside)
        except RefusedLines as first:
            found = await _faults(database, inside, items, namespace, first_line, now)
            raise RefusedLines(found or first.errors) from None

    async def make(inside: Connection) -> list[str]:
        known = await inside.fetchrow(database.statement("prepare_jobs"), len(specs), now)
        assert known is not None
        await _check_names(database, inside, specs, namespace, first_line)
        lanes = await lane_ids(Context(database, connection=inside), {lane_of(spec) for spec in specs})
        chunk = _Chunk(namespace, app, known["now"], await shard_count(database, inside), lanes)
        await _aside(len(specs), chunk.add_all, specs, known["ids"], first_line)
        try:
            async with inside.transaction():
                await inside.copy_records_to_table(
                    "jobs", schema_name=database.schema, columns=JOB_COLUMNS, records=chunk.jobs
                )
                await inside.copy_records_to_table(
                    "timers", schema_name=database.schema, columns=TIMER_COLUMNS, records=chunk.timers
                )
        except asyncpg.UniqueViolationError:
            # Somebody took a name since it was looked up; now it can be seen.
            await _check_names(database, inside, specs, namespace, first_line)
            raise
        await note_zones(database, inside, chunk.zones)
        soon = sorted(chunk.soon)
        for place in range(0, len(soon), SHARDS_TOLD):
            shards = ",".join(map(str, soon[place : place + SHARDS_TOLD]))
            await inside.execute("select pg_notify('sexton_timers', $1)", shards)
        return [encode_id("j", number) for number in known["ids"]]

    return await within(database, connection, work)


class _Chunk:
    """Rows in the making. Schedules alike are read once, and their first occurrence is looked for once."""

    def __init__(
        self, namespace: str, app: str | None, now: datetime, shards: int, lanes: Mapping[Lane, int]
    ) -> None:
        self.namespace = namespace
        self.app = app
        self.now = now
        self.shards = shards
        self.lanes = lanes
        self.jobs: list[tuple[Any, ...]] = []
        self.timers: list[tuple[Any, ...]] = []
        self.soon: set[int] = set()
        self.zones: set[str] = set()
        self._schedules: dict[tuple[Any, ...], tuple[Schedule, datetime, datetime]] = {}

    def add_all(self, specs: Sequence[JobSpec], ids: Sequence[int], first_line: int) -> None:
        _each(zip(specs, ids, strict=True), first_line, lambda each: self._add(*each))

    def _add(self, spec: JobSpec, number: int) -> None:
        schedule, anchor, first = self._schedule(spec)
        shard = shard_of(number, self.shards)
        due = first + jitter(number, spec) if spec.jitter_seconds else first
        if (due - self.now).total_seconds() <= HORIZON_SECONDS:
            self.soon.add(shard)
        key = schedule.timing_key
        self.jobs.append(
            (
                number,
                self.namespace,
                spec.name,
                self.app,
                schedule.kind,
                spec.schedule,
                schedule.timezone,
                anchor,
                key,
                encoded(target_of(spec)),
                None if spec.payload is None else encode_payload(spec.payload),
                options_of(normal(spec, schedule)),
                encoded(spec.labels) if spec.labels else None,
                spec.description,
                spec.owner,
                None,
                self.now,
                self.now,
            )
        )
        self.timers.append(
            (
                number,
                shard,
                1,
                key,
                first,
                due,
                spec.max_runs,
                self.lanes[lane_of(spec)],
                spec.priority,
                overlap_of(spec),
                spec.expires_seconds,
                grace_of(spec),
                concurrency_key_of(spec, number),
            )
        )

    def _schedule(self, spec: JobSpec) -> tuple[Schedule, datetime, datetime]:
        key = (
            spec.schedule, spec.timezone, spec.kind, spec.anchor, spec.gap, spec.fold, spec.starts_at,
            spec.ends_at, tuple(spec.exclude), spec.missed_window,
            spec.name if "H" in spec.schedule else None,
        )  # fmt: skip
        found = self._schedules.get(key)
        if found is None:
            schedule, anchor = read_schedule(spec, self.now)
            found = schedule, anchor, first_occurrence(spec, schedule, self.now)
            self.zones.add(schedule.timezone)
            self._schedules[key] = found
        return found


def _each(lines: Iterable[Line], first_line: int, make: Callable[[Line], Made]) -> list[Made]:
    """What is made of each line, if none is refused."""
    made: list[Made] = []
    errors: list[tuple[int, SextonError]] = []
    for number, line in enumerate(lines, first_line):
        try:
            made.append(make(line))
        except SextonError as error:
            errors.append((number, error))
            if len(errors) == MOST_ERRORS:
                break
    if errors:
        raise RefusedLines(errors)
    return made


async def _check_names(
    database: Database, connection: Connection, specs: Sequence[JobSpec], namespace: str, first_line: int
) -> None:
    names = [(line, spec.name) for line, spec in enumerate(specs, first_line)]
    if errors := await _name_errors(database, connection, names, namespace):
        raise RefusedLines(errors[:MOST_ERRORS])


async def _name_errors(
    database: Database, connection: Connection, names: Sequence[tuple[int, str]], namespace: str
) -> Faults:
    given = [name for _, name in names]
    taken = {
        row["name"]: encode_id("j", row["id"])
        for row in await connection.fetch(database.statement("taken_names"), namespace, given)
    }
    seen: dict[str, int] = {}
    errors: Faults = []
    for line, name in names:
        if name in taken:
            errors.append((line, NameTaken(name, taken[name])))
        elif seen.setdefault(name, line) != line:
            hint = "give each job a name of its own"
            message = f"line {seen[name]} has the name {name} already"
            errors.append((line, InvalidField("name_taken", message, field="name", hint=hint)))
    return errors


async def _faults(
    database: Database,
    connection: Connection,
    items: Sequence[Item],
    namespace: str,
    first_line: int,
    now: datetime | None,
) -> Faults:
    """Everything that is wrong with a chunk, so that nobody has to send it once for each kind of fault."""
    errors, names = await _aside(len(items), _own_faults, items, first_line, now or clock.now())
    errors += await _name_errors(database, connection, names, namespace)
    return sorted(errors, key=lambda fault: fault[0])[:MOST_ERRORS]


def _own_faults(
    items: Sequence[Item], first_line: int, now: datetime
) -> tuple[Faults, list[tuple[int, str]]]:
    """What is wrong with lines by themselves, and the names in the others."""
    errors: Faults = []
    names: list[tuple[int, str]] = []
    for line, item in enumerate(items, first_line):
        try:
            spec = read_spec(item)
            first_occurrence(spec, read_schedule(spec, now)[0], now)
        except SextonError as error:
            errors.append((line, error))
        else:
            names.append((line, spec.name))
    return errors, names


async def _aside(size: int, function: Any, *arguments: Any) -> Any:
    return function(*arguments) if size < MANY else await asyncio.to_thread(function, *arguments)
