"""Many jobs at once, by COPY. A chunk is created whole or not at all; errors name their lines."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any, Literal, NamedTuple, TypeVar

import asyncpg

from sexton.errors import InvalidField, NameTaken, RefusedLines, SextonError
from sexton.jobs.change import HORIZON_SECONDS, NAMES_KEPT, Lane, contested_lanes, lane_ids
from sexton.jobs.edit import is_same, replace
from sexton.jobs.payload import check_payload_size
from sexton.jobs.spec import JobSpec
from sexton.jobs.spread import shard_of
from sexton.jobs.stored import StoredJob, job_columns, lane_of, timer_columns
from sexton.jobs.timing import first_occurrence, read_schedule
from sexton.jobs.validation import read_spec
from sexton.jobs.zones import note_zones
from sexton.model import encode_id
from sexton.postgres.migrate import shard_count
from sexton.postgres.transaction import Context, command, query
from sexton.refusal import MOST_LINES_NAMED, each_line
from sexton.schedules import Schedule
from sexton.security.quotas import take_jobs

LARGEST_CHUNK = 20_000
MANY = 200  # larger chunks are read in a thread, so that the event loop goes on
TRIES = 3  # of a chunk whose names other transactions take at the same time
SHARDS_TOLD = 1000  # PostgreSQL allows 8,000 bytes in a notification

Item = bytes | str | Mapping[str, Any] | JobSpec
Line = TypeVar("Line")
Made = TypeVar("Made")
Result = Literal["created", "changed", "unchanged"]
Faults = list[tuple[int, SextonError]]


class Put(NamedTuple):
    """The result of one job of a chunk; for a new or changed job, with the warnings of its schedule."""

    job_id: str
    result: Result
    warnings: tuple[str, ...] = ()


async def create_many(
    context: Context, items: Sequence[Item], *, first_line: int = 1, app: str | None = None
) -> list[Put]:
    """Create a chunk of jobs from JSON lines, mappings or specifications; returns the results in order."""
    _check_size(items)
    try:
        specs = await _aside(len(items), each_line, items, read_spec, count(first_line))
        return await _create(context, list(enumerate(specs, first_line)), app) if specs else []
    except RefusedLines as first:
        raise RefusedLines(await _faults(context, items, first_line) or first.errors) from None


async def put_many(context: Context, items: Sequence[Item]) -> list[Put]:
    """Like `create_many`, but an existing job of the same name gets the definition of its line."""
    _check_size(items)
    for _ in range(TRIES):
        try:
            return await _put(context, await _aside(len(items), each_line, items, read_spec))
        except RefusedLines as refused:
            if errors := await _faults(context, items, 1, taken=False):
                raise RefusedLines(errors) from None
            if not all(isinstance(error, NameTaken) for _, error in refused.errors):
                raise
            # Another transaction has just made a job of one of the names: now it is one to replace.
            again = refused
    raise again


@command
async def _put(context: Context, specs: Sequence[JobSpec]) -> list[Put]:
    lines = list(enumerate(specs, 1))
    await _check_names(context, lines, taken=False)
    names = [spec.name for spec in specs]
    rows = await context.fetch("jobs/list_by_name", names=names)
    jobs = {row["name"]: StoredJob(dict(row)) for row in rows}
    new = [(line, spec) for line, spec in lines if spec.name not in jobs]
    created = await _create(context, new, None) if new else []
    made = {spec.name: put for (_, spec), put in zip(new, created, strict=True)}
    old = [(line, spec) for line, spec in lines if spec.name in jobs]
    now = await context.time()
    same = await _aside(len(old), lambda: [is_same(jobs[spec.name], spec, now) for _, spec in old])
    errors: Faults = []
    for (line, spec), unchanged in zip(old, same, strict=True):
        job_id = jobs[spec.name].job_id
        made[spec.name] = Put(job_id, "unchanged")
        try:
            if not unchanged:
                await replace(context, spec.name, spec)
                made[spec.name] = Put(job_id, "changed", read_schedule(spec, now)[0].warnings)
        except SextonError as error:
            errors.append((line, error))
    if errors:
        raise RefusedLines(errors[:MOST_LINES_NAMED])
    return [made[name] for name in names]


def _check_size(items: Sequence[Item]) -> None:
    if len(items) > LARGEST_CHUNK:
        hint = f"send at most {LARGEST_CHUNK} at a time"
        raise InvalidField("too_many", f"{len(items)} jobs in one chunk", field="lines", hint=hint)


@command
async def _create(context: Context, lines: Sequence[tuple[int, JobSpec]], app: str | None) -> list[Put]:
    """Create the jobs of these lines, each with its number."""
    numbers, specs = zip(*lines, strict=True)
    [known] = await context.fetch("jobs/prepare_many", count=len(specs))
    await _check_names(context, lines)
    if (limit := known["payload_bytes"]) is not None:
        each_line(specs, lambda spec: check_payload_size(context, spec.payload, limit), numbers)
    if errors := await _handler_errors(context, lines):
        raise RefusedLines(errors[:MOST_LINES_NAMED])
    if known["jobs_quota"] is not None:
        await take_jobs(context, len(specs))
    lanes = await lane_ids(context, {lane_of(spec) for spec in specs})
    shards = await shard_count(context.database, context.open)
    chunk = _Chunk(context.namespace, app, known["now"], shards, lanes)
    await _aside(len(specs), chunk.add_all, specs, known["ids"], numbers)
    try:
        async with context.open.transaction():
            await _copy(context, "jobs", chunk.jobs)
            await _copy(context, "timers", chunk.timers)
    except asyncpg.UniqueViolationError:
        # Another transaction took a name since it was looked up; now its job can be seen.
        await _check_names(context, lines)
        raise
    await note_zones(context, chunk.zones)
    await tell_shards(context, chunk.soon)
    names = [spec.name for spec in specs[:NAMES_KEPT]]
    detail = {"count": len(specs), "names": names, "app": app}
    context.changed("job.created", jobs=known["ids"], detail=detail)
    made = zip(known["ids"], chunk.warnings, strict=True)
    return [Put(encode_id("j", number), "created", warnings) for number, warnings in made]


async def tell_shards(context: Context, soon: Collection[int]) -> None:
    """Notify the schedulers of shards in which a new timer is due soon."""
    numbers = sorted(soon)
    for place in range(0, len(numbers), SHARDS_TOLD):
        shards_told = ",".join(map(str, numbers[place : place + SHARDS_TOLD]))
        await context.open.execute("select pg_notify('sexton_timers', $1)", shards_told)


async def _copy(context: Context, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    await context.open.copy_records_to_table(
        table,
        schema_name=context.database.schema,
        columns=list(rows[0]),
        records=[tuple(row.values()) for row in rows],
    )


@dataclass(slots=True)
class _Chunk:
    """Builds the rows of a chunk. Equal schedules are parsed once, and their first occurrence is computed
    once."""

    namespace: str
    app: str | None
    now: datetime
    shards: int
    lanes: Mapping[Lane, int]
    jobs: list[dict[str, Any]] = field(default_factory=list)
    timers: list[dict[str, Any]] = field(default_factory=list)
    soon: set[int] = field(default_factory=set)
    zones: set[str] = field(default_factory=set)
    warnings: list[tuple[str, ...]] = field(default_factory=list)
    schedules: dict[tuple[Any, ...], tuple[Schedule, datetime | None, datetime]] = field(default_factory=dict)

    def add_all(self, specs: Sequence[JobSpec], ids: Sequence[int], numbers: Sequence[int]) -> None:
        each_line(zip(specs, ids, strict=True), lambda each: self._add(*each), numbers)

    def _add(self, spec: JobSpec, number: int) -> None:
        schedule, anchor, first = self._schedule(spec)
        timer = timer_columns(spec, schedule, number, first, self.lanes[lane_of(spec)])
        shard = shard_of(number, self.shards)
        if (timer["due_at"] - self.now).total_seconds() <= HORIZON_SECONDS:
            self.soon.add(shard)
        self.warnings.append(schedule.warnings)
        self.timers.append({"job_id": number, "shard": shard, "revision": 1, **timer})
        self.jobs.append(
            {
                "id": number,
                "namespace": self.namespace,
                "app": self.app,
                "created_at": self.now,
                "updated_at": self.now,
                **job_columns(spec, schedule, anchor),
            }
        )

    def _schedule(self, spec: JobSpec) -> tuple[Schedule, datetime | None, datetime]:
        key = (
            spec.schedule, spec.timezone, spec.kind, spec.anchor, spec.gap, spec.fold, spec.seconds,
            spec.starts_at, spec.ends_at, tuple(spec.exclude), spec.missed_window,
            spec.name if "H" in spec.schedule else None,
        )  # fmt: skip
        found = self.schedules.get(key)
        if found is None:
            schedule, anchor = read_schedule(spec, self.now)
            found = schedule, anchor, first_occurrence(spec, schedule, self.now)
            self.zones.add(schedule.timezone)
            self.schedules[key] = found
        return found


async def _check_names(context: Context, lines: Sequence[tuple[int, JobSpec]], *, taken: bool = True) -> None:
    await check_names(context, [(line, spec.name) for line, spec in lines], taken=taken)


async def check_names(context: Context, names: Sequence[tuple[int, str]], *, taken: bool = True) -> None:
    """Refuse names that occur twice in the chunk, or that live jobs have; each with its line."""
    if errors := await _name_errors(context, names, taken):
        raise RefusedLines(errors[:MOST_LINES_NAMED])


async def _name_errors(context: Context, names: Sequence[tuple[int, str]], refuse_taken: bool) -> Faults:
    given = [name for _, name in names if refuse_taken]
    rows = await context.fetch("jobs/find_names", names=given) if given else []
    taken = {row["name"]: encode_id("j", row["id"]) for row in rows}
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


async def _handler_errors(context: Context, specs: Sequence[tuple[int, JobSpec]]) -> Faults:
    refused = await contested_lanes(context, {lane_of(spec) for _, spec in specs})
    return [(line, refused[lane_of(spec)]) for line, spec in specs if refused and lane_of(spec) in refused]


@query
async def _faults(context: Context, items: Sequence[Item], first_line: int, *, taken: bool = True) -> Faults:
    """All errors of a chunk, so that the caller need not send it once for each kind of error. With `taken`,
    names of live jobs are errors."""
    errors, specs = await _aside(len(items), _own_faults, items, first_line, await context.time())
    errors += await _name_errors(context, [(line, spec.name) for line, spec in specs], taken)
    if taken:
        errors += await _handler_errors(context, specs)
    return sorted(errors, key=lambda fault: fault[0])[:MOST_LINES_NAMED]


def _own_faults(
    items: Sequence[Item], first_line: int, now: datetime
) -> tuple[Faults, list[tuple[int, JobSpec]]]:
    """The errors of single lines, and the jobs of the lines without errors."""
    errors: Faults = []
    specs: list[tuple[int, JobSpec]] = []
    for line, item in enumerate(items, first_line):
        try:
            spec = read_spec(item)
            first_occurrence(spec, read_schedule(spec, now)[0], now)
        except SextonError as error:
            errors.append((line, error))
        else:
            specs.append((line, spec))
    return errors, specs


async def _aside(size: int, function: Any, *arguments: Any) -> Any:
    return function(*arguments) if size < MANY else await asyncio.to_thread(function, *arguments)
