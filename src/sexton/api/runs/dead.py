"""Dead letters over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from sexton.api import examples
from sexton.api.operation import Answer, Call, operation
from sexton.api.runs import routes
from sexton.api.runs.routes import (
    DeadFilter,
    DeadQuery,
    DeadTarget,
    GroupsQuery,
    RedriveOneRequest,
    RedriveRequest,
)
from sexton.errors import InvalidField
from sexton.jobs.change import find
from sexton.postgres.estimate import Total
from sexton.refusal import aware
from sexton.runs import dead_letters as ledger
from sexton.runs import redrive as commands
from sexton.runs.dead_letter_target import dead_letter_target, set_dead_letter_target
from sexton.runs.read import run_number
from sexton.runs.view import DeadGroup, DeadLetter
from sexton.targets.table import check_dead_letter_target


class RedriveAnswer(msgspec.Struct, frozen=True):
    """The new run."""

    run_id: Annotated[str, Meta(description="The new run; it keeps the idempotency key of the dead one.")]
    parent_run: Annotated[str, Meta(description="The dead run.")]


class Redriven(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many letters were run again; of a dry run, how many would be."""

    redriven: Annotated[int | None, Meta(description="How many.")] = None
    matched: Annotated[int | None, Meta(description="In a dry run: how many match.")] = None
    estimated: Annotated[bool, Meta(description="True if that is an estimate.")] = False
    sample: Annotated[list[DeadLetter], Meta(description="In a dry run: some of them.")] = field(
        default_factory=list
    )


class Discarded(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many letters were discarded; of a dry run, how many would be."""

    discarded: Annotated[int | None, Meta(description="How many.")] = None
    matched: Annotated[int | None, Meta(description="In a dry run: how many match.")] = None
    estimated: Annotated[bool, Meta(description="True if that is an estimate.")] = False
    sample: Annotated[list[DeadLetter], Meta(description="In a dry run: some of them.")] = field(
        default_factory=list
    )


@operation(
    routes.LIST_DEAD, shared=True, renewed_by=("dead",), answer=list[DeadLetter], lists=True,
    answer_example=[examples.DEAD],
)  # fmt: skip
async def list_dead(call: Call) -> Answer:
    """Runs that used up their attempts, failed for good, or crashed their workers; the latest first, or the
    oldest with `sort=died_at`."""
    query = call.query(DeadQuery)
    page = await ledger.list_dead(
        call.reading,
        job=await _job(call, query.job),
        group=query.error_group,
        reason=query.reason,
        sort=query.sort,
        cursor=query.cursor,
        limit=query.limit,
    )
    if query.cursor is not None:
        return call.paged(page)
    found = await commands.count_matching(
        call.reading, job=query.job, error_group=query.error_group, reason=query.reason
    )
    return call.paged(page, Total(found.matched, found.estimated).headers())


@operation(
    routes.LIST_DEAD_GROUPS, shared=True, renewed_by=("dead",), lists=True, answer=list[DeadGroup],
    answer_example=[examples.DEAD_GROUP],
)  # fmt: skip
async def list_dead_groups(call: Call) -> Answer:
    """One row per cause, the one with the most letters first."""
    query = call.query(GroupsQuery)
    return Answer(await ledger.list_groups(call.reading, job=await _job(call, query.job), limit=query.limit))


@operation(
    routes.GET_DEAD_TARGET, answer=DeadTarget,
    answer_example={"target": {"http": {"url": "https://ops.example/dead"}}},
)  # fmt: skip
async def get_dead_target(call: Call) -> Answer:
    """The target that also receives every dead letter of jobs without a `dead_letter_target` of their own."""
    return Answer(DeadTarget(await dead_letter_target(call.context)))


@operation(
    routes.SET_DEAD_TARGET, answer=DeadTarget,
    example={"target": {"http": {"url": "https://ops.example/dead"}}},
    answer_example={"target": {"http": {"url": "https://ops.example/dead"}}},
)  # fmt: skip
async def set_dead_target(call: Call) -> Answer:
    """An http or message target, or null for none. It receives the letters of runs that die from now on, at
    least once each; the letters also stay here."""
    wish = call.json(DeadTarget)
    target = None if wish.target is None else check_dead_letter_target(wish.target, "target").to_json()
    await set_dead_letter_target(call.context, target)
    return Answer(DeadTarget(target))


@operation(routes.GET_DEAD, answer=DeadLetter, answer_example=examples.DEAD_DETAIL)
async def get_dead(call: Call) -> Answer:
    """One dead letter with its payload and all attempts."""
    return Answer(await ledger.get_dead(call.context, run_number(call.path("run"))))


@operation(
    routes.REDRIVE_DEAD, status=201, answer=RedriveAnswer, example={"payload": {"report": "weekly"}},
    answer_example={"run_id": "r_9hk7", "parent_run": "r_9hk2"},
)  # fmt: skip
async def redrive_dead(call: Call) -> Answer:
    """Makes a new run with all its attempts and the same idempotency key, with the same payload unless
    another is given. The letter is removed."""
    wish = call.json(RedriveOneRequest, optional=True)
    run = call.path("run")
    run_number(run)
    new = await commands.redrive(call.context, run, payload=wish.payload)
    return Answer({"run_id": new, "parent_run": run}, headers={"Location": f"/api/v1/runs/{new}"})


@operation(routes.DISCARD_DEAD, status=204)
async def discard_dead(call: Call) -> Answer:
    """Removes the letter. The run stays in the history, as dead."""
    run = call.path("run")
    run_number(run)
    await commands.discard(call.context, run)
    return Answer()


@operation(
    routes.REDRIVE_MANY, answer=Redriven, example={"error_group": "ConnectionError: …", "rate": 50},
    answer_example={"redriven": 1200},
)  # fmt: skip
async def redrive_many(call: Call) -> Answer:
    """All letters that match. `rate` spreads the runs, so that a service that has recovered is not flooded.
    `dry_run` counts them; with `expected`, the request is refused if more match."""
    wish = call.json(RedriveRequest)
    if wish.dry_run:
        return await _counted(call, wish)
    count = await commands.redrive_many(call.context, **_filter(wish), rate=wish.rate, expected=wish.expected)
    return Answer({"redriven": count})


@operation(
    routes.DISCARD_MANY, answer=Discarded, example={"job": "send-weekly-report"},
    answer_example={"discarded": 12},
)  # fmt: skip
async def discard_many(call: Call) -> Answer:
    """All letters that match. `dry_run` counts them; with `expected`, the request is refused if more
    match."""
    wish = call.json(DeadFilter)
    if wish.dry_run:
        return await _counted(call, wish)
    count = await commands.discard_many(call.context, **_filter(wish), expected=wish.expected)
    return Answer({"discarded": count})


async def _counted(call: Call, wish: DeadFilter) -> Answer:
    found = await commands.count_matching(call.context, **_filter(wish))
    return Answer({"matched": found.matched, "estimated": found.estimated, "sample": found.sample})


def _filter(wish: DeadFilter) -> dict[str, Any]:
    """The filter of the request. An empty filter must not mean all letters by accident."""
    chosen = {
        "job": wish.job,
        "error_group": wish.error_group,
        "reason": wish.reason,
        "before": None if wish.before is None else aware(wish.before, "before"),
    }
    if all(each is None for each in chosen.values()) != wish.all:
        raise InvalidField(
            "bad_filter",
            "a filter and `all` contradict each other" if wish.all else "no filter is given",
            field="all",
            hint='give job, error_group, reason or before; or {"all": true} for every one',
        )
    return chosen


async def _job(call: Call, ref: str | None) -> int | None:
    return None if ref is None else await find(call.context, ref)
