"""Many planned actions at once: a chunk is planned whole or not at all, and what is wrong is told by line.

No statement is made for each action: those for one instant are jobs alike (`jobs/alike.py`), series are made
as `sexton import` does it, and the rows of the actions by COPY.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from sexton.content.adapters.configured import content_target
from sexton.content.adapters.table import make_plain
from sexton.content.calendar.timeline import list_pending, plans_of, times_of
from sexton.content.conflict import hold_entities, needs_publication, refuse_unpublished
from sexton.content.model import Entity
from sexton.content.plan import PlannedAction, job_name, job_of, refused_time
from sexton.content.schedule import plan_of
from sexton.content.spec import ScheduleSpec
from sexton.errors import InvalidField, RefusedLines, ScheduleError, SextonError
from sexton.jobs import bulk
from sexton.jobs.alike import SingleJob, create_alike
from sexton.model import decode_id, encode_id
from sexton.postgres.transaction import Context, command
from sexton.refusal import (
    MOST_LINES_NAMED,
    UNREADABLE,
    cells_of,
    check_text,
    converted,
    decoded,
    each_line,
    refuse_nul,
)

# Each entity of a chunk is locked, and PostgreSQL has room for some thousand locks.
LARGEST_CHUNK = 2000
NAMES_KEPT = 20

# A NUL, which PostgreSQL does not take, as JSON writes it.
NUL = b"\\u0000"
_DECODER = msgspec.json.Decoder(ScheduleSpec)

ImportItem = bytes | Mapping[str, Any] | ScheduleSpec
Faults = list[tuple[int, SextonError]]


class CsvReader:
    """Rows of a file with a heading, each on a line of its own; an empty cell is not given."""

    def __init__(self, heading: bytes) -> None:
        self.names = [name.strip() for name in cells_of(heading)]
        known = ScheduleSpec.__struct_fields__
        for name in self.names:
            if name not in known:
                raise InvalidField(
                    "unknown_field",
                    f"there is no column {name!r}",
                    field="line 1",
                    hint=f"use {', '.join(known)}",
                )

    def read(self, line: bytes) -> dict[str, str]:
        cells = cells_of(line)
        if len(cells) > len(self.names):
            raise InvalidField(
                "bad_csv",
                f"it has {len(cells)} cells, the heading has {len(self.names)}",
                field="line",
                hint="put a cell with a comma into quotes",
            )
        pairs = zip(self.names, cells, strict=False)
        return {name: cell.strip() for name, cell in pairs if cell.strip()}


async def create_many(context: Context, items: Sequence[ImportItem], *, force: bool = False) -> list[str]:
    """Plan a chunk, from JSON lines, mappings or specifications; the ids, in order. Raises `RefusedLines`."""
    if len(items) > LARGEST_CHUNK:
        hint = f"send at most {LARGEST_CHUNK} at a time"
        raise InvalidField("too_many", f"{len(items)} actions in one chunk", field="lines", hint=hint)
    if not items:
        return []
    plans = await asyncio.to_thread(each_line, items, partial(_read, actor=context.actor))
    return await _create(context, plans, force)


def _read(item: ImportItem, actor: str) -> tuple[PlannedAction, bool]:
    """The plan of a line, and whether it is planned though it contradicts another."""
    spec = item if isinstance(item, ScheduleSpec) else _spec(item)
    plan = plan_of(spec, actor)
    for field, text, most in (
        ("entity_type", plan.entity.type, 64),
        ("entity_id", plan.entity.id, 64),
        ("created_by", plan.created_by, 200),
    ):
        check_text(text, field, most)
    return plan, spec.force


def _spec(item: bytes | Mapping[str, Any]) -> ScheduleSpec:
    if isinstance(item, bytes) and NUL not in item:
        try:
            return _DECODER.decode(item)
        except (msgspec.ValidationError, *UNREADABLE):
            """What is wrong with it is said below."""
    given = decoded(item, object) if isinstance(item, bytes) else item
    refuse_nul(given, "body")
    return converted(given, ScheduleSpec, strict=isinstance(item, bytes), code="bad_value")


@command
async def _create(context: Context, read: Sequence[tuple[PlannedAction, bool]], force: bool) -> list[str]:
    plans = [plan for plan, _ in read]
    targets = await _targets(context, plans)
    await hold_entities(context, [plan.entity for plan in plans])
    await _check_conflicts(
        context, [(line, plan) for line, (plan, own) in enumerate(read, 1) if not (force or own)]
    )
    numbers: list[int] = await context.fetchval("content/take_ids", count=len(plans))
    jobs, times = await _make_jobs(context, targets, list(zip(plans, numbers, strict=True)))
    now = await context.time()
    rows = [
        {
            "id": number,
            "namespace": context.namespace,
            "entity_type": plan.entity.type,
            "entity_id": plan.entity.id,
            "action": plan.action.value,
            "adapter": plan.adapter,
            "version": plan.version,
            "note": plan.note,
            "created_by": plan.created_by,
            "created_at": now,
            "job_id": job,
            "timezone": plan.moment.timezone,
            "recurrence_rule": plan.rule,
            "scheduled_at": times.get(job, plan.moment.at),
            "needs_approval": plan.needs_approval,
            "catch_up_seconds": plan.catch_up_seconds,
        }
        for plan, number, job in zip(plans, numbers, jobs, strict=True)
    ]
    await context.open.copy_records_to_table(
        "content_schedules",
        schema_name=context.database.schema,
        columns=list(rows[0]),
        records=[tuple(row.values()) for row in rows],
    )
    entities = [str(plan.entity) for plan in plans[:NAMES_KEPT]]
    context.changed("content.imported", detail={"count": len(plans), "entities": entities})
    return [encode_id("c", number) for number in numbers]


async def _make_jobs(
    context: Context, targets: Mapping[str, dict[str, Any]], plans: Sequence[tuple[PlannedAction, int]]
) -> tuple[list[int], dict[int, datetime]]:
    """The jobs of actions, in order; and when series fire first, by their jobs."""
    jobs: dict[int, int] = {}
    alike: dict[tuple[Any, ...], list[tuple[int, PlannedAction, int]]] = {}
    series: list[tuple[int, PlannedAction, int]] = []
    for line, (plan, number) in enumerate(plans, 1):
        if plan.rule is not None:
            series.append((line, plan, number))
        else:
            key = plan.adapter, plan.max_retries, plan.moment.timezone
            alike.setdefault(key, []).append((line, plan, number))
    for some in alike.values():
        _, first, number = some[0]
        singles = [_single(*each) for each in some]
        pattern = job_of(replace(first, target=targets[first.adapter]), number)
        try:
            made = await create_alike(context, pattern, singles)
        except RefusedLines as refused:
            raise RefusedLines([(line, _told(why)) for line, why in refused.errors]) from None
        jobs |= {line: job for (line, _, _), job in zip(some, made, strict=True)}
    times: dict[int, datetime] = {}
    if series:
        specs = [job_of(replace(plan, target=targets[plan.adapter]), number) for _, plan, number in series]
        try:
            puts = await bulk.create_many(context, specs)
        except RefusedLines as refused:
            errors = [(series[place - 1][0], _told(why)) for place, why in refused.errors]
            raise RefusedLines(errors) from None
        numbers = [decode_id("j", put.job_id) or 0 for put in puts]
        jobs |= {line: job for (line, _, _), job in zip(series, numbers, strict=True)}
        rows = await context.fetch("content/list_first_times", job_ids=numbers)
        times = {row["job_id"]: row["scheduled_at"] for row in rows}
    return [jobs[line] for line in range(1, len(plans) + 1)], times


def _told(why: SextonError) -> SextonError:
    return refused_time(why) if isinstance(why, ScheduleError) else why


def _single(line: int, plan: PlannedAction, number: int) -> SingleJob:
    ref = encode_id("c", number)
    return SingleJob(
        line, job_name(ref), plan.moment.at, f'{{"schedule":"{ref}"}}', plan.description, plan.created_by
    )


async def _targets(context: Context, plans: Sequence[PlannedAction]) -> dict[str, dict[str, Any]]:
    """Where the jobs of each adapter go: each is looked up once. Refuses the lines of those that are not
    there."""
    found: dict[str, dict[str, Any]] = {}
    missing: dict[str, SextonError] = {}
    for name in {plan.adapter for plan in plans}:
        try:
            found[name] = await content_target(context, name)
        except SextonError as error:
            missing[name] = error
    if missing:
        lines = enumerate(plans, 1)
        errors = [(line, missing[plan.adapter]) for line, plan in lines if plan.adapter in missing]
        raise RefusedLines(errors[:MOST_LINES_NAMED])
    return found


async def _check_conflicts(context: Context, lines: Sequence[tuple[int, PlannedAction]]) -> None:
    """Each line against what is planned already, and against the lines before it."""
    entities = list({plan.entity for _, plan in lines})
    others: dict[Entity, list[Mapping[str, Any]]] = {entity: [] for entity in entities}
    for row in await list_pending(context, entities):
        others[Entity(row["entity_type"], row["entity_id"])] += plans_of(row)
    now = await context.time()
    errors, doubtful = Faults(), list[tuple[int, PlannedAction]]()
    for line, plan in lines:
        times = times_of(plan, now)
        try:
            known = sorted(others[plan.entity], key=lambda each: each["at"])
            if needs_publication(plan, known, times):
                doubtful.append((line, plan))
        except SextonError as error:
            errors.append((line, error))
        others[plan.entity] += [{"line": line, "action": action, "at": at} for at, action in times]
    for name in {plan.adapter for _, plan in doubtful}:
        asked = [(line, plan) for line, plan in doubtful if plan.adapter == name]
        adapter = make_plain(name)
        if adapter is None or not adapter.transactional:
            continue
        states = await adapter.state(context, [plan.entity for _, plan in asked])
        for line, plan in asked:
            try:
                refuse_unpublished(plan, states.get(plan.entity))
            except SextonError as error:
                errors.append((line, error))
    if errors:
        raise RefusedLines(sorted(errors, key=lambda fault: fault[0])[:MOST_LINES_NAMED])
