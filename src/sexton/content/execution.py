"""Carrying an action out: does it still stand, what must come before it, and then the adapter.

Everything is decided under the lock of the action's row. With an adapter that writes in PostgreSQL, the
decision, the change and the end of the run are one transaction. With another one, the row says that the
occurrence was begun before the adapter is asked: from then on it can be neither moved nor called off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from sexton.content import window
from sexton.content.adapters.base import Adapter, NotPossible
from sexton.content.adapters.table import adapters
from sexton.content.model import Action, Applied, ContentChange, Entity
from sexton.content.spec import ContentTarget
from sexton.model import Cancel, Failure, Outcome, Snooze, Success, Trigger, decode_id
from sexton.postgres.transaction import Context
from sexton.targets.base import TargetServices
from sexton.targets.run import RunContext, Step

ACTOR = "sexton"
# How long an action waits before it looks again whether those before it are done.
WAIT_SECONDS = 1.0


class Left(Exception):
    """The action is not carried out, and why."""


class NotYet(Exception):
    """Another action on the entity comes first."""


@dataclass(frozen=True, slots=True)
class StandingAction:
    """An action that stands: its row, and the change that it asks for."""

    row: asyncpg.Record
    change: ContentChange


class OpenContent:
    """The adapters of a worker."""

    def __init__(self, services: TargetServices) -> None:
        self._services = services
        self._adapters: dict[str, Adapter] = {}

    def step(self, spec: ContentTarget) -> Step | None:
        if spec.adapter not in adapters():
            return None
        adapter = self._adapter(spec.adapter)
        carry_out = self._inside if adapter.transactional else self._outside

        async def step(run: RunContext) -> Outcome:
            try:
                return await carry_out(adapter, run)
            except NotYet:
                return Snooze(WAIT_SECONDS)
            except Left as why:
                return Cancel(str(why))
            except NotPossible as why:
                return Failure(str(why), permanent=True)

        return step

    async def close(self) -> None:
        for adapter in self._adapters.values():
            await adapter.close()

    def _adapter(self, name: str) -> Adapter:
        if name not in self._adapters:
            self._adapters[name] = adapters()[name]()
        return self._adapters[name]

    async def _inside(self, adapter: Adapter, run: RunContext) -> Outcome:
        result: dict[str, Any] = {}
        async with run.transaction(result) as connection:
            context = Context(self._services.database, actor=ACTOR, connection=connection)
            standing = await _stand(context, run)
            context = replace(context, namespace=standing.change.namespace)
            applied = await adapter.apply(context, standing.change)
            await _settle(context, run, standing, applied)
            result.update(msgspec.to_builtins(applied))
        return Success(result)

    async def _outside(self, adapter: Adapter, run: RunContext) -> Outcome:
        database = self._services.database
        async with database.transaction() as connection:
            context = Context(database, actor=ACTOR, connection=connection)
            standing = await _stand(context, run)
            await context.execute(
                "content/begin", schedule_id=standing.row["id"], scheduled_at=run.scheduled_at, run_id=run.id
            )
        context = Context(database, namespace=standing.change.namespace, actor=ACTOR)
        applied = await adapter.apply(context, standing.change)
        async with database.transaction() as connection:
            await _settle(replace(context, connection=connection), run, standing, applied)
        return Success(msgspec.to_builtins(applied))


async def _stand(context: Context, run: RunContext) -> StandingAction:
    """Lock the action that a run is of. Raises `Left` if it does not stand any more, `NotYet` if another one
    on the entity comes first."""
    row = await context.fetchrow("content/lock_of_run", schedule_id=_number(run), job_id=run.job)
    if row is None:
        raise Left("the action is not planned any more")
    context = replace(context, namespace=row["namespace"])
    manual = run.trigger == Trigger.MANUAL
    if row["cancelled_at"] is not None:
        raise Left(f"it was called off by {row['cancelled_by']}")
    if not manual:
        _check_time(row, run.scheduled_at)
        if await _waits(context, row, run.scheduled_at):
            raise NotYet
    if row["needs_approval"] and row["approved_at"] is None:
        raise Left("it was not approved")
    if row["window_id"] is not None and not manual:
        why, seconds = await window.check(context, row, run.scheduled_at)
        if why is not None:
            raise Left(why)
        if seconds is not None:
            raise NotYet
    change = ContentChange(
        namespace=row["namespace"],
        entity=Entity(row["entity_type"], row["entity_id"]),
        action=Action(row["action"]),
        version=row["version"],
        key=run.idempotency_key,
        scheduled_at=run.scheduled_at,
        actor=row["created_by"],
    )
    return StandingAction(row, change)


def _check_time(row: asyncpg.Record, scheduled_at: datetime) -> None:
    """Whether this occurrence is still one of the action's."""
    if scheduled_at in row["skipped"]:
        raise Left("this time was left out")
    single, valid_from = row["recurrence_rule"] is None, row["valid_from"]
    moved = scheduled_at != row["scheduled_at"] if single else valid_from and scheduled_at < valid_from
    if moved:
        raise Left("it was moved to another time")


async def _waits(context: Context, row: asyncpg.Record, scheduled_at: datetime) -> bool:
    """Whether an earlier action on the entity has not ended."""
    found = await context.fetchval(
        "content/find_before",
        namespace=context.namespace,
        entity_type=row["entity_type"],
        entity_id=row["entity_id"],
        schedule_id=row["id"],
        scheduled_at=scheduled_at,
    )
    return found is not None


async def _settle(context: Context, run: RunContext, standing: StandingAction, applied: Applied) -> None:
    """Record what was done, and open what closes the window."""
    row, change = standing.row, standing.change
    await context.execute(
        "content/settle",
        schedule_id=row["id"],
        scheduled_at=run.scheduled_at,
        namespace=change.namespace,
        entity_type=change.entity.type,
        entity_id=change.entity.id,
        action=change.action.value,
        state_before=applied.state_before,
        state_after=applied.state_after,
        version=applied.version,
        changed=applied.effect == "changed",
        run_id=run.id,
        actor=change.actor,
    )
    if row["open_for"] is not None:
        await window.plan_close(context, row, run.scheduled_at)


def _number(run: RunContext) -> int:
    payload = run.payload if isinstance(run.payload, dict) else {}
    number = decode_id("c", str(payload.get("schedule", "")))
    if number is None:
        raise NotPossible("the payload names no action")
    return number
