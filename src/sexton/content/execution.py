"""Carries out actions: checks that they are still planned and that no earlier action is open, then calls the
adapter.

All decisions are made with the rows of the actions locked. With an adapter that writes to PostgreSQL, one
transaction contains the decisions, the changes and the ends of all runs that the worker has at the moment.
With another adapter, the row is marked as begun before the adapter is called: from then on the occurrence can
be neither moved nor cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import msgspec

from sexton.content import window
from sexton.content.adapters.base import Adapter, AdapterServices, NotNow, NotPossible
from sexton.content.adapters.configured import UnknownAdapter, needs_config
from sexton.content.adapters.opened import OpenAdapters
from sexton.content.adapters.table import adapters
from sexton.content.effect import own_effect, settle
from sexton.content.gathering import Gathering
from sexton.content.model import (
    ACTOR,
    GRACE,
    MISSED,
    WAIT_SECONDS,
    Applied,
    ContentChange,
    Entity,
    Left,
    NoticeEvent,
    NotYet,
)
from sexton.content.notice import ContentNotice, notice_of, tell, tell_once
from sexton.content.reach import AGAIN_SECONDS, own_database
from sexton.content.releases import execution as release_execution
from sexton.content.releases import giving_up as release_giving_up
from sexton.content.spec import ContentTarget
from sexton.content.together import apply_all
from sexton.engine import crash
from sexton.errors import LeaseLost, Unavailable
from sexton.model import Cancel, Failure, Outcome, Release, Snooze, Success, Trigger, decode_id
from sexton.postgres.transaction import Context
from sexton.runs.retry import tries
from sexton.targets.base import TargetServices
from sexton.targets.run import RunContext, Step, ended_by


@dataclass(frozen=True, slots=True)
class StandingAction:
    """An action that is to be carried out: its run, its row, and its change."""

    run: RunContext
    row: asyncpg.Record
    change: ContentChange
    #: It opens a window that has ended by now. If an earlier attempt opened it, that is recorded, and it is
    #: closed.
    over: bool = False


class OpenContent:
    """The adapters of a worker."""

    def __init__(self, services: TargetServices) -> None:
        self._services = services
        self._adapters = OpenAdapters(
            AdapterServices(services.settings, services.outbound, services.renderer.secrets)
        )
        self._gatherings: dict[Adapter, Gathering] = {}

    def step(self, spec: ContentTarget) -> Step | None:
        kind = adapters().get(spec.kind or spec.adapter)
        if kind is None:
            return None

        async def step(run: RunContext) -> Outcome:
            try:
                return await told(run)
            except NotNow as why:
                return Release(why.seconds, str(why))
            except Unavailable as error:
                # Sexton's own database cannot be reached, for example to read a secret of the adapter.
                return Release(AGAIN_SECONDS, error.message)

        async def told(run: RunContext) -> Outcome:
            """Notify the author if the action has failed for good."""
            try:
                return await self._carry_out(await self._adapter(spec.adapter, kind, run), run)
            except (NotNow, Unavailable):
                raise  # it runs again, and this does not count as an attempt
            except NotPossible as why:
                await self._tell_failed(run, str(why))
                return Failure(str(why), permanent=True)
            except UnknownAdapter as error:
                if _is_last(run, error):
                    await self._tell_failed(run, str(error))
                return Failure(str(error))
            except BaseException as error:
                # Any error, also a timeout: notify the author if there is no further attempt.
                if _is_last(run, error):
                    outcome = ended_by(run, error)
                    message = outcome.error if isinstance(outcome, Failure) else str(error)
                    await self._tell_failed(run, message.partition("\n")[0])
                raise

        # Only a configuration can name secrets. They must not appear in records.
        return self._services.renderer.guarded(step) if needs_config(kind) else step

    async def given_up(self, run: RunContext, error: str) -> None:
        """Handle a dead run. Most runs have notified their authors and left no release half done. A run that
        crashed its worker again and again could not do that."""
        why = error.partition("\n")[0]
        if isinstance(run.payload, dict) and "release" in run.payload:
            why = self._services.renderer.secrets.mask(why)
            await release_giving_up.give_up(self._services.database, run, why)
        else:
            await self._tell_failed(run, why)

    async def close(self) -> None:
        await self._adapters.close()

    async def _adapter(self, name: str, kind: type[Adapter], run: RunContext) -> Adapter:
        context = Context(self._services.database, actor=ACTOR)
        with own_database():
            if needs_config(kind):
                context = replace(context, namespace=await self._services.renderer.namespace(run))
            return await self._adapters.get(context, name)

    async def _carry_out(self, adapter: Adapter, run: RunContext) -> Outcome:
        payload = run.payload if isinstance(run.payload, dict) else {}
        database, mask = self._services.database, self._services.renderer.secrets.mask
        if "release" in payload:
            return await release_execution.carry_out(database, adapter, run, mask)
        if "check" in payload:
            return await release_execution.check_before_time(database, adapter, run, mask)
        if adapter.transactional:
            return await self._gathering(adapter).carry_out(run)
        return await self._outside(adapter, run)

    def _gathering(self, adapter: Adapter) -> Gathering:
        if adapter not in self._gatherings:

            async def together(runs: Sequence[RunContext]) -> Sequence[Outcome]:
                return await self._inside(adapter, runs)

            self._gatherings[adapter] = Gathering(together)
        return self._gatherings[adapter]

    async def _inside(self, adapter: Adapter, runs: Sequence[RunContext]) -> Sequence[Outcome]:
        done: dict[RunContext, Any] = {}
        batch = _Batch()
        with own_database():
            await self._together(adapter, runs, batch, done)
        crash.point("step.noted")
        return [Success(done[run]) if run in done else batch.outcomes[run] for run in runs]

    async def _together(
        self, adapter: Adapter, runs: Sequence[RunContext], batch: _Batch, done: dict[RunContext, Any]
    ) -> None:
        """Decide about the runs that share a transaction, make their changes, and end the runs in `done`."""
        async with runs[0].shared_transaction(done) as connection:
            context = Context(self._services.database, actor=ACTOR, connection=connection)
            await batch.stand(context, runs)
            for namespace in sorted({each.change.namespace for each in batch.standing}):
                own = replace(context, namespace=namespace)
                chosen = [each for each in batch.standing if each.change.namespace == namespace]
                applied = await apply_all(adapter, own, [each.change for each in chosen])
                went = [
                    (each, what)
                    for each, what in zip(chosen, applied, strict=True)
                    if isinstance(what, Applied)
                ]
                for each, what in zip(chosen, applied, strict=True):
                    if isinstance(what, NotPossible):
                        batch.failed(each, str(what))
                if went:
                    await _settle(own, went)
                done |= {each.run: msgspec.to_builtins(what) for each, what in went}
            await batch.tell(context)
            crash.point("step.acted")

    async def _outside(self, adapter: Adapter, run: RunContext) -> Outcome:
        database = self._services.database
        batch = _Batch()
        with own_database():
            async with database.transaction() as connection:
                context = Context(database, actor=ACTOR, connection=connection)
                await batch.stand(context, [run])
                for each in batch.standing:
                    await context.execute(
                        "content/begin",
                        schedule_id=each.row["id"],
                        scheduled_at=run.scheduled_at,
                        run_id=run.id,
                    )
                await batch.tell(context)
        if not batch.standing:
            return batch.outcomes[run]
        [standing] = batch.standing
        context = Context(database, namespace=standing.change.namespace, actor=ACTOR)
        before = await _before(context, adapter, standing)
        if standing.over and before == await _state(context, adapter, standing.change.entity):
            return Cancel(window.OVER)
        crash.point("step.begun")
        applied = own_effect(await adapter.apply(context, standing.change), *before)
        crash.point("step.acted")
        with own_database():
            async with database.transaction() as connection:
                await _settle(replace(context, connection=connection), [(standing, applied)])
        crash.point("step.noted")
        return Success(msgspec.to_builtins(applied))

    async def _tell_failed(self, run: RunContext, why: str) -> None:
        """Notify the author that the action has failed for good, before the run ends."""
        database, why = self._services.database, self._services.renderer.secrets.mask(why)
        if isinstance(run.payload, dict) and "release" in run.payload:
            await release_execution.tell_failed(database, run, why)
            return
        async with database.transaction() as connection:
            context = Context(database, actor=ACTOR, connection=connection)
            for row in await _lock(context, [run]):
                if row["cancelled_at"] is None and not _done_by(run, row):
                    own = replace(context, namespace=row["namespace"])
                    notice = notice_of(NoticeEvent.FAILED, row, run.scheduled_at, run_id=run.id, error=why)
                    await tell_once(own, [notice])


class _Batch:
    """The decisions about runs that are carried out together."""

    def __init__(self) -> None:
        self.standing: list[StandingAction] = []
        self.outcomes: dict[RunContext, Outcome] = {}
        self._notices: list[tuple[str, ContentNotice]] = []

    async def stand(self, context: Context, runs: Sequence[RunContext]) -> None:
        """Lock the actions of runs, and decide which are carried out, in the order of their times."""
        numbers = {run: _number(run) for run in runs}
        known = [run for run in runs if numbers[run] is not None]
        locked = {(row["id"], row["job_id"]): row for row in await _lock(context, known)}
        around = await context.fetch(
            "content/read_around",
            runs=[run.id for run in known],
            schedules=[numbers[run] for run in known],
            at=[run.scheduled_at for run in known],
        )
        by_run = {row["run_id"]: row for row in around}
        ended: set[int] = set()
        seen: set[int] = set()
        for run in sorted(runs, key=lambda run: (run.scheduled_at, numbers[run] or 0)):
            row = locked.get((numbers[run], run.job))
            if row is None:
                self.outcomes[run] = Cancel("the action is no longer planned")
                continue
            try:
                if row["id"] in seen:
                    raise NotYet
                seen.add(row["id"])
                if _done_by(run, row):
                    self.outcomes[run] = Success(await _result(context, row, run))
                    ended.add(row["id"])
                    continue
                self.standing.append(_decide(row, run, by_run[run.id], ended, seen))
            except NotYet:
                self.outcomes[run] = Snooze(WAIT_SECONDS)
                continue
            except Left as why:
                self.outcomes[run] = Cancel(str(why))
                if str(why) == MISSED:
                    self._keep_notice(row, run, NoticeEvent.MISSED, MISSED)
            ended.add(row["id"])

    def failed(self, standing: StandingAction, why: str) -> None:
        self.outcomes[standing.run] = Failure(why, permanent=True)
        self._keep_notice(standing.row, standing.run, NoticeEvent.FAILED, why)

    def _keep_notice(self, row: asyncpg.Record, run: RunContext, event: NoticeEvent, error: str) -> None:
        notice = notice_of(event, row, run.scheduled_at, run_id=run.id, error=error)
        self._notices.append((row["namespace"], notice))

    async def tell(self, context: Context) -> None:
        """Notify the authors of actions that were not carried out, once."""
        for namespace in sorted({each for each, _ in self._notices}):
            own = [notice for each, notice in self._notices if each == namespace]
            await tell_once(replace(context, namespace=namespace), own)


def _decide(
    row: asyncpg.Record, run: RunContext, around: asyncpg.Record, ended: set[int], seen: set[int]
) -> StandingAction:
    """The action to carry out. Raises `Left` if it must not be carried out, `NotYet` if another action on the
    entity comes first. `ended` are the actions of the batch with a decision, `seen` those before this one."""
    manual, over = run.trigger == Trigger.MANUAL, False
    if row["cancelled_at"] is not None:
        raise Left(f"it was cancelled by {row['cancelled_by']}")
    if not manual:
        _check_time(row, run.scheduled_at)
        if set(around["earlier"] or ()) - ended:
            raise NotYet
        begun = row["begun_run"] == run.id
        over = window.check(row, around, run.scheduled_at, seen, begun=begun)
        if not begun and _missed(row["catch_up_seconds"], run, around["now"]):
            raise Left(MISSED)
    if row["needs_approval"] and row["approved_at"] is None:
        raise Left("it was not approved")
    return StandingAction(run, row, ContentChange.of(row, run.idempotency_key, run.scheduled_at), over)


async def _lock(context: Context, runs: Sequence[RunContext]) -> list[asyncpg.Record]:
    """Lock the planned actions of runs."""
    known = [(number, run.job) for run in runs if (number := _number(run)) is not None]
    return await context.fetch(
        "content/lock_of_runs", schedules=[number for number, _ in known], jobs=[job for _, job in known]
    )


async def _before(
    context: Context, adapter: Adapter, standing: StandingAction
) -> tuple[str | None, int | None]:
    """The state and version of the entity before the first attempt of this occurrence."""
    row, change = standing.row, standing.change
    if row["begun_at"] == change.scheduled_at and row["state_before"] is not None:
        return row["state_before"], row["version_before"]
    before = await _state(context, adapter, change.entity)
    with own_database():
        await context.execute(
            "content/note_before",
            schedule_id=row["id"],
            namespace=change.namespace,
            state_before=before[0],
            version_before=before[1],
        )
    return before


async def _state(context: Context, adapter: Adapter, entity: Entity) -> tuple[str | None, int | None]:
    found = (await adapter.state(context, [entity])).get(entity)
    return (None, None) if found is None else (found.state.value, found.published_version)


async def _result(context: Context, row: asyncpg.Record, run: RunContext) -> dict[str, Any]:
    """The recorded result of a run that is carried out again."""
    change = await context.fetchrow(
        "content/find_change",
        namespace=row["namespace"],
        entity_type=row["entity_type"],
        entity_id=row["entity_id"],
        schedule_id=row["id"],
        run_id=run.id,
    )
    return {"effect": "no_op"} if change is None else {"effect": "changed", **change}


def _is_last(run: RunContext, error: BaseException) -> bool:
    """Whether no attempt follows one that ends with this error."""
    ours = run.stop in (None, "timeout") and not isinstance(error, LeaseLost)
    return ours and tries(run) > run.policy.max_retries


def _done_by(run: RunContext, row: asyncpg.Record) -> bool:
    """Whether this run has already carried out the action, and only its end was not recorded."""
    done_at = row["done_at"]
    return row["begun_run"] == run.id and done_at is not None and bool(done_at >= run.scheduled_at)


def _check_time(row: asyncpg.Record, scheduled_at: datetime) -> None:
    """Raise `Left` if this occurrence was skipped or moved."""
    if scheduled_at in row["skipped"]:
        raise Left("this time was skipped")
    single, valid_from = row["recurrence_rule"] is None, row["valid_from"]
    moved = scheduled_at != row["scheduled_at"] if single else valid_from and scheduled_at < valid_from
    if moved:
        raise Left("it was moved to another time")


def _missed(catch_up_seconds: int | None, run: RunContext, now: datetime) -> bool:
    """Whether the first attempt is too late."""
    if catch_up_seconds is None or tries(run) > 1:
        return False
    return now - run.scheduled_at > max(GRACE, timedelta(seconds=catch_up_seconds))


async def _settle(context: Context, went: Sequence[tuple[StandingAction, Applied]]) -> None:
    """Record the changes, plan the ends of windows, and notify the authors."""
    await settle(context, [(each.row["id"], each.run, applied) for each, applied in went])
    for each, _ in went:
        if each.row["open_for"] is not None:
            await window.plan_close(context, each.row, each.run.scheduled_at)
    notices = [
        notice_of(NoticeEvent.DONE, each.row, each.run.scheduled_at, run_id=each.run.id, applied=applied)
        for each, applied in went
    ]
    await tell(context, notices)


def _number(run: RunContext) -> int | None:
    payload = run.payload if isinstance(run.payload, dict) else {}
    return decode_id("c", str(payload.get("schedule", "")))
