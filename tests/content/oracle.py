"""What must become of a story: plans, edits, outages. The rules told a second time, plainly, without a
database. It says when each entity changes its state: that is its state at every minute.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")
AFTER = {"publish": "published", "unpublish": "unpublished", "archive": "archived"}
GRACE = timedelta(seconds=60)
HALF = timedelta(seconds=30)


@dataclass(frozen=True)
class Plan:
    """A single action, a series, a window, a series of windows, or a release."""

    kind: str
    entities: tuple[int, ...]
    actions: tuple[str, ...]
    at: datetime
    approved: bool = True
    catch_up: int = 86_400
    times: int = 1
    hours: int = 0
    on_failure: str = "undo"

    def occurrences(self) -> list[datetime]:
        if self.kind not in ("series", "windows"):
            return [self.at]
        local = self.at.astimezone(BERLIN).replace(tzinfo=None)
        return [instant(local + timedelta(days=day)) for day in range(self.times)]

    def end(self, opened: datetime) -> datetime:
        local = opened.astimezone(BERLIN).replace(tzinfo=None)
        return max(instant(local + timedelta(hours=self.hours)), opened + timedelta(seconds=1))


@dataclass(frozen=True)
class Edit:
    """Cancel, move or skip a plan, if it is still to come then."""

    what: str
    plan: int
    at: datetime
    to: datetime


@dataclass(frozen=True)
class Outage:
    start: datetime
    end: datetime


def instant(local: datetime) -> datetime:
    """The first instant that shows this time; in a gap, the end of the gap."""
    at = local.replace(tzinfo=BERLIN, fold=0).astimezone(UTC)
    if at.astimezone(BERLIN).replace(tzinfo=None) == local:
        return at
    hour = at.replace(minute=0)  # the clocks of this zone change at 01:00 UTC
    return hour if hour.astimezone(BERLIN).replace(tzinfo=None) > local else hour + timedelta(hours=1)


@dataclass
class Due:
    """An occurrence that is to come."""

    at: datetime
    order: tuple[int, int]
    plan: int
    closes: datetime | None = None  # when the window was opened that it closes


@dataclass
class Oracle:
    plans: list[Plan]
    coming: list[Due] = field(default_factory=list)
    states: dict[int, str] = field(default_factory=dict)
    changes: list[tuple[datetime, int, str]] = field(default_factory=list)
    opened: set[tuple[int, datetime]] = field(default_factory=set)
    later: int = 0

    def __post_init__(self) -> None:
        for number, plan in enumerate(self.plans):
            self.coming += [Due(at, (0, 2 * number), number) for at in plan.occurrences()]
            if plan.kind == "window":
                self.coming.append(Due(plan.end(plan.at), (0, 2 * number + 1), number, plan.at))

    def happen(self, now: datetime) -> None:
        """Carry out what is due, in the order of its time."""
        while due := [each for each in self.coming if each.at <= now]:
            first = min(due, key=lambda each: (each.at, each.order))
            self.coming.remove(first)
            self._carry_out(first, now)

    def next(self) -> datetime | None:
        return min((each.at for each in self.coming), default=None)

    def edit(self, edit: Edit) -> bool:
        """Whether it is still to come, and so is changed."""
        plan = self.plans[edit.plan]
        own = [each for each in self.coming if each.plan == edit.plan and each.closes is None]
        if not own:
            return False
        if edit.what == "cancel":
            gone = [each for each in self.coming if each.plan == edit.plan]
            if plan.kind == "windows":
                gone = own  # what is open is closed at its time
            self.coming = [each for each in self.coming if each not in gone]
        elif edit.what == "move":
            if plan.kind not in ("single", "release"):
                return False
            own[0].at = edit.to
        else:
            if plan.kind not in ("series", "windows"):
                return False
            self.coming.remove(min(own, key=lambda each: each.at))
        return True

    def _carry_out(self, due: Due, now: datetime) -> None:
        plan = self.plans[due.plan]
        if due.closes is not None:
            if (due.plan, due.closes) in self.opened:
                self._apply(now, plan.entities[0], "unpublish")
            return
        window = plan.kind in ("window", "windows")
        if window and self._end(plan, due) <= now:
            return
        if not window and now - due.at > max(GRACE, timedelta(seconds=plan.catch_up)):
            return
        if not plan.approved:
            return
        if plan.kind == "release":
            self._release(plan, now)
        elif self._apply(now, plan.entities[0], plan.actions[0]) and window:
            self.opened.add((due.plan, due.at))
            if plan.kind == "windows":
                self.later += 1
                self.coming.append(Due(plan.end(due.at), (1, self.later), due.plan, due.at))

    def _end(self, plan: Plan, due: Due) -> datetime:
        return plan.end(due.at)

    def _release(self, plan: Plan, now: datetime) -> None:
        before = (dict(self.states), list(self.changes))
        for entity, action in zip(plan.entities, plan.actions, strict=True):
            if not self._apply(now, entity, action):
                if plan.on_failure == "undo":
                    self.states, self.changes = before
                if plan.on_failure != "continue":
                    return

    def _apply(self, now: datetime, entity: int, action: str) -> bool:
        state, after = self.states.get(entity, "draft"), AFTER[action]
        if state == after:
            return True
        if state == "archived":
            return False
        self.states[entity] = after
        self.changes.append((now, entity, after))
        return True
