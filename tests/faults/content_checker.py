"""Holds what became of content, in PostgreSQL and at a site that counts effects, against what was planned.

`check_content` is pure: it is given a `ContentLedger` and says what is lost, doubled, early or out of order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

AFTER = {"publish": "published", "unpublish": "unpublished"}


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """An action that has to change its entity once."""

    schedule: int
    entity: str
    action: str
    at: datetime


@dataclass(frozen=True, slots=True)
class MadeChange:
    """What the database says was done, or what a site did: then `schedule` is not known."""

    entity: str
    action: str
    at: datetime
    schedule: int | None = None


@dataclass(frozen=True, slots=True)
class WindowSeries:
    """A window that is opened again and again: a time of it may be left out only if it was over."""

    schedule: int
    entity: str
    times: int
    opened: int
    skipped: int


@dataclass(slots=True)
class ContentLedger:
    planned: list[PlannedChange]
    changes: list[MadeChange]  # in the order in which they were recorded
    effects: list[MadeChange]  # those of the site, in their order
    states: dict[str, str]  # how each entity is at the end, where it lives
    elsewhere: set[str] = field(default_factory=set)  # entities of the site
    windows: list[WindowSeries] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # what has not ended


Findings = dict[str, list[str]]


def check_content(ledger: ContentLedger) -> Findings:
    found: Findings = defaultdict(list)
    found["unfinished"] += ledger.left
    series = {window.entity: window for window in ledger.windows}
    single = [change for change in ledger.changes if change.entity not in series]
    _records(ledger.planned, single, found)
    by_entity: dict[str, list[PlannedChange]] = defaultdict(list)
    for plan in sorted(ledger.planned, key=lambda plan: (plan.at, plan.schedule)):
        by_entity[plan.entity].append(plan)
    for entity, plans in by_entity.items():
        own = [change for change in single if change.entity == entity]
        _sequence(f"the record of {entity}", plans, own, found)
        if entity in ledger.elsewhere:
            done = [effect for effect in ledger.effects if effect.entity == entity]
            _sequence(f"the site's {entity}", plans, done, found)
        _end(entity, AFTER[plans[-1].action], ledger.states, found)
    for window in ledger.windows:
        _window(window, ledger, found)
    return {name: texts for name, texts in found.items() if texts}


def _records(planned: Sequence[PlannedChange], changes: Sequence[MadeChange], found: Findings) -> None:
    """Each action has made its change once, and not before its time."""
    times = Counter(change.schedule for change in changes)
    by_number = {plan.schedule: plan for plan in planned}
    for number, plan in by_number.items():
        if times[number] != 1:
            kind = "doubled" if times[number] else "lost"
            found[kind].append(f"{plan.action} of {plan.entity} at {plan.at}: {times[number]} changes")
    for change in changes:
        own = by_number.get(change.schedule or 0)
        if own is None:
            found["doubled"].append(f"{change.action} of {change.entity} at {change.at} was not planned")
        elif change.at < own.at:
            found["early"].append(f"{own.action} of {own.entity} planned for {own.at}, done {change.at}")


def _sequence(what: str, plans: Sequence[PlannedChange], made: Sequence[MadeChange], found: Findings) -> None:
    wanted, done = [plan.action for plan in plans], [change.action for change in made]
    if len(done) != len(wanted):
        kind = "doubled" if len(done) > len(wanted) else "lost"
        found[kind].append(f"{what} has {len(done)} changes, {len(wanted)} were planned")
    elif done != wanted:
        found["out of order"].append(f"{what}: {done}")
    for plan, change in zip(plans, made, strict=False):
        if change.at < plan.at:
            found["early"].append(f"{what}: {plan.action} planned for {plan.at}, done {change.at}")


def _window(window: WindowSeries, ledger: ContentLedger, found: Findings) -> None:
    """Every time was opened or left out, and each that was opened is closed before the next."""
    if window.opened + window.skipped != window.times:
        told = f"{window.opened} opened and {window.skipped} left out of {window.times}"
        found["lost"].append(f"the windows of {window.entity}: {told}")
    lists = [("the record of", ledger.changes)]
    if window.entity in ledger.elsewhere:
        lists.append(("the site's", ledger.effects))
    for name, changes in lists:
        done = [change.action for change in changes if change.entity == window.entity]
        if done != ["publish", "unpublish"] * (len(done) // 2):
            found["out of order"].append(f"{name} {window.entity}: {done}")
        if len(done) != 2 * window.opened:
            kind = "doubled" if len(done) > 2 * window.opened else "lost"
            found[kind].append(f"{name} {window.entity} has {len(done)} changes of {window.opened} windows")
    if window.opened:
        _end(window.entity, "unpublished", ledger.states, found)


def _end(entity: str, wanted: str, states: dict[str, str], found: Findings) -> None:
    if states.get(entity) != wanted:
        found["lost"].append(f"{entity} is {states.get(entity)}, and should be {wanted}")
