"""Random stories on the real engine: the oracle knows the state that every entity must have at every minute.

Plans of all kinds, edits, outages and crashes at the named points, across both clock changes of a year.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sexton import Sexton
from sexton.content import schedule, window
from sexton.content.entity import get_entity, put_entity
from sexton.content.model import Action, Entity, OnFailure
from sexton.content.releases import release
from sexton.content.spec import (
    EntitySpec,
    ReleaseItemSpec,
    ReleaseMove,
    ReleaseSpec,
    ScheduleMove,
    ScheduleSpec,
    WindowSpec,
)
from sexton.engine import crash
from sexton.errors import LeaseLost
from sexton.postgres.transaction import Context
from sexton.testing import engine as start_engine
from tests.content.oracle import HALF, Edit, Oracle, Outage, Plan

STARTS = [datetime(2027, 3, 27, 12, tzinfo=UTC), datetime(2027, 10, 30, 12, tzinfo=UTC)]
ENTITIES = 3
HOURS = 60
MINUTE = timedelta(minutes=1)
ACTIONS = st.sampled_from(["publish", "publish", "unpublish", "unpublish", "archive"])
# Often at the same few times, so that plans meet.
MINUTES = st.one_of(st.integers(1, 20).map(lambda each: each * 150), st.integers(5, HOURS * 60 - 5))
ENTITY = st.integers(0, ENTITIES - 1)


@st.composite
def plans(draw: st.DrawFn, start: datetime) -> Plan:
    kind = draw(st.sampled_from(["single", "single", "series", "window", "windows", "release"]))
    at = start + draw(MINUTES) * MINUTE
    approved = draw(st.sampled_from([True, True, True, False]))
    if kind == "release":
        entities = tuple(range(draw(st.integers(1, ENTITIES))))
        actions = tuple(draw(ACTIONS) for _ in entities)
        failing = draw(st.sampled_from(["undo", "stop", "continue"]))
        return Plan(kind, entities, actions, at, approved, on_failure=failing)
    entity = (draw(ENTITY),)
    if kind in ("window", "windows"):
        times, hours = draw(st.integers(1, 3)), draw(st.integers(1, 10))
        return Plan(kind, entity, ("publish",), at, approved, times=times, hours=hours)
    catch_up = draw(st.sampled_from([3600, 86_400]))
    return Plan(kind, entity, (draw(ACTIONS),), at, approved, catch_up, times=draw(st.integers(1, 3)))


@st.composite
def stories(draw: st.DrawFn) -> tuple[datetime, list[Plan], list[Edit | Outage], set[int]]:
    start = draw(st.sampled_from(STARTS))
    made = draw(st.lists(plans(start), min_size=2, max_size=8))
    events: list[Edit | Outage] = []
    for _ in range(draw(st.integers(0, 4))):
        at = start + draw(st.integers(1, HOURS * 60 - 10)) * MINUTE + HALF
        what = draw(st.sampled_from(["cancel", "move", "skip"]))
        to = at - HALF + draw(st.integers(2, 600)) * MINUTE
        events.append(Edit(what, draw(st.integers(0, len(made) - 1)), at, to))
    if draw(st.booleans()):
        at = start + draw(st.integers(1, HOURS * 40)) * MINUTE + HALF
        outage = Outage(at, at + draw(st.integers(10, 1100)) * MINUTE)
        events = [each for each in events if not outage.start <= _when(each) <= outage.end]
        events.append(outage)
    crashes = draw(st.sets(st.integers(1, 12), max_size=4))
    return start, made, sorted(events, key=_when), crashes


def _when(event: Edit | Outage) -> datetime:
    return event.at if isinstance(event, Edit) else event.start


async def plan(context: Context, each: Plan) -> str:
    """Make it; its reference."""
    named: dict[str, Any] = {
        "created_by": "ann", "needs_approval": True, "force": True, "timezone": "Europe/Berlin",
    }  # fmt: skip
    if each.kind == "release":
        items = [
            ReleaseItemSpec(entity_type="post", entity_id=entity, action=Action(action))
            for entity, action in zip(each.entities, each.actions, strict=True)
        ]
        made = await release.create_release(
            context, ReleaseSpec(items=items, at=each.at, on_failure=OnFailure(each.on_failure), **named)
        )
        if each.approved:
            await release.approve_release(context, made.release_id, by="eve")
        return made.release_id
    named |= {"entity_type": "post", "entity_id": each.entities[0]}
    rule = f"FREQ=DAILY;COUNT={each.times}"
    if each.kind in ("window", "windows"):
        ends = each.end(each.at)
        opened = await window.create_window(
            context,
            WindowSpec(
                starts=each.at.isoformat(),
                ends=ends.isoformat(),
                recurrence_rule=rule if each.kind == "windows" else None,
                **named,
            ),
        )
        ref = opened.window_id
    else:
        single = await schedule.create_schedule(
            context,
            ScheduleSpec(
                action=Action(each.actions[0]),
                at=each.at,
                catch_up_seconds=each.catch_up,
                recurrence_rule=rule if each.kind == "series" else None,
                **named,
            ),
        )
        ref = single.schedule_id
    if each.approved:
        await schedule.approve(context, ref, by="eve")
    return ref


async def change(context: Context, edit: Edit, ref: str, kind: str) -> None:
    if edit.what == "cancel":
        await (release.cancel_release if kind == "release" else schedule.cancel)(context, ref)
    elif edit.what == "skip":
        await schedule.skip_next(context, ref)
    elif kind == "release":
        await release.reschedule_release(context, ref, ReleaseMove(at=edit.to, force=True))
    else:
        await schedule.reschedule(context, ref, ScheduleMove(at=edit.to, force=True))


def to_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


async def tell(
    server_url: str, start: datetime, made: list[Plan], events: list[Edit | Outage]
) -> tuple[list[Any], list[Any]]:
    """What happened, and what had to happen: when which entity came into which state."""
    oracle = Oracle(made)
    async with start_engine(Sexton(name="cms"), at=start, server=server_url) as engine:
        context = Context(engine.database, actor="tester")
        for entity in range(ENTITIES):
            await put_entity(context, Entity("post", str(entity)), EntitySpec(body={}))
        refs = [await plan(context, each) for each in made]

        async def pass_time(to: datetime) -> None:
            await engine.advance(to=to)
            while (at := oracle.next()) is not None and at <= to:
                oracle.happen(at)

        for event in events:
            await pass_time(_when(event))
            if isinstance(event, Outage):
                await engine.outage(seconds=(event.end - event.start).total_seconds())
                oracle.happen(event.end)
            elif oracle.edit(event):
                await change(context, event, refs[event.plan], made[event.plan].kind)
        await pass_time(max(engine.now, start + timedelta(hours=HOURS)) + timedelta(days=4))
        happened = [
            (to_minute(each.at), entity, each.state_after)
            for entity in range(ENTITIES)
            for each in reversed((await get_entity(context, Entity("post", str(entity)))).history)
        ]
    wanted = [
        (to_minute(at), entity, state)
        for place in range(ENTITIES)
        for at, entity, state in oracle.changes
        if entity == place
    ]
    return happened, wanted


@settings(
    max_examples=6,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(story=stories())
def test_every_entity_is_at_every_minute_what_it_must_be(
    server_url: str,
    monkeypatch: pytest.MonkeyPatch,
    story: tuple[datetime, list[Plan], list[Edit | Outage], set[int]],
) -> None:
    start, made, events, crashes = story
    passed = 0

    def die(name: str) -> None:
        """The worker that comes by for the n-th time dies: its runs are given back."""
        nonlocal passed
        passed += name.startswith("step.")
        if name.startswith("step.") and passed in crashes:
            raise LeaseLost("r_1")

    monkeypatch.setattr(crash, "point", die)
    happened, wanted = asyncio.run(tell(server_url, start, made, events))
    assert happened == wanted
