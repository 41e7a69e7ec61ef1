"""Time zones: the mapping between the clock on the wall and the instants of UTC.

A zone is a sequence of periods of constant offset. Where a period ends, the clock jumps. If it jumps forward,
some wall times do not exist (a gap); if it jumps back, some happen twice (a fold). `Mapping` walks a rule
through the periods and applies the declared policy at their ends; within a period it only subtracts.

    gap   after   the first instant after the gap            fold  first   only the first of the two
          shift   as far past the gap as it was into it            second  only the second
          skip    not at all                                       both    both

Zone data always comes from the tzdata wheel, never from the operating system, whose copy may be older on
one node than on another. Instants and wall times are whole seconds since 1970.
"""

from __future__ import annotations

import difflib
import hashlib
import heapq
import io
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple
from zoneinfo import ZoneInfo

import tzdata  # type: ignore[import-untyped]

from sexton.errors import ScheduleError
from sexton.schedules.tzfile import Changes, read_changes
from sexton.schedules.wall import DAY, LAST_WALL, Budget, Rule

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# What the next period costs.
PERIOD_STEPS = 8

# An offset in the place of a name. The names of fixed offsets have the opposite sign.
OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])([0-9]{1,2})(?::?([0-9]{2}))?", re.IGNORECASE)

# No two offsets of a zone are further apart than this.
WIDEST = 2 * DAY


class Gap(StrEnum):
    AFTER = "after"
    SHIFT = "shift"
    SKIP = "skip"


class Fold(StrEnum):
    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


class Change(StrEnum):
    """What a clock change did to a wall time."""

    MOVED = "moved"
    SKIPPED = "skipped"
    FIRST_OF_TWO = "first_of_two"
    SECOND_OF_TWO = "second_of_two"


class Hit(NamedTuple):
    """One wall time of a rule, placed on the line of instants."""

    at: int
    wall: int
    change: Change | None


class Period(NamedTuple):
    """Instants from `start` up to `end` share `offset`; `before` and `after` are the neighbours' offsets."""

    start: int
    end: int
    offset: int
    before: int
    after: int


class Zone:
    """One IANA zone. Get it with `zone(name)`."""

    def __init__(self, name: str, info: ZoneInfo, changes: Changes) -> None:
        self.name = name
        self.info = info
        self._changes = changes
        self._latest = Period(0, 0, 0, 0, 0)

    def period(self, at: int) -> Period:
        """The period that holds an instant."""
        latest = self._latest
        if latest.start <= at < latest.end:
            return latest
        instants, offsets = self._changes.around(at)
        place = bisect_right(instants, at)
        before, offset, after = offsets[place - 2 : place + 1]
        found = self._latest = Period(instants[place - 1], instants[place], offset, before, after)
        return found

    def first_instant(self, wall: int) -> int:
        """The first instant at which the clock on the wall shows `wall` or later."""
        period = self.period(wall - WIDEST)
        while period.end + period.offset <= wall:
            period = self.period(period.end)
        return max(period.start, wall - period.offset)

    def leaves(self, at: int, start: int, end: int) -> int:
        """When the clock leaves the wall times from `start` up to `end`; at the instant `at` it shows one of
        them."""
        period = self.period(at)
        if period.end + period.after < start:  # it goes back to before `start`
            return min(period.end, end - period.offset)
        return self.first_instant(end)

    def instants_of(self, wall: int) -> tuple[int, ...]:
        """The instants at which the clock shows exactly `wall`: none in a gap, two in a fold."""
        found = []
        period = self.period(wall - WIDEST)
        while period.start <= wall + WIDEST:
            if period.start <= wall - period.offset < period.end:
                found.append(wall - period.offset)
            period = self.period(period.end)
        return tuple(found)

    def gaps(self, first: int) -> Iterator[tuple[int, int]]:
        """The wall times from `first` on that the clock jumps over, as half-open ranges, in order."""
        period = self.period(first - WIDEST)
        while period.start < LAST_WALL:
            if period.before < period.offset and first < period.start + period.offset:
                yield max(period.start + period.before, first), period.start + period.offset
            period = self.period(period.end)

    def local(self, hit: Hit) -> datetime:
        """The nominal local time of a hit: in a gap, the one that does not exist."""
        naive = (EPOCH + timedelta(seconds=hit.wall)).replace(tzinfo=self.info)
        return naive.replace(fold=1) if hit.change is Change.SECOND_OF_TWO else naive

    def changes(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """The offset at `start`, and every clock change in a range: from when, and the offset from then."""
        period = self.period(start)
        changes = [(start, period.offset)]
        while period.start < end:
            if period.after != period.offset:
                changes.append((period.end, period.after))
            period = self.period(period.end)
        return tuple(changes)

    def fingerprint(self, start: int, end: int) -> str:
        """A hash of the clock changes in a range: it differs exactly where a new zone database does."""
        return hashlib.blake2b(repr(self.changes(start, end)).encode(), digest_size=16).hexdigest()


class RecordedZone(Zone):
    """A zone as another zone database describes it, from the changes that `Zone.changes` gave there. Before
    the first and after the last of them its offset does not change."""

    def __init__(self, name: str, changes: Sequence[Sequence[int]]) -> None:
        (_, first), *others = changes
        super().__init__(name, zone(name).info, Changes(first, [(at, offset) for at, offset in others]))


def zone_version() -> str:
    """The version of the zone database in use, such as 2026a: later ones sort after earlier ones."""
    return str(tzdata.IANA_VERSION)


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """The zone of that name, or an error that suggests one."""
    names = zone_names()
    if name not in names:
        hint = _suggest(name, names)
        raise ScheduleError("unknown_timezone", f"unknown time zone {name!r}", field="timezone", hint=hint)
    data = _file(name)
    return Zone(name, ZoneInfo.from_file(io.BytesIO(data), key=name), read_changes(data))


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("utf-8").split())


@cache
def _file(name: str) -> bytes:
    return resources.files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()


def load_zones() -> None:
    """Read the files of all zones, which takes some hundredths of a second. Later an upgrade may have
    replaced them under the running process."""
    for name in zone_names():
        _file(name)


def _suggest(name: str, names: frozenset[str]) -> str:
    if offset := OFFSET.fullmatch(name.strip()):
        hours, sign = int(offset[2]), "-" if offset[1] == "+" else "+"
        fixed = "UTC" if hours == 0 else f"Etc/GMT{sign}{hours}"
        if fixed not in names or int(offset[3] or 0):
            return "write the name of a place with that clock, such as Asia/Kolkata"
        return f"write {fixed} for this offset all year, or the name of a place, such as Europe/Berlin"
    wanted = name.strip().replace(" ", "_").casefold()
    by_lower = {known.casefold(): known for known in names}
    if wanted in by_lower:
        return f"did you mean {by_lower[wanted]}?"
    by_city = {known.rsplit("/", 1)[-1].casefold(): known for known in sorted(names, reverse=True)}
    close = difflib.get_close_matches(wanted, by_lower, 1, 0.75) or difflib.get_close_matches(
        wanted.rsplit("/", 1)[-1], by_city, 1, 0.75
    )
    if close:
        return f"did you mean {by_lower.get(close[0]) or by_city[close[0]]}?"
    return "use a name of the IANA zone database such as America/New_York"


class Mapping:
    """A rule in a zone under a policy: the order in which its wall times become instants."""

    __slots__ = ("fold", "gap", "rule", "zone")

    def __init__(self, rule: Rule, zone: Zone, gap: Gap, fold: Fold) -> None:
        self.rule = rule
        self.zone = zone
        self.gap = gap
        self.fold = fold

    def first_undisturbed(self, at: int, budget: Budget) -> int | None:
        """The first instant of `walk`, if no clock change is near: the usual case, in half the time."""
        start, end, offset, before, after = self.zone.period(at)
        if at < start + abs(offset - before):
            return None
        wall = self.rule.next(at + offset, budget)
        if wall is None or wall - offset >= end - abs(offset - after):
            return None
        return wall - offset

    def walk(self, at: int, budget: Budget, *, skipped: bool = True) -> Iterator[Hit]:
        """Every hit strictly after the instant `at`, in order; those that a gap took away if `skipped`.

        Hits of one instant come one after the other: a time moved out of a gap, then the regular one.
        """
        gaps = skipped or self.gap is not Gap.SKIP
        rule = self.rule
        period = self.zone.period(at)
        while True:
            start, end, offset, before, after = period
            if gaps and before < offset and at < start + offset - before:
                regular = self._regular(period, at, budget)
                yield from heapq.merge(self._gap(period, at, budget), regular, key=_instant)
                wall = rule.next(end - 1 + offset, budget)
            else:
                low, high, once_more, first_pass = self._bounds(period)
                wall = rule.next(max(at + offset, low - 1), budget)
                while wall is not None and wall < high:
                    if once_more <= wall < first_pass:
                        yield Hit(wall - offset, wall, None)
                    else:
                        second = wall < once_more
                        yield Hit(
                            wall - offset, wall, Change.SECOND_OF_TWO if second else Change.FIRST_OF_TWO
                        )
                    wall = rule.next(wall, budget)
            # What comes next lies in a later period. Unless the clock goes back at the end of this one, the
            # rule has nothing between here and `wall`, so whole periods can be passed over.
            at = end - 1
            if after < offset:
                wall = rule.next(end + after - 1, budget)
            if wall is None:
                return
            if after >= offset:
                at = max(at, wall - offset - WIDEST)
            if at >= LAST_WALL:
                return
            budget.spend(PERIOD_STEPS)
            period = self.zone.period(at + 1)

    def _bounds(self, period: Period) -> tuple[int, int, int, int]:
        """The wall times a period is responsible for, [low, high), and where in it a fold makes them the
        second (before `once_more`) or the first (from `first_pass` on) of two."""
        start, end, offset, before, after = period
        low, high = start + offset, end + offset
        once_more, first_pass = low, high
        if before > offset:
            once_more = start + before
            if self.fold is Fold.FIRST:
                low = once_more
        if after < offset:
            first_pass = end + after
            if self.fold is Fold.SECOND:
                high = first_pass
        return low, high, once_more, first_pass

    def _regular(self, period: Period, at: int, budget: Budget) -> Iterator[Hit]:
        _, high, _, first_pass = self._bounds(period)
        wall = self.rule.next(max(at, period.start - 1) + period.offset, budget)
        while wall is not None and wall < high:
            yield Hit(wall - period.offset, wall, None if wall < first_pass else Change.FIRST_OF_TWO)
            wall = self.rule.next(wall, budget)

    def _gap(self, period: Period, at: int, budget: Budget) -> Iterator[Hit]:
        """The wall times that the clock jumped over at the start of a period."""
        start, _, offset, before, _ = period
        if self.gap is Gap.AFTER:
            if at < start:
                wall = self.rule.next(start + before - 1, budget)
                if wall is not None and wall < start + offset:
                    yield Hit(start, wall, Change.MOVED)
            return
        change = Change.MOVED if self.gap is Gap.SHIFT else Change.SKIPPED
        wall = self.rule.next(max(at, start - 1) + before, budget)
        while wall is not None and wall < start + offset:
            yield Hit(wall - before, wall, change)
            wall = self.rule.next(wall, budget)


def _instant(hit: Hit) -> int:
    return hit.at
