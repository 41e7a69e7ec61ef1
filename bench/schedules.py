"""How fast schedules are, beside cronsim, croniter and dateutil: `python bench/schedules.py [--json]`.

Every figure is processor time and the best of several repeats; the candidates of one row take turns, and what
counts are the ratios within one run. The tables are Markdown, ready for docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from itertools import count, cycle
from typing import TypeVar
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim
from dateutil.rrule import rrulestr

from sexton.schedules import Schedule, next_after_many, parse

NOW = datetime(2026, 11, 15, 12, 34, 56, tzinfo=UTC)
YESTERDAY, TEN_YEARS_AGO = NOW - timedelta(days=1), NOW.replace(year=NOW.year - 10)

REPEATS = 15
LONG_ENOUGH = 0.005  # seconds that one repeat should take, so that the timer itself does not count
STEPS = 50  # occurrences that a walk goes forward before it starts again
TOO_SLOW = 0.5  # seconds from which on a call is not repeated
PATIENCE = 5.0  # seconds after which a library that walks from DTSTART is given up

CRON_LINES = (
    ("* * * * *", "UTC"),
    ("*/15 * * * *", "UTC"),
    ("0 9 * * 1-5", "UTC"),
    ("* * * * *", "America/New_York"),
    ("*/15 9-17 * * 1-5", "America/New_York"),
    ("0 9 * * *", "America/New_York"),
    ("0 9 * * 1", "America/New_York"),
    ("0 0 1 1 *", "America/New_York"),
    ("0 9 L * *", "America/New_York"),
    ("0 9 * * 5#2", "America/New_York"),
    ("0 0 13 * 5", "America/New_York"),
    ("0 0 29 2 *", "America/New_York"),
)

# Each with a COUNT that lasts from ten years back until years from now.
RULES = (
    ("FREQ=YEARLY", 40),
    ("FREQ=YEARLY;BYMONTH=3,9;BYDAY=-1SU", 80),
    ("FREQ=MONTHLY;INTERVAL=3", 200),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", 400),
    ("FREQ=WEEKLY", 2_000),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", 2_000),
    ("FREQ=DAILY", 10_000),
    ("FREQ=DAILY;INTERVAL=3;BYHOUR=9,17;BYMINUTE=0", 10_000),
    ("FREQ=HOURLY;INTERVAL=5", 100_000),
    ("FREQ=HOURLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,13,17", 15_000),
    ("FREQ=MINUTELY;INTERVAL=7", 2_000_000),
    ("FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10,11,12", 100_000),
    ("FREQ=SECONDLY;INTERVAL=11", 100_000_000),
)
UNTIL = "20401231T000000Z"

JOBS, TIMINGS = 500_000, 1_000

Call = Callable[[], object]
Library = TypeVar("Library")


@dataclass
class Row:
    name: str
    #: Microseconds for one answer; None where the library was given up or does not apply.
    micros: dict[str, float | None]
    ratios: dict[str, float] = field(default_factory=dict)


@dataclass
class Table:
    title: str
    rows: list[Row]

    def print(self) -> None:
        columns = list(dict.fromkeys(name for row in self.rows for name in (*row.micros, *row.ratios)))
        head = ["", *columns]
        body = [[row.name.replace("|", "\\|"), *(_cell(row, name) for name in columns)] for row in self.rows]
        widths = [max(len(line[place]) for line in (head, *body)) for place in range(len(head))]
        print(f"\n### {self.title}\n")
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(head, widths, strict=True)) + " |")
        print(f"|{'-' * (widths[0] + 2)}|" + "|".join("-" * (width + 1) + ":" for width in widths[1:]) + "|")
        for first, *cells in body:
            padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
            print(f"| {first.ljust(widths[0])} | " + " | ".join(padded) + " |")


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    as_json = options.parse_args(arguments).json
    gc.disable()
    tables = []
    for measure in (cron_next, recurrence_seek, recurrence_others, parsing, many):
        tables.append(measure())
        if not as_json:
            tables[-1].print()
    met = targets(tables)
    if as_json:
        result = {"machine": machine(), "tables": [asdict(table) for table in tables], "targets": met}
        print(json.dumps(result, indent=2))
    else:
        print("\n" + "\n".join(f"- {name}: {value}" for name, value in met.items()))
        print(f"\nMeasured on {', '.join(f'{name} {value}' for name, value in machine().items())}.")
    return 0


def cron_next() -> Table:
    """From one occurrence to the next, on schedules that are parsed already."""
    rows = []
    for line, name in CRON_LINES:
        zone = UTC if name == "UTC" else ZoneInfo(name)
        start = NOW.astimezone(zone)
        best = race(
            {
                "sexton": walk(parse(line, timezone=name)),
                "cronsim": restart(partial(CronSim, line, start), CronSim.__next__),
                "croniter": restart(partial(croniter, line, start, ret_type=datetime), croniter.get_next),
            }
        )
        rows.append(
            Row(f"`{line}` {name}", best, {"sexton / cronsim": ratio(best["sexton"], best["cronsim"])})
        )
    return Table("Cron: the next time on a parsed schedule, µs", rows)


def recurrence_seek() -> Table:
    """Answers for days of the next two years, from a DTSTART of yesterday and from one of ten years ago."""
    rows = []
    for rule, times in RULES:
        row = Row(f"`{rule}`", {}, {})
        for ending, name in (("", ""), (f";COUNT={times}", " COUNT"), (f";UNTIL={UNTIL}", " UNTIL")):
            fresh, old = (parse(rule + ending, anchor=start) for start in (YESTERDAY, TEN_YEARS_AGO))
            assert old.next_after(NOW) is not None
            best = race({"fresh": ask(fresh.next_after), "old": ask(old.next_after)})
            row.micros[f"yesterday{name}"], row.micros[f"ten years{name}"] = best["fresh"], best["old"]
            row.ratios[f"ratio{name}"] = ratio(best["old"], best["fresh"])
        rows.append(row)
    return Table("Recurrences: one answer from a DTSTART of yesterday and of ten years ago, µs", rows)


def recurrence_others() -> Table:
    """One question put to both: dateutil walks from DTSTART, so the nearest instant is its best case."""
    rows = []
    for rule, _ in RULES:
        micros: dict[str, float | None] = {}
        for start, name in ((YESTERDAY, "yesterday"), (TEN_YEARS_AGO, "ten years")):
            ours, theirs = parse(rule, anchor=start).next_after, rrulestr(rule, dtstart=start).after
            best = race({"sexton": partial(ours, NOW), "dateutil": partial(theirs, NOW)})
            micros[f"sexton, {name}"], micros[f"dateutil, {name}"] = best["sexton"], best["dateutil"]
        rows.append(Row(f"`{rule}`", micros))
    return Table(f"Recurrences beside dateutil's `after()`, µs (–: given up after {PATIENCE:.0f} s)", rows)


def parsing() -> Table:
    cron, rule = "*/15 9-17 * * 1-5", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR"
    others: dict[str, dict[str, Call]] = {
        cron: {"cronsim": partial(CronSim, cron, NOW), "croniter": partial(croniter, cron, NOW)},
        rule: {"dateutil": partial(rrulestr, rule, dtstart=NOW)},
        "every 15m": {},
        "2026-12-24T18:00:00Z": {},
    }
    return Table(
        "Parsing, µs", [Row(f"`{text}`", race({**_parse(text), **them})) for text, them in others.items()]
    )


def _parse(text: str) -> dict[str, Call]:
    number = count()

    def uncached() -> Schedule:
        # There is no H here to hash: a new key only makes sure that the cache does not know the question.
        return parse(text, anchor=NOW, key=str(next(number)))

    return {"cached": partial(parse, text, anchor=NOW), "uncached": uncached}


def many() -> Table:
    """All jobs at once: what is computed is counted, what it costs is measured."""
    lines = [
        (f"{number % 60} {number // 60 % 24} * * {number % 7}", "Europe/Berlin") for number in range(TIMINGS)
    ]
    distinct = [parse(line, timezone=name, key=str(copy)) for line, name in lines for copy in range(4)]
    jobs = [distinct[number % len(distinct)] for number in range(JOBS)]
    with counting() as calls:
        next_after_many(jobs, NOW)
    assert len({schedule.timing_key for schedule in jobs}) == TIMINGS
    micros = {"all": best_of({"all": lambda: next_after_many(jobs, NOW)})["all"]}
    micros["each"] = best_of({"each": lambda: [job.next_after(NOW) for job in jobs]}, 1)["each"]
    rows = [
        Row("`next_after_many`", {"milliseconds": micros["all"] / 1000}, {"computations": len(calls)}),
        Row("`next_after`, one by one", {"milliseconds": micros["each"] / 1000}, {"computations": JOBS}),
    ]
    return Table(f"{JOBS:,} jobs with {TIMINGS:,} distinct timing keys", rows)


def targets(tables: Sequence[Table]) -> dict[str, str]:
    """What the engine promises, and whether this run kept it."""
    cron, seek, _, _, jobs = tables
    against = [row.ratios["sexton / cronsim"] for row in cron.rows]
    years = [value for row in seek.rows for value in row.ratios.values()]
    computed = int(jobs.rows[0].ratios["computations"])
    return {
        "cron, against cronsim (at most 1)": _verdict(max(against), 1),
        "recurrence, ten years against yesterday (at most 3)": _verdict(max(years), 3),
        f"computations for {JOBS:,} jobs (at most {TIMINGS:,})": _verdict(computed, TIMINGS),
    }


def machine() -> dict[str, str]:
    libraries = {
        name: version(name) for name in ("sexton", "cronsim", "croniter", "python-dateutil", "tzdata")
    }
    return {
        "Python": platform.python_version(),
        "on": f"{platform.system()} {platform.machine()}",
        **libraries,
    }


# Measuring


def walk(schedule: Schedule) -> Call:
    """Each call goes on from the answer before; the next years are walked again and again."""

    def answers() -> Iterator[datetime]:
        while True:
            at: datetime | None = NOW
            for _ in range(STEPS):
                at = schedule.next_after(at) if at is not None else None
                if at is None:
                    break
                yield at

    return warm(answers())


def restart(make: Callable[[], Library], step: Callable[[Library], object]) -> Call:
    """The same for a library's own iterator, which is made anew for every walk."""

    def answers() -> Iterator[object]:
        while True:
            iterator = make()
            for _ in range(STEPS):
                yield step(iterator)

    return warm(answers())


def warm(answers: Iterator[object]) -> Call:
    """Walked once, so that no library pays for filling its caches."""
    for _ in range(STEPS):
        next(answers)
    return answers.__next__


def ask(answer: Callable[[datetime], object]) -> Call:
    """Each call asks about another day of the next two years."""
    instants = cycle([NOW + timedelta(days=11 * number) for number in range(64)])
    return lambda: answer(next(instants))


def race(calls: dict[str, Call]) -> dict[str, float | None]:
    """The best microseconds of each; those that take seconds are tried once, with a limit."""
    first = {name: _first_time(call) for name, call in calls.items()}
    found = {name: None if seconds is None else seconds * 1e6 for name, seconds in first.items()}
    quick = {name: call for name, call in calls.items() if (seconds := first[name]) and seconds < TOO_SLOW}
    return found | best_of(quick)


def best_of(calls: dict[str, Call], repeats: int = REPEATS) -> dict[str, float]:
    """In turns, so that a slow moment of the machine does not hit one of them alone."""
    numbers = {name: _enough(call) for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            best[name] = min(best[name], _seconds(call, numbers[name]) / numbers[name] * 1e6)
        gc.collect()
    return best


def _enough(call: Call) -> int:
    """How many calls are long enough to be timed."""
    number = 1
    while (seconds := _seconds(call, number)) < LONG_ENOUGH:
        number = max(2 * number, round(number * LONG_ENOUGH / max(seconds, 1e-9)))
    return number


def _seconds(call: Call, number: int) -> float:
    started = time.process_time()
    for _ in range(number):
        call()
    return time.process_time() - started


def _first_time(call: Call) -> float | None:
    """Seconds, or None if it took more than can be waited for."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    started = time.process_time()
    try:
        call()
    except TimeoutError:
        return None
    else:
        return time.process_time() - started
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def counting() -> Iterator[list[str]]:
    """The timing keys that `next_after` is asked for."""
    original, calls = Schedule.next_after, list[str]()

    def counted(self: Schedule, instant: datetime) -> datetime | None:
        calls.append(self.timing_key)
        return original(self, instant)

    Schedule.next_after = counted  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        Schedule.next_after = original  # type: ignore[method-assign]


def ratio(one: float | None, other: float | None) -> float:
    assert one is not None
    assert other is not None
    return one / other


def _cell(row: Row, column: str) -> str:
    if column in row.ratios:
        value = row.ratios[column]
        return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
    if column not in row.micros:
        return ""
    micros = row.micros[column]
    return "–" if micros is None else f"{micros:,.0f}" if micros >= 100 else f"{micros:.1f}"


def _verdict(value: float, most: float) -> str:
    return f"{value:,.4g} {'kept' if value <= most else 'MISSED'}"


if __name__ == "__main__":
    sys.exit(main())
