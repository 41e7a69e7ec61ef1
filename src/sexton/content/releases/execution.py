"""Carries out releases, and checks them before their time.

With an adapter that writes to PostgreSQL, one transaction contains all items, their records and the end of
the run: with `on_failure: undo` all items are carried out or none. With another adapter items are carried out
one after another. Each step is recorded before and after it, so that a repeated run continues where the one
before stopped. The key of an item is the same for every attempt. When an item has failed for good, the
release is marked as failed before anything is undone: from then on no further item is carried out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import asyncpg

from sexton.content.adapters.base import Adapter, NotNow, NotPossible
from sexton.content.effect import own_effect, settle
from sexton.content.model import (
    ACTOR,
    GRACE,
    MISSED,
    RELEASE,
    WAIT_SECONDS,
    Action,
    Applied,
    ContentChange,
    Entity,
    EntityState,
    Left,
    NoticeEvent,
    NotYet,
    OnFailure,
    Standing,
)
from sexton.content.notice import release_notice, tell
from sexton.content.reach import own_database
from sexton.content.releases.preflight import ask_adapter, find_faults, keep_findings
from sexton.content.together import apply_all
from sexton.engine import crash
from sexton.errors import LeaseLost
from sexton.model import Cancel, Failure, Outcome, Snooze, Success, Trigger, decode_id
from sexton.postgres.database import Database
from sexton.postgres.transaction import Context
from sexton.runs.retry import tries
from sexton.targets.run import RunContext, describe

Mask = Callable[[str], str]

# A failed undo is retried after UNDO_AGAIN_SECONDS, for at most LONGEST_UNDO.
UNDO_AGAIN_SECONDS = 60.0
LONGEST_UNDO = timedelta(hours=1)
#: The action that brings an entity back to a state.
BACK = {
    EntityState.PUBLISHED: Action.PUBLISH,
    EntityState.UNPUBLISHED: Action.UNPUBLISH,
    EntityState.DRAFT: Action.UNPUBLISH,
    EntityState.ARCHIVED: Action.ARCHIVE,
}


class _Over(Exception):
    """This run has already carried out the release; only its end was not recorded."""


class _Broken(Exception):
    """An item of an all-or-nothing release has failed."""


async def carry_out(database: Database, adapter: Adapter, run: RunContext, mask: Mask) -> Outcome:
    """Carry out the release of a run. `mask` hides secrets in messages of the adapter."""
    context = Context(database, actor=ACTOR)
    try:
        if adapter.transactional:
            with own_database():
                return await _inside(context, adapter, run)
        return await _Outside(context, adapter, run, mask).carry_out()
    except _Over:
        return Success()
    except NotYet:
        return Snooze(WAIT_SECONDS)
    except Left as why:
        if str(why) == MISSED:
            await _tell_missed(context, run)
        return Cancel(str(why))


async def check_before_time(database: Database, adapter: Adapter, run: RunContext, mask: Mask) -> Outcome:
    """Check a release before its time, and notify its author of problems while they can be fixed."""
    try:
        async with database.transaction() as connection:
            row = await lock_of_run(Context(database, actor=ACTOR, connection=connection), run, "check")
    except Left as why:
        return Cancel(str(why))
    context = Context(database, namespace=row["namespace"], actor=ACTOR)
    if row["cancelled_at"] is not None or row["done_at"] is not None or row["failed_at"] is not None:
        return Cancel("the release is over")
    items = await context.fetch("content/list_items", release_id=row["id"])
    findings = await ask_adapter(context, adapter, row, items, mask)
    async with database.connection() as connection:
        findings += await find_faults(replace(context, connection=connection), row, items)
    async with database.transaction() as connection:
        await keep_findings(replace(context, connection=connection), row, findings, told=True)
    return Success({"findings": len(findings)})


async def lock_of_run(context: Context, run: RunContext, word: str) -> asyncpg.Record:
    payload = run.payload if isinstance(run.payload, dict) else {}
    number = decode_id(RELEASE, str(payload.get(word, "")))
    row = number is not None and await context.fetchrow(
        "content/lock_release_of_run", release_id=number, job_id=run.job
    )
    if not row or (word == "check") != (run.job == row["check_job_id"]):
        raise Left("the release is no longer planned")
    return row


async def _stand(context: Context, run: RunContext) -> asyncpg.Record:
    """Lock the release of a run. Raises `Left` if it must not be carried out, `NotYet` if an earlier action
    on one of its entities has not ended."""
    row = await lock_of_run(context, run, "release")
    if row["cancelled_at"] is not None:
        raise Left(f"it was cancelled by {row['cancelled_by']}")
    if row["done_at"] is not None:
        if row["begun_run"] == run.id:
            raise _Over
        raise Left("it was already carried out")
    if row["failed_at"] is not None:
        return row
    if run.trigger != Trigger.MANUAL and run.scheduled_at != row["scheduled_at"]:
        raise Left("it was moved to another time")
    if await context.fetchval(
        "content/find_before_items",
        release_id=row["id"],
        namespace=row["namespace"],
        at=row["scheduled_at"],
    ):
        raise NotYet
    late = row["now"] - run.scheduled_at
    again = tries(run) > 1 or row["begun_run"] == run.id
    if not again and late > max(GRACE, timedelta(seconds=row["catch_up_seconds"])):
        raise Left(MISSED)
    if row["needs_approval"] and row["approved_at"] is None:
        raise Left("it was not approved")
    return row


async def _tell_missed(context: Context, run: RunContext) -> None:
    await _tell_alone(context, run, NoticeEvent.MISSED, MISSED)


async def tell_failed(database: Database, run: RunContext, why: str) -> None:
    """Notify the author of a release whose last attempt was stopped before it recorded its items."""
    with suppress(Left):
        await _tell_alone(Context(database, actor=ACTOR), run, NoticeEvent.FAILED, why)


async def _tell_alone(context: Context, run: RunContext, event: NoticeEvent, error: str) -> None:
    async with context.database.transaction() as connection:
        row = await lock_of_run(replace(context, connection=connection), run, "release")
        own = replace(context, connection=connection, namespace=row["namespace"])
        if row["cancelled_at"] is None and row["done_at"] is None:
            await _tell_once(own, row, event, error=error)


async def _tell_once(context: Context, row: asyncpg.Record, event: NoticeEvent, **more: Any) -> None:
    if await context.fetchval("content/tell_release_once", release_id=row["id"], at=row["scheduled_at"]):
        await tell(context, [release_notice(event, row, **more)])


def _change(row: asyncpg.Record, run: RunContext) -> ContentChange:
    return ContentChange.of(row, f"{run.idempotency_key}:{row['id']}", run.scheduled_at)


# In PostgreSQL: one transaction.


async def _inside(context: Context, adapter: Adapter, run: RunContext) -> Outcome:
    done: dict[RunContext, Any] = {}
    account: list[ReleasedItem] = []
    try:
        async with run.shared_transaction(done) as connection:
            context = replace(context, connection=connection)
            row = await _stand(context, run)
            context = replace(context, namespace=row["namespace"])
            if row["failed_at"] is not None:
                return Failure(row["error"] or "", permanent=True)
            items = await context.fetch("content/lock_items", release_id=row["id"])
            items.sort(key=lambda item: item["place"])
            account = await _apply_inside(context, adapter, run, row, items)
            error = _error(account)
            if error is not None and row["on_failure"] == OnFailure.UNDO:
                raise _Broken(error)
            await note_items(context, run, account)
            await _end(context, run, row, account)
            if error is None:
                done[run] = _summary(account)
            crash.point("step.acted")
        crash.point("step.noted")
    except _Broken as why:
        # No item was carried out; the records say why.
        kept = [
            replace(item, result="failed" if item.result == "failed" else "skipped", applied=None)
            for item in account
        ]
        async with context.database.transaction() as connection:
            context = replace(context, connection=connection)
            row = await _stand(context, run)
            if row["failed_at"] is None:
                await note_items(context, run, kept)
                await _end(context, run, row, kept)
        return Failure(str(why), permanent=True)
    return Success(done[run]) if run in done else Failure(error or "", permanent=True)


async def _apply_inside(
    context: Context, adapter: Adapter, run: RunContext, row: asyncpg.Record, items: Sequence[asyncpg.Record]
) -> list[ReleasedItem]:
    changes = [_change(item, run) for item in items]
    if not changes:
        return []
    savepoint = context.open.transaction()
    await savepoint.start()
    made = await apply_all(adapter, context, changes)
    broken = [place for place, each in enumerate(made) if isinstance(each, NotPossible)]
    if not broken or row["on_failure"] != OnFailure.STOP:
        await savepoint.commit()
        return [ReleasedItem.of(item, each) for item, each in zip(items, made, strict=True)]
    await savepoint.rollback()
    first = broken[0]
    before = await apply_all(adapter, context, changes[:first]) if first else []
    account = [ReleasedItem.of(item, each) for item, each in zip(items[:first], before, strict=True)]
    account.append(ReleasedItem.of(items[first], made[first]))
    return [
        *account,
        *(ReleasedItem(item, "skipped", "an item before it failed") for item in items[first + 1 :]),
    ]


@dataclass(frozen=True, slots=True)
class ReleasedItem:
    """The result of an item."""

    row: asyncpg.Record
    result: str
    error: str | None = None
    applied: Applied | None = None

    @classmethod
    def of(cls, row: asyncpg.Record, made: Applied | NotPossible) -> ReleasedItem:
        if isinstance(made, NotPossible):
            return cls(row, "failed", str(made))
        return cls(row, made.effect, None, made)


def _error(account: Sequence[ReleasedItem]) -> str | None:
    """The error of a release that failed."""
    failed = [item for item in account if item.result == "failed"]
    if not failed:
        return None
    return f"{len(failed)} of {len(account)} items failed: {failed[0].error}"


def _summary(account: Sequence[ReleasedItem]) -> dict[str, int]:
    return {result: sum(item.result == result for item in account) for result in ("changed", "no_op")}


async def note_items(context: Context, run: RunContext, account: Sequence[ReleasedItem]) -> None:
    """Record the results of items."""
    await settle(
        context, [(item.row["id"], run, item.applied) for item in account if item.applied is not None]
    )
    await context.execute(
        "content/set_results",
        schedules=[item.row["id"] for item in account],
        results=[item.result for item in account],
        errors=[item.error for item in account],
        states_before=[item.applied and item.applied.state_before for item in account],
        versions_before=[None for _ in account],
    )


async def _end(
    context: Context, run: RunContext, row: asyncpg.Record, account: Sequence[ReleasedItem]
) -> None:
    """Record the end of the release, and notify its author."""
    error = _error(account) or row["error"]
    await context.execute(
        "content/end_release", release_id=row["id"], failed=error is not None, error=error, run_id=run.id
    )
    if error is None:
        await tell(context, [release_notice(NoticeEvent.DONE, row, items=len(account))])
    else:
        await _tell_once(context, row, NoticeEvent.FAILED, error=error, items=_told(account))


def _told(account: Sequence[ReleasedItem]) -> list[dict[str, Any]]:
    return [
        {
            "content_id": str(Entity.of(item.row)),
            "action": item.row["action"],
            "result": item.result,
            "error": item.error,
        }
        for item in account
    ]


# Elsewhere: one after another.


class _Outside:
    """Carries out a release whose items are outside of PostgreSQL."""

    def __init__(self, context: Context, adapter: Adapter, run: RunContext, mask: Mask) -> None:
        self._context = context
        self._adapter = adapter
        self._run = run
        self._mask = mask

    async def carry_out(self) -> Outcome:
        async with self._writing() as context:
            self._row = row = await _stand(context, self._run)
            self._context = replace(self._context, namespace=row["namespace"])
            own = replace(context, namespace=row["namespace"])
            await own.execute("content/begin_release", release_id=row["id"], run_id=self._run.id)
        items = await self._items()
        broken = row["failed_at"] is not None
        for item in items:
            failed = item["result"] == "failed"
            if item["result"] is None and not broken:
                failed = await self._do(item)
            broken = broken or (failed and row["on_failure"] != OnFailure.CONTINUE)
        if broken:
            await self._break_off()
            if row["on_failure"] == OnFailure.UNDO and not await self._undo():
                return Snooze(UNDO_AGAIN_SECONDS)
        account = [
            ReleasedItem(item, item["result"] or "skipped", item["error"]) for item in await self._items()
        ]
        async with self._writing() as context:
            await _end(context, self._run, row, account)
        error = _error(account) or row["error"]
        return Success(_summary(account)) if error is None else Failure(error, permanent=True)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[Context]:
        """A transaction in Sexton's database."""
        with own_database():
            async with self._context.database.transaction() as connection:
                yield replace(self._context, connection=connection)

    async def _items(self) -> list[asyncpg.Record]:
        with own_database():
            return await self._context.fetch("content/list_items", release_id=self._row["id"])

    async def _do(self, item: asyncpg.Record) -> bool:
        """Carry out an item. Returns whether it failed for good; raises if a retry may succeed."""
        change = _change(item, self._run)
        try:
            before = (await self._adapter.state(self._context, [change.entity])).get(change.entity)
            await self._begin(item, before)
            crash.point("step.begun")
            applied = await self._adapter.apply(self._context, change)
            if item["begun_at"] is not None:
                applied = own_effect(applied, item["state_before"], item["version_before"])
            made: Applied | NotPossible = applied
        except NotPossible as why:
            made = NotPossible(self._mask(str(why)))
        except (NotNow, LeaseLost):
            raise
        except Exception as error:
            if tries(self._run) <= self._run.policy.max_retries:
                raise
            made = NotPossible(self._mask(describe(error).partition("\n")[0]))
        crash.point("step.acted")
        async with self._writing() as context:
            await note_items(context, self._run, [ReleasedItem.of(item, made)])
        crash.point("step.noted")
        return isinstance(made, NotPossible)

    async def _begin(self, item: asyncpg.Record, before: Standing | None) -> None:
        with own_database():
            await self._context.execute(
                "content/begin_item",
                schedule_id=item["id"],
                scheduled_at=self._run.scheduled_at,
                run_id=self._run.id,
                state_before=None if before is None else before.state.value,
                version_before=None if before is None else before.published_version,
            )

    async def _break_off(self) -> None:
        """Mark the release as failed and its open items as skipped."""
        items = await self._items()
        left = [
            ReleasedItem(item, "skipped", "another item failed") for item in items if item["result"] is None
        ]
        failed = [
            ReleasedItem(item, item["result"], item["error"]) for item in items if item["result"] == "failed"
        ]
        async with self._writing() as context:
            await note_items(context, self._run, left)
            await context.execute(
                "content/end_release",
                release_id=self._row["id"],
                failed=True,
                error=_error([*failed, *left]) or self._row["error"],
                run_id=self._run.id,
            )

    async def _undo(self) -> bool:
        """Undo the items that were carried out, the latest first. Returns False if a retry is needed."""
        over = self._row["failed_at"] is not None and self._row["now"] - self._row["failed_at"] > LONGEST_UNDO
        for item in reversed(await self._items()):
            if item["result"] != "changed":
                continue
            try:
                await self._bring_back(item)
            except NotPossible as why:
                await self._not_undone(item, str(why))
            except LeaseLost:
                raise
            except Exception as error:
                if not over or isinstance(error, NotNow):
                    return False
                await self._not_undone(item, describe(error).partition("\n")[0])
            crash.point("step.noted")
        return True

    async def _bring_back(self, item: asyncpg.Record) -> None:
        if item["state_before"] is None:
            raise NotPossible("the state before is not known")
        change, action = _change(item, self._run), BACK[EntityState(item["state_before"])]
        version = item["version_before"] if action == Action.PUBLISH else None
        change = replace(change, action=action, version=version, key=f"{change.key}:undo")
        crash.point("step.begun")
        applied = await self._adapter.apply(self._context, change)
        crash.point("step.acted")
        async with self._writing() as context:
            await context.execute(
                "content/record_undo",
                schedule_id=item["id"],
                action=change.action.value,
                state_before=applied.state_before,
                state_after=applied.state_after,
                version=applied.version,
                run_id=self._run.id,
            )
            await note_items(
                context, self._run, [ReleasedItem(item, "undone", "undone: another item failed")]
            )

    async def _not_undone(self, item: asyncpg.Record, why: str) -> None:
        async with self._writing() as context:
            await note_items(
                context,
                self._run,
                [ReleasedItem(item, "not_undone", f"it could not be undone: {self._mask(why)}")],
            )
