"""Every case of corpus/*.jsonl, put to the engine."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from sexton.errors import ScheduleError
from sexton.schedules import parse
from tests.schedules.corpus_cases import SIZES, groups, instant, load, show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sexton.schedules import Schedule
    from tests.schedules.corpus_cases import Case

ANSWERED = [(name, group) for name in ("cron", "recurrence", "clock-changes") for group in groups(name)]


@pytest.mark.parametrize("name", SIZES)
def test_no_case_is_missing(name: str) -> None:
    cases = load(name)
    assert len({case["id"] for case in cases}) == len(cases) == SIZES[name]
    assert name == "refused" or sum(len(group) for group in groups(name).values()) == SIZES[name]


@pytest.mark.parametrize(("name", "group"), ANSWERED)
def test_answers(name: str, group: str) -> None:
    failures = [failure for case in groups(name)[group] if (failure := wrong(case))]
    assert not failures, f"{len(failures)} cases\n" + "\n".join(failures)


@pytest.mark.parametrize("kind", ["given", "told"])
def test_refusals(kind: str) -> None:
    accepted = [
        case for case in load("refused") if not is_refused(case, case["kind"] if kind == "given" else None)
    ]
    assert not accepted, "\n".join(f"{case['id']}: {case['schedule']!r} was accepted" for case in accepted)


def wrong(case: Case) -> str | None:
    """What is wrong with the engine's answers to one case."""
    try:
        schedule = read(case)
        given = list(islice(after(schedule, instant(case["after"])), case["count"]))
        following = schedule.next_after(given[-1]) if case.get("ends") and given else None
    except ScheduleError as error:
        return (
            None if case.get("or_refused") else f"{case['id']}: {case['schedule']!r}: {error.code}: {error}"
        )
    if schedule.kind != case["kind"]:
        return f"{case['id']}: {case['schedule']!r} was taken for {schedule.kind}, not {case['kind']}"
    if "until" in case:
        given = [at for at in given if at <= instant(case["until"])]
    if "not_expected" in case:
        unwanted = [instant(text) for text in case["not_expected"]]
        return describe(case, "not one of", unwanted, given) if set(given) & set(unwanted) else None
    expected = [instant(text) for text in case["expected"]]
    if given != expected:
        return describe(case, "expected", expected, given)
    if "ends" in case and following is not None:
        return describe(case, "expected the end after", expected, [following])
    return None


def read(case: Case) -> Schedule:
    return parse(
        case["schedule"],
        timezone=case["timezone"],
        anchor=case.get("anchor"),
        gap=case["gap"],
        fold=case["fold"],
    )


def after(schedule: Schedule, at: datetime) -> Iterator[datetime]:
    while (following := schedule.next_after(at)) is not None:
        at = following
        yield at


def is_refused(case: Case, kind: str | None) -> bool:
    try:
        parse(case["schedule"], kind=kind)
    except ScheduleError:
        return True
    return False


def describe(case: Case, words: str, expected: list[datetime], given: list[datetime]) -> str:
    return f"{case['id']}: {case['schedule']!r} {words} {show(expected)}, got {show(given)}"
